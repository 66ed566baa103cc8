"""Memory of large activations goes back to the system as soon as they are let go of.

glibc keeps freed blocks of up to 32 MiB for later ones. What is kept of each layer is small, and comes to lie in these
gaps, so that the activations of the next layer fit in none of them: a pass over 4,096 tokens of a model with 30 layers
grew by 600 MiB where 40 were in use. With a fixed threshold each large block is a mapping of its own.
"""

from __future__ import annotations

import ctypes
from typing import Any

THRESHOLD = 1 << 20
"""Bytes from which a block is a mapping of its own."""
_M_MMAP_THRESHOLD = -3


def return_large_blocks() -> bool:
    """Fix the threshold in this process; whether its C library knows of one (glibc does)."""
    try:
        allocator: Any = ctypes.CDLL(None)
        return bool(allocator.gnu_get_libc_version) and allocator.mallopt(_M_MMAP_THRESHOLD, THRESHOLD) == 1
    except (AttributeError, OSError, TypeError):
        return False
