"""Axes in multiples of N: the same marks at the same places, other words; runs of different N meet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures.labels import multiple
from workbench.figures.look import Look
from workbench.figures.rows.multiples import partners
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.template import u_length

STEP = 3000


def marks(figure: Any) -> list[Any]:
    return [(trace.type, np.asarray(trace.x).tolist(), np.asarray(trace.y).tolist()) for trace in figure.data]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_only_the_words_of_the_axis_change(robust: pd.DataFrame, theme: Any) -> None:
    plain = figures.accuracy_over_length(robust, trained=50, step=STEP, look=Look(theme))
    told = figures.in_multiples(
        figures.accuracy_over_length(robust, trained=50, step=STEP, look=Look(theme)), trained=50, theme=theme
    )
    assert marks(told) == marks(plain)
    assert told.layout.xaxis.range == plain.layout.xaxis.range
    assert told.layout.yaxis == plain.layout.yaxis
    assert told.layout.meta == plain.layout.meta
    assert told.layout.xaxis.title.text == "prefix length, \u00d7 trained"
    at = dict(zip(told.layout.xaxis.ticktext, told.layout.xaxis.tickvals, strict=True))
    named = f'<span style="color:{TOKENS[theme]["train"]}">1</span>'
    assert at[named] == u_length(50)
    for text, place in at.items():
        if text != named:
            assert place == pytest.approx(u_length(50 * float(text)))
    assert len(at) >= 3


def test_a_heatmap_tells_its_y_axis_in_multiples_and_keeps_its_steps(robust: pd.DataFrame) -> None:
    plain = figures.accuracy_heatmap(robust, trained=50)
    told = figures.in_multiples(figures.accuracy_heatmap(robust, trained=50), trained=50)
    assert told.layout.xaxis == plain.layout.xaxis
    assert told.layout.yaxis.title.text == "prefix length, \u00d7 trained"
    assert [round(2**place / 50, 6) for place in told.layout.yaxis.tickvals][-1] in (4, 8, 16)


def test_a_figure_without_lengths_stays_as_it_is(robust: pd.DataFrame) -> None:
    plain = figures.accuracy_over_training(robust, trained=50, length=100)
    told = figures.in_multiples(figures.accuracy_over_training(robust, trained=50, length=100), trained=50)
    assert told == plain


def test_figures_side_by_side_have_one_span_of_multiples(robust: pd.DataFrame) -> None:
    span = (-3.0, 4.0)
    for trained in (50, 64):
        made = figures.accuracy_over_length(robust, trained=trained, step=STEP)
        told = figures.in_multiples(made, trained=trained, span=span)
        low, high = told.layout.xaxis.range
        assert (low - u_length(trained), high - u_length(trained)) == pytest.approx(span)
        # what the cursor's lines are placed by
        assert (told.layout.meta["x"]["low"], told.layout.meta["x"]["high"]) == (low, high)


@pytest.mark.parametrize(
    ("times", "text"), [(0.13, "0.13"), (0.5, "0.5"), (1.0, "1"), (249 / 31, "8"), (5.12, "5.1"), (1024, "1,024")]
)
def test_a_multiple_is_written_short(times: float, text: str) -> None:
    assert multiple(times) == text


def test_multiples_pair_runs_of_different_n() -> None:
    a, b = [16, 32, 64, 128, 256], [32, 64, 128, 256, 512]
    assert partners(a, 32, b, 64, "times") == {16: 32, 32: 64, 64: 128, 128: 256, 256: 512}
    assert partners(a, 32, b, 64) == {32: 32, 64: 64, 128: 128, 256: 256}
    # one N: equal lengths are equal multiples, also those that are no multiple of the grid
    assert partners([32, 100, 200], 32, [32, 100, 200], 32, "times") == {32: 32, 100: 100, 200: 200}
    # no multiple shared beyond training: equal lengths
    assert partners([32, 64, 192], 32, [48, 64, 192], 48, "times") == {64: 64, 192: 192}


def test_medians_of_two_n_stand_at_equal_multiples(robust: pd.DataFrame) -> None:
    a, b = robust, robust
    drawn = {
        axis: figures.seeds_compared(a, b, trained=50, trained_b=100, step=STEP, axis=axis)
        for axis in ("length", "times")
    }
    at = {
        axis: {trace.name: np.asarray(trace.x, dtype=float) for trace in one.data if trace.name in ("A", "B")}
        for axis, one in drawn.items()
    }
    np.testing.assert_allclose(at["length"]["A"], at["length"]["B"])
    np.testing.assert_allclose(at["times"]["A"], at["length"]["A"])
    np.testing.assert_allclose(at["times"]["B"], at["length"]["B"] + math.log2(50 / 100))
    texts = [next(t.hovertext for t in drawn[axis].data if t.name == "B") for axis in ("length", "times")]
    assert texts[0] == texts[1], "a tooltip names the length that was measured"
