"""What tests of several tiers share. Compiled programs: the sizes that are known, every prefix of every short string, every dimension's value."""

from __future__ import annotations

import itertools

import torch

from workbench.tasks import make_task
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.zoo import Case

# ---- tasks ---------------------------------------------------------------------------------------
QUICK = ("majority", "tomita_4", "ul", "ub")
"""Cases whose tasks are quick to make."""


def solves_its_task(case: Case) -> None:
    """Assert that the compiled program answers its case's task."""
    assert case.task is not None
    task = make_task(case.task[0], **case.task[1])
    compiled = compile(case.program, 200)
    assert task.tokens_names == tuple(compiled.token_ids)
    assert task.d_vocab_out == len(compiled.answers)
    generator = torch.Generator().manual_seed(0)
    lengths = [n for n in range(1, 120) if task.admissible(n)]
    for law, length in itertools.product(("matched", "challenge"), {lengths[0], lengths[-1]}):
        batch = task.sample(20, length, generator, law, window=5)
        right = task.correct(compiled.model(batch.tokens), batch)
        assert bool(right[batch.mask].all()), (law, length)
