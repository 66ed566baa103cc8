"""Predictive position coupling: a model that says which coupled id its next token has, and is held to it."""

from __future__ import annotations

import math

import pytest
import torch

from tests.support.models.reference import build, tokens
from workbench.models.transformer.predicted_ids import (
    id_loss,
    ids_right,
    ids_supervised,
    next_id_hooks,
    outputs_and_ids,
)


def test_predicted_ids_are_those_of_the_next_tokens() -> None:
    mask = torch.tensor([[False, True, False, True], [True, True, False, False]])
    ids, said = torch.tensor([[0, 3, 1, 2]]), torch.tensor([[9, 1, 9, 9], [3, 0, 9, 9]])
    assert ids_supervised(mask).tolist() == [[False, True, False], [True, True, False]]
    assert ids_right(said, ids, mask).tolist() == [[True, True, True, True], [True, False, True, True]]
    logits = torch.zeros(2, 4, 5)
    assert float(id_loss(logits, ids, mask)) == pytest.approx(math.log(5))
    logits[0, 1, 1] = logits[1, 0, 3] = logits[1, 1, 1] = 50.0
    assert float(id_loss(logits, ids, mask)) == pytest.approx(0.0, abs=1e-6)


def test_a_model_that_predicts_ids_says_them_and_others_none() -> None:
    model, x = build("none", ids="predicted").eval(), tokens(2, 6)
    logits, ids = outputs_and_ids(model, x, torch.arange(6)[None])
    assert torch.equal(logits, model(x))
    hidden = model.ln_final(model(x, stop_at_layer=2))
    assert torch.equal(ids, model.unembed_ids(hidden).argmax(-1))
    assert outputs_and_ids(build("none").eval(), x, torch.arange(6)[None])[1] is None
    assert (next_id_hooks(model.cfg), next_id_hooks(build("none").cfg)) == (["hook_next_ids"], [])
