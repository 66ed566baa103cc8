"""The prefix lengths of a measurement."""

from __future__ import annotations

from workbench.measure.grid import near_multiples

LENGTHS = (4, 8, 16, 24, 48, 96)


def test_the_nearest_length_is_that_of_the_least_ratio() -> None:
    assert near_multiples(LENGTHS, 16, [1 / 4, 1, 4]) == [4, 16, 48]  # 64 lies 1.33 times above 48, 1.5 below 96
    assert near_multiples(LENGTHS, 16, [4.5]) == [96]  # 72 lies 1.5 above 48, 1.33 below 96
    assert near_multiples(LENGTHS, 16, [4, 1, 3]) == [16, 48]


def test_of_no_length_none_is_near() -> None:
    assert near_multiples((), 16, [1]) == []
