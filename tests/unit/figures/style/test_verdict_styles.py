"""The ribbon of verdicts over training, and the glyph of each verdict."""

from __future__ import annotations

import pytest

from workbench.figures.errors import NotMeasured
from workbench.figures.rows.frame import Frame
from workbench.figures.style.verdict_styles import glyph_svg, verdict_ribbon

U, R, C, F = "undecided", "scale-robust", "length-coupled", "not fitted"


def test_a_ribbon_is_of_one_run_in_the_order_of_training() -> None:
    own = {"measurement": "behaviour", "quantity": "verdict"}
    rows = [{**own, "step": step, "label": label} for step, label in ((20, R), (10, F), (30, U))]
    assert verdict_ribbon(Frame.from_rows(rows)) == [(10, F), (20, R), (30, U)]
    with pytest.raises(ValueError, match="verdicts"):
        verdict_ribbon(Frame.from_rows([*rows, rows[0]]))
    with pytest.raises(NotMeasured, match="verdict"):
        verdict_ribbon(Frame.from_rows([{**rows[0], "quantity": "accuracy"}]))


@pytest.mark.parametrize(("verdict", "parts"), [(F, (2, 1)), (R, (1, 1)), (U, (1, 0)), ("unseen position", (1, 0))])
def test_a_glyph_is_dashed_and_ends_in_a_dot_where_its_verdict_says_so(verdict: str, parts: tuple[int, int]) -> None:
    drawn = glyph_svg(verdict)
    assert (drawn.count("stroke-dasharray"), drawn.count("<circle")) == parts
