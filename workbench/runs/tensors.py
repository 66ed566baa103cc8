"""What a safetensors file says about itself, read without torch."""

from __future__ import annotations

import json
from typing import Any


def header(data: bytes) -> dict[str, Any]:
    """Tensor name -> dtype, shape and place; under ``__metadata__`` the file's metadata, where it has any.

    The layout is that of the safetensors format: the length of the header in 8 bytes, little-endian, the
    header as JSON, the tensors.

    Raises:
        ValueError: if the bytes do not begin like a safetensors file.
    """
    size = int.from_bytes(data[:8], "little")
    found = json.loads(data[8 : 8 + size])
    if not isinstance(found, dict):
        raise ValueError("its header is no JSON object")
    return found
