"""Hand-made averages against formulas and plain Python."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from workbench.models.handmade.averages import class_average, kgram_average, sine_of_average
from workbench.tasks.registry import make_task
from workbench.theory.limit_transformers.checkpoint_bounds import composite, norms


def said(model, strings):
    with torch.no_grad():
        return model(torch.tensor([[0, *string] for string in strings]))[:, -1]


@pytest.mark.parametrize("omega", [0.5, 3.0])
def test_the_sine_is_missed_by_what_its_pieces_allow_and_no_less(omega: float) -> None:
    model = sine_of_average(omega, error=0.01)
    wrong = [
        abs(float(said(model, [[1] * zeros + [2] * (n - zeros)])) - math.sin(omega * (2 * zeros - n) / n))
        for n in (1, 7, 40)
        for zeros in range(n + 1)
    ]
    assert 0.002 < max(wrong) < 0.01


@pytest.mark.parametrize("omega", [1.0, 4.0])
def test_the_composite_norm_is_the_total_change_of_slope(omega: float) -> None:
    """sqrt 2 (of BOS) times 1 + the first slope + the integral of |f''|: omega cos(omega), omega^2 int |sin|."""
    steps = 200_000
    bends = sum(abs(math.sin(omega * (2 * (i + 0.5) / steps - 1))) for i in range(steps)) * 2 / steps * omega**2
    wanted = math.sqrt(2) * (1 + abs(omega * math.cos(omega)) + bends)
    assert composite(norms(sine_of_average(omega, error=1e-4))) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize(("p", "k"), [(1, 0), (2, 1), (3, 0), (5, 4)])
def test_a_class_average_counts_its_class_alone(p: int, k: int) -> None:
    task, model = make_task("mod_p_mean", p=p, k=k), class_average(p, k)
    for string in product((1, 2), repeat=7):
        assert float(said(model, [list(string)])) == pytest.approx(task.reference(string)[-1], abs=1e-6)


@pytest.mark.parametrize(("k", "score"), [(1, 2.0), (2, 3.0), (3, 1.5)])
def test_a_kgram_weighs_each_key_by_what_it_matches(k: int, score: float) -> None:
    """A softmax in plain Python over (tokens that match), the places before the string aside."""
    model = kgram_average(3, k, score, local=40.0)
    for seed in range(4):
        string = torch.randint(1, 4, (30,), generator=torch.Generator().manual_seed(seed)).tolist()
        weights, total = [0.0] * 3, 1.0  # BOS weighs 1 and says nothing
        for at in range(len(string)):
            # The k tokens before the key against the last k of the string, in order; BOS and what lies before match none.
            before = [string[at - lag] if at - lag >= 0 else 0 for lag in range(1, k + 1)]
            if at < k - 1:
                continue
            match = sum(a == b for a, b in zip(before, reversed(string[-k:]), strict=True))
            weights[string[at] - 1] += math.exp(score * match)
            total += math.exp(score * match)
        found = said(model, [string])[0]
        # The first k - 1 keys have heads that look before the string: they may weigh up to e^(score (k - 1)) each.
        slack = (k - 1) * math.exp(score * (k - 1)) / total
        assert found.tolist() == pytest.approx([w / total for w in weights], abs=1e-4 + 2 * slack)


def test_a_sharp_kgram_is_the_task() -> None:
    task, model = make_task("in_context_kgram", k=2, symbols=3), kgram_average(3, 2, 30.0, local=40.0)
    batch = task.sample(6, 200, torch.Generator().manual_seed(0), "matched")
    with torch.no_grad():
        found = model(batch.tokens)
    seen = batch.mask & ((batch.targets - 1 / 3).abs().amax(2) > 1e-6)  # keys that have occurred
    assert seen.sum() > 500
    assert (found - batch.targets).abs().amax(2)[seen].max() < 1e-4
