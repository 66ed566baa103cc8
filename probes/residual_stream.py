"""What measurements of the residual stream share: rows kept from forward passes, until all lengths are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

import torch
from pydantic import AfterValidator, PrivateAttr
from torch import Tensor

from probes.fitting.probe_rows import MID, ProbeError, ProbeRows, gather, sites_in, sites_of
from workbench.measure.measurement import Measurement, Spec, Study
from workbench.measure.settings import Count, Layers, Positive
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture

T = TypeVar("T")

SEQUENCES = 512
TARGET, POSITION = "output_summary", "log_i"


def _some(factors: Sequence[float]) -> tuple[float, ...]:
    if not factors:
        raise ValueError("must hold at least one multiple of N")
    return tuple(float(factor) for factor in factors)


def _enough(resamples: int) -> int:
    if resamples < 2:
        raise ValueError(f"must be at least 2 for an interval, not {resamples}")
    return resamples


Queries = Literal["supervised", "all"]
Resampled = Annotated[Count, AfterValidator(_enough)]
RealFactors = Annotated[Sequence[Positive], AfterValidator(_some)]
"""Multiples of N, at least one; 1 is stored as 1.0."""


class StreamMeasurement(Measurement):
    """A measurement that keeps rows of the residual stream at every prefix length and works on them at the end.

    Only the kept rows outlive a forward pass: memory does not grow with the checkpoints, and no activation
    of a length is kept whole.

    Args:
        law: the evaluation law of the sequences.
        layers: layers to read, -1 = the embedding, a block's number = in and after that block; None = all.
    """

    sequences: ClassVar[int] = SEQUENCES
    about: ClassVar[tuple[str, ...]] = ("summary",)
    mids: ClassVar[bool] = True
    """Whether the middle of a block, between attention and MLP, is read as well as its end."""

    law: str = "matched"
    layers: Layers | None = None

    _rows: dict[int, ProbeRows] = PrivateAttr(default_factory=dict)
    _read: list[str] = PrivateAttr(default_factory=list)
    _drawn: int = PrivateAttr(default=0)

    @property
    def spec(self) -> Spec:
        return replace(super().spec, laws=(self.law,))

    @property
    def rows(self) -> dict[int, ProbeRows]:
        """By prefix length, what was kept of it."""
        return self._rows

    @property
    def read(self) -> list[str]:
        """The sites, once something was observed."""
        return self._read

    @property
    def drawn(self) -> int:
        """Sequences observed per length."""
        return self._drawn

    def hooks(self, cfg: Architecture) -> list[str]:
        """The embedding and the residual stream after each block (and, with ``mids``, in it), at the layers wanted.

        Raises:
            ProbeError: for a layer that the model does not have.
        """
        return sites_of(cfg.n_layers, cfg.resid_mid and self.mids, self.layers)

    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> ProbeRows:
        """The rows of one forward pass: unless overridden, the supervised queries of exactly that prefix length.

        Which rows those are depends on the batch alone.
        """
        return summary_rows(batch, length, cache, sites)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Keep the rows of one prefix length.

        Raises:
            ProbeError: if this length was observed already.
        """
        if length in self.rows:
            raise ProbeError(f"{self.name} observed length {length} twice; use one instance per checkpoint")
        self._read = [site for site in sites_in(cache, self.layers) if self.mids or not site.endswith(MID)]
        self._drawn = max(self._drawn, len(batch))
        self._rows[length] = self.reduce(batch, length, cache, self.read)

    def memo(self, study: Study, make: Callable[[], T]) -> T:
        """Keep what does not depend on the checkpoint, for the others of the run."""
        return study.memo((self.name, json.dumps(self.settings, sort_keys=True), tuple(sorted(self.rows))), make)

    def untrained_passes(self, study: Study, names: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Tensor]]]:
        """Each length that ``observe`` kept, with the activations of the run's step 0; none without a step 0."""
        closed = study.task.prefix_closed(self.law)
        cache: Mapping[str, Tensor] | None = None
        for length in sorted(self.rows, reverse=True):
            if cache is None or not closed:
                cache = study.cache(self.law, length, names, untrained=True)
            if cache is None:
                return
            yield length, cache

    def untrained_rows(self, study: Study) -> dict[int, ProbeRows] | None:
        """The rows that ``observe`` kept, taken from the run's step 0; None where there is none."""
        names = self.hooks(study.cfg)
        passes = self.untrained_passes(study, names)
        made = {n: self.reduce(study.batch(self.law, n), n, cache, names) for n, cache in passes}
        return made or None


class ResampledMeasurement(StreamMeasurement):
    """One whose intervals are bootstraps over sequences.

    Args:
        resamples: how many resamples are behind every interval.
    """

    resamples: Resampled = 400


def summary_rows(batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> ProbeRows:
    """The supervised queries whose prefix length is exactly ``length``, one per sequence, with their summary."""
    index = batch.index(length)
    sequence = batch.mask[:, index].nonzero()[:, 0]
    at = torch.stack([sequence, torch.full_like(sequence, index)], 1)
    return gather(batch, cache, sites, at, {TARGET: summary_labels(batch)[sequence, index].cpu()})


def summary_labels(batch: Batch) -> Tensor:
    """The output summary at every prefix: int64 where it is a class, float64 where it is numbers.

    A vector of integers is numbers: each of its components counts something.
    """
    summary = batch.output_summary
    return summary if batch.categorical and summary.dim() == 2 else summary.double()
