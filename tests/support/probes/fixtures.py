"""Codes written by hand into a residual stream, and what the probes read of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from probes.summary import Summary
from workbench.tasks.base import Batch

Cells = dict[tuple[str, str], dict[str, Any]]


def rng_of(seed: int) -> Callable[..., np.random.Generator]:
    return lambda *parts: np.random.default_rng([seed, *repr(parts).encode()])


def summary_batch(summary: Tensor, length: int, tokens: Tensor | None = None) -> Batch:
    """A batch whose every prefix has the same summary and whose last query is supervised."""
    batch = len(summary)
    mask = torch.zeros(batch, length, dtype=torch.bool)
    mask[:, -1] = True
    spread = summary[:, None].expand(batch, length)
    return Batch(
        tokens=torch.zeros(batch, length, dtype=torch.long) if tokens is None else tokens,
        targets=spread,
        mask=mask,
        output_summary=spread,
        update_summary=None,
        length=length,
        bos=False,
        law="matched",
    )


def stream(x: Tensor, length: int) -> dict[str, Tensor]:
    """A cache of one site: ``x [batch, d]`` at every position."""
    return {"blocks.0.hook_resid_pre": x[:, None, :].expand(len(x), length, x.shape[1])}


@pytest.fixture
def at() -> Callable[..., Cells]:
    """Rows of the last layer at one length, by (mode, control)."""

    def cells(
        rows: Sequence[dict[str, Any]],
        length: int,
        quantity: str = "summary_decodability",
        target: str = "output_summary",
    ) -> Cells:
        last = max(r["layer"] for r in rows)
        place = (length, quantity, last, target)
        chosen = [r for r in rows if (r["length"], r["quantity"], r["layer"], r["target"]) == place]
        return {(r["mode"], r["control"]): r for r in chosen}

    return cells


@pytest.fixture
def generators() -> Callable[[int], Callable[..., np.random.Generator]]:
    """Named generators of one seed."""
    return rng_of


@pytest.fixture
def read_code() -> Callable[..., list[dict[str, Any]]]:
    """Summary probes of a code ``x = code(summary [batch], length) [batch, d]`` plus noise."""

    def read(
        code: Callable[[Tensor, int], Tensor],
        lengths: Sequence[int] = (25, 50, 400),
        inside: tuple[int, ...] = (25, 50),
        draw: Callable[[torch.Generator, int], Tensor] | None = None,
        batch: int = 2400,
        noise: float = 0.3,
    ) -> list[dict[str, Any]]:
        generator = torch.Generator().manual_seed(7)
        measurement = Summary(resamples=50)
        for length in lengths:
            summary = torch.randint(2, (batch,), generator=generator) if draw is None else draw(generator, batch)
            clean = code(summary, length)
            x = clean + noise * torch.randn(clean.shape, generator=generator)
            measurement.observe("matched", length, summary_batch(summary, length), stream(x, length))
        return measurement.decode(inside, rng_of(3), lambda: None)

    return read


@pytest.fixture
def measured() -> Callable[..., list[dict[str, Any]]]:
    """``measured(run, step, name, lengths=..., **settings)``: the rows of one measurement of one checkpoint."""
    from workbench.measure.grid import make_grid, readable
    from workbench.measure.registry import make_measurement
    from workbench.measure.running.engine import Isolation, ObservedMeasurement, mark_unseen, observe_all
    from workbench.measure.study import CheckpointStudy, Evaluation

    def measure(
        run: Any, step: int, name: str, lengths: Sequence[int] | None = None, sequences: int = 128, **settings: Any
    ) -> list[dict[str, Any]]:
        model = run.load(step)
        whole = make_grid(run.task, run.trained_length, lengths)
        grid, _ = readable(whole, run.task, model.cfg, strict=False)
        evaluation = Evaluation(run.task, grid, 0, sequences, consistent=model.cfg.ids.consistent)
        measurement, apart = make_measurement(name, settings), Isolation()
        study = CheckpointStudy(run, step, model, evaluation, sequences)
        observe_all(model, evaluation, [ObservedMeasurement(measurement, study, name)], apart)
        assert not apart.failures
        return mark_unseen(measurement.finish(study), study)

    return measure
