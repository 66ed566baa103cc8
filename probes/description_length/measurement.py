"""How many bits does it take to send the task states to a receiver who has the activations?

The online code is in :mod:`probes.description_length.online_code`. If few sequences suffice to train a probe, the code
of all later sequences is short. So, unlike accuracy, the code length separates an easily decodable task state from one
that a probe decodes only with much data. Compression is the ratio between the length of a code that ignores the
activations and that of the online code. It is 1 if nothing can be decoded, and below 1 if probes are confident about
noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from probes.description_length.online_code import Code, class_code, number_codes
from probes.fitting import controls
from probes.fitting.decode import Target
from probes.fitting.metrics import ProbeScore, Resamples, balanced_accuracy, estimates, exact_where_uniform, fields_of
from probes.fitting.probe_rows import ProbeError, ProbeRows, layer_of
from probes.residual_stream import TARGET, RealFactors, ResampledMeasurement
from workbench.measure.grid import exact_multiples
from workbench.measure.intervals import interval
from workbench.measure.measurement import Quantity, Study
from workbench.table.schema import Row, row


class DescriptionLength(ResampledMeasurement):
    """Measure the online code length of the task state at every layer, and the accuracy of its last classifier.

    Args:
        law: name of the test set.
        resamples: bootstrap resamples for every interval.
        layers: layers to read; None = all.
        factors: prefix lengths, as multiples of N; lengths that the caller names are measured as well.
    """

    name = "probes.description_length"
    version = 3
    title = "Description length of the task state"
    quantities = (
        Quantity(
            "description_length",
            "Bits per sequence that are needed to send the task state to someone who knows the residual stream. The "
            "sequences are sent in blocks, which end at 1/16, 1/8, 1/4, 1/2 and all of them. A probe that is fitted "
            "on all earlier blocks codes the next block (online code). The probe is a logistic regression; for "
            "numbers it is a ridge regression with normal errors and a resolution of 1/64 of their standard "
            "deviation. The interval comes from resampling sequences within blocks; the probes stay fixed. Controls "
            "are shuffled labels, hashed labels and the untrained model. After the last transformer block, two "
            "further controls use only the last token and the last 8 tokens.",
            "bits",
            low=0.0,
            about="summary",
            formula="L = L_{1} − Σ_{b > 1} log_{2} q_{b}(y_{b} | x_{b})",
            where="L_{1}: first block in the plain code, y_{b}: labels of block b, q_{b}: probe fitted on the blocks "
            "before; per sequence",
            controls=controls.OF_STATE_CODES,
        ),
        Quantity(
            "compression",
            "Bits of a code that ignores the residual stream, divided by `description_length`. 1 means that nothing "
            "can be decoded; higher values mean that the probe decodes the task state from fewer examples. The plain "
            "code is log2 of the number of classes, or a normal distribution with the mean and deviation of the task "
            "state.",
            "ratio",
            low=0.0,
            about="summary",
            formula="L_{plain} / L",
            where="L: description_length",
            controls=controls.OF_STATE_CODES,
        ),
        Quantity(
            "logistic_accuracy",
            "Balanced accuracy of a converged logistic regression for the task state, fitted on the first half of "
            "the sequences and tested on the second. It does not apply to task states that are numbers.",
            "balanced accuracy",
            low=0.0,
            high=1.0,
            about="summary",
            formula="(1/C) Σ_{c} Pr[ŷ = c | y = c]",
            where="C: classes",
            controls=controls.OF_STATE_CODES,
        ),
    )

    factors: RealFactors = (1.0, 4.0)

    def finish(self, study: Study) -> list[Row]:
        """Return the description lengths of all layers, with those of shuffled and hashed labels and of the untrained
        model.
        """
        lengths = exact_multiples(study.grid, study.task, self.factors)
        self._rows = {n: self.rows[n] for n in lengths if n in self.rows}
        if not self.rows:
            return []
        target = Target.among(TARGET, self.rows)
        if target.classes == 1:
            problem = "the summary has one class only"
            return [self._lost(n, site, "", problem) for n in self.rows for site in self.read]
        new_rows: list[Row] = []
        for n, rows in self.rows.items():
            y, order = self._labels(study, n, target)
            labels = {
                "": y,
                controls.SHUFFLED: controls.shuffle_labels(y, study.rng(self.name, "shuffle", n)),
                controls.HASHED: controls.hash_labels(y, rows.tokens[order]),
            }
            for site, x in zip(self.read, rows.x, strict=True):
                new_rows += self._coded(study, n, site, x[order], labels, target.classes)
        return new_rows + self.memo(study, lambda: list(self._fixed(study, target)))

    def _labels(self, study: Study, length: int, target: Target) -> tuple[Tensor, Tensor]:
        """Return the labels in the order in which they are sent, and that order."""
        rows = self.rows[length]
        order = torch.from_numpy(study.rng(self.name, "order").permutation(self.sequences_per_length))[
            rows.sequence
        ].argsort()
        return target.of(rows)[order], order

    def _fixed(self, study: Study, target: Target) -> Iterator[Row]:
        """Yield rows that do not depend on the checkpoint: code lengths given the untrained model, or only the last
        tokens.
        """
        untrained: Mapping[int, ProbeRows] = self.untrained_rows(study) or {}
        for n, rows in self.rows.items():
            y, order = self._labels(study, n, target)
            if n in untrained:
                for site, x in zip(self.read, untrained[n].x, strict=True):
                    yield from self._coded(study, n, site, x[order], {controls.UNTRAINED: y}, target.classes)
            for control in (controls.TOKEN, controls.TOKENS):
                (x,) = controls.inputs(rows.tokens[order], control)
                yield from self._coded(study, n, self.read[-1], x, {control: y}, target.classes)

    def _coded(
        self, study: Study, length: int, site: str, x: Tensor, labels: Mapping[str, Tensor], classes: int
    ) -> Iterator[Row]:
        """Yield the rows of each labelling, by control."""
        if classes:
            for control, y in labels.items():
                try:
                    yield from self._code_rows(study, length, site, control, class_code(x, y, classes), y, classes)
                except ProbeError as error:
                    yield self._lost(length, site, control, str(error))
            return
        able = {control: y for control, y in labels.items() if bool((y != y[:1]).any())}
        yield from (self._lost(length, site, c, "the labels do not vary") for c in labels if c not in able)
        try:
            found = number_codes(x, list(able.values()))
        except ProbeError as error:
            yield from (self._lost(length, site, control, str(error)) for control in able)
            return
        for (control, y), one in zip(able.items(), found, strict=True):
            yield from self._code_rows(study, length, site, control, one, y, classes)

    def _code_rows(
        self, study: Study, length: int, site: str, control: str, code: Code, y: Tensor, classes: int
    ) -> Iterator[Row]:
        n, rng = len(y), study.rng(self.name, "bootstrap", length)
        ends = [[float(end) for end in interval(drawn)] for drawn in code.resample(rng, self.resamples)]
        low, high = (end / n for end in ends[0])
        yield self._row("description_length", length, site, control, ProbeScore(code.length() / n, low, high), n)
        yield self._row("compression", length, site, control, ProbeScore(code.compression(), *ends[1]), n)
        if classes:
            test_labels = y[n - len(code.predicted) :]
            resamples = Resamples.of(torch.arange(len(test_labels)), rng, self.resamples)
            predicted = torch.from_numpy(code.predicted)[None]
            found = estimates(balanced_accuracy(predicted, test_labels, classes, resamples))
            (right,) = exact_where_uniform(found, predicted, test_labels, classes)
            yield self._row("logistic_accuracy", length, site, control, right, len(test_labels))

    def _fields(self, length: int, site: str, control: str) -> Row:
        place = {"law": self.law, "length": length, "site": site, "layer": layer_of(site)}
        return {**place, "target": TARGET, "mode": "refit", "control": control}

    def _row(self, quantity: str, length: int, site: str, control: str, at: ProbeScore, n: int) -> Row:
        fields = self._fields(length, site, control)
        return row(**fields, quantity=quantity, **fields_of(at, n))

    def _lost(self, length: int, site: str, control: str, problem: str) -> Row:
        fields = self._fields(length, site, control)
        return row(**fields, quantity="description_length", status="undefined", note=problem)
