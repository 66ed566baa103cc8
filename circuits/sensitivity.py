"""``circuits.function``: how sensitive is the computed function, and how sharp is the minimum of its weights?

In transformers, functions whose answer changes with many single tokens are in sharp minima (Hahn and Rofin 2024, "Why
are Sensitive Functions Hard for Transformers?"). Their sensitivity grows with length, and so does the sharpness that it
requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from circuits.interventions.ablate_components import answers
from circuits.passes import evaluation_ids, pieces
from workbench.core.names import MATCHED
from workbench.measure.grid import lengths_for
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import mean_row, missing_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Factors, Positive
from workbench.table.schema import Row
from workbench.tasks.batch import TaskError

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NAME = "circuits.function"
LAW = MATCHED

QUANTITIES = (
    Quantity(
        "average_sensitivity",
        "Mean number of positions at which the last answer changes if another random token replaces the token there. "
        "The tokens of the sequences are drawn uniformly from those that sequences of the task contain. The control "
        "is the sensitivity of the task's own answers. Higher values mean that more single tokens matter (Hahn and "
        "Rofin 2024).",
        "tokens",
        0,
        formula="⟨Σ_{i ≤ n} 1[f(x^{(i)}) ≠ f(x)]⟩",
        where="f: last answer, x^{(i)}: x with another random token at i",
        controls=("task",),
    ),
    Quantity(
        "sharpness",
        "Mean rise of the loss at n when Gaussian noise of standard deviation eps is added to all weights. "
        "Higher values mean a sharper minimum.",
        "nats",
        formula="⟨l(θ + ε z) − l(θ)⟩",
        where="l: loss at n, θ: all weights, z: standard normal",
    ),
)


class Function(MeasurementWithoutBatches):
    """Measure the average sensitivity of the answers, and the sharpness of the loss.

    Args:
        strings: random sequences per length.
        positions: maximum number of changed positions per sequence. If a sequence has more, the value is an estimate
            from a sample.
        eps: standard deviation of the weight noise.
        repeats: draws of that noise.
        factors: lengths, as multiples of the longest trained one.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 2
    title = "Sensitivity and sharpness"
    quantities = QUANTITIES
    laws = ()
    sequences = 32

    strings: Count = 16
    positions: Count = 16
    eps: Positive = 0.02
    repeats: Count = 10
    factors: Factors = (0.25, 1, 4)
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        near = lengths_for(study.grid, self.factors)
        return [r for n in near for r in [*self._sensitivity(study, n), self._sharpness(study, n)]]

    def _sensitivity(self, study: Study, length: int) -> list[Row]:
        batch = study.batch(LAW, length)
        first = int(batch.bos)
        alphabet = batch.tokens[:, first:].unique()
        place: dict[str, Any] = {"length": length, "quantity": "average_sensitivity"}
        if study.task.real or len(alphabet) < 2:
            why = "a sensitivity counts changes between classes" if study.task.real else "strings hold one token only"
            return [missing_row("not_applicable", why, **place)]
        rng = study.rng(NAME, "strings", length)
        strings = alphabet[torch.as_tensor(rng.integers(0, len(alphabet), (self.strings, length)))]
        chosen = np.sort(rng.permutation(length)[: self.positions])
        sampled = {"status": "sampled"} if len(chosen) < length else {}
        note = f"{len(chosen)} of {length} positions"
        study.passes += 1 + len(chosen)
        of_model = sensitivity(lambda x: model_answers(study.model, study.task, x), strings, chosen, alphabet, rng)
        between = (0.0, float(length))
        rows = [mean_row(of_model, rng, self.resamples, "", between, **place, **sampled, note=note)]
        own = sensitivity(lambda x: task_answers(study.task, x), strings, chosen, alphabet, rng)
        none = "the task answers none of these strings with and without a change"
        return [*rows, mean_row(own, rng, self.resamples, none, between, control="task", note=note, **place)]

    def _sharpness(self, study: Study, length: int) -> Row:
        batch = study.batch(LAW, length)
        found = sharpness(study.model, study.task, batch, self.eps, self.repeats, study.rng(NAME, "noise", length))
        study.passes += 1 + self.repeats
        rng = study.rng(NAME, "sharpness", length)
        place: dict[str, Any] = {"length": length, "law": LAW, "quantity": "sharpness", "note": f"eps {self.eps:g}"}
        return mean_row(found, rng, self.resamples, "the task asks nothing at this length", **place)


