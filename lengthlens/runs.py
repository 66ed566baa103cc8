"""Runs on disk: settings, checkpoints and models: the public names of :mod:`workbench.runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.runs import *

__getattr__, __dir__ = forwarding("workbench.runs")
