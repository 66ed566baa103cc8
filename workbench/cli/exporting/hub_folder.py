"""A folder ready for a model hub: a run as it is, its table in one file, and a model card of its rows."""

from __future__ import annotations

import html
import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from workbench.cli.errors import UsageError
from workbench.cli.show_run import behaviour, head, print_verdict_onset, steps, verdict, why
from workbench.core.direction_marks import without_direction_marks
from workbench.runs.adoption.copy_run import copy_checkpoints, copy_rows
from workbench.runs.run import Run
from workbench.storage import bounded
from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder
from workbench.storage.below import copy_file, write_new
from workbench.table import Table

FRONT = "---\nlibrary_name: lengthlens\ntags:\n- length-generalization\n- mechanistic-interpretability\n---\n"


def export_to_hub(run: Run, to: Path) -> list[str]:
    """Write a run as a folder to hand on: card, settings, all checkpoints, and its rows in one table.

    The folder is a run itself: it can be opened, shown and measured further. It appears only when it is complete.

    Returns:
        What was wrong with rows of the run, a sentence each; these are not in the folder.

    Raises:
        UsageError: for a run whose weights are not its own, or that has none, and for a folder that holds something.
        RunError: if a checkpoint is damaged.
        StorageError: if a file of the run is a link, or the folder cannot be written.
    """
    to = to.absolute()
    _refuse(run, to)
    for step in run.steps:
        run.verify(step)
    make_folder(to.parent)
    remove_leftovers(to.parent, to.name)
    with replacing_folder(to.parent, to.name) as folder:
        copy_checkpoints(run, folder)
        copy_file(run.path, folder, "run.json", bounded.RUN_JSON)
        problems = copy_rows(run, folder)
        card = model_card(replace(Run.open(folder), name=to.name))
        write_new(folder, "README.md", without_direction_marks(card).encode())
    return problems


def _refuse(run: Run, to: Path) -> None:
    if run.referenced or run.answered:
        whose = "are in the folder of the pretrained model" if run.referenced else "are behind an API"
        raise UsageError(
            f"{run.name} has no weights to export: they {whose}; run lengthlens report to make a page of it"
        )
    if not run.steps:
        raise UsageError(f"{run.name} has no checkpoint yet; train it first")
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} exists already; name a new folder with --to")
    if Path(os.path.realpath(to)).is_relative_to(os.path.realpath(run.path)):
        raise UsageError(f"{to} is inside the run; name a folder outside with --to")


def model_card(run: Run) -> str:
    """The card of a run, in Markdown: its verdict with its bracket, accuracies with their intervals, how to load it."""
    rows = Table.load(run.path).frame(measurement="behaviour", mode=["teacher_forced", ""])
    parts = [FRONT, f"# {_plain(run.name)}", _said(lambda console: head(console, run))]
    if rows.empty:
        parts.append("Its behaviour is not measured.")
    else:
        step = int(rows["step"].max())
        here = rows[rows["step"] == step]
        causes = Table.load(run.path).frame(measurement="diagnosis")
        parts += [
            "## Verdict",
            _said(lambda console: verdict(console, here, step, run.trained_length)),
            _said(lambda console: print_verdict_onset(console, rows, step)),
            _said(lambda console: why(console, causes, step, run.trained_length)),
            "The verdict uses only behaviour. Each accuracy is measured on sequences of exactly that length.",
            _markdown(behaviour(here, run.trained_length)),
            _markdown(steps(rows, run)),
        ]
    last = run.steps[-1]
    parts += [
        "## Load it",
        f'```python\nfrom workbench.runs import Run\nfrom workbench.table import Table\n\nrun = Run.open("PATH")\n'
        f'model = run.load({last})\nrows = Table.load("PATH").frame()\n```',
        "PATH is this folder. Files are data: reading them runs no code.",
        "## Weights\n\n" + "\n".join(f"- step {step:,}: SHA-256 `{run.meta(step)['sha256']}`" for step in run.steps),
        "Made with " + ", ".join(f"{_plain(k)} {_plain(v)}" for k, v in run.config.get("versions", {}).items()) + ".",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _said(say: Callable[[Console], None]) -> str:
    """What is printed to a console, as paragraphs of Markdown."""
    console = Console(file=io.StringIO(), width=100_000, color_system=None)
    with console.capture() as captured:
        say(console)
    return "\n\n".join(_plain(line.strip()) for line in captured.get().splitlines() if line.strip())


def _markdown(grid: Grid) -> str:
    """A table of the terminal as one of Markdown."""
    columns = [[str(column.header), *map(str, column.cells)] for column in grid.columns]
    lines = [
        "| " + " | ".join(_plain(Text.from_markup(cell).plain) for cell in line) + " |"
        for line in zip(*columns, strict=True)
    ]
    title = _plain(Text.from_markup(str(grid.title)).plain.strip())
    below = ["", _plain(str(grid.caption))] if grid.caption else []
    return "\n".join([f"**{title}**", "", lines[0], "|" + "---|" * len(columns), *lines[1:], *below])


def _plain(text: object) -> str:
    """Text of a run's files in which a hub reads no Markdown and no HTML."""
    return re.sub(r"([\\`*_\[|])", r"\\\1", html.escape(str(text), quote=False))
