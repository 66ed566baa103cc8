"""Since when a verdict holds: a bracket between the last step that was shown otherwise and the first that agrees."""

from __future__ import annotations

import pytest

from workbench.figures.style.verdict_styles import Since, since

U, R, C, F = "undecided", "scale-robust", "length-coupled", "not fitted"


@pytest.mark.parametrize(("labels", "expected"), [
    ([F, F, R, R], Since(1, 2)),
    ([F, U, R, U, R], Since(0, 2)),  # an undecided step neither confirms nor breaks it
    ([R, R, R], Since(None, 0)),
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
    assert str(Since(200, 300)) == "since 300 (last different: 200)"
    assert str(Since(None, 1500)) == "since 1,500"
