"""Linear probes across prefix lengths: is the summary there, is position there, and in which code?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probes.notebook import ProbeResult, probe
    from probes.position import Position
    from probes.summary import Summary

__all__ = ["Position", "ProbeResult", "Summary", "probe"]

_HOME = {
    "Position": "probes.position",
    "ProbeResult": "probes.notebook",
    "Summary": "probes.summary",
    "probe": "probes.notebook",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
