"""Tasks and their batches: the public names of :mod:`workbench.tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.tasks import *

__getattr__, __dir__ = forwarding("workbench.tasks")
