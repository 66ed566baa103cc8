"""All tasks at a glance, and all about one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from rich.table import Table as Grid

from workbench.tasks.base import Task, TaskError
from workbench.tasks.known_tasks import TITLES, task_label
from workbench.tasks.registry import allowed_values, find_task

CHANCE_AT = 64
"""Chance is stated at this length, or at the next one the task admits."""
NOT_LOADED = "could not be loaded"
"""Stands in the place of a family over tasks of other packages that cannot be imported."""

Entry = tuple[str, str, Task | str]
"""A task's family, its name, and the task with its default parameters, or why there is none."""


def predictions(task: Task) -> str:
    """What theory predicts without positions, and with learned positions of random offset, as verdicts."""
    from workbench.theory.errors import TheoryError
    from workbench.theory.prediction.predict import predict

    try:
        verdicts = [predict(task, positions).verdict for positions in ("none", "learned")]
    except (TheoryError, TaskError):
        return ""
    return verdicts[0] if verdicts[0] == verdicts[1] else " / ".join(verdicts)


def theory_lines(task: Task | str | None) -> list[str]:
    """What theory predicts for a task with these parameters, one line each; empty where nothing is known."""
    from workbench.theory.errors import TheoryError
    from workbench.theory.prediction.predict import predict

    if not isinstance(task, Task):
        return []
    try:
        without, with_ids = predict(task, "none"), predict(task, "learned")
    except (TheoryError, TaskError):
        return []
    lines = [f"theory, without positions: {without.line}", f"theory, with positions: {with_ids.line}"]
    return lines + [f"theory: {note.text} ({note.source})" for note in without.notes]


def share(value: float) -> str:
    """A share in two digits; one that is not 0 never looks like it."""
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


COLUMNS: dict[str, Callable[[Task], str]] = {
    "kind": lambda task: task.kind,
    "chance": lambda task: share(task.chance("matched", task.next_length(CHANCE_AT))),
    "theory, without / with positions": predictions,
    "task state": lambda task: task.summary,
}
"""What is told about a task beside its name: the heading and where the text comes from."""


def by_family(entries: list[Entry]) -> list[Entry]:
    """Families together, in the order in which they first appear."""
    order = list(dict.fromkeys(group for group, _, _ in entries))
    return sorted(entries, key=lambda one: order.index(one[0]))


def entry(name: str) -> Entry:
    """The entry of a task known by name. A task that cannot be imported is listed with the reason."""
    try:
        found = find_task(name)
    except TaskError as error:
        return NOT_LOADED, name, str(error)
    try:
        return found.family, name, found()
    except TaskError as error:  # a rule between its default parameters
        return found.family, name, str(error)
    except ValueError:
        required = [key for key, field in found.model_fields.items() if field.is_required()]
        return found.family, name, f"needs the parameter {' and '.join(required)}"


def cells(task: Task | str) -> list[str]:
    """The text of each column; of a task that its defaults do not make, what it needs in place of the last."""
    if isinstance(task, str):
        return [*[""] * (len(COLUMNS) - 1), task]
    return [of(task) for of in COLUMNS.values()]


def table(entries: list[Entry]) -> Grid:
    """The tasks under the name of their family."""
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("task", no_wrap=True)
    grid.add_column("in words")
    for heading in COLUMNS:
        grid.add_column(heading, justify="right" if heading == "chance" else "left")
    for group, members in groupby(entries, key=lambda one: one[0]):
        grid.add_row(f"[bold]{group}[/]")
        for _, name, task in members:
            grid.add_row(f"  {name}", TITLES.get(name, ""), *cells(task))
    return grid


def tell(task: Task | str) -> None:
    """All about one task: its documentation, parameters, and what suits it."""
    cls = find_task(task) if isinstance(task, str) else type(task)
    print(
        f"{task_label(cls.name)}. Kind: {cls.kind}. Task state: {cls.summary}.\n\n"
        f"{inspect.cleandoc(cls.__doc__ or '')}\n"
    )
    for name, field in cls.model_fields.items():
        default = "required" if field.is_required() else f"default {field.get_default(call_default_factory=True)!r}"
        print(f"  --set task.{name}=..  {allowed_values(field)}; {default}")
    made = None if isinstance(task, Task) else entry(task)[2]
    for line in theory_lines(task if isinstance(task, Task) else made):
        print(f"  {line}")
    if cls.suggested:
        print(f"  suggests {_listed(cls.suggested)}")
    for (option, value), more in cls.suggested_with.items():
        print(f"  suggests with {option} {value}: {_listed(more)}")


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in options.items())