def function_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 32, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.function`` for one model, without a run; see :class:`Function`."""
    made = Function(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


def sensitivity(
    answer: Any,
    strings: Int[Tensor, "string length"],
    positions: NDArray[np.int64],
    alphabet: Int[Tensor, " token"],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return ``[string]``, the estimated number of positions whose change changes the answer.

    The estimate is the length times the share of tested changes.

    Args:
        answer: maps sequences to answers ``[string]``, -1 where there is none.
        strings: token ids, without BOS.
        positions: indices that are changed, one at a time, each to another random token of the alphabet.
        alphabet: sorted token ids.
        rng: chooses the new tokens.

    Returns:
        NaN where a sequence has no answer, or no answer after every change.
    """
    base = answer(strings)
    changed, tried = np.zeros(len(strings)), np.zeros(len(strings))
    for position in positions:
        shift = torch.as_tensor(rng.integers(1, len(alphabet), len(strings)))
        other = strings.clone()
        place = torch.searchsorted(alphabet, strings[:, position].contiguous())
        other[:, position] = alphabet[(place + shift) % len(alphabet)]
        found = answer(other)
        both = (base >= 0) & (found >= 0)
        changed += both & (base != found)
        tried += both
    share = np.divide(changed, tried, out=np.full(len(strings), np.nan), where=tried > 0)
    return np.asarray(strings.shape[1] * share)


def model_answers(model: HookedModel, task: Task, strings: Int[Tensor, "string length"]) -> NDArray[np.int64]:
    """Return the model's answer to each whole sequence, whether or not the task has a query there."""
    batch = _placeholder_batch(task, strings)
    with torch.no_grad():
        parts = [model(piece.tokens, evaluation_ids(model, piece))[:, -1].argmax(-1) for piece in pieces(batch)]
    found: NDArray[np.int64] = torch.cat(parts).numpy(force=True)
    return found


def task_answers(task: Task, strings: Int[Tensor, "string length"]) -> NDArray[np.int64]:
    """Return the right answer to each whole sequence; -1 where there is no query."""
    try:
        batch = task.label(strings)
    except TaskError:
        return np.full(len(strings), -1)
    asked = batch.mask[:, -1]
    found: NDArray[np.int64] = torch.where(asked, batch.targets[:, -1], -1).numpy(force=True)
    return found


def sharpness(
    model: HookedModel, task: Task, batch: Batch, eps: float, repeats: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return ``[sequence]``, the mean rise of the loss under Gaussian noise on all weights; they are restored."""

    def losses() -> NDArray[np.float64]:
        with torch.no_grad():
            parts = [answers(task, model(p.tokens, evaluation_ids(model, p)), p).loss for p in pieces(batch)]
        return np.concatenate(parts)

    clean = losses()
    rise = np.zeros_like(clean)
    for _ in range(repeats):
        with noisy(model, eps, int(rng.integers(2**31))):
            rise += losses() - clean
    return rise / repeats


@contextmanager
def noisy(model: Any, eps: float, seed: int) -> Iterator[None]:
    """Add Gaussian noise to the model's weights inside the context; afterwards they are bit-identical to before."""
    generator = torch.Generator().manual_seed(seed)
    originals = [parameter.detach().clone() for parameter in model.parameters()]
    try:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += eps * torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter)
        yield
    finally:
        with torch.no_grad():
            for parameter, own in zip(model.parameters(), originals, strict=True):
                parameter.copy_(own)


def _placeholder_batch(task: Task, strings: Int[Tensor, "string length"]) -> Batch:
    """Return a batch of given sequences for the model only; its labels are placeholders."""
    from workbench.tasks.batch import Batch

    tokens = torch.cat([strings.new_zeros(len(strings), 1), strings], 1) if task.bos else strings
    empty = torch.zeros_like(tokens)
    return replace(
        Batch(tokens, empty, empty.bool(), empty, None, strings.shape[1], task.bos, "given"), position_ids=None
    )
