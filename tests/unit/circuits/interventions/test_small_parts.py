"""Small parts of interventions: answers with gradients, edges of circuits, heads by what they do, at their bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from circuits.interventions.ablate_components import answers, counted_queries
from circuits.interventions.ablate_edges import Edges, circuit_edges, edges_between
from circuits.interventions.heads_in_context import (
    QUANTITIES,
    READERS,
    SUPPRESSORS,
    HeadsInContext,
    by_sign,
    most_reading,
    others_of,
)
from circuits.interventions.replaced_attention import log_scaled, within
from workbench.tasks import make_task
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator


def given(rows: list[list[int]], bos: bool, prompt: int | None = None) -> Batch:
    """Strings that are asked at every place behind BOS."""
    tokens = torch.tensor(rows)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, : int(bos)] = False
    zeros = torch.zeros_like(tokens)
    return Batch(tokens, zeros, mask, zeros, None, tokens.shape[1] - int(bos), bos, "given", prompt=prompt)


def test_outputs_that_carry_gradients_are_answered_all_the_same() -> None:
    task = make_task("flip_flop")
    batch = task.sample(4, 6, generator("gradients"), "matched")
    outputs = torch.randn(*batch.tokens.shape, task.d_vocab_out, generator=torch.Generator().manual_seed(0))
    plain, carried = answers(task, outputs, batch), answers(task, outputs.clone().requires_grad_(), batch)
    assert carried.loss.tolist() == plain.loss.tolist()
    assert carried.right.tolist() == plain.right.tolist()
    assert len(plain.loss) > 0


def test_all_answers_of_a_prompt_count_and_else_the_last() -> None:
    rows = [[5, 1, 2, 3], [5, 2, 2, 1]]
    assert counted_queries(given(rows, True)).tolist() == [[False, False, False, True]] * 2
    assert counted_queries(given(rows, True, prompt=2)).tolist() == [[False, True, True, True]] * 2


# ---- edges ---------------------------------------------------------------------------------------
def edges(batch: Batch, circuit: Any, *queries: int) -> list[tuple[int, int, int]]:
    rows = torch.zeros_like(batch.tokens, dtype=torch.bool)
    rows[:, list(queries)] = True
    found = circuit_edges(batch, rows, circuit)
    assert found.query_token.tolist() == batch.tokens[found.sequence, found.query].tolist()
    assert found.key_token.tolist() == batch.tokens[found.sequence, found.key].tolist()
    return list(zip(found.sequence.tolist(), found.query.tolist(), found.key.tolist(), strict=True))


@pytest.mark.parametrize(
    ("row", "bos", "query", "induction", "anti"),
    [
        ([9, 1, 2, 3, 1], True, 4, [2], []),  # what stands before the first token is BOS, and none of the string
        ([1, 2, 3, 1], False, 3, [1], []),
        ([9, 2, 1, 3, 1], True, 4, [3], [2]),
        ([2, 1, 3, 1], False, 3, [2], [1]),
        ([9, 2, 1, 1], True, 3, [], [2]),  # behind the twin stands the query itself
        ([2, 1, 1], False, 2, [], [1]),
        ([9, 1, 1, 2, 1], True, 4, [2, 3], [2]),
        ([9, 1, 2, 3], True, 3, [], []),
    ],
)
def test_edges_of_both_circuits_by_hand(
    row: list[int], bos: bool, query: int, induction: list[int], anti: list[int]
) -> None:
    batch = given([row], bos)
    assert edges(batch, "induction", query) == [(0, query, key) for key in induction]
    assert edges(batch, "anti_induction", query) == [(0, query, key) for key in anti]


def test_edges_of_several_queries_and_strings() -> None:
    batch = given([[9, 1, 2, 1, 1], [9, 2, 2, 2, 1]], True)
    assert edges(batch, "induction", 3, 4) == [(0, 3, 2), (0, 4, 2), (1, 3, 2)]
    assert edges(batch, "anti_induction", 3, 4) == [(0, 4, 3), (1, 3, 2)]
    only = torch.zeros_like(batch.tokens, dtype=torch.bool)
    only[1, 3] = True
    assert circuit_edges(batch, only, "induction").sequence.tolist() == [1]


def test_edges_are_checked_one_by_one() -> None:
    tokens = torch.tensor([[9, 1, 2, 3], [9, 3, 2, 1]])

    def at(query: list[int], key: list[int]) -> Edges:
        return edges_between(tokens, torch.tensor([0, 1]), torch.tensor(query), torch.tensor(key))

    at([2, 3], [2, 1]).check(tokens)  # a token sees itself
    assert len(at([2, 3], [2, 1])) == 2
    with pytest.raises(ValueError, match="query 1"):
        at([2, 1], [2, 2]).check(tokens)
    right = at([2, 3], [1, 1])
    for end, said in (
        ("query_token", "the query of edge 1 should be token 7, but position 3 of sequence 1 has token 1"),
        ("key_token", "the key of edge 1 should be token 7, but position 1 of sequence 1 has token 3"),
    ):
        changed = Edges(**{**vars(right), end: torch.where(torch.tensor([False, True]), 7, getattr(right, end))})
        with pytest.raises(ValueError, match=said):
            changed.check(tokens)


# ---- heads ---------------------------------------------------------------------------------------
def test_the_heads_that_read_most_in_order() -> None:
    masses = np.array([[[0.1, 0.5, 0.2], [0.5, 0.0, 0.9]], [[0.1, 0.5, 0.4], [0.5, np.nan, 0.7]]])
    assert most_reading(masses, 3) == [(1, 2), (0, 1), (1, 0)]
    assert most_reading(masses, 6) == [(1, 2), (0, 1), (1, 0), (0, 2), (0, 0), (1, 1)]
    assert most_reading(masses, 0) == []


def test_a_head_without_which_nothing_changes_is_no_reader() -> None:
    def likely(*values: float) -> dict[str, np.ndarray]:
        return {"answer_log_probability": np.array(values), "answer_accuracy": np.zeros(len(values))}

    alone = {
        (0, 0): likely(-3.0, -1.0),
        (0, 1): likely(-2.0, -1.0),
        (1, 0): likely(-1.0, -1.0),
        (1, 1): likely(-2.5, -0.6),
    }
    assert by_sign(likely(-2.0, -1.0), alone) == {READERS: [(0, 0), (1, 1)], SUPPRESSORS: [(0, 1), (1, 0)]}


def test_others_are_neither_the_readers_nor_those_left_out() -> None:
    def others(*readers: tuple[int, int], without: Any = (), heads: int = 4) -> list[tuple[int, int]]:
        return sorted(others_of(readers, heads, np.random.default_rng(0), without))

    assert others((0, 1), (0, 3), heads=4) == [(0, 0), (0, 2)]
    assert others((0, 1), (0, 3), without=[(0, 0)]) == [(0, 2)]
    assert others((0, 1), without=[(0, 0), (0, 2)]) == [(0, 3)]
    assert others((0, 1), (2, 0), without=[(2, 1), (2, 2), (0, 0), (0, 2), (1, 3)]) == [(0, 3), (2, 3)]
    assert others((1, 0), without=[(0, 1), (2, 1)], heads=2) == [(1, 1)]
    assert others() == []


@pytest.mark.parametrize(
    ("layers", "heads", "attention", "sought"),
    [(1, 1, "softmax", False), (1, 2, "softmax", True), (2, 1, "softmax", True), (2, 2, "linear", False)],
)
def test_readers_are_sought_among_two_heads_at_least(layers: int, heads: int, attention: str, sought: bool) -> None:
    cfg = SimpleNamespace(n_layers=layers, n_heads=heads, attention=attention)
    study: Any = SimpleNamespace(cfg=cfg, grid=SimpleNamespace(lengths=()))
    rows = HeadsInContext().finish(study)
    assert [r["status"] for r in rows] == ([] if sought else ["not_applicable"] * len(QUANTITIES))


# ---- weights -------------------------------------------------------------------------------------
def test_weights_that_take_the_place_of_attention_by_hand() -> None:
    scores = torch.tensor([[[[0.0, 0.0, -torch.inf], [0.0, 1.0, 3.0]]]], dtype=torch.float64)
    assert within(2.0)(scores, range(1, 3))[0, 0].tolist() == [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    assert within(1.9)(scores, range(1, 3))[0, 0, 1].tolist() == [0.0, 0.0, 1.0]
    same = torch.tensor([[[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]]], dtype=torch.float64)
    odds = log_scaled(4.0)(same, range(2, 5))[0, 0]
    factor = torch.tensor([1.0, 1.0, np.log(5) / np.log(4)])
    assert torch.allclose((odds[:, 1] / odds[:, 0]).log(), factor.double(), atol=1e-6)
    far = log_scaled(4.0)(same, range(15, 18))[0, 0]
    assert float((far[0, 1] / far[0, 0]).log()) == pytest.approx(2.0)
