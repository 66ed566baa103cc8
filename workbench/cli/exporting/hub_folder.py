"""A folder ready for a model hub: a run as it is, its table in one file, and a model card of its rows."""

from __future__ import annotations

import html
import io
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from workbench.cli.errors import UsageError
from workbench.cli.run_in_terminal import behaviour, beside, head, steps, verdict, why
from workbench.runs.run import Run
from workbench.table import Table
from workbench.table.layout import TABLE_NAME
from workbench.table.shards import compact

FILES = ("model.safetensors", "meta.json", "log.parquet")
"""What a checkpoint's folder holds."""
FRONT = "---\nlibrary_name: lengthlens\ntags:\n- length-generalization\n- mechanistic-interpretability\n---\n"


def export_to_hub(run: Run, to: Path) -> list[str]:
    """Write a run as a folder to hand on: card, settings, all checkpoints, and its rows in one table.

    The folder is a run itself: it can be opened, shown and measured further. It appears whole or not at all.

    Returns:
        What was wrong with rows of the run, a sentence each; these are not in the folder.

    Raises:
        UsageError: for a run whose weights are not its own, or that has none, and for a folder that holds something.
        RunError: if a checkpoint is damaged.
    """
    _refuse(run, to)
    for step in run.steps:
        run.verify(step)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.parent) as made:
        folder = Path(made) / to.name
        problems = _copy(run, folder)
        (folder / "README.md").write_text(model_card(Run.open(folder)), encoding="utf-8")
        folder.replace(to)
    return problems


def _refuse(run: Run, to: Path) -> None:
    if run.referenced or run.answered:
        whose = "are those of a folder of others, which it names" if run.referenced else "are behind an API"
        raise UsageError(
            f"{run.name} has no weights of its own to export: they {whose}; lengthlens report makes a page of it"
        )
    if not run.steps:
        raise UsageError(f"{run.name} has no checkpoint yet; train it first")
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} holds something already; name a new folder with --to")
    if to.resolve().is_relative_to(run.path.resolve()):
        raise UsageError(f"{to} lies within the run itself; name a folder elsewhere with --to")


def _copy(run: Run, folder: Path) -> list[str]:
    """The run's files below a new folder; what is wrong with its rows. Shards become one table."""
    for step in run.steps:
        there = folder / run.step_path(step).relative_to(run.path)
        there.mkdir(parents=True)
        for name in FILES:
            if (file := run.step_path(step) / name).exists():
                shutil.copyfile(file, there / name)
    shutil.copyfile(run.path / "run.json", folder / "run.json")
    if (run.path / TABLE_NAME).exists():
        shutil.copyfile(run.path / TABLE_NAME, folder / TABLE_NAME)
    shards = folder / "measurements"
    if (run.path / "measurements").exists():
        shutil.copytree(run.path / "measurements", shards)
    problems = compact(folder)
    shutil.rmtree(shards, ignore_errors=True)
    return problems


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
            _said(lambda console: verdict(console, here, step)),
            _said(lambda console: beside(console, rows, step)),
            _said(lambda console: why(console, causes, step, run.trained_length)),
            "Made from behaviour alone. Accuracies are of strings of exactly that length.",
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
    return "\n".join([f"**{title}**", "", lines[0], "|" + "---|" * len(columns), *lines[1:]])


def _plain(text: object) -> str:
    """Text of a run's files in which a hub reads no Markdown and no HTML."""
    return re.sub(r"([\\`*_\[|])", r"\\\1", html.escape(str(text), quote=False))
