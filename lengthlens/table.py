"""The table of measured rows: the public names of :mod:`workbench.table`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.table import *

__getattr__, __dir__ = forwarding("workbench.table")
