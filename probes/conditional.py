"""What the residual stream adds about position given the task state, and about the task state given position.

Both are measured in the band (n/2, n], where position varies:

    position_given_summary = 1 - SSE(log i ~ s + x) / SSE(log i ~ s)
    summary_given_position = 1 - SSE(s ~ i + x) / SSE(s ~ i)

Here s and i enter as indicators (a real task state enters as it is), and x is the residual stream. Errors are on
held-out sequences: each half is predicted from the other. A count that was never normalised predicts both targets.
These two measures show which of the two is coded in its own right.

The conditioning variables are partialled out of x and of the target (Frisch and Waugh 1933), without a ridge penalty.
Otherwise what a penalty leaves of them would be attributed to x. Controls are shuffled labels, the untrained model and
the query's token; for the task state also hashed labels. (The last 8 tokens are a control of position_decodability and
summary_decodability, but are too many features here.) Position predicts itself perfectly, and adds nothing about the
task state given position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Shaped
from pydantic import AfterValidator
from torch import Tensor

from probes.fitting import controls
from probes.fitting.decode import Rng
from probes.fitting.linear import ridge
from probes.fitting.metrics import ProbeScore, Resamples, estimates, fields_of, says_nothing
from probes.fitting.probe_rows import ProbeRows, RowPlaces, folds, halves, layer_of
from probes.residual_stream import POSITION, TARGET, Queries, ResampledMeasurement, summary_labels
from workbench.measure.measurement import Quantity, Study
from workbench.measure.settings import Count
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

#: Per quantity, its own labels and the label controls.
KINDS = {
    "position_given_summary": ("", controls.SHUFFLED),
    "summary_given_position": ("", controls.SHUFFLED, controls.HASHED),
}
STILL = "the labels do not vary beyond what they are conditioned on"
ROUNDING = 1e-20
"""Share of squared deviation below which only rounding is left."""
FEWEST = 8
"""Minimum number of sequences in a half, and of rows per position in a half."""


@dataclass(frozen=True)
class Errors:
    """Squared errors on held-out rows, summed over the components of the target.

    Attributes:
        full: with the residual stream, per site.
        base: with the conditioning variables only.
        whole: deviation of the target from its mean, summed over rows.
    """

    full: Float[Tensor, "site row"]
    base: Float[Tensor, "row"]
    whole: float

    @property
    def nothing_left(self) -> bool:
        """Whether the conditioning variables predict the target up to rounding."""
        return float(self.base.sum()) <= ROUNDING * self.whole

    def shares(self, resamples: Resamples) -> Float[Tensor, "draw site"]:
        """Return 1 - full / base, as measured and resampled."""
        return 1 - resamples.sums(self.full) / resamples.sums(self.base)[:, None]


def cross_fit_errors(
    x: Float[Tensor, "site row d"],
    targets: Sequence[Float[Tensor, "row _"]],
    given: Float[Tensor, "row known"],
    rows: ProbeRows,
    fit: Bool[Tensor, "sequence"],
) -> list[Errors]:
    """Return the errors of every row, predicted from the half of the sequences that does not contain it.

    Args:
        x: features.
        targets: targets, each predicted separately.
        given: conditioning variables.
        rows: which sequence each row belongs to.
        fit: the sequences of the first half.
    """
    width = [t.shape[1] for t in targets]
    flat = torch.cat([*targets, x.double().permute(1, 0, 2).flatten(1)], 1)
    full = [x.new_zeros(len(x), len(rows), dtype=torch.float64) for _ in targets]
    base = [torch.zeros(len(rows), dtype=torch.float64) for _ in targets]
    first = fit[rows.sequence]
    for inn in (first, ~first):
        out = ~inn
        known: Tensor = torch.linalg.lstsq(given[inn], flat[inn], driver="gelsd").solution
        left = flat - given @ known
        y, z = left[:, : sum(width)], left[:, sum(width) :].unflatten(1, x.shape[::2]).permute(1, 0, 2)
        pieces = y.split(width, 1)
        directions = ridge(z[:, inn], [piece[inn] for piece in pieces], folds(rows.sequence[inn]))
        for i, (piece, found) in enumerate(zip(pieces, directions, strict=True)):
            full[i][:, out] = (found(z[:, out]) - piece[out]).pow(2).sum(-1)
            base[i][out] = piece[out].pow(2).sum(-1)
    whole = [float((t - t.mean(0)).pow(2).sum()) for t in targets]
    return [Errors(*parts) for parts in zip(full, base, whole, strict=True)]


def indicators(labels: Shaped[Tensor, "row *s"]) -> Float[Tensor, "row value"]:
    """Return one column per value of a class; for a real label, its numbers and a constant column."""
    if labels.is_floating_point():
        values = labels.double().reshape(len(labels), -1)
        return torch.cat([torch.ones(len(labels), 1, dtype=torch.float64), values], 1)
    classes, place = labels.unique(return_inverse=True)
    return torch.nn.functional.one_hot(place, len(classes)).double()


def _several(positions: int) -> int:
    if positions < 2:
        raise ValueError(f"must be at least 2, so that the position varies, not {positions}")
    return positions


class ConditionalProbes(ResampledMeasurement):
    """Measure position given the task state and the reverse, at every layer and in the band of each length.

    Args:
        law: name of the test set.
        resamples: bootstrap resamples of sequences for every interval.
        layers: layers to read; None = all.
        positions: number of positions of the band that are read, the same in every sequence.
        queries: ``supervised`` positions only, or ``all``.
    """

    name = "probes.conditional"
    version = 3
    title = "Position and task state, each given the other"
    about = ("summary", "position")
    quantities = (
        Quantity(
            "position_given_summary",
            "How much the residual stream reveals about position beyond the task state. One linear regression "
            "predicts log i from the task state. A second regression also uses the residual stream. The value is the "
            "share of the first regression's squared error that the second one removes. Regressions are fitted on one "
            "half of the sequences and tested on the other, for queries i in (n/2, n]. At 0 the residual stream adds "
            "nothing to the task state; at 1 it determines position completely.",
            "share of squared error",
            high=1.0,
            about="position",
            formula="1 − SSE(log i ~ s + x) / SSE(log i ~ s), n/2 < i ≤ n",
            where="SSE: squared error on held-out sequences, s: task state, x: residual stream",
            controls=(controls.SHUFFLED, controls.TOKEN, controls.UNTRAINED),
        ),
        Quantity(
            "summary_given_position",
            "How much the residual stream reveals about the task state s beyond position. One linear regression "
            "predicts s from position. A second regression also uses the residual stream. The value is the share of "
            "the first regression's squared error that the second one removes. If the task state is a class, it "
            "enters as one indicator variable per class. Regressions are fitted on one half of the sequences and "
            "tested on the other, for queries in (n/2, n]. At 0 the residual stream adds nothing to position; at 1 it "
            "determines the task state completely.",
            "share of squared error",
            high=1.0,
            about="summary",
            formula="1 − SSE(s ~ i + x) / SSE(s ~ i), n/2 < i ≤ n",
            where="SSE: squared error on held-out sequences, s: task state, x: residual stream",
            controls=(controls.SHUFFLED, controls.HASHED, controls.TOKEN, controls.UNTRAINED),
        ),
    )

    positions: Annotated[Count, AfterValidator(_several)] = 8
    queries: Queries = "supervised"

    def places(self, batch: Batch, length: int) -> RowPlaces:
        """Return a few positions of the band, evenly spread and the same in every sequence."""
        first, last = batch.index(length // 2 + 1), batch.index(length)
        asked = batch.mask.cpu() if self.queries == "supervised" else torch.ones_like(batch.mask.cpu())
        able = first + asked[:, first : last + 1].sum(0).ge(2 * FEWEST).nonzero()[:, 0]
        chosen = able[torch.linspace(0, max(len(able) - 1, 0), min(self.positions, len(able))).round().long()]
        at = asked[:, chosen].nonzero()
        at[:, 1] = chosen[at[:, 1]]
        place = at[:, 1] + (0 if batch.bos else 1)
        summary = summary_labels(batch)[at[:, 0], at[:, 1]].cpu()
        return RowPlaces.of(batch, at, {TARGET: summary, POSITION: place})

    def finish(self, study: Study) -> list[Row]:
        """Return both quantities at all layers and lengths, with their controls."""

        rng = partial(study.rng, self.name)
        fit = halves(self.sequences_per_length, rng("split"))
        fixed = self.memo(study, lambda: self._fixed(study, fit, rng))
        new_rows = []
        for length, rows in sorted(self.rows.items()):
            for quantity, problem in self._problems(rows, fit).items():
                if problem:
                    new_rows += [self._row(quantity, length, site, "", problem) for site in self.read]
                    continue
                found = self._estimates(quantity, rows.x, rows, fit, rng, KINDS[quantity]) | fixed[length, quantity]
                for control, estimated in found.items():
                    for i, site in enumerate(self.read):
                        at = estimated[i % len(estimated)]
                        new_rows.append(self._row(quantity, length, site, control, at, self._count(rows)))
        return new_rows

    def _problems(self, rows: ProbeRows, fit: Bool[Tensor, "sequence"]) -> dict[str, str]:
        """Return, per quantity, why it is undefined, or ""."""
        first = fit[rows.sequence]
        least = min(len(rows.sequence[side].unique()) for side in (first, ~first))
        common = ""
        if least < FEWEST:
            common = f"{least} sequences with supervised queries of the band in a half; at least {FEWEST} are needed"
        elif not rows.finite:
            common = "activations are not finite"
        problems = {}
        for quantity, name, what in (
            ("position_given_summary", POSITION, "position"),
            ("summary_given_position", TARGET, "the summary"),
        ):
            labels = rows.labels[name]
            still = bool(len(labels)) and bool((labels == labels[0]).all())
            problems[quantity] = common or (f"{what} does not vary in the band" if still else "")
        return problems

    def _estimates(
        self,
        quantity: str,
        x: Float[Tensor, "site row d"],
        rows: ProbeRows,
        fit: Bool[Tensor, "sequence"],
        rng: Rng,
        kinds: Sequence[str],
    ) -> dict[str, list[ProbeScore | str]]:
        """Return estimates per site of the quantity ("") and of the label controls in ``kinds``."""
        place, summary = rows.labels[POSITION], rows.labels[TARGET]
        if quantity == "position_given_summary":
            target, conditioning = place.double().log()[:, None], indicators(summary)
        else:
            target, conditioning = indicators(summary), indicators(place)
        labels = {
            "": lambda: target,
            controls.SHUFFLED: lambda: controls.shuffle_labels(target, rng("shuffle", quantity, len(rows))),
            controls.HASHED: lambda: indicators(controls.hash_labels(summary, rows.tokens)),
        }
        targets = [labels[kind]() for kind in kinds]
        resamples = Resamples.of(rows.sequence, rng("bootstrap", quantity), self.resamples)
        found = cross_fit_errors(x, targets, conditioning, rows, fit)
        return {kind: self._shares_or_reasons(errors, resamples) for kind, errors in zip(kinds, found, strict=True)}

    @staticmethod
    def _shares_or_reasons(errors: Errors, resamples: Resamples) -> list[ProbeScore | str]:
        """Return per site the share, or why it is undefined."""
        if errors.nothing_left:
            return [STILL] * len(errors.full)
        found = estimates(errors.shares(resamples))
        return [says_nothing(at, full, resamples) or at for at, full in zip(found, errors.full, strict=True)]

    def _fixed(
        self, study: Study, fit: Bool[Tensor, "sequence"], rng: Rng
    ) -> dict[tuple[int, str], dict[str, list[ProbeScore | str]]]:
        """Return what does not depend on the checkpoint: estimates from the query's token and the untrained model."""
        untrained = self.untrained_rows(study)
        by_cell: dict[tuple[int, str], dict[str, list[ProbeScore | str]]] = {}
        for length, rows in self.rows.items():
            features = {controls.TOKEN: controls.inputs(rows.tokens, controls.TOKEN)}
            if untrained is not None:
                features[controls.UNTRAINED] = untrained[length].x
            for quantity, problem in self._problems(rows, fit).items():
                by_control = {
                    control: self._estimates(quantity, x, rows, fit, rng, ("",))[""]
                    for control, x in features.items()
                    if not problem and bool(x.isfinite().all())
                }
                by_cell[length, quantity] = by_control
        return by_cell

    @staticmethod
    def _count(rows: ProbeRows) -> int:
        return len(rows.sequence.unique())

    def _row(self, quantity: str, length: int, site: str, control: str, at: ProbeScore | str, n: int = 0) -> Row:
        target = POSITION if quantity == "position_given_summary" else TARGET
        fields = {"law": self.law, "length": length, "site": site, "layer": layer_of(site), "quantity": quantity}
        fields |= {"target": target, "mode": "refit", "control": control}
        if isinstance(at, str):
            return row(**fields, status="undefined", note=at)
        return row(**fields, **fields_of(at, n))
