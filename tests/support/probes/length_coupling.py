"""What tests of several tiers share. C(n) of codes, hand-made and compiled models whose length coupling is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from probes.codes.code_change import Change, Codes
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import TARGET
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.programs import majority as majority_program

D = 24
INSIDE = (25, 50)
Code = Callable[[Tensor, int], Tensor]


def rows_of(x: Tensor, labels: Tensor) -> ProbeRows:
    tokens = torch.full((len(x), 8), -1)
    return ProbeRows(x[None].float(), {TARGET: labels}, torch.arange(len(x)), tokens)


def draw(code: Code, lengths: Sequence[int], batch: int, noise: float, seed: int) -> dict[int, ProbeRows]:
    """Rows ``x = code(s, n)`` plus noise of a fair bit s, drawn independently at each length."""
    generator, found = torch.Generator().manual_seed(seed), {}
    for n in lengths:
        labels = torch.randint(2, (batch,), generator=generator)
        x = code(2.0 * labels - 1, n)
        found[n] = rows_of(x + noise * torch.randn(x.shape, generator=generator), labels)
    return found


def changes(
    rows: Mapping[int, ProbeRows], inside: Sequence[int] = INSIDE, resamples: int = 40, seed: int = 0
) -> dict[tuple[int, bool], Change]:
    batch = max(len(r) for r in rows.values())
    fit = halves(batch, np.random.default_rng(seed))
    found = Codes(rows, inside, fit, lambda *parts: np.random.default_rng([seed, len(parts), parts[-1]]), resamples)
    return found.changes({n: r.x[0] for n, r in rows.items()})


def axes(*coordinates: Tensor) -> Tensor:
    x = torch.zeros(len(coordinates[0]), D)
    for i, c in enumerate(coordinates):
        x[:, i] = c
    return x


def mixture(share: float, z: float) -> Code:
    """The summary, and beside it a position code that is 0 inside training and z at 400."""
    return lambda s, n: axes(
        math.sqrt(1 - share) * s, torch.full_like(s, math.sqrt(share) * (z if n > 50 else (-0.5 if n == 25 else 0.5)))
    )


def coupled_as_known(made: str, twin: str) -> None:
    """Assert C of a model that is made by hand, or compiled.

    Logits are +-1/2, so that C follows from the accuracies alone, which are counted here.
    """
    n_max = {"robust": 205, "first": 205, "gain": 20}[twin]
    if made == "by hand":
        model = majority(gain_length=n_max, window=50 if twin == "first" else None, n_ctx=207)
    else:
        program = majority_program(more="b", fewer="a")
        model = compile(program, n_max, first_keys=50 if twin == "first" else None).model
    task, inside, lengths = Majority(), (13, 25, 51), (13, 25, 51, 103, 205)
    inside = (13,) if twin == "gain" else inside
    rows, expected = {}, {}
    for n in lengths:
        batch = task.sample(300, n, torch.Generator().manual_seed(n), "challenge")
        with torch.no_grad():
            logits = model(batch.tokens)[:, -1]
        rows[n] = rows_of(logits - logits.mean(1, keepdim=True), batch.output_summary[:, -1])
        right = [logits[rows[n].labels[TARGET] == c].argmax(1) == c for c in (0, 1)]
        balanced = float(sum(r.double().mean() for r in right) / 2)
        expected[n] = (2 - 2 * balanced) ** 2 / (1 + (2 * balanced - 1) ** 2)
    found = {n: changes(rows, inside)[n, False].draws[0] for n in lengths}
    for n in lengths:
        assert found[n] == pytest.approx(expected[n], abs=0.03), n
    if twin == "first":
        assert 0.15 < found[103] < found[205] <= 1
    else:
        assert max(found.values()) < 0.01
