"""What is asked of one sequence: ranges, heads and edits that there are, and those that there are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from circuits.one_sequence import _check_place, _hard, _plain, _within
from workbench.measure.edits.one_sequence import OneSequence
from workbench.models.interventions import Edit


class Fake(OneSequence):
    """A sequence of five tokens in a model of two layers of three heads."""

    @property
    def tokens(self) -> list[str]:
        return list("abcde")

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def fake(heads: int = 3) -> OneSequence:
    def index(length: int) -> int:
        if not 1 <= length <= 4:
            raise KeyError(length)
        return length

    model = SimpleNamespace(cfg=SimpleNamespace(n_layers=2, n_heads=heads))
    return Fake(model=model, batch=SimpleNamespace(index=index))


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, (0, 5)), ((0, 5), (0, 5)), ((4, 5), (4, 5)), ((1, 3), (1, 3)), ((0, 1), (0, 1)), ((4, 99), (4, 5))],
)
def test_ranges_are_cut_to_the_sequence(given: tuple[int, int] | None, found: tuple[int, int]) -> None:
    made = _within(given, fake(), "keys")
    assert (made.start, made.stop) == found


@pytest.mark.parametrize("given", [(5, 6), (-1, 3), (2, 2), (3, 2), (5, 5)])
def test_ranges_of_no_position_are_refused(given: tuple[int, int]) -> None:
    said = f"no keys {given[0]} to {given[1] - 1}; this sequence has positions 0 to 4"
    with pytest.raises(ValueError, match=said):
        _within(given, fake(), "keys")


@pytest.mark.parametrize(
    ("place", "said"),
    [((-1, 0, None), "layer -1"), ((2, 0, None), "layer 2"), ((0, -1, None), "head -1"), ((1, 3, None), "head 3")],
)
def test_layers_and_heads_that_there_are_not(place: tuple[int, int, int | None], said: str) -> None:
    with pytest.raises(ValueError, match=f"there is no {said}"):
        _check_place(fake(), *place)


def test_layers_heads_and_queries_that_there_are() -> None:
    for place in ((0, 0, None), (1, 2, None), (1, 2, 1), (0, 0, 4)):
        _check_place(fake(), *place)
    _check_place(fake(heads=0), 1, 7, None)
    with pytest.raises(KeyError):
        _check_place(fake(), 0, 0, 5)
    with pytest.raises(KeyError):
        _check_place(fake(), 0, 0, 0)


@pytest.mark.parametrize(
    ("edits", "hard"),
    [
        ((), False), ((Edit("hardmax"),), True), ((Edit("hardmax", 1),), True), ((Edit("hardmax", 1, 2),), True),
        ((Edit("hardmax", None, 2),), True), ((Edit("hardmax", 0),), False), ((Edit("hardmax", 0, 2),), False),
        ((Edit("hardmax", 1, 1),), False), ((Edit("zero", 1, 2),), False), ((Edit("zero", 1, 2), Edit("hardmax", 1, 2)), True),
    ],
)  # fmt: skip
def test_a_head_is_hard_by_an_edit_of_it_or_of_all(edits: tuple[Edit, ...], hard: bool) -> None:
    assert _hard(edits, 1, 2) is hard


def test_answers_are_numbers_or_lists_of_them() -> None:
    assert [_plain(answer) for answer in (None, 3, 0.5, (1, 2))] == [None, 3, 0.5, [1.0, 2.0]]
