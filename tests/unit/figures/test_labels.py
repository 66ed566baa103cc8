"""Numbers as written, and labels pushed apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.figures import labels


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.925, "0.93"), (1, "1.00"), (-0.04, "\u22120.04"), (-0.001, "0.00"), (None, "–"), (math.nan, "–")],
)
def test_proportion(value: float | None, text: str) -> None:
    # 0.925 is 0.925000000000000044 in binary, so it rounds up
    assert labels.proportion(value) == text


def test_proportion_has_three_decimals_in_tooltips_and_infinity_is_named() -> None:
    assert labels.proportion(0.12345, 3) == "0.123"
    assert labels.proportion(math.inf) == "∞"


@pytest.mark.parametrize(("value", "text"), [(0.51, "+0.51"), (-0.3, "\u22120.30"), (0.001, "0.00"), (None, "–")])
def test_signed(value: float | None, text: str) -> None:
    assert labels.signed_number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (304, "304"), (1000, "1k"), (1500, "1.5k"), (3_000_000, "3M")])
def test_short(value: float, text: str) -> None:
    assert labels.short(value) == text


def test_a_p_value_is_never_said_to_be_nothing() -> None:
    said = [labels.significance(p) for p in (0.0, 0.0099, 0.01, 0.5, None)]
    assert said == ["< 0.01", "< 0.01", "0.01", "0.50", labels.MISSING]


def test_lengths_intervals_and_places() -> None:
    assert labels.whole(1024) == "1,024"
    assert labels.whole(None) == "–"
    assert labels.beyond(1024) == "> 1,024"
    assert labels.interval(0.91, 0.95) == "[0.91, 0.95]"
    assert labels.interval(None, 0.95) == ""
    assert labels.estimate(0.93, 0.91, 0.95) == "0.93 [0.91, 0.95]"
    assert labels.estimate(0.93, None, None) == "0.93"
    assert labels.sample_size(512) == "n 512 · 95 % CI"
    assert labels.times_trained(256, 50) == "5.1 × trained"
    assert labels.times_trained(50, 50) == "inside training"
    assert [labels.layer_name(v) for v in (-1, 0)] == ["embed", "after 0"]


def test_no_text_uses_a_hyphen_as_minus() -> None:
    texts = [labels.proportion(-0.5), labels.signed_number(-0.5), labels.whole(-3), labels.magnitude(-0.00123)]
    assert not any("-" in text for text in texts)


def test_labels_far_apart_stay_where_they_are() -> None:
    assert labels.spread([0.9, 0.1, 0.5], 0.1, 0, 1) == pytest.approx([0.9, 0.1, 0.5])


def test_two_equal_labels_share_the_move() -> None:
    assert sorted(labels.spread([0.5, 0.5], 0.2, 0, 1)) == pytest.approx([0.4, 0.6])


def test_a_crowd_at_the_edge_is_pushed_inside() -> None:
    assert labels.spread([1.0, 1.0, 1.0], 0.1, 0, 0.95) == pytest.approx([0.75, 0.85, 0.95])


def test_too_many_labels_fill_the_range_evenly() -> None:
    assert labels.spread([0.5] * 5, 1.0, 0, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.14))
def test_spread_separates_keeps_order_and_stays_inside(values: list[float], separation: float) -> None:
    placed = labels.spread(values, separation, 0.0, 1.0)
    order = np.argsort(values, kind="stable")
    gaps = np.diff(np.array(placed)[order])
    assert (gaps >= separation - 1e-9).all()
    assert min(placed) >= -1e-9
    assert max(placed) <= 1 + 1e-9


_GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 3), -1).reshape(-1, 3)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.3, 0.7), min_size=3, max_size=3))
def test_spread_moves_as_little_as_possible(values: list[float]) -> None:
    """Against a brute-force search over all heights on a grid, in least squares."""
    separation = 0.1
    wanted = np.sort(values)
    allowed = _GRID[(np.diff(_GRID, axis=1) >= separation - 1e-9).all(1)]
    best = ((allowed - wanted) ** 2).sum(1).min()
    placed = np.sort(labels.spread(values, separation, 0.0, 1.0))
    assert ((placed - wanted) ** 2).sum() <= best + 1e-9


def test_where_a_line_is_taken() -> None:
    assert labels.over_training(128, 128) == "over training at length 128, inside training"
    assert labels.over_training(1024, 128) == "over training at length 1,024, past training"
    assert labels.over_length(1500) == "over prefix length at step 1,500"


def test_statements_in_one_line_leave_out_what_is_empty() -> None:
    assert labels.join_with_dots("per head", "", "n 5") == "per head · n 5"
    assert labels.join_with_dots("", "") == ""


def test_time_left_in_the_largest_unit_that_says_something() -> None:
    assert [labels.time_left(s) for s in (0.2, 99, 100, 5_940, 12_600)] == [
        "0 s left", "99 s left", "2 min left", "99 min left", "3.5 h left",
    ]  # fmt: skip


def test_lengths_in_items_keep_the_comma_that_follows_them() -> None:
    text = "1.00 at length 50, 0.52 at length 1,024, 0.10 at length 12345"
    assert labels.in_items_said(text) == "1.00 at 50 items, 0.52 at 1,024 items, 0.10 at 12345 items"


def test_infinity_keeps_its_sign() -> None:
    assert [labels.whole(x) for x in (float("inf"), float("-inf"))] == ["\u221e", "\u2212\u221e"]
