"""Summaries that are vectors: codes whose R^2 is known, scikit-learn as oracle, and a task of that kind."""

from __future__ import annotations

import pytest
import torch

import probes
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task


@pytest.mark.parametrize("name", ["markov_chain", "in_context_kgram", "linear_regression"])
def test_vector_summaries_of_tasks_are_measured(name):
    task = make_task(name)
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=16, n_heads=2, n_ctx=64)
    batches = [task.sample(160, n, torch.Generator().manual_seed(n), "matched") for n in (13, 25, 51)]
    model, untrained = HookedTransformer(cfg, seed=1).eval(), HookedTransformer(cfg, seed=0).eval()
    frame = probes.probe(model, batches, inside=(13, 25), untrained=untrained, resamples=20).frame()
    assert set(frame[frame["control"] == ""]["status"]) == {"ok"}
    silent = frame[frame["status"] != "ok"]  # of a control one heavy string may leave nothing to say
    assert len(silent) <= 1
    assert silent["note"].str.contains("says nothing").all()
    assert set(frame["quantity"]) == {"summary_decodability", "summary_rmse", "selectivity"}
    refit = frame[(frame["quantity"] == "summary_decodability") & (frame["mode"] == "refit") & (frame["control"] == "")]
    assert refit["value"].between(-5, 1).all()
