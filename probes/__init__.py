"""Linear probes across prefix lengths: task state, position, and the directions that code them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from probes.api import ProbeResult, probe
    from probes.position import Position
    from probes.summary import Summary

__distribution__ = "lengthlens"

__all__ = ["Position", "ProbeResult", "Summary", "probe"]

__getattr__, __dir__ = face(
    __name__,
    {
        "Position": "position",
        "ProbeResult": "api",
        "Summary": "summary",
        "probe": "api",
    },
)
