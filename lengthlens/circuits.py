"""Attention, heads, connections and interventions: the public names of :mod:`circuits`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from circuits import *

__getattr__, __dir__ = forwarding("circuits")
