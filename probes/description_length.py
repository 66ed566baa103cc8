"""How many bits does it take to send the summaries, to somebody who has the activations?

Online code (Voita and Titov 2020, 2003.12298, equation 3): the classes of the first t_1 sequences are sent as
they are, at log2 C bits each; a probe is fitted on them, and the next block is sent in the code that it gives; and
so on with blocks of twice the size:

    L = t_1 log2 C + sum_i -log2 p_i(y_(t_i + 1), .., y_(t_(i+1)) | x)

A probe that can be fitted on few sequences gives a short code: unlike accuracy, L tells a summary that lies
open from one that much data can dig out. Compression is n log2 C / L: 1 for nothing, and below 1 where
probes are confident of noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from probes import controls
from probes.decode import Target
from probes.logistic import logistic
from probes.metrics import Estimate, Resamples, balanced_accuracy, estimates
from probes.rows import ProbeError, Rows, layer_of
from probes.stream import TARGET, StreamMeasurement, summary_rows
from workbench.measure.intervals import interval
from workbench.measure.measurement import Quantity, Study
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

#: Ends of the blocks, as shares of the sequences.
ENDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
FEWEST = 64
"""Fewest sequences: the first block must hold a few."""


@dataclass(frozen=True)
class Code:
    """The online code of one labelling of the rows, in the order they are in.

    Attributes:
        bits: of each row.
        block: which block each row is in; the first is sent as it is.
        predicted: what the last probe answers on the last block.
        classes: number of classes.
    """

    bits: Float[np.ndarray, "row"]
    block: Int[np.ndarray, "row"]
    predicted: Int[np.ndarray, "last"]
    classes: int

    def length(self) -> float:
        """Bits altogether."""
        return float(self.bits.sum())

    def lengths(self, rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
        """Bits altogether with the rows of each block resampled: given the probes, how far the sum may fall."""
        total = np.zeros(resamples)
        for b in range(int(self.block.max()) + 1):
            own = self.bits[self.block == b]
            total += rng.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples) @ own
        return total


def online_code(x: Float[Tensor, "row d"], y: Int[Tensor, "row"], classes: int) -> Code:
    """Code the labels block by block.

    Args:
        x: activations, one row per sequence, in random order.
        y: classes, 0 to classes - 1.
        classes: number of classes.

    Raises:
        ProbeError: for too few rows, activations that are not finite, or a probe that did not converge.
    """
    if len(y) < FEWEST:
        raise ProbeError(f"{len(y)} sequences with a supervised query; at least {FEWEST} are needed")
    ends = [round(len(y) * share) for share in ENDS]
    bits, block = np.full(len(y), np.log2(classes)), np.zeros(len(y), dtype=np.int64)
    predicted = np.zeros(0, dtype=np.int64)
    for i, (start, end) in enumerate(pairwise(ends), start=1):
        log2 = logistic(x[:start], y[:start], classes).log2_probabilities(x[start:end])
        bits[start:end] = -np.take_along_axis(log2, y[start:end].numpy()[:, None], 1)[:, 0]
        block[start:end] = i
        predicted = log2.argmax(1)
    return Code(bits, block, predicted, classes)


class DescriptionLength(StreamMeasurement):
    """Online code length of the output summary at every layer, and the accuracy of its last classifier.

    Args:
        law: the evaluation law.
        resamples: bootstrap resamples behind every interval.
        layers: layers to read; None = all.
        factors: prefix lengths, as multiples of N.

    Raises:
        ProbeError: for no factor.
    """

    name = "probes.description_length"
    title = "Description length of the summary"
    quantities = (
        Quantity(
            "description_length",
            "bits per sequence of the online code of the output summary given the residual stream: blocks that end at "
            "1/16, 1/8, 1/4, 1/2 and all of the sequences, each sent in the code of a logistic regression fitted on "
            "those before. Interval: rows resampled inside blocks, the probes as they are",
            "bits",
            low=0.0,
            about="summary",
        ),
        Quantity(
            "compression",
            "log2 of the number of classes / description_length: 1 where nothing can be read",
            "ratio",
            low=0.0,
            about="summary",
        ),
        Quantity(
            "logistic_accuracy",
            "balanced accuracy, on the second half of the sequences, of a converged logistic regression fitted on the "
            "first",
            "balanced accuracy",
            low=0.0,
            high=1.0,
            about="summary",
        ),
    )

    def __init__(
        self,
        law: str = "matched",
        resamples: int = 400,
        layers: Sequence[int] | None = None,
        factors: Sequence[float] = (1, 4),
    ) -> None:
        super().__init__(law, resamples, layers)
        if not factors:
            raise ProbeError("description length needs at least one factor of N")
        self.factors = [float(f) for f in factors]

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"factors": self.factors}

    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> Rows:
        """The supervised queries of exactly that prefix length."""
        return summary_rows(batch, length, cache, sites)

    def finish(self, study: Study) -> list[Row]:
        """Code lengths of all layers, beside those of shuffled and hashed labels and of the untrained model."""
        wanted = sorted({study.task.next_length(study.grid.trained * factor) for factor in self.factors})
        self.rows = {n: self.rows[n] for n in wanted if n in self.rows}
        if not self.rows:
            return []
        key = (self.name, json.dumps(self.settings, sort_keys=True), tuple(self.rows))
        untrained = study.memo(key, lambda: self.untrained_rows(study))
        target = Target.among(TARGET, self.rows)
        return [made for n in self.rows for made in self._length(study, n, target, untrained)]

    def _length(self, study: Study, length: int, target: Target, untrained: Mapping[int, Rows] | None) -> list[Row]:
        rows = self.rows[length]
        if not target.classes:
            problem = "the summary is a number, and the code is one of classes"
            return [self._lost(length, site, "", "not_applicable", problem) for site in self.read]
        if target.classes == 1:
            return [self._lost(length, site, "", "undefined", "the summary has one class only") for site in self.read]
        order = torch.from_numpy(study.rng(self.name, "order").permutation(self._drawn))[rows.sequence].argsort()
        y = target.of(rows)[order]
        labels = {
            "": y,
            controls.SHUFFLED: controls.shuffled(y, study.rng(self.name, "shuffle", length)),
            controls.HASHED: controls.hashed(y, rows.tokens[order]),
        }
        made = []
        for i, site in enumerate(self.read):
            for control, given in labels.items():
                made += self._code(study, length, site, control, rows.x[i][order], given, target.classes)
            if untrained is not None:
                x = untrained[length].x[i][order]
                made += self._code(study, length, site, controls.UNTRAINED, x, y, target.classes)
        return made

    def _code(
        self, study: Study, length: int, site: str, control: str, x: Tensor, y: Tensor, classes: int
    ) -> list[Row]:
        try:
            code = online_code(x, y, classes)
        except ProbeError as error:
            return [self._lost(length, site, control, "undefined", str(error))]
        n, rng = len(y), study.rng(self.name, "bootstrap", length)
        drawn = code.lengths(rng, self.resamples)
        low, high = (float(end) for end in interval(drawn))
        whole, plain = code.length(), n * float(np.log2(classes))
        held = y[n - len(code.predicted) :]
        resamples = Resamples.of(torch.arange(len(held)), rng, self.resamples)
        (right,) = estimates(balanced_accuracy(torch.from_numpy(code.predicted)[None], held, classes, resamples))
        return [
            self._row("description_length", length, site, control, Estimate(whole / n, low / n, high / n), n),
            self._row("compression", length, site, control, Estimate(plain / whole, plain / high, plain / low), n),
            self._row("logistic_accuracy", length, site, control, right, len(held)),
        ]

    def _fields(self, length: int, site: str, control: str) -> Row:
        place = {"law": self.law, "length": length, "site": site, "layer": layer_of(site)}
        return {**place, "target": TARGET, "mode": "refit", "control": control}

    def _row(self, quantity: str, length: int, site: str, control: str, at: Estimate, n: int) -> Row:
        fields = self._fields(length, site, control)
        return row(**fields, quantity=quantity, value=at.value, low=at.low, high=at.high, n=n)

    def _lost(self, length: int, site: str, control: str, status: str, problem: str) -> Row:
        fields = self._fields(length, site, control)
        return row(**fields, quantity="description_length", status=status, note=problem)


MEASUREMENT = DescriptionLength
