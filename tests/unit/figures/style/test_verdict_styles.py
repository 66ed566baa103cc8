"""Since when a verdict holds: a bracket between the last step that was shown otherwise and the first that agrees."""

from __future__ import annotations

import pytest

from workbench.figures.errors import NotMeasured
from workbench.figures.rows.frame import Frame
from workbench.figures.style.verdict_styles import Since, glyph_svg, since, verdict_ribbon

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


def test_a_ribbon_is_of_one_run_in_the_order_of_training() -> None:
    own = {"measurement": "behaviour", "quantity": "verdict"}
    rows = [{**own, "step": step, "label": label} for step, label in ((20, R), (10, F), (30, U))]
    assert verdict_ribbon(Frame.from_rows(rows)) == [(10, F), (20, R), (30, U)]
    with pytest.raises(ValueError, match="several verdicts at one step"):
        verdict_ribbon(Frame.from_rows([*rows, rows[0]]))
    with pytest.raises(NotMeasured, match="No verdict for this run"):
        verdict_ribbon(Frame.from_rows([{**rows[0], "quantity": "accuracy"}]))


@pytest.mark.parametrize(("verdict", "parts"), [(F, (2, 1)), (R, (1, 1)), (U, (1, 0)), ("unseen position", (1, 0))])
def test_a_glyph_is_dashed_and_ends_in_a_dot_where_its_verdict_says_so(verdict: str, parts: tuple[int, int]) -> None:
    drawn = glyph_svg(verdict)
    assert (drawn.count("stroke-dasharray"), drawn.count("<circle")) == parts
