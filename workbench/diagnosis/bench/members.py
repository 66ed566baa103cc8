"""Members of the bench: drawn from a seed, as strong as the loss that is wanted, and true by unplanting.

A member's flaw is made as strong as its loss says, and never as its diagnosis does. Its truth is tried: with the
planted numbers set back the loss must go. Members of which that does not hold are thrown out, and counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.core.seeds import seed_of
from workbench.diagnosis.bench.plants import BY_NAME, KINDS, Kind, Numbers, Part
from workbench.diagnosis.intervened_pass import clearly_right, last_classes
from workbench.diagnosis.measurement import Diagnosis
from workbench.diagnosis.recovered_share import LEARNED, NAMED, balanced_accuracy
from workbench.jobs.deadline import refuse_late
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.table.schema import Row
from workbench.tasks.random_generator import generator

VERSION = 4
"""Raised whenever members, or what is stored of them, change: rows of another version are made again."""
PER_KIND = 6
HEALTHY = 8
"""Members of a healthy kind: they cost little, and a rare false name needs many."""
GROUPS = ("second", "afterwards", "first")
"""Of members: thresholds may be chosen on ``first``; ``second`` is told, and so is ``afterwards``, which was drawn once
the rules of entry and site were what they are. What is told comes first, in case a bench is cut short."""
WEAKEST, STRONGEST = 0.22, 0.48
"""Between which losses members are wanted, evenly."""
ALONE = 0.35
"""Least loss that is wanted of each part of a pair by itself: both together lose up to .5, and each at least half."""
LARGEST = 0.55
"""Loss above which a member is thrown out: half of the accuracy is all that one of two answers can lose."""
SEARCHED = 256
"""Strings on which a strength is searched."""
JUDGED = 512
"""Strings on which truth is tried, and of a diagnosis."""
COARSE, FINE = 9, 5
"""Strengths that are tried evenly, and by halving the step around the best of them."""
TRUE = 0.8
"""Share of the loss that unplanting must give back."""
TOO_MUCH = 0.5
"""Share that unplanting one of a joint pair must not reach."""


@dataclass(frozen=True)
class Member:
    """One planted model.

    Attributes:
        kind: the kind's name.
        index: its number in its kind.
    """

    kind: str
    index: int

    @property
    def group(self) -> str:
        """One of :data:`GROUPS`; two in a row share a range of losses, and of the first round one is of each half."""
        if self.index >= round_of(self.plan):
            return "afterwards"
        return "second" if self.plan.held_out or self.index % 2 else "first"

    @property
    def plan(self) -> Kind:
        """What its kind says."""
        return BY_NAME[self.kind]

    @cached_property
    def wanted(self) -> float:
        """The loss that is wanted."""
        share = (self.index % PER_KIND // 2 + self._rng("loss").random()) / (PER_KIND / 2)
        weakest = ALONE if self.plan.role == "joint" else WEAKEST
        return float(weakest + (STRONGEST - weakest) * min(share, 1.0))

    @cached_property
    def drawn(self) -> tuple[Numbers, tuple[Part, ...]]:
        """The model without its flaw, and the parts of that."""
        return self.plan.draw(self._rng("numbers"))

    def _rng(self, word: str) -> np.random.Generator:
        return np.random.default_rng(seed_of("diagnosis bench", word, self.kind, self.index))

    def accuracy(self, model: HookedModel, length: int, strings: int, word: str) -> float:
        """Class-balanced accuracy of the last answer on strings of its own."""
        draw = generator("diagnosis bench", word, self.kind, self.index, length)
        batch = self.plan.task.sample(strings, length, draw, "matched", window=self.plan.trained)
        right = clearly_right(self.plan.task, forward(model, batch, [])["logits"], batch)
        return balanced_accuracy(right, last_classes(batch))

    def loss(self, planted: Numbers, strings: int, word: str) -> tuple[float, float]:
        """Accuracy at N, and the loss at n."""
        model = planted.build()
        inside = self.accuracy(model, self.plan.trained, strings, word)
        return inside, inside - self.accuracy(model, self.plan.length, strings, word)


def round_of(kind: Kind) -> int:
    """Members of a kind that are drawn together."""
    return HEALTHY if kind.role == "healthy" else PER_KIND


def members(fewest: int | None = None) -> list[Member]:
    """All members, two rounds of each kind: what is told first, and in it one of each kind after the other.

    So a bench that is cut short has some of each kind, and says something.

    Args:
        fewest: of each kind only so many, of the first round.
    """
    counts = {kind.name: 2 * round_of(kind) if fewest is None else fewest for kind in KINDS}
    every = [Member(name, i) for i in range(max(counts.values())) for name, count in counts.items() if i < count]
    return sorted(every, key=lambda member: GROUPS.index(member.group))


def planted(numbers: Numbers, values: dict[str, float]) -> Numbers:
    """The numbers with some of them set."""
    whole = {name: round(v) if type(getattr(numbers, name)) is int else v for name, v in values.items()}
    return numbers.model_validate(numbers.model_dump() | whole)


def strength_of(member: Member, part: Part) -> float:
    """The value of a part at which the loss comes next to the one wanted, by search on the loss alone."""
    numbers, _ = member.drawn
    if part.weak == part.strong:
        return part.strong
    losses: dict[float, float] = {}

    def off(strength: float) -> float:
        """How far a strength is from what is wanted; far, where the model fails at N or loses too little."""
        if strength not in losses:
            inside, lost = member.loss(planted(numbers, {part.field: part.value(strength)}), SEARCHED, "search")
            good = inside >= LEARNED and NAMED < lost <= LARGEST
            losses[strength] = abs(lost - member.wanted) + (0 if good else 1)
        return losses[strength]

    best = min(np.linspace(0, 1, COARSE).tolist(), key=off)
    step = 0.5 / (COARSE - 1)
    for _ in range(FINE):
        best = min((s for s in (best, best - step, best + step) if 0 <= s <= 1), key=off)
        step /= 2
    return part.value(best)


def tried(member: Member, until: float | None = None) -> dict[str, Any]:
    """A member, its truth and its diagnosis, as one row of the bench's table.

    Args:
        member: which.
        until: the time from which on it is not begun, in seconds since the epoch; None = no limit.

    Raises:
        TimeIsUp: if the time is up.
    """
    refuse_late(until)
    begun = time.process_time()
    numbers, parts = member.drawn
    flawed = planted(numbers, {part.field: strength_of(member, part) for part in parts})
    values = {part.field: getattr(flawed, part.field) for part in parts}
    inside, loss = member.loss(flawed, JUDGED, "truth")
    restored = [unplanted(member, flawed, [part], loss) for part in parts] if loss > 0 else []
    whole = unplanted(member, flawed, parts, loss) if loss > 0 else 0.0
    rows = diagnosed(member, flawed)
    return {
        "version": VERSION,
        "kind": member.kind,
        "index": member.index,
        "group": member.group,
        "numbers": json.dumps(flawed.model_dump(), sort_keys=True),
        "planted": json.dumps(values),
        "wanted": member.wanted if parts else 0.0,
        "at_trained": inside,
        "loss": loss,
        "unplanted": whole,
        "unplanted_each": restored,
        "thrown_out": why_not_true(member.plan, inside, loss, whole, restored),
        **named(rows),
        "rows": json.dumps([{k: v for k, v in r.items() if v not in (None, "")} for r in rows]),
        "seconds": time.process_time() - begun,
    }


def unplanted(member: Member, flawed: Numbers, parts: Sequence[Part], loss: float) -> float:
    """Share of the loss that comes back when parts are set back to what they were."""
    numbers, _ = member.drawn
    model = planted(flawed, {part.field: getattr(numbers, part.field) for part in parts}).build()
    length = member.plan.length
    before = member.accuracy(flawed.build(), length, JUDGED, "truth")
    return (member.accuracy(model, length, JUDGED, "truth") - before) / loss


def why_not_true(kind: Kind, inside: float, loss: float, whole: float, each: Sequence[float]) -> str:
    """Why a member says nothing, in a clause; "" where its truth holds."""
    if inside < LEARNED:
        return f"accuracy at N is {inside:.2f}"
    if kind.role == "healthy":
        return ""
    if not NAMED <= loss <= LARGEST:
        return f"its loss is {loss:.2f}"
    if whole < TRUE:
        return f"unplanting gives back {whole:.2f}"
    if kind.role == "joint" and max(each) > TOO_MUCH:
        return f"unplanting one part gives back {max(each):.2f}"
    return ""


def diagnosed(member: Member, flawed: Numbers) -> list[Row]:
    """The rows of ``diagnosis`` at n, as a run's would be."""
    plan = member.plan
    grid = Grid(plan.trained, (plan.trained, plan.length), (plan.trained,), (plan.length,))
    seed = seed_of("diagnosis bench", "diagnosis", member.kind, member.index)
    study = ModelStudy(flawed.build(), plan.task, grid, JUDGED, seed)
    study.trained_ids = getattr(flawed, "trained_ids", None)
    return Diagnosis(factors=(plan.length / plan.trained,)).finish(study)


def named(rows: Sequence[Row]) -> dict[str, Any]:
    """What a diagnosis says, from its rows."""
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
