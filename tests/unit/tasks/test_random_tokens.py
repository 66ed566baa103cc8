"""Random tokens in which something recurs: blocks, gaps between them, and halves, found again in what is drawn."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from workbench.tasks.random_tokens import repeat_twice, repeats

MANY = 1_000_000
"""So many ids that no token of a string comes up twice by chance."""


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def starts(string: Tensor, size: int) -> list[int]:
    """Where the last tokens of a string stand."""
    block = string[-size:]
    return [i for i in range(len(string) - size + 1) if bool((string[i : i + size] == block).all())]


@pytest.mark.parametrize(
    ("positions", "block", "lag", "size", "widest"),
    [(61, 4, 3, 4, 3), (61, 8, 10, 8, 10), (13, 8, 2, 3, 2), (13, 8, 39, 3, 6), (4, 8, 39, 1, 1)],
)
def test_a_block_recurs_to_the_end_after_every_gap_up_to_the_largest(
    positions: int, block: int, lag: int, size: int, widest: int
) -> None:
    """Of 12 tokens a block has 3 at most, a quarter; and a gap 6, a half."""
    drawn = repeats(400, positions, MANY, generator(), block=block, lag=lag)
    assert (drawn[:, 0] == 0).all()
    assert (drawn[:, 1:] > 0).all()
    gaps: set[int] = set()
    for string in drawn:
        found = starts(string, size)
        assert found[-1] == positions - size
        gaps |= {b - a - size for a, b in pairwise(found)}
        assert found[0] >= 1
        assert found[0] - 1 < size + widest, "another block would have fitted"
    assert gaps == set(range(widest + 1))


def test_without_bos_a_block_may_stand_first() -> None:
    drawn = repeats(200, 12, MANY, generator(), bos=False, block=3, lag=0)
    assert all(starts(string, 3) == [0, 3, 6, 9] for string in drawn)


def test_blocks_of_given_strings_are_theirs() -> None:
    given = torch.arange(41)[None].expand(3, -1).clone()
    drawn = repeats(3, 41, 50, generator(), block=4, lag=2, strings=given)
    assert (drawn[:, -4:] == given[:, -4:]).all()
    assert torch.equal(given, torch.arange(41)[None].expand(3, -1)), "what is given stays as it is"
    kept = ((drawn == given) | torch.isin(drawn, given[0, -4:])).all()
    assert kept


@pytest.mark.parametrize(("positions", "bos", "half"), [(9, True, 4), (10, True, 5), (8, False, 4), (7, False, 4)])
def test_the_second_half_is_the_first_again(positions: int, bos: bool, half: int) -> None:
    drawn = repeat_twice(50, positions, MANY, generator(), bos=bos)
    first = int(bos)
    assert drawn.shape == (50, positions)
    assert (drawn[:, :first] == 0).all()
    rest = positions - first - half
    assert torch.equal(drawn[:, first + half :], drawn[:, first : first + rest])
    assert drawn[:, first:].unique().numel() == 50 * half


def test_a_token_is_drawn_by_its_weight() -> None:
    weights = torch.tensor([0.0, 0.0, 3.0, 1.0], dtype=torch.float64)
    drawn = repeat_twice(2000, 3, 4, generator(), weights=weights)[:, 1]
    assert set(drawn.tolist()) == {2, 3}
    assert float((drawn == 2).double().mean()) == pytest.approx(0.75, abs=0.05)
