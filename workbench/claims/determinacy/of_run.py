"""When runs of the same kind as a run are decided, by the determinacy study. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.claims.determinacy.cells import LONGEST, MORE_CELLS, STEPS, StudyCell, planned_cells
from workbench.claims.determinacy.families import determinacy_by_step
from workbench.claims.determinacy.statistics import DECIDED, DECIDED_FROM, TOO_UNIFORM, Determinacy
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable
from workbench.claims.determinacy.switches import LONG, RESCUE, SWITCH_FILE, TESTED, Change, change_by_step
from workbench.core.stored_model import StoredModel

FORK_SHARES = (0.3, 0.6)
"""Shares of training at which forks are suggested, as in the determinacy study."""


@dataclass(frozen=True)
class KindDeterminacy:
    """Determinacy of runs of one kind at the fork steps of the study.

    Attributes:
        cell: the cell of the study.
        by_step: determinacy by fork step, ascending.
        rescues: what longer sequences from a step on change, by step, ascending; () = not in the study.
    """

    cell: StudyCell
    by_step: Mapping[int, Determinacy]
    rescues: Sequence[Change] = ()

    @property
    def decided_from(self) -> int | None:
        """The first fork step from which reach is decided at each later one too; None if there is none."""
        found = None
        for step in sorted(self.by_step, reverse=True):
            if self.by_step[step].label != DECIDED:
                break
            found = step
        return found

    @property
    def last_undecided(self) -> int | None:
        """The last fork step at which reach is not decided; None if it is decided at all of them."""
        return max((step for step, result in self.by_step.items() if result.label != DECIDED), default=None)

    @property
    def last_rescue(self) -> Change | None:
        """The last step from which on longer sequences raise reach; None if there is none."""
        return next((change for change in reversed(self.rescues) if change.changed and change.value > 0), None)

    @property
    def sentence(self) -> str:
        """When runs of this kind are decided, and until when longer sequences raise their reach, in one sentence."""
        rescue = self.last_rescue
        if rescue is None:
            return self._when
        value = f"{rescue.value:.2f} [{rescue.low:.2f}, {rescue.high:.2f}]"
        lengths = f"{TESTED[0] * LONG / LONGEST:g} to {TESTED[-1] * LONG / LONGEST:g} N"
        change = f"adding sequences of length 2 N from step {rescue.step} on raises skill at {lengths} by {value}"
        return f"{self._when}; {change}"

    @property
    def _when(self) -> str:
        families = next(iter(self.by_step.values())).families
        if all(result.label == TOO_UNIFORM for result in self.by_step.values()):
            return f"runs of this kind all reach about equally far ({families} families of runs with N = 16)"
        first, last = self.decided_from, self.last_undecided
        if first is None:
            when = f"not decided by step {max(self.by_step)}"
        elif last is None:
            when = f"decided by step {first}"
        else:
            when = f"decided between step {last} and step {first}"
        shown = self.by_step[max(self.by_step) if first is None else first]
        interval = f"{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]"
        return (
            f"in runs of this kind, reach is {when} of {STEPS} (determinacy {interval}, {families} families of runs "
            "with N = 16)"
        )


def determinacy_of_kind(config: Mapping[str, Any]) -> KindDeterminacy | None:
    """Return the determinacy of runs with the same task, model and schedule; None if the study has none.

    Width, lengths and steps of the run may differ from those of the study.

    Args:
        config: the run's config as stored.
    """
    for cell in [*planned_cells(), *MORE_CELLS]:
        if _same_kind(cell, config):
            found = determinacy_by_step(StudyTable.read(*FAMILY_FILE).rows, cell)
            rescues = change_by_step(read_rows(*SWITCH_FILE), cell, RESCUE) if cell.schedule == "cosine" else ()
            return KindDeterminacy(cell, found, rescues) if found else None
    return None


def fork_steps(steps: Sequence[int]) -> list[int]:
    """Return the checkpoints nearest to :data:`FORK_SHARES` of training, each once.

    Args:
        steps: the steps of the run's checkpoints, ascending; at least one.
    """
    return list(dict.fromkeys(min(steps, key=lambda step: abs(step - share * steps[-1])) for share in FORK_SHARES))


def decided_for_run(config: Mapping[str, Any], steps: Sequence[int]) -> dict[str, Any]:
    """Return when runs of this kind are decided, as JSON for a page.

    Args:
        config: the run's config as stored.
        steps: the steps of its checkpoints, ascending; at least one.

    Returns:
        ``forks`` (:func:`fork_steps`), ``of`` (the steps of the runs of the study), and ``kind``: None for a kind that
        the study does not have. Otherwise it has ``sentence``, ``decided_from``, ``last_undecided``, ``threshold`` and
        ``by_step``: ``step``, ``value``, ``low``, ``high``, ``label`` and ``families`` for each fork step.
    """
    kind, answer = determinacy_of_kind(config), {"forks": fork_steps(steps), "of": STEPS}
    if kind is None:
        return {**answer, "kind": None}
    by_step = [
        {
            "step": step,
            "value": result.value,
            "low": result.low,
            "high": result.high,
            "label": result.label,
            "families": result.families,
        }
        for step, result in sorted(kind.by_step.items())
    ]
    told = {"decided_from": kind.decided_from, "last_undecided": kind.last_undecided, "threshold": DECIDED_FROM}
    return {**answer, "kind": {"sentence": kind.sentence, **told, "by_step": by_step}}


def _same_kind(cell: StudyCell, config: Mapping[str, Any]) -> bool:
    """Whether a run has a cell's task, positions, kind of model and schedule."""
    model, training, task = StoredModel(config["model"]), config["training"], config["task"]
    return (
        (task["name"], task.get("parameters", {})) == (cell.task, dict(cell.parameters))
        and (model.kind, model.positions, model.ids) == (cell.architecture, cell.positions, "arange")
        and training.get("rate_law") == cell.schedule
        and (training.get("curriculum") or {}).get("law") == "uniform"
    )
