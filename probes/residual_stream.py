"""The base class of measurements of the residual stream, which keep rows of forward passes of all lengths."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

import torch
from pydantic import AfterValidator, PrivateAttr
from torch import Tensor

from probes.fitting.probe_rows import MID, ProbeError, ProbeRows, RowCollector, RowPlaces, sites_in, sites_of
from workbench.core.names import LOG_POSITION, OUTPUT_SUMMARY
from workbench.measure.measurement import Measurement, Observer, Spec, Study, show
from workbench.measure.settings import Count, Layers, Positive
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture

T = TypeVar("T")

SEQUENCES = 512
ROWS = "rows"
"""Name of the rows on which probes are fitted, among those that a pass collects."""
TARGET, POSITION = OUTPUT_SUMMARY, LOG_POSITION


def _some(factors: Sequence[float]) -> tuple[float, ...]:
    if not factors:
        raise ValueError("must contain at least one multiple of N")
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
    """A measurement that stores vectors of the residual stream at every prefix length and analyses them at the end.

    Only the kept rows outlive a forward pass. Memory does not grow with the number of checkpoints, and the full
    activations of a length are never kept.

    Args:
        law: name of the test set.
        layers: layers to read, -1 = the embedding, a block's number = in and after that block; None = all.
    """

    sequences: ClassVar[int] = SEQUENCES
    about: ClassVar[tuple[str, ...]] = ("summary",)
    mids: ClassVar[bool] = True
    """Whether the residual stream is read between attention and MLP of a block, in addition to its end."""

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
        """Return the stored vectors by prefix length."""
        return self._rows

    @property
    def read(self) -> list[str]:
        """The hook names of the sites, after the first observation."""
        return self._read

    @property
    def sequences_per_length(self) -> int:
        """Number of observed sequences per length."""
        return self._drawn

    def hooks(self, cfg: Architecture) -> list[str]:
        """Return hooks of the embedding and of the residual stream after each block (with ``mids`` also inside it).

        Raises:
            ProbeError: for a layer that the model does not have.
        """
        return sites_of(cfg.n_layers, cfg.resid_mid and self.mids, self.layers)

    def places(self, batch: Batch, length: int) -> RowPlaces:
        """Return the positions of rows; by default, the supervised queries of exactly that prefix length."""
        index = batch.index(length)
        sequence = batch.mask[:, index].nonzero()[:, 0]
        at = torch.stack([sequence, torch.full_like(sequence, index)], 1)
        return RowPlaces.of(batch, at, {TARGET: summary_labels(batch)[sequence, index].cpu()})

    def every_place(self, batch: Batch, length: int) -> Mapping[str, RowPlaces]:
        """Return the positions of all collected rows by name; by default, only those on which probes are fitted."""
        return {ROWS: self.places(batch, length)}

    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> ProbeRows:
        """Return the rows of one forward pass."""
        collector = RowCollector(batch, {ROWS: self.places(batch, length)}, sites)
        show(collector, cache)
        return collector.rows(ROWS)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Keep the rows of one prefix length.

        Raises:
            ProbeError: if this length was observed already.
        """
        sites = [site for site in sites_in(cache, self.layers) if self.mids or not site.endswith(MID)]
        show(self.collector(length, batch, sites), cache)

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        return self.collector(length, batch, self.hooks(study.cfg))

    def collector(self, length: int, batch: Batch, sites: list[str]) -> Observer:
        """Return the observer that keeps the rows of one prefix length.

        Raises:
            ProbeError: if this length was observed already.
        """
        if length in self.rows:
            raise ProbeError(f"{self.name} observed length {length} twice; use one instance per checkpoint")
        self._read = sites
        self._drawn = max(self._drawn, len(batch))
        return LengthCollector(self, length, batch, self.every_place(batch, length), sites)

    def keep(self, length: int, collector: RowCollector) -> None:
        """Store the vectors that were collected at one prefix length."""
        self._rows[length] = collector.rows(ROWS)

    def memo(self, study: Study, make: Callable[[], T]) -> T:
        """Return ``make()``, cached for the other checkpoints of the run."""
        return study.memo((self.name, json.dumps(self.settings, sort_keys=True), tuple(sorted(self.rows))), make)

    def untrained_rows(self, study: Study, sites: Sequence[str] | None = None) -> dict[int, ProbeRows] | None:
        """Return the same rows from the run's step 0; None if the run has no step 0."""
        names = self.hooks(study.cfg) if sites is None else sites
        batches = {n: study.batch(self.law, n) for n in self.rows}
        made = {n: RowCollector(batch, {ROWS: self.places(batch, n)}, names) for n, batch in batches.items()}
        shown = self.show_untrained(study, made)
        return {n: collector.rows(ROWS) for n, collector in made.items()} if shown else None

    def show_untrained(self, study: Study, observers: Mapping[int, Observer]) -> bool:
        """Show the run's step 0 to observers of its prefix lengths; return whether there is one."""
        lengths = sorted(observers)
        if study.task.prefix_closed(self.law):
            return bool(lengths) and study.show(self.law, lengths[-1], list(observers.values()), untrained=True)
        return bool(lengths) and all(study.show(self.law, n, [observers[n]], untrained=True) for n in reversed(lengths))


class LengthCollector(RowCollector):
    """Collects the rows of one prefix length for a measurement."""

    def __init__(
        self,
        measurement: StreamMeasurement,
        length: int,
        batch: Batch,
        places: Mapping[str, RowPlaces],
        sites: Sequence[str],
    ) -> None:
        super().__init__(batch, places, sites)
        self._measurement, self._length = measurement, length

    def close(self) -> None:
        self._measurement.keep(self._length, self)


class ResampledMeasurement(StreamMeasurement):
    """A measurement of the residual stream with bootstrap intervals over sequences.

    Args:
        resamples: number of resamples for every interval.
    """

    resamples: Resampled = 400


def summary_labels(batch: Batch) -> Tensor:
    """Return the task state at every prefix: int64 for classes, float64 for numbers.

    A vector of integers counts as numbers, because each of its components is a count.
    """
    summary = batch.output_summary
    return summary if batch.categorical and summary.dim() == 2 else summary.double()
