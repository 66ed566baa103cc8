"""JSON in one form, so that equal values have equal text and equal hashes."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(value: Any) -> str:
    """16 hex digits that stand for a value: of SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]
