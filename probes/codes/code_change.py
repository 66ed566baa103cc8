"""How much the code of a task state changes with prefix length: C(n), from class means of two halves.

    C(n) = |b(n) - a|^2 / (|b(n)|^2 + |a|^2)

with a the mean over the lengths inside training of the matrices of class means and b(n) that at n, both centred at the
grand mean inside training. Every squared norm is a product between two halves of the sequences, so that sampling noise
adds nothing on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from probes.codes.class_means import Draws, Labelling, NoCode, codes, inner
from probes.fitting.controls import relabel_rows
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import TARGET, ResampledMeasurement
from workbench.measure.intervals import interval

if TYPE_CHECKING:
    from probes.fitting.decode import Rng
    from workbench.measure.measurement import Study

STILL = "rows of a class are all equal, so the interval says nothing of rows that were not drawn"
NOISE = "the code is not above its sampling noise"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """The change C(n) of the representation at length n, for one hook.

    Attributes:
        draws: as measured (draw 0) and per resample; NaN where it is undefined.
        problem: why it is undefined, or "".
    """

    draws: Array
    problem: str = ""

    @staticmethod
    def of(difference: Array, size: Array) -> Change:
        """Return C(n) from the draws of its numerator and denominator."""
        if not np.isfinite(size[0]) or size[0] <= 0 or float(interval(size[1:])[0]) <= 0:
            return Change(np.full_like(size, np.nan), NOISE)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Change(np.where(size > 0, np.clip(difference / size, 0, 1), np.nan))


def mean_change(changes: Mapping[int, Change]) -> Change:
    """Return the mean over lengths; undefined if one of them is."""
    for n, change in changes.items():
        if change.problem:
            return Change(change.draws, f"at length {n}: {change.problem}")
    return Change(np.mean([c.draws for c in changes.values()], axis=0))


def norms(
    means: Mapping[int, Float[Tensor, "half draw class d"]], inside: Sequence[int], length: int
) -> Float[Tensor, "part draw"]:
    """Return |b - a|^2 and |b|^2 + |a|^2 of one length, per draw.

    Args:
        means: class means by length.
        inside: the lengths over which a and the grand mean are averaged.
        length: the length of b.
    """
    trained = torch.stack([means[n] for n in inside]).mean(0)
    grand = trained.mean(2, keepdim=True)
    a, b = trained - grand, means[length] - grand
    return torch.stack([inner(b - a, b - a), inner(b, b) + inner(a, a)])


class Codes:
    """The representations of the task state at one checkpoint, at all lengths.

    Args:
        rows: rows per length, from batches that number their sequences alike.
        inside: lengths inside training.
        fit: the sequences of the first half.
        rng: generators by name.
        resamples: bootstrap resamples.

    Raises:
        NoCode: where nothing can be compared at any length.
    """

    def __init__(
        self,
        rows: Mapping[int, ProbeRows],
        inside: Sequence[int],
        fit: Bool[Tensor, "sequence"],
        rng: Rng,
        resamples: int,
    ) -> None:
        self.labelling = Labelling.of(rows, inside, fit)
        self.inside = [n for n in inside if n in rows]
        self.draws: dict[int, Draws] = {}
        self.problems: dict[int, str] = {}
        for n in rows:
            try:
                self.draws[n] = Draws.of(rows[n], self.labelling, fit, rng("class means", n), resamples)
            except NoCode as error:
                self.problems[n] = str(error)

    @cached_property
    def pairs(self) -> dict[tuple[int, bool], list[int]]:
        """Return the lengths with which each length is compared, by (length, whether this length itself is left out of
        them).
        """
        found = {(n, False): self.inside for n in self.draws}
        if len(self.inside) > 1:
            found |= {(n, True): [m for m in self.inside if m != n] for n in self.inside}
        return found

    def changes(self, xs: Mapping[int, Float[Tensor, "_ d"]]) -> dict[tuple[int, bool], Change]:
        """Return C(n) of every length. For lengths inside training, also C(n) against only the others (key True)."""
        if not all(bool(x.isfinite().all()) for x in xs.values()):
            lost = np.full(2, np.nan)
            return {pair: Change(lost, "activations are not finite") for pair in self.pairs}
        parts: dict[tuple[int, bool], list[Tensor]] = {pair: [] for pair in self.pairs}
        for means in codes(xs, self.draws):
            for pair, against in self.pairs.items():
                parts[pair].append(norms(means, against, pair[0]))
        joined = {pair: torch.cat(found, 1).numpy() for pair, found in parts.items()}
        return {pair: Change.of(difference, size) for pair, (difference, size) in joined.items()}


def codes_of(measurement: ResampledMeasurement, study: Study, control: str = "") -> Codes:
    """Return the representations in what a measurement observed, for its own labels or for those of a label control.

    Raises:
        NoCode: where nothing can be compared at any length.
    """
    rng = partial(study.rng, measurement.name)
    fit = halves(measurement.sequences_per_length, rng("split"))
    rows = {n: relabel_rows(r, TARGET, control, rng("shuffle", n)) for n, r in measurement.rows.items()}
    return Codes(rows, study.grid.inside, fit, rng, measurement.resamples)
