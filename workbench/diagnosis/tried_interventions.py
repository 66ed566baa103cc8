"""Interventions on one model at one length: what each recovers, its cost at N, and the result of its control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.core.names import TOO_COSTLY
from workbench.core.thresholds import MOST_COST, NAMING_SHARE
from workbench.diagnosis.intervened_pass import IntervenedPass
from workbench.diagnosis.recovered_share import Bootstrap, Estimate95, Judged, balanced_accuracy, best_member, halves
from workbench.measure.edits.interventions.all_interventions import interventions_on, members
from workbench.measure.edits.interventions.intervention import FAMILIES, IdEdit, Inside, Intervention
from workbench.models.base.protocol import HookedModel
from workbench.tasks.base import Batch, Task

PAIR_STRINGS = 128
"""Number of sequences on which the members of pairs are chosen."""


@dataclass(frozen=True)
class Tried:
    """The results of one intervention at one length.

    Attributes:
        interventions: the intervention, or a pair of them.
        why_not: why it is not applicable, in a clause; then there are no shares.
        harm: its cost at N, in class-balanced accuracy; None where it was not measured.
        chosen_by: its share on the sequences on which members are chosen.
        share: its share on the sequences on which it is reported.
        right: ``[string]``, 0/1 on these.
        control: the share of the same kind of edit with the wrong constant, on the same sequences; None where it was
            not measured.
        control_harm: cost of the control at N.
    """

    interventions: tuple[Intervention, ...]
    why_not: str = ""
    harm: float | None = None
    chosen_by: float = 0.0
    share: Estimate95 | None = None
    right: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    control: Estimate95 | None = None
    control_harm: float | None = None

    @property
    def name(self) -> str:
        """The name as in the column ``target``."""
        return " and ".join(intervention.name for intervention in self.interventions)


@dataclass(frozen=True)
class Findings:
    """The results of all interventions at one length.

    Attributes:
        members: every single intervention, including those that are not applicable.
        families: by family, its best member; families without an applicable member are left out.
        pairs: pairs of interventions of two families, tested if no family passed.
        bootstrap: resamples of the sequences on which shares are reported.
    """

    members: tuple[Tried, ...]
    families: Mapping[str, Tried]
    pairs: tuple[Tried, ...]
    bootstrap: Bootstrap

    @property
    def recovering_families(self) -> frozenset[str]:
        """Return the families of interventions whose best member recovers enough of the accuracy drop."""
        return frozenset(family for family, one in self.families.items() if passes(one))


class Trials:
    """Tests interventions on a model; their cost at N is computed once for all lengths.

    Args:
        model: the model.
        task: the task, which determines the right answers.
        inside: facts about training.
        reference: sequences at N, different from those of ``inside``.
        at_reference: which of them the model answers right.
    """

    def __init__(self, model: HookedModel, task: Task, inside: Inside, reference: Batch, at_reference: Judged) -> None:
        self.model, self.task, self.inside = model, task, inside
        self.reference, self.at_reference = reference, at_reference
        self._accuracy = balanced_accuracy(at_reference.right, at_reference.classes)
        self._harms: dict[tuple[Intervention, ...], float] = {}
        self.passes = 0

    def harm(self, interventions: Sequence[Intervention]) -> float:
        """Return the cost of interventions at N."""
        key = tuple(interventions)
        if key not in self._harms:
            run = IntervenedPass(self.model, self.inside, key, trial=True)
            if run.needs_statistics:
                run.fit(self.reference)
            found = run.judge(self.task, self.reference)
            self.passes += 1
            self._harms[key] = self._accuracy - balanced_accuracy(found.right, found.classes)
        return self._harms[key]

    def judge(self, interventions: Sequence[Intervention], batch: Batch, fit: Batch) -> Judged:
        """Return which sequences are answered right under interventions; statistics at n are taken on ``fit``."""
        run = IntervenedPass(self.model, self.inside, interventions)
        if run.needs_statistics:
            run.fit(fit)
        self.passes += 1
        return run.judge(self.task, batch)

    def why_not(self, intervention: Intervention, batch: Batch) -> str:
        """Return why an intervention is not applicable to these sequences, in a clause; "" if it is applicable."""
        if why := intervention.no_place(self.model.cfg) or intervention.no_effect(self.inside):
            return why
        if isinstance(intervention, IdEdit):
            passes = (IntervenedPass(self.model, self.inside, edits) for edits in ((), (intervention,)))
            clean, edited = (one_pass.ids(batch) for one_pass in passes)
            if clean.shape == edited.shape and bool((clean == edited).all()):
                return "every id here was seen in training"
        if (harm := self.harm([intervention])) > MOST_COST:
            return f"{TOO_COSTLY}: it costs {harm:.2f} at N"
        return ""

    def at(self, batch: Batch, at: Judged, fit: Batch, rng: np.random.Generator, resamples: int = 1000) -> Findings:
        """Return the results of all interventions at one length.

        Args:
            batch: sequences at n.
            at: which of them the model answers right.
            fit: further sequences at n, for statistics.
            rng: generator of the bootstrap.
            resamples: number of bootstrap resamples.
        """
        choosing, reporting = halves(len(batch))
        chooses = Bootstrap(self.at_reference, at.part(choosing), rng, 2)
        reports = Bootstrap(self.at_reference, at.part(reporting), rng, resamples)

        def tried(interventions: tuple[Intervention, ...], **more: object) -> Tried:
            found = self.judge(interventions, batch, fit)
            right = found.right[reporting]
            by = chooses.gained_share(found.right[choosing])
            return Tried(interventions, chosen_by=by, share=reports.share(right), right=right, **more)  # type: ignore[arg-type]

        alone: list[Tried] = []
        for intervention in interventions_on(self.model.cfg):
            why = self.why_not(intervention, batch)
            harm = None if intervention.no_place(self.model.cfg) else self._harms.get((intervention,))
            alone.append(Tried((intervention,), why, harm) if why else tried((intervention,), harm=harm))
        families: dict[str, Tried] = {}
        for family in FAMILIES:
            able = {
                trial.name: trial for trial in alone if not trial.why_not and trial.interventions[0].family == family
            }
            if able:
                best = able[best_member({name: trial.chosen_by for name, trial in able.items()}, list(able))]
                families[family] = self._with_control(best, batch, fit, reports, reporting)
        pairs = []
        if not any(passes(trial) for trial in families.values()):
            for both in self._best_pairs(alone, batch, fit, at):
                if (harm := self.harm(both)) <= MOST_COST:
                    pairs.append(tried(both, harm=harm))
        return Findings(tuple(alone), families, tuple(pairs), reports)

    def _best_pairs(
        self, alone: Sequence[Tried], batch: Batch, fit: Batch, at: Judged
    ) -> Iterator[tuple[Intervention, Intervention]]:
        """Yield, for every two families, the members that recover most together, on some of the choosing sequences.

        The best single members would not do. Where single members recover nothing, which of them is best is noise.
        """
        some = halves(len(batch))[0][:PAIR_STRINGS]
        few, clean = batch.take(torch.as_tensor(some)), at.part(some)
        base = balanced_accuracy(clean.right, clean.classes)
        able = [one.interventions[0] for one in alone if not one.why_not]
        for first, second in combinations(FAMILIES, 2):
            gains = {}
            for both in product(members(able, first), members(able, second)):
                found = self.judge(both, few, fit)
                gains[both] = balanced_accuracy(found.right, found.classes) - base
            if gains:
                yield max(gains, key=lambda both: gains[both])

    def _with_control(
        self, best: Tried, batch: Batch, fit: Batch, reports: Bootstrap, reporting: NDArray[np.int64]
    ) -> Tried:
        wrong = tuple(intervention.control for intervention in best.interventions)
        found = self.judge(wrong, batch, fit)
        share = reports.share(found.right[reporting])
        return Tried(best.interventions, "", best.harm, best.chosen_by, best.share, best.right, share, self.harm(wrong))


LEAST = 0.25
"""The lower end of the share's interval must exceed this."""
OVER_CONTROL = 0.3
"""The share must exceed the control's share, or 0 if that is negative, by this much."""


def passes(trial: Tried) -> bool:
    """Return whether an intervention recovers enough to name its family."""
    if trial.share is None or trial.control is None:
        return False
    over = trial.share.value - max(0.0, trial.control.value)
    return trial.share.value >= NAMING_SHARE and trial.share.low > LEAST and over >= OVER_CONTROL
