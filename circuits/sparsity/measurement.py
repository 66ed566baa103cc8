"""``circuits.sparsity``: on how few tokens does a head's output depend, and on how few does the answer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.score_observer import LayerReducer, ScoreObserver
from circuits.sparsity.influence import Influence, influential_tokens, recall
from workbench.core.names import MATCHED
from workbench.measure.measurement import Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import mean_row, missing_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Share
from workbench.table.schema import Row, row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch, Task

NAME = "circuits.sparsity"
LAW = MATCHED
PLANTED = ("planted", "key_position", "answer_position")

QUANTITIES = (
    Quantity(
        "keys_needed",
        "Smallest number k for which the k keys with the highest weights, renormalised, give an output within eps of "
        "the head's full output. The difference is a root mean square over queries. It is divided by the root mean "
        "square deviation of the full outputs from their mean. Small values mean sparse attention.",
        "keys",
        1,
        formula="min { k : rms |o − o_{k}| ≤ ε rms |o − ō| }",
        where="o: output of the head, o_{k}: that of its k heaviest keys, renormalised, ō: mean output",
        interval=False,
    ),
    Quantity(
        "keys_share",
        "`keys_needed` divided by the number of visible keys.",
        "share",
        0,
        1,
        formula="k / K",
        where="k: keys_needed",
        interval=False,
    ),
    Quantity(
        "loss_long",
        "Loss of the last query when every token is visible.",
        "nats",
        formula="l(x_{1} … x_{n})",
        where="l: mean loss of the last query, given the tokens it may see",
    ),
    Quantity(
        "loss_short",
        "Loss of the last query when only the last N tokens are visible, where N is the longest trained length.",
        "nats",
        formula="l(x_{n−N+1} … x_{n})",
        where="l as in loss_long",
    ),
    Quantity(
        "loss_sparse",
        "Loss of the last query when only the last N tokens and the k most influential earlier tokens are visible.",
        "nats",
        formula="l(I_{k}, x_{n−N+1} … x_{n})",
        where="I_{k}: the k most influential earlier tokens",
    ),
    Quantity(
        "sparse_gap",
        "`loss_sparse` minus `loss_long`: what the other earlier tokens contribute. Near 0, k earlier tokens suffice.",
        "nats",
        formula="l(I_{k}, x_{n−N+1} … x_{n}) − l(x_{1} … x_{n})",
    ),
    Quantity(
        "planted_recall",
        "Of the positions that the task needs (planted tokens, or key and answer), the share that is among the k "
        "most influential positions of the whole sequence. 1 means that the model depends on the intended tokens.",
        "share",
        0,
        1,
        formula="⟨|I_{k} ∩ S| / |S|⟩",
        where="S: these positions",
    ),
)

OF_HEADS = ("keys_needed", "keys_share")
OF_WINDOWS = ("loss_long", "loss_short", "loss_sparse", "sparse_gap")
REDUNDANT = "leave-one-out: of two copies of a fact neither shows"


class Sparsity(ScoreObserver["NDArray[np.int64] | None"]):
    """Measure how many keys each head needs, and how many earlier tokens the answer needs.

    Args:
        eps: relative error in the definition of ``keys_needed``.
        k: number of influential tokens.
        longest: longest prefix that is searched token by token, with one forward pass for each.
        searched: number of searched sequences.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 2
    title = "Sparsity"
    quantities = QUANTITIES
    sequences = 128

    eps: Share = 0.1
    k: Count = 5
    longest: Count = 64
    searched: Count = 8
    resamples: Count = 400

    def further(self, layer: int) -> list[str]:
        return [f"blocks.{layer}.attn.hook_v"]

    def reducer(self, batch: Batch) -> KeysNeeded:
        return KeysNeeded(len(batch), self.eps)

    def finish(self, study: Study) -> list[Row]:
        rows = [r for n, layers in self._seen.items() for r in self._head_rows(study, n, layers)]
        searched = [n for n in study.grid.lengths if n <= self.longest]
        outside = [n for n in searched if n > study.grid.trained]
        rows += self._windows(study, max(outside) if outside else None)
        return rows + self._planted(study, max((n for n in searched if n <= study.grid.trained), default=None))

    def _head_rows(self, study: Study, length: int, layers: Sequence[NDArray[np.int64] | None]) -> list[Row]:
        rows = []
        batch = study.batch(LAW, length)
        keys = batch.index(length) + 1
        for layer, counts in enumerate(layers):
            for head in range(study.cfg.n_heads):
                place: dict[str, Any] = {"law": LAW, "length": length, "layer": layer, "head": head, "n": len(batch)}
                if counts is None or counts[head] == 0:
                    why = "needs outputs that differ between sequences"
                    rows += [missing_row("undefined", why, quantity=q, **place) for q in OF_HEADS]
                    continue
                rows.append(row(quantity="keys_needed", value=float(counts[head]), **place))
                rows.append(row(quantity="keys_share", value=float(counts[head] / keys), **place))
        return rows

    def _windows(self, study: Study, length: int | None) -> list[Row]:
        if length is None:
            why = f"no measured length past training is at most {self.longest} (setting longest)"
            return [missing_row("not_applicable", why, quantity=q, law=LAW) for q in OF_WINDOWS]
        influence = self._search(study, length, study.grid.trained)
        place: dict[str, Any] = {"law": LAW, "length": length, "note": f"k = {self.k}; {REDUNDANT}"}
        if influence is None:
            return [
                missing_row("undefined", "the task asks nothing at this length", quantity=q, **place)
                for q in OF_WINDOWS
            ]
        values = (
            influence.loss_long,
            influence.loss_short,
            influence.loss_sparse,
            influence.loss_sparse - influence.loss_long,
        )
        rng = study.rng(NAME, "windows", length)
        return [
            mean_row(value, rng, self.resamples, "", quantity=q, **place)
            for q, value in zip(OF_WINDOWS, values, strict=True)
        ]

    def _planted(self, study: Study, length: int | None) -> list[Row]:
        place: dict[str, Any] = {"law": LAW, "length": length, "quantity": "planted_recall"}
        if length is None:
            why = f"no trained length is at most {self.longest} (setting longest)"
            return [missing_row("not_applicable", why, **place)]
        batch = study.batch(LAW, length).rows(0, self.searched)
        planted = planted_positions(batch)
        if planted is None:
            return [missing_row("not_applicable", "the task names no positions", **place)]
        found = self._search(study, length, 0, k=max(len(wanted) for wanted in planted))
        if found is None:
            return [missing_row("undefined", "the task asks nothing at this length", **place)]
        rng = study.rng(NAME, "planted", length)
        shares = recall(found.chosen, planted)
        return [mean_row(shares, rng, self.resamples, "nothing is planted", (0.0, 1.0), note=REDUNDANT, **place)]

    def _search(self, study: Study, length: int, window: int, k: int | None = None) -> Influence | None:
        batch = study.batch(LAW, length).rows(0, self.searched)
        if not bool(batch.mask[:, -1].all()):
            return None
        study.passes += length - window + 3
        return influential_tokens(study.model, study.task, batch, k or self.k, window)


