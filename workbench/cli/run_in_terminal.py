"""A run in the terminal, read from its table; needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pandas import isna
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from workbench.cli.table_text import count_of
from workbench.core.apart import apart
from workbench.figures.style.verdict_styles import since
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, told
from workbench.runs.run import Run, find_runs
from workbench.table import Table

COLOURS = {"scale-robust": "blue", "length-coupled": "dark_orange"}


def verdict_lines(root: Path) -> list[str]:
    """One line per run below ``root``: its last verdict and why."""
    return [f"{r.run}: {r.label} at step {r.step:,}: {r.note}." for r in _last_verdicts(root)]


def why_lines(root: Path) -> list[str]:
    """Why each run below ``root`` whose last verdict is *length-coupled* fails, where that was diagnosed."""
    runs = {run.name: run for run in find_runs(root)}
    lines = []
    for found in _last_verdicts(root):
        rows = Table.load(runs[found.run].path).frame(measurement="diagnosis", step=found.step)
        if found.label == "length-coupled" and not rows.empty:
            sentence = told(diagnosis_sentence(rows, step=found.step, longest=runs[found.run].trained_length))
            lines.append(f"Why {found.run}: {sentence}")
    return lines


def _last_verdicts(root: Path) -> list[Any]:
    """The row of the last verdict of each run."""
    kinds = ["verdict", "in_context_verdict"]
    rows = Table.load(root).frame(measurement=["behaviour", "behaviour.in_context"], quantity=kinds, status="ok")
    rows = rows.sort_values("step")
    return list(rows.groupby("run").tail(1).itertuples())


def verdicts(root: Path, runs: Sequence[Run], width: int = 0) -> Grid:
    """A line a run: task, N, steps, and the verdict at its last measured step.

    Args:
        root, runs: the folder and its runs.
        width: of the terminal, in characters; names of runs stand whole, and other columns give way. 0 = all stand.
    """
    last = {row.run: row for row in _last_verdicts(root)}
    columns = ["run", "task", "N", "steps", "verdict", "at step", "to length"]
    lines = []
    for run in runs:
        steps = f"{run.steps[-1]:,}" if run.steps else "none"
        task = escape(str(run.config["task"]["name"]))
        cells = (escape(run.name), task, f"{run.trained_length:,}", steps, *_verdict_cells(last.get(run.name)))
        lines.append(dict(zip(columns, cells, strict=True)))
    for column in ("steps", "N", "at step"):
        if width and _wide(columns, lines) > width:
            columns.remove(column)
    title = f"{count_of(len(runs), 'run')} below {escape(str(root))}"
    grid = Grid(box=None, pad_edge=False, title_justify="left", title=title)
    for name in columns:
        text = name in ("run", "task", "verdict")
        grid.add_column(name, justify="left" if text else "right", no_wrap=name != "run", overflow="fold")
    for line in lines:
        grid.add_row(*(line[name] for name in columns))
    return grid


def _wide(columns: Sequence[str], lines: Sequence[dict[str, str]]) -> int:
    """Characters of a line of the grid, two between columns."""
    cells = [[name, *(Text.from_markup(line[name]).plain for line in lines)] for name in columns]
    return sum(max(map(len, column)) for column in cells) + 2 * (len(columns) - 1)


def _verdict_cells(row: Any) -> tuple[str, str, str]:
    """A verdict, its step, and the length it was measured to."""
    if row is None:
        return "not measured", "–", "–"
    label = f"[{COLOURS.get(row.label, 'default')}]{escape(str(row.label))}[/]"
    short = isna(row.length) or row.label == "not capable"  # which is said of the shortest length alone
    return label, f"{row.step:,}", "–" if short else f"{int(row.length):,}"


def head(console: Console, run: Run) -> None:
    """Name, task, model and training in two lines."""
    task, model, training = (run.config[k] for k in ("task", "model", "training"))
    given = ", ".join(f"{k} {v}" for k, v in task.get("parameters", {}).items())
    question = run.config.get("facts", {}).get("question", task["name"])
    console.print(f"[bold]{escape(run.name)}[/]  {escape(question)}", highlight=False)
    ssm = model.get("architecture") == "ssm"
    heads = model.get("n_heads")
    machine = f"state-space model, {model['gates']} gates" if ssm else f"{heads} head{'s' * (heads != 1)}"
    positions, ids = (_name(model.get(part, default)) for part, default in (("positions", "none"), ("ids", "arange")))
    console.print(
        f"{task['name']}{f' ({given})' if given else ''} · {model['n_layers']} layers, {machine}, "
        f"d_model {model.get('d_model', 'unknown')} · positions {positions}, ids {ids} · "
        f"{trained(run)} · {len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}",
        style="dim",
        highlight=False,
        markup=False,
    )
    # A law that gives not simply every length alike changes what "trained" means.
    law = run.config.get("facts", {}).get("lengths", "")
    notes = [law] if law and (training.get("curriculum") or {}).get("law") != "uniform" else []
    notes += [run.weightless] if run.rows_only else []
    with apart(notes.append, "why training ended cannot be read"):
        notes += [f"ended early: {run.ended}"] if run.ended else []
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)


def _name(part: Any) -> str:
    """The name of a component that is given by name alone, or as an object with settings."""
    return str(part["name"]) if isinstance(part, dict) else str(part)


def trained(run: Run) -> str:
    """On which lengths and how far, or for which lengths the weights were made."""
    training = run.config["training"]
    lengths = f"lengths {(training.get('curriculum') or {}).get('low', 1)} to {training['trained_length']}"
    if "pretrained" in training:
        return f"trained by others, its window holds {training['trained_length']:,} items"
    if "answers" in training:
        return f"answers of {training['answers']['model']}"
    if "compiled" in training:
        return f"compiled, its {lengths} taken as trained"
    return f"trained on {lengths}, {run.steps[-1] if run.steps else 0:,} of {training['steps']:,} steps"


def verdict(console: Console, rows: Any, step: int) -> None:
    """The verdict sentence, with its horizon and reason."""
    found = rows[rows["quantity"] == "verdict"].iloc[0]
    colour = COLOURS.get(found["label"], "default")
    why = f", {found['reason']}," if found["reason"] else ""
    console.print(
        f"\n[bold {colour}]{escape(found['label'].capitalize())}[/]{escape(why)} at step {step:,} (measured to length "
        f"{int(found['length']):,}, n {int(found['n'])} or more): {escape(found['note'])}.",
        highlight=False,
    )
    if found["label"] == "not fitted":
        return  # a length at which untrained skill is lost means nothing
    for row in rows[rows["quantity"] == "failure_length"].itertuples():
        console.print(f"  fails at, {row.law} law: {failure(row)}", highlight=False, markup=False)


def failure(row: Any) -> str:
    """A failure length with its interval, or up to where none was found and up to where all lengths pass."""
    note = f" ({row.note})" if row.note and row.status != "censored" else ""
    if row.status != "censored":
        return f"({int(row.low):,}, {int(row.high):,}]{note}"
    tested = row.low if isna(row.length) else row.length
    kept = "" if tested == row.low else f"; shown to be kept up to {int(row.low):,}"
    return f"> {int(tested):,}{kept}"


def beside(console: Console, rows: Any, step: int) -> None:
    """What stands beside a verdict: since when it holds, and whether it holds on near ties."""
    verdicts = rows[(rows["quantity"] == "verdict") & (rows["step"] <= step)].sort_values("step")
    began = since(dict(zip(verdicts["step"], verdicts["label"], strict=True)))
    if began is not None and verdicts["label"].iloc[-1] != "not fitted":
        console.print(f"  {began}", highlight=False, markup=False)
    for row in rows[(rows["quantity"] == "near_ties") & (rows["step"] == step)].itertuples():
        said = f": {row.note}" if row.note else ""
        console.print(f"  near ties {row.label}{said}", highlight=False, markup=False)


def why(console: Console, rows: Any, step: int, trained: int) -> None:
    """Why it fails past N and what mends it, where that was measured."""
    if not rows.empty and (rows["step"] == step).any():
        sentence = told(diagnosis_sentence(rows, step=step, longest=trained))
        console.print(f"  {sentence}", highlight=False, markup=False)


def behaviour(rows: Any, trained: int) -> Grid:
    """Accuracy per prefix length and law, with intervals and floors."""
    grid = Grid(box=None, pad_edge=False, title_justify="left", title="\nBehaviour over prefix length, 95 % intervals")
    for name in ("length", "", "matched", "chance", "challenge", "shortcut"):
        grid.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    for length in sorted(rows.loc[rows["quantity"] == "accuracy", "length"].dropna().unique()):
        here = rows[rows["length"] == length]
        matched, challenge = (_accuracy(here, law) for law in ("matched", "challenge"))
        short = here[(here["quantity"] == "shortcut") & (here["law"] == "challenge")]["value"]
        chance = here[(here["quantity"] == "chance") & (here["law"] == "matched")]["value"]
        mark = "trained" if length <= trained else f"{length / trained:.1f} × N"
        grid.add_row(
            f"{int(length):,}",
            mark,
            matched,
            f"{chance.iloc[0]:.2f}",
            challenge,
            "–" if short.empty else f"{short.max():.2f}",
        )
    return grid


def _accuracy(rows: Any, law: str) -> str:
    found = rows[(rows["quantity"] == "accuracy") & (rows["law"] == law)]
    if found.empty:
        return "–"
    row = found.iloc[0]
    unseen = " unseen" if row["status"] == "unseen_position" else ""
    return f"{row['value']:.3f} [{row['low']:.2f}, {row['high']:.2f}]{unseen}"


def steps(rows: Any, run: Run) -> Grid:
    """The verdict at every checkpoint."""
    grid = Grid(box=None, pad_edge=False, title_justify="left", title="\nOver training")
    longest, horizon = run.trained_length, rows["length"].max()
    for name in ("step", "verdict", f"accuracy at {longest}", f"at {int(horizon):,}"):
        grid.add_column(name, justify="left" if name == "verdict" else "right")
    verdicts = rows[rows["quantity"] == "verdict"].set_index("step")
    accuracy = rows[(rows["quantity"] == "accuracy") & (rows["law"] == "matched")]
    by = accuracy.set_index(["step", "length"])["value"]
    for step in run.steps:
        label, reason = verdicts.loc[step, ["label", "reason"]] if step in verdicts.index else ("not measured", "")
        values = [by.get((step, n)) for n in (longest, horizon)]
        shown = ["–" if v is None else f"{v:.2f}" for v in values]
        grid.add_row(
            f"{step:,}", f"[{COLOURS.get(label, 'default')}]{label}[/]{escape(f', {reason}' * bool(reason))}", *shown
        )
    return grid
