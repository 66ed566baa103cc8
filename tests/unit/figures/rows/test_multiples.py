"""Lengths and checkpoints of two runs are held against each other by one rule."""

from __future__ import annotations

import pytest

from workbench.figures.rows import multiples
from workbench.figures.rows.multiples import (
    length_at,
    nearest_share,
    pairing_text,
    partners,
    step_partners,
    times_text,
)


@pytest.mark.parametrize(
    ("lengths", "trained", "times", "found"),
    [
        ([100], 50, 2.0, 100),
        ([99], 50, 2.0, None),
        ([103], 50, 2.0, 103),
        ([104], 50, 2.0, None),
        ([103, 101, 99], 50, 2.0, 101),
        ([18], 8, 2.0, None),
        ([17], 8, 2.0, 17),
        ([26], 12, 2.0, 26),
        ([27], 12, 2.0, None),
        ([4], 2, 2.0, 4),
        ([5], 2, 2.0, None),
        ([2], 3, 0.5, 2),
        ([], 50, 2.0, None),
    ],
)
def test_a_length_stands_for_a_multiple_that_was_rounded_up(
    lengths: list[int], trained: int, times: float, found: int | None
) -> None:
    assert length_at(lengths, trained, times) == found


@pytest.mark.parametrize(
    ("times", "text"),
    [(1 / 8, "1/8"), (3 / 8, "3/8"), (0.5, "1/2"), (1.0, "1"), (1.5, "1.5"), (2.0, "2"), (16.0, "16")],
)
def test_multiples_below_one_are_written_as_fractions(times: float, text: str) -> None:
    assert times_text(times) == f"{text} \u00d7 N"


def test_the_multiples_of_the_grid() -> None:
    assert multiples.MULTIPLES == (0.125, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8)


@pytest.mark.parametrize(
    ("a", "n_a", "b", "n_b", "axis", "pairs"),
    [
        # one N: equal lengths on either axis
        ([32, 64, 80], 32, [32, 64, 80], 32, "length", {32: 32, 64: 64, 80: 80}),
        ([32, 64, 80], 32, [32, 64, 80], 32, "times", {32: 32, 64: 64, 80: 80}),
        # the only shared length is trained by one of them: multiples
        ([32, 64], 32, [64, 128], 64, "length", {32: 64, 64: 128}),
        # shared beyond the training of both
        ([32, 64, 128], 32, [64, 128], 64, "length", {64: 64, 128: 128}),
        ([32, 64, 128], 32, [64, 128], 64, "times", {32: 64, 64: 128}),
        # no multiple beyond training is shared: by length after all
        ([32, 128], 32, [64, 128], 64, "times", {128: 128}),
        ([32, 80], 32, [64, 160], 64, "times", {32: 64}),
        ([], 32, [64], 64, "length", {}),
    ],
)
def test_lengths_are_paired_by_one_rule(
    a: list[int], n_a: int, b: list[int], n_b: int, axis: multiples.LengthAxis, pairs: dict[int, int]
) -> None:
    assert partners(a, n_a, b, n_b, axis) == pairs


@pytest.mark.parametrize(
    ("pairs", "text"),
    [({}, "same length"), ({8: 8, 16: 16}, "same length"), ({8: 8, 16: 32}, "same multiple of N")],
)
def test_the_rule_is_said(pairs: dict[int, int], text: str) -> None:
    assert pairing_text(pairs) == text


@pytest.mark.parametrize(
    ("a", "b", "by", "pairs"),
    [
        ([], [0, 10], "share", {}),
        ([0, 10], [], "share", {}),
        ([10, 20, 30], [20, 30, 40], "step", {20: 20, 30: 30}),
        ([10], [40], "share", {10: 40}),
        # step 0 only where both have it before their last
        ([0, 10], [0, 40], "share", {0: 0, 10: 40}),
        ([0], [0, 40], "share", {0: 40}),
        ([0, 10], [0], "share", {10: 0}),
        ([0, 10], [20, 40], "share", {10: 40}),
        # shares differ by a quarter at most
        ([50, 100], [80, 200], "share", {50: 80, 100: 200}),
        ([50, 100], [79, 200], "share", {100: 200}),
        ([50, 100], [125, 200], "share", {50: 125, 100: 200}),
        ([50, 100], [126, 200], "share", {100: 200}),
        # each other's nearest, none twice
        ([50, 52, 100], [104, 200], "share", {52: 104, 100: 200}),
        ([50, 100], [98, 101, 200], "share", {50: 101, 100: 200}),
    ],
)
def test_checkpoints_are_paired_by_step_or_by_their_share_of_training(
    a: list[int], b: list[int], by: multiples.StepPairing, pairs: dict[int, int]
) -> None:
    found = step_partners(a, b, by)
    assert found == pairs
    assert list(found) == sorted(found)


def test_the_nearest_share_is_the_nearest_ratio() -> None:
    assert nearest_share({1: 0.25, 2: 0.375}, 0.3125) == 2
    assert nearest_share({1: 0.25, 2: 1.0}, 0.5) is None
    assert nearest_share({}, 0.5) is None
