"""Which rows show what the residual stream carries: one choice for the Runs page, the Run page and its sentences.

They are of the residual stream after the last measured block, never between attention and MLP of a block. They have the
mode that answers the concept's question, and are compared with the highest control at the same layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.figures.panels.decodability import CONCEPTS, MODE, last_layer, probe_layers, probe_rows
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import rows_with_values

Row = Mapping[str, Any]


@dataclass(frozen=True)
class CarriedReading:
    """How well one quantity is decoded at one layer, and the control with which it is compared.

    Attributes:
        row: in the mode that answers the concept's question.
        refit: the probe refitted at this length; None if there is none.
        control: the highest control; None where none was measured.
    """

    row: Row
    refit: Row | None
    control: Row | None

    @property
    def above(self) -> bool:
        """Whether the probe reads more than any control does."""
        return above(self.row, self.control)

    @property
    def refit_above(self) -> bool:
        """Whether the refitted probe decodes more than any control does."""
        return self.refit is not None and above(self.refit, self.control)


def above(row: Row, control: Row | None) -> bool:
    """Whether a row's interval lies above that of a control, in the two decimals that a reader sees.

    Without a control nothing is claimed, and nothing by a margin that does not show.
    """
    if control is None:
        return False
    low = row["value"] if missing(row["low"]) else row["low"]
    high = control["value"] if missing(control["high"]) else control["high"]
    return round(float(low), 2) > round(float(high), 2)


def readings(frame: Frame, concept: str, *, step: int, layer: int | None = None) -> Sequence[CarriedReading]:
    """Return how well a quantity is decoded at one step and layer (None = the last), by prefix length, ascending.

    Args:
        frame: rows of one run.
        concept: ``summary`` or ``position``.
        step: the checkpoint.
        layer: -1 is the embedding.
    """
    if not len(probe_layers(frame)):
        return ()
    at = last_layer(frame) if layer is None else layer
    return frame.cache(("readings", concept, step, at), lambda: _readings(frame, concept, step, at))


def _readings(frame: Frame, concept: str, step: int, at: int) -> tuple[CarriedReading, ...]:
    rows = rows_with_values(probe_rows(frame, concept, step=step, layer=at)).sort("length").rows()
    rows_by_mode: dict[str, dict[int, Row]] = {}
    controls: dict[int, Row] = {}
    for row in rows:
        length = int(row["length"])
        if not row["control"]:
            rows_by_mode.setdefault(str(row["mode"]), {})[length] = row
        elif length not in controls or row["value"] > controls[length]["value"]:
            controls[length] = row
    refit = rows_by_mode.get("refit", {})
    return tuple(
        CarriedReading(row, refit.get(n), controls.get(n)) for n, row in rows_by_mode.get(MODE[concept], {}).items()
    )


def at_longest(frame: Frame, step: int) -> dict[str, CarriedReading]:
    """Return, for each decoded quantity at a step, the reading at the longest length."""
    found = {concept: readings(frame, concept, step=step) for concept in CONCEPTS}
    return {concept: rows[-1] for concept, rows in found.items() if rows}


def by_layer(frame: Frame, concept: str, *, step: int, length: int) -> list[CarriedReading]:
    """Return how well a quantity is decoded at one step and length, from the embedding to the last block."""
    layers = np.unique(probe_layers(frame)).astype(int).tolist()
    found = (readings(frame, concept, step=step, layer=layer) for layer in layers)
    return [one for rows in found for one in rows if int(one.row["length"]) == length]