def sparsity_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 128, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.sparsity`` for one model, without a run; see :class:`Sparsity`."""
    made = Sparsity(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


class KeysNeeded(LayerReducer["NDArray[np.int64] | None"]):
    """Computes the keys needed by the last queries of all sequences, ``[head]``; 0 where their outputs do not differ.

    Let o be a head's output, and o_k that of its k heaviest keys, renormalised. The result is the smallest k with rms
    |o - o_k| <= eps rms |o - mean o| over queries. Deviations are taken around the mean, because otherwise any few keys
    would suffice wherever values have a mean. For example, let values have mean 1 and deviation 1. Then half of the
    keys of a uniform head give o to 3 %. Around the mean, a uniform head needs K / (1 + eps^2) of its K keys. Equal
    weights are ordered at random. The result is None for fewer than two sequences.

    Args:
        sequences: number of sequences.
        eps: as above.
    """

    def __init__(self, sequences: int, eps: float) -> None:
        self._sequences, self._eps = sequences, eps
        self._generator = torch.Generator().manual_seed(0)
        self._errors: list[Tensor] = []
        self._total: Tensor | None = None
        self._outputs: list[Tensor] = []

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (values,) = (value for name, value in seen.items() if name.endswith(".hook_v"))
        self.take(inputs, values)

    def take(self, inputs: ScoreInputs, values: Float[Tensor, "batch pos head d_head"]) -> None:
        """Add the next sequences."""
        size, heads = inputs.k.shape[1], inputs.k.shape[2]
        step = max(1, HELD // (heads * size * values.shape[-1]))
        for start in range(0, len(inputs.q), step):
            rows = slice(start, start + step)
            chosen = inputs.select(rows)
            weights = chosen.pattern(scores_at(chosen, [size - 1]).double())[:, :, 0]
            shuffled = torch.rand(weights.shape, generator=self._generator).argsort(-1)
            order = shuffled.gather(-1, weights.gather(-1, shuffled).argsort(-1, descending=True))
            sorted_weights = weights.gather(-1, order)
            v = values[rows].double().transpose(1, 2)
            sorted_values = torch.take_along_dim(v, order[..., None], 2)
            partial = (sorted_weights[..., None] * sorted_values).cumsum(2) / sorted_weights.cumsum(2)[..., None]
            own = torch.einsum("bhk,bhke->bhe", weights, v)
            self._outputs.append(own)
            self._sum((partial - own[:, :, None]).pow(2).sum(-1), step)

    def _sum(self, errors: Float[Tensor, "batch head key"], step: int) -> None:
        """Add up errors, always ``step`` sequences at a time, so that sums are bit-identical for any chunk size."""
        if self._total is None:
            self._total = torch.zeros(errors.shape[1:], dtype=torch.float64)
        self._errors.append(errors)
        while sum(map(len, self._errors)) >= step:
            held = torch.cat(self._errors)
            self._total += held[:step].sum(0)
            self._errors = [held[step:]]

    def result(self) -> NDArray[np.int64] | None:
        if self._sequences < 2:
            return None
        assert self._total is not None
        rest = torch.cat(self._errors)
        total = self._total + rest.sum(0) if len(rest) else self._total
        all_outputs = torch.cat(self._outputs)
        spread = (all_outputs - all_outputs.mean(0)).pow(2).sum(-1).sum(0)
        enough = total <= self._eps**2 * spread[:, None]
        # The last column is 0 up to rounding.
        enough[:, -1] = True
        first = enough.double().argmax(-1) + 1
        flat = spread <= 1e-20 * all_outputs.pow(2).sum((0, 2)).clamp(min=1e-300)
        found: NDArray[np.int64] = torch.where(flat, 0, first).numpy(force=True)
        return found


HELD = 1 << 22
"""Number of entries of sorted values in memory at once."""


def keys_needed(
    inputs: ScoreInputs, values: Float[Tensor, "batch pos head d_head"], eps: float
) -> NDArray[np.int64] | None:
    """Return the keys needed by the heads of one layer, from the score inputs and values of all sequences."""
    needed = KeysNeeded(len(inputs.q), eps)
    needed.take(inputs, values)
    return needed.result()


def planted_positions(batch: Batch) -> list[set[int]] | None:
    """Return, per sequence, the indices on the position axis that the task's meta names; None if it names none."""
    named = [batch.meta[name].reshape(len(batch), -1) for name in PLANTED if name in batch.meta]
    if not named:
        return None
    shift = 0 if batch.bos else 1
    together = torch.cat(named, 1)
    return [{int(p) - shift for p in places if p > 0} for places in together.tolist()]
