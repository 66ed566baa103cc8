"""Of a diagnosis the entry with a name is spoken of, its site only where it is a head, and its changes in training."""

from __future__ import annotations

import math
from typing import Any

import pytest

from workbench.figures.errors import NotMeasured, Undefined
from workbench.figures.rows.diagnosis_rows import (
    entries_over_training,
    failure_head,
    named_entry,
    share_of,
    something_to_explain,
)
from workbench.figures.rows.frame import Frame


def entry(step: int, length: int, label: str, note: str = "", **others: Any) -> dict[str, Any]:
    """An entry of a diagnosis."""
    made = {"measurement": "diagnosis", "quantity": "entry", "step": step, "length": length, "law": "matched"}
    made |= {"target": "", "control": "", "value": None}
    return made | {"label": label, "note": note, "layer": None, "head": None} | others


def site(step: int, length: int, label: str, layer: float | None, head: float | None, **others: Any) -> dict[str, Any]:
    """A site of a diagnosis."""
    return entry(step, length, label, layer=layer, head=head, quantity="failure_site") | others


def test_the_first_entry_with_a_name_is_spoken_of() -> None:
    frame = Frame.from_rows(
        [
            entry(10, 64, "positions"),
            entry(10, 32, "attention spread"),
            entry(10, 16, "", "nothing to explain"),
            entry(20, 64, "", "late."),
            entry(20, 16, "", "no cause is named."),
            entry(30, 8, "other", measurement="behaviour"),
        ]
    )
    assert named_entry(frame, step=10)["length"] == 32
    assert named_entry(frame, step=10, length=64)["label"] == "positions"
    assert named_entry(frame, step=10, length=16)["label"] == ""
    assert named_entry(frame, step=20)["length"] == 16
    for asked in ({"step": 30}, {"step": 10, "length": 8}):
        with pytest.raises(NotMeasured, match=f"{asked['step']}"):
            named_entry(frame, **asked)
    assert something_to_explain(frame, step=10)["length"] == 32
    with pytest.raises(Undefined) as raised:
        something_to_explain(frame, step=20)
    assert str(raised.value) == "No cause is named."


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], None),
        ([entry(10, 32, "", "not learned")], None),
        ([entry(10, 32, "spread")], None),
        ([entry(10, 32, "spread"), site(10, 32, "", 1.0, 2.0)], None),
        ([entry(10, 32, "spread"), site(10, 32, "looks away", None, 2.0)], None),
        ([entry(10, 32, "spread"), site(10, 32, "looks away", 1.0, None)], None),
        ([entry(10, 32, "spread"), site(10, 64, "looks away", 1.0, 2.0)], None),
        ([entry(10, 32, "spread"), site(20, 32, "looks away", 1.0, 2.0)], None),
        ([entry(10, 32, "spread"), site(10, 32, "looks away", 1.0, 2.0)], (1, 2, "looks away")),
    ],
)
def test_the_head_at_which_it_fails_is_known_only_of_a_head(
    rows: list[dict[str, Any]], found: tuple[int, int, str] | None
) -> None:
    frame = Frame.from_rows([*rows, entry(0, 1, "", measurement="behaviour")])
    assert failure_head(frame, step=10) == found


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([entry(20, 32, "spread"), site(20, 32, "looks away", 0.0, 1.0)], "spread at 32 (looks away at L0H1)"),
        ([entry(20, 32, "spread"), site(20, 32, "mixed", 0.0, None)], "spread at 32 (mixed after block 0)"),
        ([entry(20, 32, "spread"), site(20, 32, "mixed", None, None)], "spread at 32 (mixed)"),
        ([entry(20, 32, "spread"), site(20, 32, "mixed", None, 1.0)], "spread at 32 (mixed)"),
        ([entry(20, 32, "spread"), site(20, 32, "", 0.0, 1.0)], "spread at 32"),
        ([entry(20, 32, "spread"), site(20, 32, "mixed", None, None, law="challenge")], "spread at 32"),
        ([entry(20, 32, "not explained"), site(20, 32, "mixed", None, None)], "not explained at 32"),
        ([entry(20, 32, "", "it is not learned: 0.2"), site(20, 32, "mixed", None, None)], "not learned"),
        ([entry(20, 32, "", "nothing to explain, no cause is named")], "accuracy drop below 0.1 at 32"),
        ([entry(20, 32, "", "something else")], "something else at 32"),
        (
            [entry(20, 64, "", "0.19: no cause is named"), entry(20, 32, "", "nothing to explain at 32")],
            "accuracy drop below 0.1 at 32, drop too small for a diagnosis at 64",
        ),
        (
            [entry(20, 64, "", "nothing to explain at 64"), entry(20, 32, "", "nothing to explain at 32")],
            "accuracy drop below 0.1 at 32 and 64",
        ),
        ([entry(20, 64, "spread"), entry(20, 32, "", "nothing to explain")], "spread at 64"),
    ],
)
def test_an_entry_is_said_in_short(rows: list[dict[str, Any]], said: str) -> None:
    found = entries_over_training(Frame.from_rows([entry(10, 32, "", "first"), *rows]))
    assert [(first["step"], last["step"], text) for first, last, text in found] == [
        (10, 10, "first at 32"),
        (20, 20, said),
    ]


def test_checkpoints_of_which_the_same_is_said_are_one_stretch() -> None:
    rows = [entry(step, 32, label) for step, label in ((30, "b"), (10, "a"), (20, "a"), (40, "a"))]
    found = entries_over_training(Frame.from_rows(rows))
    assert [(first["step"], last["step"], text) for first, last, text in found] == [
        (10, 20, "a at 32"),
        (30, 30, "b at 32"),
        (40, 40, "a at 32"),
    ]
    assert entries_over_training(Frame.from_rows(rows[:1])) == []
    assert entries_over_training(Frame.from_rows([entry(0, 1, "", measurement="behaviour")])) == []


def test_a_share_without_a_value_is_passed_over() -> None:
    named = entry(9, 64, "keys")
    missing, known = (
        entry(9, 64, "", quantity="restored_share", target="P.int", value=value) for value in (math.nan, 0.5)
    )
    share = share_of(Frame.from_rows([named, missing, known]), named, "P.int")
    assert share is not None
    assert share["value"] == 0.5
    assert share_of(Frame.from_rows([named, missing]), named, "P.int") is None
