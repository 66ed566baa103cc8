"""What the claims on bounds compute, string by string."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.claims.exact.handmade_averages import _followers
from workbench.claims.exact.two_functions import OneHead, all_strings, gap_ratios
from workbench.tasks.registry import make_task
from workbench.theory.limit_transformers.limit_heads import LimitHead
from workbench.theory.limit_transformers.precision import p_bit_weights


def a_head(seed: int) -> OneHead:
    rng = np.random.default_rng(seed)
    return OneHead(LimitHead(2 * rng.normal(size=(2, 2, 2, 2)), rng.normal(size=2), scaling="all"), rng.normal(size=2))


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_all_strings_at_once_are_each_string_by_itself(length: int) -> None:
    one = a_head(length)
    strings = all_strings(length)
    assert len({tuple(string) for string in strings.tolist()}) == 2**length
    bare = LimitHead(one.head.content, one.head.phi)
    wanted = [p_bit_weights(bare.scores(string), length, 8) @ one.values[string] for string in strings]
    assert one.on_all(length) == pytest.approx(wanted)


def test_functions_that_differ_by_a_constant_factor_have_the_ratio_one() -> None:
    """With one value for all tokens every output is that value, so the gap is the same at every length."""
    f, g = (OneHead(a_head(seed).head, np.full(2, value)) for seed, value in ((0, 1.0), (1, 1.5)))
    assert gap_ratios(f, g) == pytest.approx([1.0] * 5)


@pytest.mark.parametrize("k", [1, 2])
def test_followers_are_counted_as_the_task_does(k: int) -> None:
    task = make_task("in_context_kgram", k=k, symbols=3)
    strings = task.sample(3, 40, torch.Generator().manual_seed(k), "matched").tokens[:, 1:]
    counts = _followers(strings, k)
    for row, string in enumerate(strings.tolist()):
        for at, wanted in enumerate(task.reference(string)):
            total = float(counts[row, at].sum())
            if wanted is not None and total:
                assert (counts[row, at] / total).tolist() == pytest.approx(wanted)
