"""The table of verdicts is whole, it is the only one, and *since* brackets the step at which the last verdict began."""

from __future__ import annotations

import ast

import pytest

from tests.support.places import ROOT
from workbench.core import thresholds as core_thresholds
from workbench.core import verdicts
from workbench.core.verdicts import (
    HARD_ATTENTION,
    MIXED_ATTENTION,
    NOT_MEASURED,
    REASONS,
    SOFT_ATTENTION,
    VERDICTS,
    WORDS,
    Since,
    since,
    undecided_before,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.table.schema import row

U, R, C, F = "undecided", "scale-robust", "length-coupled", "not fitted"


@pytest.mark.parametrize(("labels", "expected"), [
    ([F, F, R, R], Since(1, 2)),
    ([F, U, R, U, R], Since(0, 2)),  # an undecided step neither confirms nor breaks it
    ([R, R, R], Since(None, 0, first=True)),  # it may have begun earlier
    ([U, R, R], Since(None, 1)),
    ([R, C, R], Since(1, 2)),
    ([F, R, C, U, U, R], Since(2, 5)),
    ([F, R, U], None),
    ([U], None),
    ([], None),
])  # fmt: skip
def test_since_is_a_bracket(labels: list[str], expected: Since | None) -> None:
    assert since(dict(enumerate(labels))) == expected
    assert since(dict(reversed(list(enumerate(labels))))) == expected, "in any order"


def test_since_is_said_with_the_last_step_that_was_different() -> None:
    assert str(Since(200, 300)) == "since step 300 (last different verdict: step 200)"
    assert str(Since(None, 1500)) == "since step 1,500"
    assert str(Since(None, 400, first=True)) == "at step 400 already, the first measured step"


@pytest.mark.parametrize(("labels", "steps"), [
    ([F, U, R, U, R], [1]),
    ([U, U, R], [0, 1]),
    ([F, U, C, U, R], [3]),
    ([F, R], []),
    ([R, U], []),
    ([], []),
])  # fmt: skip
def test_the_undecided_steps_before_the_last_verdict_are_those_inside_its_bracket(
    labels: list[str], steps: list[int]
) -> None:
    assert undecided_before(dict(enumerate(labels))) == steps


def test_every_verdict_has_all_that_screens_show_of_it() -> None:
    for label, kind in VERDICTS.items():
        assert kind.word
        assert kind.meaning.endswith("."), label
        for tokens in TOKENS.values():
            assert kind.ribbon in tokens, label
            assert kind.role == "plain" or kind.role in tokens, label
    assert list(WORDS)[:-1] == list(VERDICTS)


def test_every_label_has_its_entry() -> None:
    """A label without an entry would have no word, no colour and no place in filters."""
    texts = {value for name, value in vars(verdicts).items() if name.isupper() and isinstance(value, str)}
    others = {value for name, value in vars(core_thresholds).items() if name.isupper() and isinstance(value, str)}
    of_heads = {HARD_ATTENTION, SOFT_ATTENTION, MIXED_ATTENTION}
    assert texts - others - of_heads - {NOT_MEASURED, *REASONS} == set(VERDICTS)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_can_be_stored(reason: str) -> None:
    assert row(label=U, reason=reason)["reason"] == reason


def test_labels_of_verdicts_are_written_in_one_module() -> None:
    """Labels that are everyday words (holds, undecided ...) have other meanings elsewhere and are left out."""
    labels = {"scale-robust", "length-coupled", "not fitted", "unseen position", "not capable", "not measured"}
    copies = []
    for package in ("workbench", "probes", "circuits", "docs"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and node.value in labels:
                    copies.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}")
    home = [copy for copy in copies if copy.startswith("workbench/core/verdicts.py")]
    assert len(home) == len(labels)
    # A text in a plot where nothing was measured is no verdict.
    assert [copy.partition(":")[0] for copy in copies if copy not in home] == [
        "workbench/figures/panels/failure_length.py"
    ]
