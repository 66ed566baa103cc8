"""The shares of a mixture's components among its sequences, by prefix length.

Some components of a mixture have sequences of some lengths only. If the shares differ from those at N, the accuracy of
all components together changes although no component's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.names import BEHAVIOUR
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import nearest, rows_with_values

MEASUREMENT = BEHAVIOUR
SAME = 1e-9
"""Shares that differ by less are the same."""
Row = Mapping[str, Any]


def component_name(target: str) -> str:
    """Return a component task without the token that marks it: ``majority`` for ``<2> majority``. Other names are
    unchanged.
    """
    mark, between, name = target.partition("> ")
    return name if between and mark.startswith("<") else target


def composition(frame: Frame, step: int, length: float) -> dict[str, Row]:
    """The share of each component at a length, by name; empty unless the task is a mixture."""
    return {str(row["target"]): row for row in _rows(frame, step).where(length=length).rows()}


def trained_composition(frame: Frame, step: int, trained: float) -> dict[str, Row]:
    """Return the shares of component tasks at N, the longest trained length, or at the next shorter measured length."""
    lengths = [int(n) for n in np.unique(_rows(frame, step)["length"].astype(float))]
    return composition(frame, step, nearest(lengths, trained)) if lengths else {}


def differs(here: Mapping[str, Row], there: Mapping[str, Row]) -> bool:
    """Whether the shares of two lengths are not the same."""
    names = {*here, *there}
    return any(abs(_share(here, name) - _share(there, name)) > SAME for name in names)


def other_lengths(frame: Frame, step: int, trained: float) -> dict[float, str]:
    """Return the lengths at which the shares of component tasks differ from those at N, with the shares in words."""
    there = trained_composition(frame, step, trained)
    lengths = {}
    for length in np.unique(_rows(frame, step)["length"].astype(float)).tolist() if there else ():
        here = composition(frame, step, length)
        if differs(here, there):
            shares = [f"{_share(here, name):.2f} {component_name(name)}" for name in here if _share(here, name)]
            lengths[float(length)] = "components: " + ", ".join(shares)
    return lengths


def _rows(frame: Frame, step: int) -> Frame:
    return rows_with_values(frame.where(measurement=MEASUREMENT, quantity="composition", law="matched", step=step))


def _share(shares: Mapping[str, Row], name: str) -> float:
    return float(shares[name]["value"]) if name in shares else 0.0
