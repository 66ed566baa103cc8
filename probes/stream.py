"""What measurements of the residual stream share: rows kept from forward passes, until all lengths are there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch
from torch import Tensor

from probes.rows import MID, ProbeError, Rows, gather, sites_in, sites_of
from workbench.measure.measurement import Quantity, Spec, Study
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.models.config import Architecture
    from workbench.table.schema import Row

T = TypeVar("T")

SEQUENCES = 512
TARGET, POSITION = "output_summary", "log_i"


class StreamMeasurement(ABC):
    """A measurement that keeps rows of the residual stream at every prefix length and works on them at the end.

    Only the kept rows outlive a forward pass: memory does not grow with the checkpoints, and no activation
    of a length is kept whole.

    Args:
        law: the evaluation law of the sequences.
        resamples: bootstrap resamples of sequences behind every interval.
        layers: layers to read, -1 = the embedding, a block's number = in and after that block; None = all.

    Raises:
        ProbeError: for fewer than two resamples.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[str]
    quantities: ClassVar[tuple[Quantity, ...]]
    about: ClassVar[tuple[str, ...]] = ("summary",)
    """Which targets it is about, ``summary`` and ``position``: what ``python -m probes --targets`` chooses by."""
    sequences: ClassVar[int] = SEQUENCES
    mids: ClassVar[bool] = True
    """Whether the middle of a block, between attention and MLP, is read as well as its end."""

    def __init__(self, law: str = "matched", resamples: int = 400, layers: Sequence[int] | None = None) -> None:
        if resamples < 2:
            raise ProbeError(f"an interval needs at least 2 resamples, not {resamples}")
        self.law, self.resamples = law, resamples
        self.layers = None if layers is None else [int(layer) for layer in layers]
        self.rows: dict[int, Rows] = {}
        self.read: list[str] = []
        """The sites, once something was observed."""
        self.drawn = 0
        """Sequences observed per length."""

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting with its value."""
        return {"law": self.law, "resamples": self.resamples, "layers": self.layers}

    @property
    def spec(self) -> Spec:
        return Spec(
            name=self.name,
            version=self.version,
            title=self.title,
            settings=self.settings,
            quantities=self.quantities,
            laws=(self.law,),
            sequences=self.sequences,
        )

    def hooks(self, cfg: Architecture) -> list[str]:
        """The embedding and the residual stream after each block (and, with ``mids``, in it), at the layers wanted.

        Raises:
            ProbeError: for a layer that the model does not have.
        """
        return sites_of(cfg.n_layers, cfg.resid_mid and self.mids, self.layers)

    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> Rows:
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
        self.read = [site for site in sites_in(cache, self.layers) if self.mids or not site.endswith(MID)]
        self.drawn = max(self.drawn, len(batch))
        self.rows[length] = self.reduce(batch, length, cache, self.read)

    @abstractmethod
    def finish(self, study: Study) -> list[Row]:
        """Rows of all layers and lengths of one checkpoint."""

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

    def untrained_rows(self, study: Study) -> dict[int, Rows] | None:
        """The rows that ``observe`` kept, taken from the run's step 0; None where there is none."""
        names = self.hooks(study.cfg)
        passes = self.untrained_passes(study, names)
        made = {n: self.reduce(study.batch(self.law, n), n, cache, names) for n, cache in passes}
        return made or None


def summary_rows(batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> Rows:
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
