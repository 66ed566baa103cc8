"""Members of the bench: drawn from a seed, planted to a target accuracy drop, and checked by removing the plant.

The strength of a plant is chosen by the accuracy drop only, never by the diagnosis. The planted cause is then checked.
When the planted numbers are set back, the accuracy drop must disappear. Members that fail this check are excluded and
counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.core.seeds import seed_of
from workbench.core.thresholds import NAMED_DROP
from workbench.diagnosis.bench.plants import BY_NAME, KINDS, Kind, Numbers, Part
from workbench.diagnosis.intervened_pass import clearly_right, last_classes
from workbench.diagnosis.measurement import Diagnosis
from workbench.diagnosis.recovered_share import LEARNED, balanced_accuracy
from workbench.jobs.deadline import refuse_late
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.table.schema import Row
from workbench.tasks.random_generator import generator

VERSION = 4
"""Raised whenever members, or what is stored about them, change. Rows of another version are made again."""
PER_KIND = 6
HEALTHY = 8
"""Members of a healthy kind. They cost little, and it takes many to detect rare false causes."""
GROUPS = ("second", "afterwards", "first")
"""Groups of members, those whose results are published first, in case a bench is stopped early.

Thresholds may be chosen on ``first``. Results are published for ``second``, and for ``afterwards``, which was drawn
after the rules of ``entry`` and ``failure_site`` were fixed.
"""
WEAKEST, STRONGEST = 0.22, 0.48
"""Between which losses members are wanted, evenly."""
ALONE = 0.35
"""Minimum accuracy drop for each part of a joint pair. Both together drop up to 0.5, each at least half of it."""
LARGEST = 0.55
"""Accuracy drop above which a member is excluded. With two answers, accuracy can drop by half at most."""
SEARCHED = 256
"""Number of sequences in the search for a strength."""
JUDGED = 512
"""Number of sequences for checking a member, and for its diagnosis."""
COARSE, FINE = 9, 5
"""Strengths that are tried evenly, and by halving the step around the best of them."""
TRUE = 0.8
"""Minimum share of the accuracy drop that setting back the planted numbers must recover."""
TOO_MUCH = 0.5
"""Maximum share that setting back one part of a joint pair may recover."""


@dataclass(frozen=True)
class Member:
    """One model of the bench, with its planted flaw.

    Attributes:
        kind: the kind's name.
        index: its number within its kind.
        stream: name of the random streams from which it is drawn.
    """

    kind: str
    index: int
    stream: str = "diagnosis bench"

    @property
    def group(self) -> str:
        """The group of the model, one of :data:`GROUPS`.

        Two successive members share a range of accuracy drops. In the first round, one of them is in each half.
        """
        if self.index >= round_of(self.plan):
            return "afterwards"
        return "second" if self.plan.held_out or self.index % 2 else "first"

    @property
    def plan(self) -> Kind:
        """The definition of the kind of flaw."""
        return BY_NAME[self.kind]

    @cached_property
    def target_drop(self) -> float:
        """The accuracy drop that the flaw is meant to cause."""
        share = (self.index % PER_KIND // 2 + self._rng("loss").random()) / (PER_KIND / 2)
        weakest = ALONE if self.plan.role == "joint" else WEAKEST
        return float(weakest + (STRONGEST - weakest) * min(share, 1.0))

    @cached_property
    def numbers_and_parts(self) -> tuple[Numbers, tuple[Part, ...]]:
        """Return the numbers of the model without its flaw, and the parts of the flaw."""
        return self.plan.draw(self._rng("numbers"))

    def _rng(self, word: str) -> np.random.Generator:
        return np.random.default_rng(seed_of(self.stream, word, self.kind, self.index))

    def accuracy(self, model: HookedModel, length: int, strings: int, word: str) -> float:
        """Return the class-balanced accuracy of the last answer, on sequences drawn for the stream ``word``."""
        draw = generator(self.stream, word, self.kind, self.index, length)
        batch = self.plan.task.sample(strings, length, draw, "matched", window=self.plan.trained)
        right = clearly_right(self.plan.task, forward(model, batch, [])["logits"], batch)
        return balanced_accuracy(right, last_classes(batch))

    def loss(self, planted: Numbers, strings: int, word: str) -> tuple[float, float]:
        """Return accuracy at N, and the accuracy drop at n."""
        model = planted.build()
        inside = self.accuracy(model, self.plan.trained, strings, word)
        return inside, inside - self.accuracy(model, self.plan.length, strings, word)


def round_of(kind: Kind) -> int:
    """Return the number of members of a kind that are drawn together."""
    return HEALTHY if kind.role == "healthy" else PER_KIND


def members(fewest: int | None = None) -> list[Member]:
    """Return all members, two rounds of each kind, in the order in which they are made.

    Groups whose results are published come first. Within a group, kinds alternate, so that a bench that is stopped
    early has some members of each kind.

    Args:
        fewest: number of members of each kind, from the first round; None = all of both rounds.
    """
    counts = {kind.name: 2 * round_of(kind) if fewest is None else fewest for kind in KINDS}
    every = [Member(name, i) for i in range(max(counts.values())) for name, count in counts.items() if i < count]
    return sorted(every, key=lambda member: GROUPS.index(member.group))


def replace_numbers(numbers: Numbers, values: dict[str, float]) -> Numbers:
    """Return the numbers with some values replaced."""
    whole = {name: round(v) if type(getattr(numbers, name)) is int else v for name, v in values.items()}
    return numbers.model_validate(numbers.model_dump() | whole)


def strength_of(member: Member, part: Part) -> float:
    """Return the value of a part whose accuracy drop is nearest to the target.

    The search uses the accuracy drop only.
    """
    numbers, _ = member.numbers_and_parts
    if part.weak == part.strong:
        return part.strong
    losses: dict[float, float] = {}

    def off(strength: float) -> float:
        """How far a strength is from what is wanted; far, where the model fails at N or loses too little."""
        if strength not in losses:
            inside, lost = member.loss(replace_numbers(numbers, {part.field: part.value(strength)}), SEARCHED, "search")
            good = inside >= LEARNED and NAMED_DROP < lost <= LARGEST
            losses[strength] = abs(lost - member.target_drop) + (0 if good else 1)
        return losses[strength]

    best = min(np.linspace(0, 1, COARSE).tolist(), key=off)
    step = 0.5 / (COARSE - 1)
    for _ in range(FINE):
        best = min((s for s in (best, best - step, best + step) if 0 <= s <= 1), key=off)
        step /= 2
    return part.value(best)


@dataclass(frozen=True)
class Planted:
    """A member with its flaw, and the check of the flaw.

    Attributes:
        numbers: the model.
        values: the planted values, by field.
        at_trained: accuracy at N.
        drop: the accuracy drop at n.
        unplanted: share of the drop that is recovered when the flaw is removed.
        unplanted_each: the same for each part of the flaw.
        excluded: why the member is excluded, in a clause; "" if it passes the check.
    """

    numbers: Numbers
    values: Mapping[str, float]
    at_trained: float
    drop: float
    unplanted: float
    unplanted_each: tuple[float, ...]
    excluded: str


def planted_member(member: Member) -> Planted:
    """Return a member with its flaw, whose strength is searched, and the check of the flaw."""
    numbers, parts = member.numbers_and_parts
    flawed = replace_numbers(numbers, {part.field: strength_of(member, part) for part in parts})
    values = {part.field: getattr(flawed, part.field) for part in parts}
    inside, drop = member.loss(flawed, JUDGED, "truth")
    each = [recovered_by_unplanting(member, flawed, [part], drop) for part in parts] if drop > 0 else []
    whole = recovered_by_unplanting(member, flawed, parts, drop) if drop > 0 else 0.0
    excluded = why_not_true(member.plan, inside, drop, whole, each)
    return Planted(flawed, values, inside, drop, whole, tuple(each), excluded)


def diagnose_member(member: Member, until: float | None = None) -> dict[str, Any]:
    """Make a member, check it and diagnose it; return its row of the bench's table.

    Args:
        member: the member.
        until: time in seconds since the epoch after which it does not begin; None = no limit.

    Raises:
        TimeIsUp: if that time has passed.
    """
    refuse_late(until)
    begun = time.process_time()
    plant = planted_member(member)
    flawed = plant.numbers
    rows = diagnosis_rows(member, flawed)
    return {
        "version": VERSION,
        "kind": member.kind,
        "index": member.index,
        "group": member.group,
        "numbers": json.dumps(flawed.model_dump(), sort_keys=True),
        "planted": json.dumps(plant.values),
        "wanted": member.target_drop if plant.values else 0.0,
        "at_trained": plant.at_trained,
        "loss": plant.drop,
        "unplanted": plant.unplanted,
        "unplanted_each": list(plant.unplanted_each),
        "thrown_out": plant.excluded,
        **diagnosis_columns(rows),
        "rows": json.dumps([{k: v for k, v in r.items() if v not in (None, "")} for r in rows]),
        "seconds": time.process_time() - begun,
    }


def recovered_by_unplanting(member: Member, flawed: Numbers, parts: Sequence[Part], loss: float) -> float:
    """Return the share of the accuracy drop that is recovered when parts get their values from before planting."""
    numbers, _ = member.numbers_and_parts
    model = replace_numbers(flawed, {part.field: getattr(numbers, part.field) for part in parts}).build()
    length = member.plan.length
    before = member.accuracy(flawed.build(), length, JUDGED, "truth")
    return (member.accuracy(model, length, JUDGED, "truth") - before) / loss


def why_not_true(kind: Kind, inside: float, loss: float, whole: float, each: Sequence[float]) -> str:
    """Return why a member is excluded, in a clause; "" if it passes the check."""
    if inside < LEARNED:
        return f"accuracy at N is {inside:.2f}"
    if kind.role == "healthy":
        return ""
    if not NAMED_DROP <= loss <= LARGEST:
        return f"its loss is {loss:.2f}"
    if whole < TRUE:
        return f"unplanting gives back {whole:.2f}"
    if kind.role == "joint" and max(each) > TOO_MUCH:
        return f"unplanting one part gives back {max(each):.2f}"
    return ""


def diagnosis_rows(member: Member, flawed: Numbers) -> list[Row]:
    """Return the rows of ``diagnosis`` at n, as for a run."""
    plan = member.plan
    grid = Grid(plan.trained, (plan.trained, plan.length), (plan.trained,), (plan.length,))
    seed = seed_of(member.stream, "diagnosis", member.kind, member.index)
    study = ModelStudy(flawed.build(), plan.task, grid, JUDGED, seed)
    study.trained_ids = getattr(flawed, "trained_ids", None)
    return Diagnosis(factors=(plan.length / plan.trained,)).finish(study)


def diagnosis_columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the columns of the bench's table that come from the rows of a diagnosis."""
    by = {r["quantity"]: r for r in rows if r["quantity"] in ("entry", "entry_grade", "failure_site", "balanced_loss")}
    entry, site = by["entry"], by["failure_site"]
    target = str(entry["target"] or "")
    shares = [r for r in rows if r["quantity"] == "restored_share" and r["target"] == target and not r["control"]]
    share = shares[0] if target and shares else {"value": None, "low": None, "high": None}
    return {
        "measured_loss": by["balanced_loss"]["value"],
        "entry": entry["label"] or "",
        "grade": by["entry_grade"]["label"] or "",
        "by": target,
        "note": entry["note"] or "",
        "share": share["value"],
        "low": share["low"],
        "high": share["high"],
        "site": site["label"] or "",
        "layer": site["layer"],
        "head": site["head"],
    }
