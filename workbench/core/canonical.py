"""JSON in one canonical form: equal values have equal text and equal hashes. Also lists a config's settings by path."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(value: Any) -> str:
    """The first 16 hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def leaves(config: Mapping[str, Any], below: str = "") -> dict[str, Any]:
    """Return every setting of a nested configuration by its path: ``{"model.d_model": 64, ...}``."""
    settings: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{below}{key}"
        if isinstance(value, Mapping):
            settings |= leaves(value, f"{name}.")
        else:
            settings[name] = value
    return settings
