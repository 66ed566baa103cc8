"""What the two probe measurements share: rows kept from forward passes, decoded when all are there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from probes.decode import Arm, Decoder, ProbeError, Rng
from probes.metrics import Resamples
from probes.report import Cell, Names
from probes.rows import Rows, after_block, halves, sites_in
from workbench.measure.measurement import Quantity, Spec, Study
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.models.config import Architecture
    from workbench.table.schema import Row

SEQUENCES = 512

#: Per length and target, the answers of the controls that do not depend on the checkpoint.
InputControls = dict[int, dict[str, list[Arm]]]


def _call(make: Callable[[], InputControls]) -> InputControls:
    return make()


class ProbeMeasurement(ABC):
    """A measurement that fits linear probes on rows of the residual stream at several prefix lengths.

    Half of the sequences are fitted on, half are tested on, the same ones at every length.

    Args:
        law: the evaluation law of the sequences.
        resamples: bootstrap resamples of test sequences behind every interval.

    Raises:
        ProbeError: for fewer than two resamples.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[str]
    quantities: ClassVar[tuple[Quantity, ...]]
    names: ClassVar[Names]
    label_controls: ClassVar[tuple[str, ...]]
    token_controls: ClassVar[tuple[str, ...]]

    def __init__(self, law: str = "matched", resamples: int = 400) -> None:
        if resamples < 2:
            raise ProbeError(f"an interval needs at least 2 resamples, not {resamples}")
        self.law, self.resamples = law, resamples
        self.rows: dict[int, Rows] = {}
        self._sites: list[str] = []
        self._drawn = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting with its value."""
        return {"law": self.law, "resamples": self.resamples}

    @property
    def spec(self) -> Spec:
        return Spec(
            name=self.name,
            version=self.version,
            title=self.title,
            settings=self.settings,
            quantities=self.quantities,
            laws=(self.law,),
            sequences=SEQUENCES,
        )

    def hooks(self, cfg: Architecture) -> list[str]:
        """The embedding and the residual stream after each block."""
        return ["blocks.0.hook_resid_pre", *(after_block(layer) for layer in range(cfg.n_layers))]

    @abstractmethod
    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> Rows:
        """The probe rows of one forward pass. The choice of rows depends on the batch alone."""

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Keep the probe rows of one prefix length.

        Raises:
            ProbeError: if this length was observed already.
        """
        if length in self.rows:
            raise ProbeError(f"{self.name} observed length {length} twice; use one instance per checkpoint")
        self._sites = sites_in(cache)
        self._drawn = max(self._drawn, len(batch))
        self.rows[length] = self.reduce(batch, length, cache, self._sites)

    def finish(self, study: Study) -> list[Row]:
        """Rows of all layers, lengths, modes and controls of one checkpoint."""
        key = (self.name, json.dumps(self.settings, sort_keys=True), tuple(sorted(self.rows)))
        return self.decode(
            study.grid.inside,
            partial(study.rng, self.name),
            lambda: self._untrained(study),
            lambda make: study.memo(key, make),
        )

    def decode(
        self,
        inside: tuple[int, ...],
        rng: Rng,
        untrained: Callable[[], Mapping[int, Rows] | None],
        memo: Callable[[Callable[[], InputControls]], InputControls] = _call,
    ) -> list[Row]:
        """Fit all probes on what was observed and score them.

        Args:
            inside: lengths whose probes are transferred to the others.
            rng: generators by name, the same for every checkpoint of a run.
            untrained: makes the same rows from an untrained model, or None where there is none.
            memo: keeps the controls that do not depend on the checkpoint.
        """
        if not self.rows:
            return []
        decoder = Decoder(self.rows, inside, halves(self._drawn, rng("split")), rng)

        def input_controls() -> InputControls:
            step_0 = untrained()
            return {n: decoder.input_controls(n, self.token_controls, step_0) for n in self.rows}

        shared = memo(input_controls)
        made: list[Row] = []
        for length in sorted(self.rows):
            arms = decoder.arms(length, self.label_controls)
            resamples = Resamples.of(decoder.test[length].sequence, rng("bootstrap", length), self.resamples)
            for target in decoder.targets:
                cell = Cell(self.names, self.law, length, target, len(resamples), self._sites)
                made += cell.rows([*arms[target.name], *shared[length][target.name]], resamples)
        return made

    def _untrained(self, study: Study) -> dict[int, Rows] | None:
        """The rows that ``observe`` kept, taken from the run's step 0."""
        names, closed = self.hooks(study.cfg), study.task.prefix_closed(self.law)
        made: dict[int, Rows] = {}
        cache: Mapping[str, Tensor] | None = None
        for length in sorted(self.rows, reverse=True):
            if cache is None or not closed:
                cache = study.cache(self.law, length, names, untrained=True)
            if cache is None:
                return None
            made[length] = self.reduce(study.batch(self.law, length), length, cache, names)
        return made
