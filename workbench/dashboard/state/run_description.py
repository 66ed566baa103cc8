"""A run in words: its task as a question, its model, where its weights come from, and its sentences at a step."""

from __future__ import annotations

from typing import Any

from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.heads.leading_head import leading_head
from workbench.figures.labels import Piece, whole
from workbench.figures.text.headline import Headline
from workbench.models.positions.registry import NONE
from workbench.tasks.known_tasks import task_label


def describe_run(run: RunView) -> tuple[str, str, str]:
    """Return a run's task as a question, its model, and its :func:`origin`."""
    task = task_label(run.task)
    question = f"{task}: {run.question[:1].lower()}{run.question[1:]}" if run.question else task
    model = f"transformer {_count(run.n_layers, 'layer')}, {_count(run.n_heads, 'head')}, {_positions(run)}"
    if (family := run.model.family) is not None:
        model = f"{family.title} {_count(run.n_layers, 'layer')}, {run.model.variant}"
    return question, model, origin(run)


def origin(run: RunView) -> str:
    """Return who made a run's weights, and on which lengths they were trained."""
    return run.kind.origin(run.config, run.run.rows_only, run.shortest, run.trained)


def short_origin(run: RunView) -> str:
    """Return in few words who made a run's weights."""
    return run.kind.short_origin(run.config, run.run.rows_only, run.shortest, run.trained)


def verdict_words(run: RunView, step: int) -> list[Piece]:
    """The verdict sentence at a step. Raises NotMeasured where there is none."""
    return run.memo(("verdict", step), lambda: run.kind.verdict(run.frame, step, run.trained))


def headline_words(run: RunView, step: int) -> Headline:
    """The words at the top of the Run page at a step. Raises NotMeasured where there is no verdict."""
    return run.memo(("headline", step), lambda: run.kind.headline(run.frame, step, run.trained))


def why_words(run: RunView, at: Cursor) -> list[Piece]:
    """Return since when the verdict holds, what probes decode, and what the chosen head does; empty for runs without
    this line.
    """
    why = run.kind.why
    if why is None:
        return []
    tested = leading_head(run.frame, step=at.step, length=at.length).tested  # all that the length decides
    key = ("why", at.step, at.layer, at.head, tested and int(tested["length"]))
    where: dict[str, Any] = {"step": at.step, "layer": at.layer, "head": at.head, "length": at.length}
    return run.memo(key, lambda: why(run.frame, trained=run.trained, **where))


def rail_words(run: RunView, row: str, at: Cursor) -> list[Piece]:
    """Return the short answer next to one row of panels, with yes or no first."""
    place = (row, at.step, at.length, at.layer, at.head)
    return run.memo(("rail", *place), lambda: run.kind.rail(run.frame, *place, trained=run.trained))


def without_log(run: RunView) -> str:
    """Return why a run has no training log, and what would create one."""
    training = run.config["training"]
    if "compiled" in training:
        return "This run was compiled from a program and never trained, so that there is no log to show."
    if "adopted" in training:
        return "The checkpoints of this run were adopted from another training loop, whose log is not here."
    if run.run.rows_only or "pretrained" in training or "answers" in training:
        return "This run was trained elsewhere, and its log is not here."
    return "Nothing is logged yet. The log appears here once training has begun."


def _count(number: int, noun: str) -> str:
    return f"{whole(number)} {noun}{'' if number == 1 else 's'}"


def _positions(run: RunView) -> str:
    return run.positions if run.encoding == NONE else f"{run.positions} positions"
