"""Formulas of training dynamics: the public names of :mod:`workbench.theory.training_dynamics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.theory.training_dynamics import *

__getattr__, __dir__ = forwarding("workbench.theory.training_dynamics")
