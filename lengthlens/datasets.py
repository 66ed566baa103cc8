"""Published tables as datasets: the public names of :mod:`workbench.datasets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.datasets import *

__getattr__, __dir__ = forwarding("workbench.datasets")
