"""Sets of keys that are carried on, copying read off weights, notes of sinks: by hand, at their bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from circuits.attention.attention_scores import pool_attention
from circuits.heads.contributions import CarriedSets
from circuits.heads.head_scores import ov_copying, rows_of_scores, token_scores
from circuits.heads.repeat_scores import BEHIND, _behind, displacements
from circuits.sparsity.measurement import keys_needed
from workbench.models.transformer.scores import ScoreInputs


def standing(keys: int, *sizes: int) -> torch.Tensor:
    """Scores of one head in some sequences: that many keys stand out by 30, the first ones."""
    return torch.stack([30.0 * (torch.arange(keys) < size) for size in sizes])[:, None].double()


def carried(sizes: dict[int, tuple[int, ...]], trained: int, to: int = 40) -> tuple[int, str]:
    """How many keys are chosen at a length whose scores rise from key to key, and the note."""
    sets = CarriedSets(trained)
    for length, of_length in sizes.items():
        sets.choose(length, standing(length, *of_length))
        sets.learn(length, length)
    chosen = sets.choose(to, torch.arange(to).double().expand(2, 1, to))
    assert torch.equal(chosen[0, 0], torch.arange(to) >= to - int(chosen[0].sum())), "the highest ones"
    return int(chosen[0].sum()), sets.notes[0]


@pytest.mark.parametrize(
    ("sizes", "count", "note"),
    [
        ({8: (3, 3, 3)}, 3, "set: top 3 keys, as at 8"),
        ({8: (1, 3, 5)}, 3, "set: top 3 keys, as at 8"),
        ({8: (3, 3, 8, 8)}, 3, "set: top 3 keys, as at 8"),  # everything in half of the sequences
        ({8: (3, 8, 8)}, 40, "set: all keys, as within training"),
        ({4: (2, 2), 8: (3, 3)}, 3, "set: top 3 keys, as at 8"),  # 2 to 3 over 4 to 8: power 0.58
        ({4: (1, 1), 8: (3, 3)}, 15, "set: top 0.375 of all keys, as at 8"),
        ({8: (2, 2), 16: (16, 16)}, 2, "set: top 2 keys, as at 8"),
        ({4: (4, 4), 16: (5, 5)}, 5, "set: top 5 keys, as at 16"),  # from all 4 keys to 5 of 16
        ({4: (4, 4), 16: (12, 12)}, 30, "set: top 0.75 of all keys, as at 16"),
        ({8: (2, 3)}, 2, "set: top 2 keys, as at 8"),
        ({8: (1, 1)}, 1, "set: top 1 keys, as at 8"),
        ({1: (1, 1), 16: (8, 8)}, 8, "set: top 8 keys, as at 16"),  # power 3/4 itself is not yet in proportion
    ],
)
def test_sets_are_carried_by_their_size_or_their_share(
    sizes: dict[int, tuple[int, ...]], count: int, note: str
) -> None:
    assert carried(sizes, trained=16) == (count, note)


def test_within_training_a_set_is_the_tie_set_and_without_it_always() -> None:
    sets = CarriedSets(8)
    for length in (8, 16):
        chosen = sets.choose(length, standing(length, 3, 2))
        assert chosen.sum(-1)[:, 0].tolist() == [3, 2]
        assert sets.notes == [""]
        if length > 8:
            sets.learn(length, length)
    sets.learn(8, 8)
    assert sets.choose(16, standing(16, 5)).sum() == 2
    assert sets.choose(8, standing(8, 5)).sum() == 5


# ---- copying -------------------------------------------------------------------------------------
def model_of(tokens: int, outputs: int, shift: int = 0) -> Any:
    """One head that says the token it reads, or one that is so many ids further; an id of more tokens than outputs is BOS."""
    first = min(1, max(0, tokens - outputs))
    unembed = torch.zeros(tokens, outputs)
    for o in range(outputs):
        unembed[min(o + first, tokens - 1), (o + shift) % outputs] = 1.0
    eye = torch.eye(tokens)
    return SimpleNamespace(W_E=eye, W_V=eye[None, None], W_O=eye[None, None], W_U=unembed)


@pytest.mark.parametrize(("tokens", "outputs"), [(4, 4), (5, 4), (6, 4), (2, 2), (3, 2)])
def test_a_head_that_copies_copies_all(tokens: int, outputs: int) -> None:
    assert ov_copying(model_of(tokens, outputs)).tolist() == [[1.0]]
    assert ov_copying(model_of(tokens, outputs, shift=1)).tolist() == [[0.0]]


@pytest.mark.parametrize(("tokens", "outputs"), [(7, 4), (3, 4), (2, 1), (1, 1)])
def test_outputs_that_are_no_tokens_have_no_own_logit(tokens: int, outputs: int) -> None:
    with pytest.raises(ValueError, match=f"{outputs}"):
        ov_copying(model_of(tokens, outputs))


def test_weights_that_are_not_there_are_named() -> None:
    with pytest.raises(ValueError, match="W_E"):
        ov_copying(SimpleNamespace(W_E=torch.eye(2), W_V=None))  # type: ignore[arg-type]


# ---- rows ----------------------------------------------------------------------------------------
def test_a_sink_is_named_above_its_bar_and_the_definition_stands_in_rows_of_anti_induction() -> None:
    study: Any = SimpleNamespace(rng=lambda *parts: np.random.default_rng(0))
    values = np.array([[0.9, 0.95], [0.9, 0.95]])
    layers = [{"sink": values, "anti_induction": values, "anti_induction_mass": values, "induction": values}]
    rows = rows_of_scores(study, "circuits.heads", 9, layers, "task", "before", 5)
    assert [bool(r["note"].startswith("a sink")) for r in rows if r["quantity"] == "sink"] == [False, True]
    assert not any("a sink" in (r["note"] or "") for r in rows if r["quantity"] != "sink")
    targets = {r["quantity"]: r["target"] for r in rows}
    assert targets == {"sink": "", "anti_induction": "before", "anti_induction_mass": "before", "induction": ""}


def test_where_a_head_has_most_is_asked_of_the_first_half_of_an_odd_number_of_strings() -> None:
    scores = {_behind(d): np.zeros((5, 1)) for d in range(1, BEHIND + 1)}
    scores[_behind(2)][0] = scores[_behind(3)][1] = 1.0
    scores[_behind(3)][0] = 0.5
    scores[_behind(1)][2:] = 9.0
    assert displacements(scores).tolist() == [3]


# ---- gradients -----------------------------------------------------------------------------------
def test_scores_that_carry_gradients_are_read_all_the_same() -> None:
    drawn = torch.randn(3, 2, 6, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q, k, v = drawn
    plain, carrying = ScoreInputs(q, k), ScoreInputs(q.clone().requires_grad_(), k)
    tokens = torch.tensor([[1, 2, 1, 2, 1, 2], [1, 1, 2, 2, 1, 1]])
    own, found = (token_scores(inputs, tokens, torch.arange(3, 6)) for inputs in (plain, carrying))
    assert all(np.array_equal(own[name], found[name], equal_nan=True) for name in own)
    alone = [ScoreInputs(i.q[:1, :, :1].float(), i.k[:1, :, :1].float()) for i in (plain, carrying)]
    one, other = (pool_attention(inputs, 2) for inputs in alone)
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
    needed, same = keys_needed(plain, v, 0.1), keys_needed(carrying, v.clone().requires_grad_(), 0.1)
    assert needed is not None
    assert same is not None
    assert needed.tolist() == same.tolist()
