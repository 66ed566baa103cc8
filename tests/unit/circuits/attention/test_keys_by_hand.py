"""Keys that tokens or a task name, and queries of a window, by hand: with a BOS and without."""

from __future__ import annotations

import pytest
import torch

from circuits.attention.target_keys import (
    anti_induction,
    counted_keys,
    duplicate_token,
    first_token,
    induction,
    named_positions,
    previous_token,
)
from circuits.hardmax.reduction import window_queries
from circuits.interchange.rows_in_context import last_of, only_last
from workbench.tasks.base import Batch

ROW = [7, 3, 7, 7, 3, 7]


def given(bos: bool, **meta: torch.Tensor) -> Batch:
    """One string, all of whose tokens are asked but the second."""
    tokens = torch.tensor([[9] * bos + ROW])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, : int(bos)] = mask[:, 1 + int(bos)] = False
    zeros = torch.zeros_like(tokens)
    return Batch(tokens, zeros, mask, zeros, None, len(ROW), bos, "given", meta=meta)


def keys(found: torch.Tensor | None) -> list[list[int]]:
    assert found is not None
    return [row.nonzero()[:, 0].tolist() for row in found[0]]


@pytest.mark.parametrize(
    ("kind", "options", "wanted"),
    [
        (previous_token, {}, [[], [1], [4]]), (previous_token, {"offset": 2}, [[], [0], [3]]),
        (duplicate_token, {}, [[], [0], [0, 2, 3]]), (first_token, {}, [[], [0], [0]]),
        (induction, {}, [[], [1], [1, 3, 4]]), (induction, {"offset": 2}, [[], [], [2, 4]]),
        (anti_induction, {}, [[], [0], [0, 2, 3]]), (anti_induction, {"definition": "before"}, [[], [], [1, 2]]),
    ],
)  # fmt: skip
def test_keys_that_the_tokens_alone_name(kind: object, options: dict[str, object], wanted: list[list[int]]) -> None:
    found = kind(torch.tensor([ROW]), torch.tensor([0, 2, 5]), **options)  # type: ignore[operator]
    assert keys(found) == wanted


@pytest.mark.parametrize("bos", [True, False])
def test_keys_that_a_task_names_are_counted_from_one(bos: bool) -> None:
    shift = int(bos)
    batch = given(bos, planted=torch.tensor([[1, 0, 4]]), counted=torch.tensor([[1, 3, 6]]))
    queries = torch.tensor([0, 1, 3, 5]) + shift
    assert keys(named_positions(batch, queries, ("none", "planted"))) == [[], [], [shift], [shift, 3 + shift]]
    assert keys(counted_keys(batch, queries)) == [
        [shift], [], [shift, 2 + shift], [shift, 2 + shift, 5 + shift],
    ]  # fmt: skip
    assert named_positions(batch, queries, ("none",)) is None
    assert counted_keys(given(bos), queries) is None


@pytest.mark.parametrize("bos", [True, False])
def test_the_queries_of_a_window_are_those_that_are_asked(bos: bool) -> None:
    shift = int(bos)
    for window, wanted in ((1, [5]), (4, [2, 3, 4, 5]), (5, [2, 3, 4, 5]), (6, [0, 2, 3, 4, 5]), (99, [0, 2, 3, 4, 5])):
        assert window_queries(given(bos), window).tolist() == [i + shift for i in wanted]


def test_the_last_token_that_is_asked() -> None:
    batch = given(True)
    assert last_of(batch) == 6
    batch.mask[:, 5:] = False
    assert last_of(batch) == 4
    assert only_last(batch).mask.tolist() == [[False] * 4 + [True] + [False] * 2]
    assert only_last(batch, torch.tensor([8])).targets.tolist() == [[0, 0, 0, 0, 8, 0, 0]]
    assert batch.targets.sum() == 0
