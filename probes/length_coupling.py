"""Is it the same code past training? One figure per checkpoint: 0 the same, 1 nothing of it left.

C(n) compares the class means of the output summary at prefix length n with those inside training:

    C(n) = |b(n) - a|^2 / (|b(n)|^2 + |a|^2)

with a the mean over the lengths inside training of the matrices of class means and b(n) that at n, both
centred at the grand mean inside training. It is 0 where the code is the same, 1 where nothing of it is left or
where only position is coded, and does not change under rotation, translation and common scale.

*used* takes the centred logits at the query, *stored* the residual stream: a direction that no later layer
reads may move without harm. The law must be matched, or the summary itself would change with length, and
challenging, or a shortcut that holds on easy strings would pass for the code. What is measured is sameness
and not correctness: a model that has learned nothing keeps its code, so the figure means something only
beside whether the checkpoint is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from probes.codes import Draws, Labelling, NoCode, codes, inner
from probes.rows import Rows, halves, layer_of
from probes.stream import TARGET, StreamMeasurement, summary_rows
from workbench.measure.intervals import interval
from workbench.measure.measurement import Quantity, Study
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from probes.decode import Rng

#: The lengths past training that the one figure is the mean over, as multiples of N.
FACTORS = (2, 4, 8)
USED, STORED = "used", "stored"
STILL = "rows of a class are all equal, so the interval says nothing of rows that were not drawn"
NOISE = "the code is not above its sampling noise"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """C(n) of one hook and length.

    Attributes:
        draws: as measured (draw 0) and per resample; NaN where it is not defined.
        problem: why it is undefined, or "".
    """

    draws: Array
    problem: str = ""

    @staticmethod
    def of(difference: Array, size: Array) -> Change:
        """From the draws of the squared norms above and below the line."""
        if not np.isfinite(size[0]) or size[0] <= 0 or float(interval(size[1:])[0]) <= 0:
            return Change(np.full_like(size, np.nan), NOISE)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Change(np.where(size > 0, np.clip(difference / size, 0, 1), np.nan))


def mean_change(changes: Mapping[int, Change]) -> Change:
    """The mean over lengths; undefined as soon as one of them is."""
    for n, change in changes.items():
        if change.problem:
            return Change(change.draws, f"at length {n}: {change.problem}")
    return Change(np.mean([c.draws for c in changes.values()], axis=0))


def norms(
    means: Mapping[int, Float[Tensor, "half draw class d"]], inside: Sequence[int], length: int
) -> Float[Tensor, "part draw"]:
    """|b - a|^2 and |b|^2 + |a|^2 of one length, per draw.

    Args:
        means: class means by length.
        inside: the lengths that a and the grand mean are taken over.
        length: that of b.
    """
    trained = torch.stack([means[n] for n in inside]).mean(0)
    grand = trained.mean(2, keepdim=True)
    a, b = trained - grand, means[length] - grand
    return torch.stack([inner(b - a, b - a), inner(b, b) + inner(a, a)])


class Codes:
    """The codes of one checkpoint at all lengths, ready to be compared.

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
        rows: Mapping[int, Rows],
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
        """(length, left out of a) -> the lengths that it is compared with."""
        found = {(n, False): self.inside for n in self.draws}
        if len(self.inside) > 1:
            found |= {(n, True): [m for m in self.inside if m != n] for n in self.inside}
        return found

    def changes(self, xs: Mapping[int, Float[Tensor, "_ d"]]) -> dict[tuple[int, bool], Change]:
        """C(n) of every length, and of those inside training also against the others alone (True)."""
        if not all(bool(x.isfinite().all()) for x in xs.values()):
            lost = np.full(2, np.nan)
            return {pair: Change(lost, "activations are not finite") for pair in self.pairs}
        parts: dict[tuple[int, bool], list[Tensor]] = {pair: [] for pair in self.pairs}
        for means in codes(xs, self.draws):
            for pair, against in self.pairs.items():
                parts[pair].append(norms(means, against, pair[0]))
        joined = {pair: torch.cat(found, 1).numpy() for pair, found in parts.items()}
        return {pair: Change.of(difference, size) for pair, (difference, size) in joined.items()}


