"""Handmade models give exactly the numbers that define them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from tests.support.held import Held, digest
from workbench.models.handmade import transformers
from workbench.models.handmade.transformers import key_head, key_tokens, majority, uniform_head
from workbench.tasks import make_task


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("margin", "keys", "visible"), [(3.0, 1, 100), (6.0, 1, 100), (2.0, 4, 100), (2.0, 10, 1000)])
def test_key_head_puts_the_closed_form_mass_on_its_keys(margin: float, keys: int, visible: int) -> None:
    tokens = key_tokens(3, visible - 1, keys, seeded())
    _, cache = key_head(margin).run_with_cache(tokens, names_filter=["blocks.0.attn.hook_pattern"])
    last = cache["blocks.0.attn.hook_pattern"][:, 0, -1]
    mass = (last * (tokens == 2)).sum(-1)
    expected = keys * math.exp(margin) / (keys * math.exp(margin) + visible - keys)
    assert torch.allclose(mass, torch.full((3,), expected), atol=1e-6)


def test_uniform_head_is_uniform() -> None:
    _, cache = uniform_head().run_with_cache(key_tokens(2, 49, 5, seeded()))
    assert torch.allclose(cache["blocks.0.attn.hook_pattern"][:, 0, -1], torch.full((2, 50), 1 / 50))


def test_majority_is_exact_on_every_string_to_length_13() -> None:
    task, model = make_task("majority"), majority()
    for length in (1, 5, 9, 13):
        strings = torch.tensor(list(itertools.product((1, 2), repeat=length)))
        batch = task.label(strings)
        assert bool(task.correct(model(batch.tokens), batch)[batch.mask].all())


def test_majority_is_exact_on_near_ties_of_long_strings() -> None:
    task, model = make_task("majority"), majority()
    for length in (401, 3201):
        rows = []
        for lead in (1, -1):
            ones = (length + lead) // 2
            row = torch.cat([torch.full((ones,), 2), torch.full((length - ones,), 1)])
            rows += [row, row.flip(0), row[torch.randperm(length, generator=seeded())]]
        batch = task.label(torch.stack(rows))
        assert bool(task.correct(model(batch.tokens), batch)[:, -1].all())


@pytest.mark.parametrize("lead", [1, 3, 5])
def test_small_gain_fails_exactly_where_the_formula_says(lead: int) -> None:
    gain_length, task = 20, make_task("majority")
    model = majority(gain_length)
    turning = round(8 * (gain_length + 1) * (lead - 0.5))
    for length in {*range(lead, 900, 62), *range(turning - 5 | 1, turning + 5, 2)}:
        lean = 8 * (gain_length + 1) * (lead - 0.5) - (length + 1)  # of the right logit over the threshold, scaled
        if lean == 0:  # an exact tie: the last bit of a float32 sum decides, and processors differ in it
            continue
        ones = (length + lead) // 2
        string = torch.tensor([[2] * ones + [1] * (length - ones)])
        batch = task.label(string)
        right = bool(task.correct(model(batch.tokens), batch)[0, -1])
        assert right == (lean > 0), (lead, length)


def test_the_window_twin_answers_from_its_window_alone() -> None:
    model = majority(window=20)
    tokens = make_task("majority").sample(64, 201, seeded(4), "matched").tokens
    other = tokens.clone()
    other[:, 21:] = 3 - other[:, 21:]
    assert torch.equal(model(tokens)[:, -1].argmax(-1), model(other)[:, -1].argmax(-1))


def test_the_window_twin_has_the_arcsine_accuracy_on_fair_bits() -> None:
    strings = torch.randint(1, 3, (1500, 201), generator=seeded(5))
    task = make_task("majority")
    batch = task.label(strings)
    accuracy = float(task.correct(majority(window=20)(batch.tokens), batch)[:, -1].double().mean())
    expected = 0.5 + math.asin(math.sqrt(20 / 201)) / math.pi  # up to ties inside the window
    assert accuracy == pytest.approx(expected, abs=0.04)


def test_key_tokens_are_among_the_first(held: Held) -> None:
    drawn = transformers.key_tokens(4, 24, 3, torch.Generator().manual_seed(2))
    assert drawn.shape == (4, 25)
    assert (drawn == 2).sum(1).tolist() == [3] * 4
    assert bool((drawn[:, 9:] == 1).all())
    full = transformers.key_tokens(4, 24, 8, torch.Generator().manual_seed(2))
    assert bool((full[:, 1:9] == 2).all())
    assert transformers.key_tokens(2, 5, 2, torch.Generator().manual_seed(0)).eq(2).sum(1).tolist() == [2, 2]
    held(digest(drawn))
