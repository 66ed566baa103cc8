"""The base class of probe measurements: rows of all lengths, decoded in every mode and with every control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import PrivateAttr

from probes.decodability_rows import ProbeCell, QuantityNames
from probes.fitting.decode import Decoder, ProbeArm, Rng
from probes.fitting.linear import Probe
from probes.fitting.metrics import Resamples
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import ResampledMeasurement
from workbench.measure.measurement import Study

if TYPE_CHECKING:
    from workbench.table.schema import Row

#: Per length and target, the answers of the controls that do not depend on the checkpoint.
InputControls = dict[int, dict[str, list[ProbeArm]]]


def _call(make: Callable[[], InputControls]) -> InputControls:
    return make()


class ProbeMeasurement(ResampledMeasurement):
    """A measurement that fits linear probes on rows of the residual stream at several prefix lengths.

    Half of the sequences are for fitting and half for testing, the same ones at every length. Arguments as in
    :class:`ResampledMeasurement`.
    """

    names: ClassVar[QuantityNames]
    label_controls: ClassVar[tuple[str, ...]]
    token_controls: ClassVar[tuple[str, ...]]

    _frozen: Mapping[str, Probe] = PrivateAttr(default_factory=dict)

    @property
    def frozen_probes(self) -> Mapping[str, Probe]:
        """The frozen probe of ``transfer``, by target; empty before :meth:`decode`."""
        return self._frozen

    def finish(self, study: Study) -> list[Row]:
        """Return rows of all layers, lengths, modes and controls of one checkpoint."""
        return self.decode(
            study.grid.inside,
            partial(study.rng, self.name),
            lambda: self.untrained_rows(study),
            lambda make: self.memo(study, make),
        )

    def decode(
        self,
        inside: tuple[int, ...],
        rng: Rng,
        untrained: Callable[[], Mapping[int, ProbeRows] | None],
        memo: Callable[[Callable[[], InputControls]], InputControls] = _call,
    ) -> list[Row]:
        """Fit all probes on the observed rows and score them.

        Args:
            inside: lengths from which probes are transferred to the others.
            rng: generators by name, the same for every checkpoint of a run.
            untrained: makes the same rows from an untrained model, or returns None where there is none.
            memo: caches the controls that do not depend on the checkpoint.
        """
        if not self.rows:
            return []
        decoder = Decoder(self.rows, inside, halves(self.sequences_per_length, rng("split")), rng)
        self._frozen = decoder.frozen

        def input_controls() -> InputControls:
            step_0 = untrained()
            return {n: decoder.input_controls(n, self.token_controls, step_0) for n in self.rows}

        shared = memo(input_controls)
        new_rows: list[Row] = []
        for length in sorted(self.rows):
            arms = decoder.arms(length, self.label_controls)
            resamples = Resamples.of(decoder.test[length].sequence, rng("bootstrap", length), self.resamples)
            for target in decoder.targets:
                cell = ProbeCell(self.names, self.law, length, target, len(resamples), self.read)
                new_rows += cell.rows([*arms[target.name], *shared[length][target.name]], resamples)
        return new_rows