class LengthCoupling(StreamMeasurement):
    """C(n) of the logits (used) and of the residual stream (stored), and their means past and inside training.

    Args:
        law: an evaluation law under which the summary has one law at every length and shortcuts fail; the
            challenge laws of the tasks here are made for both.
        resamples: bootstrap resamples, inside class and half.
        layers: layers to read; None = all.
    """

    name = "probes.length_coupling"
    title = "Length coupling of the code"
    quantities = (
        Quantity(
            "length_coupling",
            "mean over the lengths 2N, 4N and 8N of C(n) = |b(n) - a|^2 / (|b(n)|^2 + |a|^2), with a and b(n) the "
            "class means of the output summary inside training and at n: 0 the same code, 1 nothing of it left. "
            "Mode used: of the centred logits, the one figure of a checkpoint; mode stored: of the residual stream. "
            "It says nothing of correctness: to be read only where the checkpoint is fitted",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
        ),
        Quantity(
            "length_coupling_in",
            "mean over the lengths inside training of C(n), each against the others: how much the code changes there",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
        ),
        Quantity(
            "length_coupling_at",
            "C(n) at one prefix length",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
        ),
    )

    def __init__(self, law: str = "challenge", resamples: int = 400, layers: Sequence[int] | None = None) -> None:
        super().__init__(law, resamples, layers)
        self.logits: dict[int, Tensor] = {}

    def reduce(self, batch: Batch, length: int, cache: Mapping[str, Tensor], sites: list[str]) -> Rows:
        """The supervised queries of exactly that prefix length."""
        return summary_rows(batch, length, cache, sites)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        super().observe(law, length, batch, cache)
        at = self.rows[length].sequence
        self.logits[length] = cache["logits"][:, batch.index(length)].detach().double().cpu()[at]

    def finish(self, study: Study) -> list[Row]:
        """Rows of one checkpoint: the one figure first."""
        wanted = [study.task.next_length(study.grid.trained * factor) for factor in FACTORS]
        fit = halves(self._drawn, study.rng(self.name, "split"))
        report = Report(self, study, wanted)

        def rng(*parts: object) -> np.random.Generator:
            return study.rng(self.name, *parts)

        try:
            found = Codes(self.rows, study.grid.inside, fit, rng, self.resamples)
        except NoCode as error:
            return [made for place in report.places() for made in report.nothing(place, str(error))]
        return [made for place in report.places() for made in report.rows(place, found)]


@dataclass(frozen=True)
class Place:
    """One hook: the fields its rows share, and what it holds at each length."""

    fields: dict[str, Any]
    xs: dict[int, Tensor]


@dataclass(frozen=True)
class Report:
    """Makes the rows of one checkpoint.

    Attributes:
        measured: the measurement, with what it observed.
        study: the checkpoint.
        wanted: the lengths of the one figure.
    """

    measured: LengthCoupling
    study: Study
    wanted: Sequence[int]

    def places(self) -> Iterator[Place]:
        """The logits, then every site."""
        logits, common = self.measured.logits, {"law": self.measured.law, "target": TARGET}
        # A softmax takes no notice of what is added to all logits; real outputs are what they are.
        used = logits if self.study.task.real else {n: x - x.mean(1, keepdim=True) for n, x in logits.items()}
        yield Place({**common, "mode": USED, "site": "logits"}, used)
        for i, site in enumerate(self.measured.read):
            held = {n: rows.x[i] for n, rows in self.measured.rows.items()}
            yield Place({**common, "mode": STORED, "site": site, "layer": layer_of(site)}, held)

    def rows(self, place: Place, found: Codes) -> list[Row]:
        """All rows of one hook."""
        changes = found.changes(place.xs)
        note = found.labelling.note
        still = any(found.draws[n].still(place.xs[n]) for n in found.draws)
        notes = "; ".join(filter(None, (note, STILL if still else "")))

        def at(n: int, apart: bool = False) -> Change:
            if (n, apart) in changes:
                return changes[n, apart]
            absent = f"length {n} was not measured, or cannot be read"
            return Change(np.full(2, np.nan), found.problems.get(n, absent))

        made = [self._row("length_coupling", place, mean_change({n: at(n) for n in self.wanted}), self.wanted, notes)]
        inside = found.inside
        if len(inside) > 1:
            own = mean_change({n: at(n, True) for n in inside})
        else:
            own = Change(np.full(2, np.nan), "needs at least two lengths inside training")
        made.append(self._row("length_coupling_in", place, own, inside, notes))
        every = [self._row("length_coupling_at", place, at(n), [n], notes, n) for n in sorted(self.measured.rows)]
        return made + every

    def nothing(self, place: Place, problem: str) -> list[Row]:
        """The rows of one hook where no code can be had."""
        lost = Change(np.full(2, np.nan), problem)
        made = [self._row(q, place, lost, self.wanted, "") for q in ("length_coupling", "length_coupling_in")]
        lengths = sorted(self.measured.rows)
        return made + [self._row("length_coupling_at", place, lost, [n], "", n) for n in lengths]

    def _row(
        self, quantity: str, place: Place, change: Change, over: Sequence[int], note: str, length: int | None = None
    ) -> Row:
        fields = {**place.fields, "quantity": quantity, "length": length}
        if change.problem:
            return row(**fields, status="undefined", note=change.problem)
        low, high = interval(change.draws[1:])
        unseen = any(self.study.reads_unseen(n) for n in over)
        return row(
            **fields,
            value=float(change.draws[0]),
            low=float(low),
            high=float(high),
            n=min(len(self.measured.rows[n]) for n in over),
            status="unseen_position" if unseen else "ok",
            note=note,
        )


MEASUREMENT = LengthCoupling
