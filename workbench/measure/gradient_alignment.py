"""``dynamics``: the cosine between gradients of the loss at short and long lengths.

A high cosine means that a training step that helps at one length also helps at the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, PrivateAttr

from workbench.core.names import MATCHED
from workbench.measure.intervals import interval
from workbench.measure.measurement import Measurement, Quantity, Study
from workbench.measure.settings import Count
from workbench.table.schema import Row, row

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch

Array = NDArray[np.float64]

FACTORS = (0.5, 2, 4, 8)
"""The lengths that are compared with N, as multiples of N. Lengths that the caller names are added."""
LAW = MATCHED
CHUNK = 1 << 20
"""Number of parameters in one piece of an inner product. It bounds the memory."""

QUANTITIES = (
    Quantity(
        "gradient_cosine",
        "Cosine between two gradients with respect to all parameters: of the mean loss at prefix length n, and of "
        "the mean loss at N (`target`). The batches are split into two halves. Mode `corrected` estimates squared "
        "norms as products of the two halves, so that noise does not lower the cosine; it can lie outside [-1, 1] by "
        "chance. Mode `raw` compares two mean gradients, each over half of the batches. The control `same_length` "
        "compares the two halves at the same length n; `raw` can hardly exceed it.",
        "cosine",
        formula="g_{n} · g_{N} / √((g_{n} · g_{n})(g_{N} · g_{N}))",
        where="g_{n}: gradient of the mean loss at n, all parameters",
        controls=("same_length",),
    ),
)


def _even(batches: int) -> int:
    if batches < 4 or batches % 2:
        raise ValueError(f"must be an even number, at least 4, not {batches}")
    return batches


class Dynamics(Measurement):
    """Measure the cosine between the gradients at N and at other lengths, per checkpoint.

    The loss is taken at the queries of exact prefix length n, on the matched test set. Where the answer has several
    tokens, all of them count. Each length has sequences of its own, drawn for this measurement. The batches of other
    measurements are prefixes of each other and would share their noise.

    Args:
        batches: gradients per length, an even number. The sequences are divided equally among the gradients. Intervals
            are bootstraps over batches, within each half.
        resamples: number of bootstrap resamples.
    """

    name = "dynamics"
    title = "Gradients over lengths"
    quantities = QUANTITIES
    laws = (LAW,)
    sequences = 128

    batches: Annotated[Count, AfterValidator(_even)] = 16
    resamples: Count = 400

    _wanted: int = PrivateAttr(default=0)
    """Number of sequences in the batch that ``observe`` received."""

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        # Store only the number of sequences; gradients need separate passes.
        self._wanted = len(batch)

    def finish(self, study: Study) -> list[Row]:
        longest = study.grid.trained
        multiples = {study.task.next_length(longest * factor) for factor in FACTORS}
        other_lengths = sorted({*multiples, *study.grid.named} - {longest})
        lengths = [longest, *(n for n in other_lengths if n in study.grid.lengths)]
        size = max(1, self._wanted // self.batches)
        vectors = {n: gradients(study, n, self.batches, size) for n in lengths}
        with_gradients = [n for n in lengths if vectors[n] is not None]
        grams = gram([v for v in vectors.values() if v is not None])
        rows = []
        for n in sorted(with_gradients):
            weights, i = self._weights(study, n), with_gradients.index(n)
            own = ceiling(products(grams, i, i, weights, weights))
            rows.append(self._row(own, size, n, n, mode="raw", control="same_length"))
        for n in [m for m in other_lengths if longest in with_gradients and m in with_gradients]:
            a, b = (self._weights(study, m) for m in (longest, n))
            i, j = with_gradients.index(longest), with_gradients.index(n)
            found = cosines(products(grams, i, i, a, a), products(grams, j, j, b, b), products(grams, i, j, a, b))
            rows += [self._row(found[mode], size, n, longest, mode=mode) for mode in ("corrected", "raw")]
        return rows + [
            _missing(n, longest, n in lengths)
            for n in other_lengths
            if n not in with_gradients or longest not in with_gradients
        ]

    def _weights(self, study: Study, length: int) -> Array:
        """Return the weights ``[1 + resamples, 2, batches]`` of the batches in the mean gradient of each half.

        The first entry weights the batches of a half equally; the others are resamples. Weights in the other half are
        0.
        """
        half = self.batches // 2
        drawn = study.rng("gradient weights", length).multinomial(half, np.full(half, 1 / half), (self.resamples, 2))
        inside = np.concatenate([np.ones((1, 2, half)), drawn]) / half
        weights = np.zeros((1 + self.resamples, 2, self.batches))
        weights[:, 0, :half], weights[:, 1, half:] = inside[:, 0], inside[:, 1]
        return weights

    def _row(self, values: Array, size: int, n: int, other: int, **fields: str) -> Row:
        """Return a row with the first value and the interval of the other values.

        The row is undefined if the first value is not finite, or if too many resamples are not finite.
        """
        shared: dict[str, Any] = {
            "law": LAW, "length": n, "target": str(other), "quantity": "gradient_cosine", "n": size * self.batches,
            **fields,
        }  # fmt: skip
        lost = ~np.isfinite(values)
        if lost[0] or lost[1:].mean() > 0.025:  # the lower limit of a squared norm is not positive
            note = "a gradient is zero" if fields["mode"] == "raw" else "a gradient is not above its noise"
            return row(**shared, status="undefined", note=note)
        low, high = interval(values[1:])
        return row(**shared, value=float(values[0]), low=float(low), high=float(high))


def _missing(n: int, longest: int, measured: bool) -> Row:
    note = "no query of that length is supervised" if measured else "that length is not measured, or cannot be read"
    shared: dict[str, Any] = {"law": LAW, "length": n, "target": str(longest), "quantity": "gradient_cosine"}
    return row(**shared, mode="corrected", status="not_applicable", note=note)


def gradients(study: Study, length: int, batches: int, size: int) -> NDArray[np.float32] | None:
    """Return gradients of the mean loss at ``length``, one for each of ``batches`` independent batches.

    Args:
        study: the checkpoint.
        length: the prefix length of the queries.
        batches: number of batches.
        size: sequences per batch.

    Returns:
        ``[batches, parameters]``; None if a batch has no supervised query of that length.
    """
    import torch

    g = torch.Generator().manual_seed(int(study.rng("gradients", length).integers(2**62)))
    parameters = [p for p in study.model.parameters() if p.requires_grad]  # type: ignore[attr-defined]
    cfg = study.model.cfg
    vectors = []
    for _ in range(batches):
        batch = study.task.sample(size, length, g, LAW, window=study.grid.trained)
        query_mask = batch.mask.clone()
        if batch.prompt is None:
            query_mask[:, : batch.index(length)] = False
        if not bool(query_mask.any()):
            return None
        ids = cfg.ids.evaluation(batch.tokens.shape[1], cfg.n_ctx, batch.position_ids)
        loss = study.task.losses(study.model(batch.tokens, ids), batch)[query_mask].mean()
        study.passes += 1
        parts = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
        vectors.append(torch.cat([part.flatten() for part in parts]).numpy())
    return np.stack(vectors)


def gram(vectors: Sequence[NDArray[np.float32]]) -> Array:
    """Return the inner products of all gradients, ``[length, batch, length, batch]``. Resamples need only these."""
    k = len(vectors[0]) if vectors else 0
    total = np.zeros((len(vectors), k, len(vectors), k))
    for start in range(0, vectors[0].shape[1] if vectors else 0, CHUNK):
        piece = np.concatenate([v[:, start : start + CHUNK] for v in vectors]).astype(np.float64)
        total += (piece @ piece.T).reshape(total.shape)
    return total


def products(grams: Array, i: int, j: int, weights_i: Array, weights_j: Array) -> Array:
    """Return the inner products of mean gradients, ``[resample, half of length i, half of length j]``."""
    return np.asarray(weights_i @ grams[i, :, j] @ weights_j.transpose(0, 2, 1))


def ceiling(aa: Array) -> Array:
    """Return, per resample, the cosine between the mean gradients of the two halves of one length.

    The cosine is NaN where one of the gradients is zero.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(aa[:, 0, 1] / np.sqrt(aa[:, 0, 0] * aa[:, 1, 1]))


def cosines(aa: Array, bb: Array, ab: Array) -> dict[str, Array]:
    """Return the raw and the corrected cosine of two lengths per resample, from inner products between their halves.

    The two halves of a length share no sequence, and two lengths share no sequence. So every product is between
    independent gradients, except the squared norms of ``raw``. The expectation of such a product is the product of the
    true gradients. A cosine is NaN where a squared norm is not positive.
    """
    norms = np.einsum("rh,rg->rhg", np.einsum("rhh->rh", aa), np.einsum("rgg->rg", bb))
    free = np.where((aa[:, 0, 1] > 0) & (bb[:, 0, 1] > 0), aa[:, 0, 1] * bb[:, 0, 1], np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"raw": (ab / np.sqrt(norms)).mean((1, 2)), "corrected": ab.mean((1, 2)) / np.sqrt(free)}
