"""What cutting a connection costs is told from chance and from its control, at the measured lengths."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.figures.errors import NotMeasured, Undefined
from workbench.figures.rows.connection_effects import (
    Effect,
    accuracy_there,
    connection_names,
    effects_at,
    measured_connections,
    measured_lengths,
    nearest_measured,
    strongest,
)
from workbench.figures.rows.frame import Frame

ONE, TWO = "embedding -> L0.0", "L0.0 -> unembedding"


def row(quantity: str, target: str, value: float | None, **others: Any) -> dict[str, Any]:
    """A row of cut connections."""
    made = {
        "run": "a",
        "step": 10,
        "law": "matched",
        "length": 16,
        "measurement": "circuits.connections",
        "quantity": quantity,
        "target": target,
        "mode": "",
        "control": "",
        "value": value,
        "low": None,
        "high": None,
        "n": 40,
        "status": "ok",
        "note": "",
        "setting": "{}",
    }
    return made | others


def drops(value: float, low: float, high: float, p: float | None, control: float | None) -> dict[str, Effect]:
    """Effects of two connections and a component, the first as given."""
    listed = [
        row("connection_drop", ONE, value, low=low, high=high),
        row("connection_drop", TWO, 0.5, low=0.4, high=0.6),
        row("connection_drop", "L0.0", 0.25, low=0.2, high=0.3),
        row("connection_drop_p", "L0.0", 0.01),
        row("connection_drop", "MLP 0", None, status="undefined"),
    ]
    listed += [] if p is None else [row("connection_drop_p", ONE, p)]
    listed += [] if control is None else [row("connection_drop", ONE, control, control="random_direction")]
    connections, components = effects_at(Frame.from_rows(listed), 16)
    assert list(connections) == [ONE, TWO]
    assert list(components) == ["L0.0"]
    assert components["L0.0"].shown  # of one component its p stays as it is
    return connections


@pytest.mark.parametrize(("p", "costs"), [(0.025, True), (0.026, False), (0.05, False), (None, False), (0.0, True)])
def test_a_change_is_told_from_chance_for_all_that_are_asked_at_once(p: float | None, costs: bool) -> None:
    found = drops(0.3, 0.2, 0.4, p, None)[ONE]
    assert (found.costs, found.beyond, found.shown) == (costs, True, costs)


@pytest.mark.parametrize(
    ("value", "low", "high", "control", "beyond"),
    [
        (0.3, 0.2, 0.4, None, True),
        (0.3, 0.0, 0.4, None, False),
        (0.3, 0.2, 0.4, 0.1, True),
        (0.3, 0.2, 0.4, 0.2, False),
        (0.3, 0.2, 0.4, 0.25, False),
        (0.3, -0.1, 0.4, -0.2, False),
        (-0.3, -0.4, -0.2, None, True),
        (-0.3, -0.4, 0.0, None, False),
        (-0.3, -0.4, -0.2, -0.1, True),
        (-0.3, -0.4, -0.2, -0.2, False),
        (-0.3, -0.4, 0.1, 0.2, False),
        (0.0, -0.1, -0.05, None, True),
        (0.0, 0.05, 0.1, None, False),
    ],
)
def test_an_effect_lies_beyond_nothing_and_beyond_its_control(
    value: float, low: float, high: float, control: float | None, beyond: bool
) -> None:
    found = drops(value, low, high, 0.0, control)[ONE]
    assert (found.beyond, found.shown, found.control) == (beyond, beyond, control)


def test_an_effect_is_said_with_its_control() -> None:
    assert drops(0.3, 0.2, 0.4, 0.0, 0.125)[ONE].text == "0.300 [0.200, 0.400] \u00b7 n 40 \u00b7 control 0.125"
    assert drops(0.3, 0.2, 0.4, 0.0, None)[ONE].text == "0.300 [0.200, 0.400] \u00b7 n 40"


def effect(name: str, value: float, shown: bool) -> Effect:
    """An effect of a size."""
    return Effect(name, {"value": value}, None, shown, shown)


@pytest.mark.parametrize(
    ("effects", "name"),
    [
        ([], ""),
        ([effect("a", 0.1, True), effect("b", 0.9, False)], "a"),
        ([effect("a", 0.1, True), effect("b", -0.4, True), effect("c", 0.3, True)], "b"),
        ([effect("a", 0.1, False), effect("b", 0.2, False)], "b"),
    ],
)
def test_the_strongest_is_one_that_is_shown_if_any_is(effects: list[Effect], name: str) -> None:
    assert strongest({one.name: one for one in effects}) == name


def test_effects_are_shown_where_they_cost_and_lie_beyond() -> None:
    assert [Effect("a", {}, None, *both).shown for both in ((True, False), (False, True), (True, True))] == [
        False,
        False,
        True,
    ]


def test_rows_of_a_checkpoint_are_those_of_all_inputs_together() -> None:
    drop = "connection_drop"
    frame = Frame.from_rows(
        [
            row(drop, ONE, 0.3),
            row(drop, ONE, 0.1, length=4),
            row(drop, "L0.0", 0.1, length=64),
            row("connected_accuracy", "", 0.9),
            row("connected_accuracy", "", 0.8, length=128),
            row(drop, TWO, 0.2, mode="q", length=32),
            row(drop, TWO, 0.2, law="challenge", length=32),
            row(drop, TWO, None, step=20, status="undefined", note="too easy"),
        ]
    )
    found = measured_connections(frame, step=10)
    assert len(found) == 5
    assert measured_lengths(found) == [4, 16, 64]
    assert connection_names(found) == [ONE]
    assert [nearest_measured(found, length) for length in (1, 7.9, 8.1, 31, 33, 1000)] == [4, 4, 16, 16, 64, 64]
    assert [accuracy_there(found, length) for length in (16, 4)] == [0.9, None]
    with pytest.raises(NotMeasured):
        measured_connections(frame, step=30)
    with pytest.raises(Undefined, match="circuit"):
        measured_connections(frame, step=20)
