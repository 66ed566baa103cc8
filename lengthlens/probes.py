"""Linear probes over prefix lengths: the public names of :mod:`probes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from probes import *

__getattr__, __dir__ = forwarding("probes")
