"""The accuracy drop without each connection of a model at one checkpoint and length, and which drops are
significant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.names import RANDOM_DIRECTION
from workbench.core.thresholds import CLAIM
from workbench.figures.labels import estimate, proportion, whole
from workbench.figures.rows.frame import Frame, numbers, unique
from workbench.figures.rows.select_rows import refuse_empty, rows_with_values, select
from workbench.models.base.graph import ARROW

MEASUREMENT = "circuits.connections"
DROP, DROP_P, ACCURACY = "connection_drop", "connection_drop_p", "connected_accuracy"
RANDOM = RANDOM_DIRECTION


@dataclass(frozen=True)
class Effect:
    """The accuracy drop without a connection, or without all connections out of a component.

    Attributes:
        name: as in the rows.
        row: the row of ``connection_drop``.
        control: the same under a change as large in random directions; None = not measured.
        costs: whether the sign test shows a change, corrected for the number of tested connections.
        beyond: whether its interval lies beyond its control, on the side of its value.
    """

    name: str
    row: Mapping[str, Any]
    control: float | None
    costs: bool
    beyond: bool

    @property
    def shown(self) -> bool:
        """Whether the effect differs significantly from chance and from its control.

        If any change of that size disturbs the receiver, the effect is not evidence of what the receiver reads.
        """
        return self.costs and self.beyond

    @property
    def value(self) -> float:
        """The accuracy drop from cutting the connection; negative if cutting raises accuracy."""
        return float(self.row["value"])

    @property
    def text(self) -> str:
        """Return the effect in words, for a tooltip."""
        own = estimate(self.value, self.row["low"], self.row["high"], 3)
        beside = "" if self.control is None else f" \u00b7 control {proportion(self.control, 3)}"
        return f"{own} \u00b7 n {whole(self.row['n'])}{beside}"


def measured_connections(frame: Frame, *, step: int) -> Frame:
    """The rows of a checkpoint: its queries, keys and values together, at every length.

    Raises:
        NotMeasured: without any.
    """
    found = frame.cache(
        (MEASUREMENT, step), lambda: select(frame, MEASUREMENT, mode="", law="matched", step=step)
    )  # what is kept of it is found again at the next length
    refuse_empty(found, "The circuit graph")
    return found


def measured_lengths(rows: Frame) -> list[int]:
    """The lengths at which connections were cut, ascending."""
    return rows.cache(("lengths",), lambda: [int(n) for n in np.unique(numbers(rows.where(quantity=DROP)["length"]))])


def connection_names(rows: Frame) -> list[str]:
    """Return the names of all connections, sorted by the order in which receivers are computed."""
    return [name for name in map(str, unique(rows.where(quantity=DROP)["target"])) if ARROW in name]


def nearest_measured(rows: Frame, length: float) -> int:
    """Return the measured length nearest to ``length`` on a logarithmic scale."""
    return min(measured_lengths(rows), key=lambda n: abs(math.log(n / length)))


def effects_at(rows: Frame, length: int) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """The accuracy drops at a measured length, by name: without each connection, and without each component.

    A change is significant if the p of its sign test, times the number of tests, is below the level of a claim.

    Args:
        rows: the rows of :func:`measured_connections`.
        length: one of theirs.
    """
    return rows.cache(("effects", length), lambda: _effects_at(rows, length))


def _effects_at(rows: Frame, length: int) -> tuple[dict[str, Effect], dict[str, Effect]]:
    here = rows_with_values(rows.where(length=length))
    chances = {str(r["target"]): float(r["value"]) for r in here.where(quantity=DROP_P, control="").rows()}
    controls = {str(r["target"]): float(r["value"]) for r in here.where(quantity=DROP, control=RANDOM).rows()}
    drops = {str(r["target"]): r for r in here.where(quantity=DROP, control="").rows()}

    def effect_of(names: Sequence[str]) -> dict[str, Effect]:
        found = {}
        for name in names:
            costs = chances.get(name, 1.0) * len(names) <= CLAIM
            found[name] = Effect(name, drops[name], controls.get(name), costs, _beyond(drops[name], controls.get(name)))
        return found

    return effect_of([name for name in drops if ARROW in name]), effect_of(
        [name for name in drops if ARROW not in name]
    )


def _beyond(row: Mapping[str, Any], control: float | None) -> bool:
    """Whether the interval of a row lies beyond 0 and beyond its control."""
    least = control or 0.0
    return float(row["low"]) > max(0.0, least) if row["value"] > 0 else float(row["high"]) < min(0.0, least)


def accuracy_there(rows: Frame, length: int) -> float | None:
    """Accuracy with nothing cut, at a measured length."""
    found = rows_with_values(rows.where(quantity=ACCURACY, length=length))
    return float(found["value"][0]) if len(found) else None


def strongest(effects: Mapping[str, Effect]) -> str:
    """Return the connection with the largest accuracy drop, among the drawn ones if there are any; "" without
    connections.
    """
    most = max(effects.values(), key=lambda one: (one.shown, abs(one.value)), default=None)
    return "" if most is None else most.name
