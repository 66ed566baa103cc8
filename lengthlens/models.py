"""Models, their configs and position encodings: the public names of :mod:`workbench.models`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.models import *

__getattr__, __dir__ = forwarding("workbench.models")
