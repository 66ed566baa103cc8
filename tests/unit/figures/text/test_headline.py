"""The headline of a run: accuracy at three lengths of both test sets, from rows whose numbers are known by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said, unfounded
from workbench.figures.rows.frame import Frame
from workbench.figures.text.headline import headline, named_lengths
from workbench.table.schema import row

N, STEP = 32, 7
OWN: dict[str, Any] = {"run": "r", "step": STEP, "measurement": "behaviour"}
ROBUST = {32: (1.0, 1.0), 48: (0.97, 0.9), 128: (1.0, 1.0), 256: (0.99, 0.98)}
FALLS = {32: (1.0, 1.0), 48: (0.84, 0.68), 128: (0.6, 0.2), 256: (0.52, 0.04)}
CHALLENGED = {32: (1.0, 1.0), 48: (0.67, -1.0), 96: (0.73, 0.45), 128: (0.48, -0.05), 256: (0.53, 0.04)}
"""Accuracy and skill at each length; challenge is tested from 86 (8/3 N) on."""


def curve(law: str, values: dict[int, tuple[float, float]], fails: int | None, baseline: float = 0.5) -> list[Any]:
    own = OWN | {"law": law, "mode": "teacher_forced", "n": 512}
    rows = []
    for n, (accuracy, skill) in values.items():
        ends = {"value": accuracy, "low": accuracy - 0.03, "high": min(1.0, accuracy + 0.03)}
        rows.append(row(**own, quantity="accuracy", length=n, **ends))
        rows.append(row(**own, quantity="skill", length=n, value=skill, low=skill - 0.1, high=skill + 0.1))
        rows.append(row(**own, quantity="chance", length=n, value=baseline))
    end: dict[str, Any] = {"low": 256.0, "status": "censored"}
    if fails is not None:
        end = {"value": float(fails), "low": 32.0, "high": float(fails)}
    return [*rows, row(**own, quantity="failure_length", length=256, **end)]


def frame(rows: list[Any], label: str, **verdict: Any) -> Frame:
    known = {"quantity": "verdict", "label": label, "length": 256} | verdict
    return Frame.of(pd.DataFrame([*rows, row(**OWN, **known)]))


def texts(rows: Frame) -> tuple[str, str, str]:
    words = headline(rows, step=STEP, trained=N)
    for part in words:
        assert unfounded(part, rows, N) == []
    return said(words.verdict), said(words.further), said(words.since)


def test_both_test_sets_are_named_at_three_lengths_each() -> None:
    rows = frame([*curve("matched", FALLS, 48), *curve("challenge", CHALLENGED, 96, 0.51)], "length-coupled")
    verdict, further, _ = texts(rows)
    assert verdict == (
        "Length-coupled at step 7. Accuracy on the matched test set is 1.00 [0.97, 1.00] at length 32 (the longest "
        "trained), 0.84 [0.81, 0.87] at 48 (1.5 N), where it first fails, and 0.52 [0.49, 0.55] at 256 (8 N, n = 512), "
        "the longest tested length; there it is not shown to be above chance (0.50)."
    )
    assert further == (
        "On the challenge test set, accuracy is 1.00 [0.97, 1.00] at length 32 (the longest trained), 0.73 [0.70, 0.76] "
        "at 96 (3 N), where it first fails, the first length tested there, and 0.53 [0.50, 0.56] at 256 (8 N, n = 512), "
        "the longest tested length; from length 128 (4 N) on, it is not shown to be above the best guess or shortcut "
        "(0.51 at 256)."
    )


def test_the_test_set_that_fails_first_comes_first() -> None:
    rows = frame([*curve("matched", ROBUST, None), *curve("challenge", CHALLENGED, 96)], "length-coupled")
    verdict, further, _ = texts(rows)
    assert "Accuracy on the challenge test set is 1.00" in verdict
    assert further.startswith("On the matched test set, no tested length is shown to fail: accuracy is 1.00")


def test_of_a_robust_run_the_lowest_length_stands_in_the_middle() -> None:
    rows = frame([*curve("matched", ROBUST, None), *curve("challenge", {32: (1.0, 1.0), 48: (0.6, -1.0)}, None)],
                 "scale-robust")  # fmt: skip
    verdict, further, _ = texts(rows)
    assert "0.97 [0.94, 1.00] at 48 (1.5 N), the lowest of all tested lengths, and 0.99" in verdict
    assert further == "", "48 is not tested on the challenge test set, so that nothing is said of it"


def test_equal_ends_and_lowest_are_said_once() -> None:
    same = dict.fromkeys((32, 64, 256), (1.0, 1.0))
    verdict, _, _ = texts(frame(curve("matched", same, None), "scale-robust"))
    assert verdict.endswith(
        "is 1.00 [0.97, 1.00] at length 32 (the longest trained) and 1.00 [0.97, 1.00] at 256 (8 N, n = 512), the "
        "longest tested length."
    )


def test_a_failure_at_the_longest_length_is_said_once() -> None:
    values = {32: (1.0, 1.0), 256: (0.7, 0.4)}
    verdict, _, _ = texts(frame(curve("matched", values, 256), "length-coupled"))
    assert "0.70 [0.67, 0.73] at 256 (8 N, n = 512), the longest tested length and the first that fails." in verdict


@pytest.mark.parametrize(("label", "reason"), [("not fitted", ""), ("undecided", "no threshold")])
def test_of_what_is_not_judged_no_length_fails(label: str, reason: str) -> None:
    """Rows of failures may exist, and say nothing without a fit or a threshold."""
    rows = frame([*curve("matched", FALLS, 48), *curve("challenge", CHALLENGED, 96)], label, reason=reason, note="why")
    verdict, further, _ = texts(rows)
    assert "fails" not in verdict + further
    assert "0.52 [0.49, 0.55] at 256 (8 N, n = 512), the longest measured length" in further
    assert ("There is no verdict on longer lengths" in further) is (label == "not fitted")
    assert ("chance is 0.50 there" in further) is (label == "not fitted"), "chance is no baseline of a language model"


def test_an_undecided_fit_leaves_both_test_sets_to_the_line_below() -> None:
    matched = {32: (0.98, 0.95), 256: (0.97, 0.9)}
    rows = frame([*curve("matched", matched, None), *curve("challenge", CHALLENGED, 96)], "undecided")
    verdict, further, _ = texts(rows)
    assert verdict.startswith("Undecided at step 7. Skill is 0.95")
    assert further.count("test set") == 2


def test_lengths_beyond_the_tested_ones_are_left_out() -> None:
    rows = frame(curve("matched", FALLS, 48), "length-coupled", length=128)
    verdict = rows.where(quantity="verdict").row(0)
    lengths = named_lengths(rows, verdict, "matched", N)
    assert lengths is not None
    assert lengths.longest is not None
    assert (lengths.trained["length"], lengths.longest["length"], lengths.lowest["length"]) == (32, 128, 128)
    assert named_lengths(rows, verdict, "challenge", N) is None


def test_since_when_the_verdict_holds() -> None:
    earlier = row(**OWN | {"step": 3}, quantity="verdict", label="not fitted", length=256)
    rows = frame([*curve("matched", FALLS, 48), earlier], "length-coupled")
    assert texts(rows)[2] == "The verdict has been the same since step 7 (last different verdict: step 3)."
