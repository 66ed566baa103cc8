"""What is said of a model that was asked in its prompt: its verdict, and both ends of what stands beside each row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cited import said
from workbench.figures.errors import NotMeasured
from workbench.figures.rows.frame import Frame
from workbench.figures.text.in_context_sentence import asymmetry_sentence, in_context_rail, in_context_sentence
from workbench.table.schema import row


def one(measurement: str, quantity: str, **others: Any) -> dict[str, Any]:
    """A row of a model that was asked in its prompt."""
    made = {"run": "r", "step": 10, "law": "matched", "n": 64, "measurement": measurement, "quantity": quantity}
    return row(**{**made, "mode": "teacher_forced", **others})


VERDICT = {"label": "holds", "target": "pairs", "length": 64, "note": "0.98 at 64 items.", "mode": ""}


def test_the_verdict_is_said_with_its_presentation() -> None:
    rows = [
        one("behaviour.in_context", "in_context_verdict", **{**VERDICT, **other})
        for other in ({"status": "undefined", "label": ""}, {}, {"step": 20, "label": "decays"})
    ]
    pieces = in_context_sentence(Frame.from_rows(rows), step=10)
    assert said(pieces) == "Holds in context, presented as pairs at step 10: 0.98 at 64 items."
    assert pieces[0] == ("Holds in context", "summary")
    with pytest.raises(NotMeasured, match="step 30"):
        in_context_sentence(Frame.from_rows(rows), step=30)
    with pytest.raises(NotMeasured, match="step 10"):
        in_context_sentence(Frame.from_rows(rows[:1]), step=10)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (8, "0.50 at 8 items."),
        (16, "0.50 at 8 items, 0.25 at 16 items."),
        (32, "0.50 at 8 items."),
        (64, "0.50 at 8 items, 0.75 at 64 items."),
    ],
)
def test_both_ends_are_those_with_a_value_at_the_fewest_items_and_at_the_cursor(length: int, words: str) -> None:
    values = ((64, 0.75), (8, 0.5), (16, 0.25), (4, None))
    status = {True: "undefined", False: "ok"}
    heads: dict[str, Any] = {"layer": 1, "head": 0, "mode": "task"}
    rows = [
        made
        for n, value in values
        for made in (
            one("behaviour.in_context", "answer_accuracy", length=n, value=value, status=status[value is None]),
            one("behaviour.in_context", "answer_accuracy", length=n, value=0.9, step=20),
            one("circuits.heads", "induction_mass", length=n, value=value, status=status[value is None], **heads),
            one("circuits.heads", "induction_mass", length=n, value=0.9, **{**heads, "head": 1}),
            one("circuits.heads", "induction_mass", length=n, value=0.9, **{**heads, "mode": "other"}),
        )
    ]
    frame = Frame.from_rows(rows)
    assert said(in_context_rail(frame, "behaviour", 10, length, 1, 0)) == f"Right of all answer tokens: {words}"
    mechanism = said(in_context_rail(frame, "mechanism", 10, length, 1, 0))
    assert mechanism.startswith("L1H0 gives to the key behind")
    assert mechanism.endswith(f": {words}")
    assert said(in_context_rail(frame, "mechanism", 10, length, 0, 0)) == "Heads are not measured at step 10."
    assert said(in_context_rail(frame, "behaviour", 30, length, 1, 0)) == (
        "Answers in context are not measured at step 30."
    )
    assert in_context_rail(frame, "representation", 10, length, 1, 0) == []


def test_only_what_was_measured_is_told_of_both_sides() -> None:
    rows = [
        one("behaviour.asymmetry", "neighbour_asymmetry", length=n, value=v, status=s)
        for n, v, s in ((16, 0.25, "ok"), (8, None, "ok"), (4, 0.5, "sampled"))
    ]
    told = said(asymmetry_sentence(Frame.from_rows(rows), step=10))
    assert told == "Right minus left neighbour, pairs of sequences: 0.25 at 16 items."
    with pytest.raises(NotMeasured, match="step 10"):
        asymmetry_sentence(Frame.from_rows(rows[1:]), step=10)
