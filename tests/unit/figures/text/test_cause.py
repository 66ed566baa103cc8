"""Why a run fails, as the strip of its page shows it: always the cause, and the numbers, of the diagnosis."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said, unfounded
from workbench.core.names import POSITION_OR_CONTENT, POSITION_OR_KEYS
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import estimate
from workbench.figures.rows.frame import Frame
from workbench.figures.text.cause import Cause, cause
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.table.schema import FIELDS, row

HERE: dict[str, Any] = {"run": "r", "step": 7, "measurement": "diagnosis", "law": "matched", "length": 64, "n": 256}
CHOSEN = "chosen of its family on the other half of the strings"
ACCURACY = (
    {"quantity": "balanced_accuracy", "length": 32, "value": 1.0, "low": 0.98, "high": 1.0},
    {"quantity": "balanced_accuracy", "value": 0.7, "low": 0.66, "high": 0.74},
    {"quantity": "balanced_loss", "value": 0.3, "low": 0.26, "high": 0.34},
)


def share(target: str, value: float, note: str = CHOSEN, **fields: Any) -> dict[str, Any]:
    ends = {"value": value, "low": value - 0.1, "high": value + 0.1}
    return {"quantity": "restored_share", "target": target, "mode": "alone", "note": note, **ends, **fields}


def wrong(target: str, value: float, **fields: Any) -> dict[str, Any]:
    return share(target, value, "best of it", control="wrong_constant", **fields)


def entry(label: str, target: str = "", note: str = "", **fields: Any) -> dict[str, Any]:
    return {"quantity": "entry", "label": label, "target": target, "note": note, **fields}


def diagnosed(*rows: dict[str, Any]) -> tuple[Cause, Frame]:
    made = Frame.of(pd.DataFrame([row(**{**HERE, **one}) for one in rows], columns=list(FIELDS)))
    found = cause(made, step=7, longest=32)
    for pieces in (found.sentence, found.accuracy):
        assert unfounded(pieces, made, 32) == []
    return found, made


def numbers_of(found: Cause) -> list[str]:
    rows = [one for bar in found.shares for one in (bar.share, bar.control) if one is not None]
    return [estimate(one["value"], one["low"], one["high"]) for one in rows]


def test_one_cause_with_its_share_its_control_and_accuracy_before_and_after() -> None:
    site = {"quantity": "failure_site", "label": "selection", "layer": 0, "head": 1}
    found, rows = diagnosed(entry("position", "P.int"), site, share("P.int", 0.9), wrong("P.int", 0.05), *ACCURACY)
    assert said(found.sentence) == (
        "At length 64 (2 N), the model fails because positions beyond 32 make L0H1 attend to wrong keys."
    )
    assert [(one.name, one.share["value"], one.control["value"] if one.control else None) for one in found.shares] == [
        ("ids interpolated", 0.9, 0.05)
    ]
    assert said(found.accuracy) == (
        "Class-balanced accuracy: 1.00 [0.98, 1.00] at 32 (the longest trained), 0.70 [0.66, 0.74] at 64 (2 N, n = 256), "
        "and there about 0.97 with ids interpolated (computed from the share, n = 256)."
    ), "0.70 + 0.9 x 0.30 = 0.97"
    full = said(diagnosis_sentence(rows, step=7, longest=32))
    assert said(found.sentence) in full
    assert all(number in full for number in numbers_of(found))


def test_no_accuracy_is_above_one() -> None:
    found, _ = diagnosed(entry("position", "P.int"), share("P.int", 1.08), *ACCURACY)
    assert "and there about 1.00 with" in said(found.accuracy)


def test_causes_that_are_not_told_apart_have_a_bar_each_and_the_sentence_says_so() -> None:
    both = entry("position", "P.int", "also restored by D.gap")
    found, rows = diagnosed(both, share("P.int", 1.0), wrong("P.int", -0.9), share("D.gap", 0.8), wrong("D.gap", 0.1))
    assert said(found.sentence).endswith("These causes are not distinguished.")
    assert [one.name for one in found.shares] == ["ids interpolated", "top keys alone"]
    full = said(diagnosis_sentence(rows, step=7, longest=32))
    assert all(estimate(bar.share["value"], bar.share["low"], bar.share["high"]) in full for bar in found.shares)


def test_a_length_that_distinguishes_two_causes_is_drawn_too() -> None:
    far = {"length": 128}
    found, _ = diagnosed(
        entry("position", "P.int", "also restored by D.gap"), share("P.int", 1.0), share("D.gap", 0.8),
        entry("position", "P.int", **far), share("P.int", 0.95, **far), share("D.gap", 0.0, **far),
    )  # fmt: skip
    assert "not distinguished" not in said(found.sentence)
    drawn = [(one.name, one.share["length"], one.share["value"]) for one in found.shares]
    assert drawn == [
        ("ids interpolated", 64, 1.0), ("top keys alone", 64, 0.8),
        ("ids interpolated", 128, 0.95), ("top keys alone", 128, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("chosen", "why"), [
    ("P.int", "best of 2 interventions"), ("D.gap", "best of those chosen on other sequences"),
])  # fmt: skip
def test_where_nothing_is_explained_the_best_is_drawn_and_says_that_it_is_the_best_of_many(
    chosen: str, why: str
) -> None:
    high = 0.4 if chosen == "P.int" else 0.9
    found, rows = diagnosed(
        entry("not explained"), share("P.int", high, CHOSEN * (chosen == "P.int")),
        share("D.gap", 0.2, CHOSEN * (chosen == "D.gap")),
    )  # fmt: skip
    assert said(found.sentence) == said(diagnosis_sentence(rows, step=7, longest=32))
    (bar,) = found.shares
    assert (bar.share["target"], bar.why) == (chosen, why)


def test_the_right_key_names_no_cause_and_says_what_it_uses() -> None:
    oracle = {"quantity": "oracle_key_share", "layer": 0, "value": 0.9, "low": 0.8, "high": 1.0}
    rows = [oracle | {"head": 0, "value": 0.5, "low": 0.4, "high": 0.6}, oracle | {"head": 1}]
    found, table = diagnosed(entry("content"), *rows)
    (bar,) = found.shares
    assert (bar.share["head"], bar.why) == (1, "uses the answer; best of 2 heads")
    assert said(found.sentence) == said(diagnosis_sentence(table, step=7, longest=32)), "its numbers stand in the words"
    both, _ = diagnosed(entry(POSITION_OR_CONTENT), share("P.int", 0.6), *rows)
    assert [one.name for one in both.shares] == ["attention to only the right key", "ids interpolated"]


def test_positions_that_could_not_be_tested_are_named_with_the_reason() -> None:
    found, _ = diagnosed(entry(POSITION_OR_KEYS, "K.sink"), share("K.sink", 0.9))
    assert "Whether positions are the cause could not be tested" in said(found.sentence)
    assert [one.name for one in found.shares] == ["first key held"]


def test_without_a_cause_nothing_is_drawn() -> None:
    note = "accuracy drops by 0.18 at 64, less than 0.2: no cause is named"
    found, _ = diagnosed({"quantity": "entry", "status": "undefined", "note": note}, *ACCURACY)
    assert (found.shares, found.accuracy) == ((), [])
    assert said(found.sentence) == f"A{note[1:]}."
    with pytest.raises(NotMeasured):
        cause(Frame.of(pd.DataFrame([], columns=list(FIELDS))), step=7, longest=32)
