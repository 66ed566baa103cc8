"""Answers as pages show them: probabilities, named components, and how near numbers must come to be right."""

from __future__ import annotations

import torch

from workbench.tasks import make_task


def test_components_are_named_by_the_tokens_that_they_are_of() -> None:
    markov, kgram = make_task("markov_chain"), make_task("in_context_kgram", symbols=3)
    assert markov.component_names == ("0", "1", "2")
    assert kgram.component_names == kgram.tokens_names[1:]
    assert len(kgram.component_names) == 3
    assert make_task("majority").component_names == ()
    assert make_task("linear_regression").component_names == (), "one number needs no name"


def test_what_counts_as_right_is_said_in_the_numbers_that_are_shown() -> None:
    task = make_task("markov_chain", tolerance=0.2)
    assert task.right_within == "within 0.2 in total variation"
    assert make_task("in_context_kgram", tolerance=0.25).right_within == "within 0.25"
    assert make_task("majority").right_within == ""
    drawn = torch.Generator().manual_seed(0)
    batch = task.sample(8, 12, drawn, "matched")
    outputs = torch.randn((*batch.tokens.shape, task.d_vocab_out), generator=drawn)
    shown = task.shown_outputs(outputs)
    torch.testing.assert_close(shown.sum(-1), torch.ones(batch.tokens.shape))
    near = (shown - batch.targets).abs().sum(-1) / 2 <= 0.2
    assert task.correct(outputs, batch).equal(near)
    assert 0 < near.sum() < near.numel()
