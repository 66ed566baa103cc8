"""Measurements: what they are, and any of them on a model in memory: the public names of :mod:`workbench.measure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.measure import *

__getattr__, __dir__ = forwarding("workbench.measure")
