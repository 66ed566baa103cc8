"""Figures of rows, as plotly figures: the public names of :mod:`workbench.figures`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.figures import *

__getattr__, __dir__ = forwarding("workbench.figures")
