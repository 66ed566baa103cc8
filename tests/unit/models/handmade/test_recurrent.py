"""The handmade recurrent network: exact at every length, with states of whole numbers."""

from __future__ import annotations

import pytest
import torch

from circuits import extract_automaton
from workbench.models.handmade.recurrent import parity
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize("length", [1, 2, 47, 10_000])
def test_every_prefix_is_answered_exactly(law: str, length: int) -> None:
    task, model = make_task("parity"), parity()
    batch = task.sample(4, length, generator("handmade", length), law, window=32)
    with torch.no_grad():
        right = task.correct(model(batch.tokens), batch)
    assert bool(right[batch.mask].all())


def test_its_state_is_the_parity_and_three_values_occur() -> None:
    batch = make_task("parity").sample(2, 10_000, generator("exact"), "matched")
    hook = "blocks.0.mixer.hook_rnn_state"
    _, cache = parity().run_with_cache(batch.tokens, names_filter=hook)
    odd = (batch.tokens == 2).cumsum(1) % 2
    assert torch.equal(cache[hook].sum(-1), odd.float())
    assert {tuple(state) for state in cache[hook].flatten(0, 1).unique(dim=0).tolist()} == {(0, 0), (0, 1), (1, 0)}


def test_its_three_states_are_an_automaton_of_parity() -> None:
    """Zero ones, an odd number and a positive even number are three states, and two of them after minimization."""
    automaton = extract_automaton(parity(), make_task("parity"))
    assert (automaton.finite, len(automaton)) == (True, 3)
    assert automaton.computes_task
