"""Attention made hard or kept sharp: nothing changes where it is already so, and dispersion is repaired."""

from __future__ import annotations

import numpy as np
import torch

from circuits.interventions.attention_swaps import swap_attention
from circuits.interventions.replaced_attention import log_scaled, tie_set, within
from tests.support.places import GALLERY
from workbench.models.handmade.attention_heads import induction_model
from workbench.runs import Run
from workbench.tasks import make_task


def test_scaling_by_log_n_repairs_dispersion_and_nothing_else() -> None:
    """A matching head of margin 3 dissolves from 21 keys on; kept sharp it answers at every length."""
    task, model = make_task("kgram_retrieval", symbols=10), induction_model(10, 3.0)
    batch = task.sample(32, 801, torch.Generator().manual_seed(0), "matched")
    before, after = swap_attention(model, task, batch, log_scaled(21.0), [(1, 0)])
    assert before.right.mean() < 0.85
    assert after.right.mean() > before.right.mean() + 0.1
    near = task.sample(48, 20, torch.Generator().manual_seed(0), "matched")
    before, after = swap_attention(model, task, near, log_scaled(21.0), [(1, 0)])
    assert np.array_equal(before.right, after.right)


def test_strict_argmax_breaks_a_trained_counter_and_the_tie_set_does_not() -> None:
    run = Run.open(GALLERY / "majority_nope_s0")
    model, n = run.load(run.steps[-1]), run.trained_length
    batch = run.task.sample(64, run.task.next_length(n), torch.Generator().manual_seed(3), "matched")
    heads = [(layer, head) for layer in range(model.cfg.n_layers) for head in range(model.cfg.n_heads)]
    accuracy = {}
    for name, pattern in (("ties", tie_set), ("strict", within(0.0)), ("delta 1", within(1.0))):
        clean, made = swap_attention(model, run.task, batch, pattern, heads)
        accuracy[name] = float(made.right.mean())
    assert clean.right.mean() > 0.97
    assert accuracy["ties"] > 0.9
    assert accuracy["strict"] < 0.85
