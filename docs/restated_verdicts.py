"""Verdicts of shipped rows under the present rules: ``python docs/restated_verdicts.py FOLDER ...``.

It is for runs whose weights are not here. Nothing is measured: every stored value stays, and the rows of the verdict
are computed anew from stored rows. The shard gets a key of its own, so a measurement with the weights replaces it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.core.canonical import key_of
from workbench.core.thresholds import UNTRAINED
from workbench.measure.behaviour.accuracy_cells import Cell, Rules
from workbench.measure.behaviour.interim_tests import LookBoard, Looks
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.behaviour.rows import verdict_rows as verdict_rows_of
from workbench.measure.behaviour.verdict import decide
from workbench.measure.in_context.measurement import InContext, longer_question, verdict_rows
from workbench.measure.in_context.verdict import level, limits_of_mean
from workbench.measure.intervals import lower_limit, upper_limit
from workbench.measure.measurement import Grid, Measurement
from workbench.measure.running.engine import spec_json
from workbench.runs.run import Run
from workbench.table.reading import read_run
from workbench.table.schema import Row, row
from workbench.table.shards import compact, shard_path, write_shard
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import find_task
from workbench.tasks.text.next_symbol import NextSymbol

MEAN_ALONE = "limits from the mean and n alone: the values of the sequences are not stored"


def shown_limits(mean: float, n: int, answers: int, lengths: int) -> tuple[float, float, str]:
    """Limits of an accuracy at the level that the verdict needs, from its mean, and what to say of them.

    Args:
        mean: over sequences.
        n: number of sequences.
        answers: asked of each sequence; with one, the mean tells how many are right.
        lengths: number of judged lengths.
    """
    error = level(lengths)
    if answers == 1:
        right = round(mean * n)
        return lower_limit(right, n, error), upper_limit(right, n, error), ""
    return *limits_of_mean(mean, n, error), MEAN_ALONE


def in_context(run: Run, rows: Sequence[Row]) -> list[Row]:
    """The rows of ``behaviour.in_context`` at one step, with the verdict of today."""
    task: Any = run.task
    names = {quantity.name for quantity in InContext.quantities}
    made = {"judged_skill", "capable_from", "decays_from", "in_context_verdict"}
    kept = [r for r in rows if r["quantity"] in names - made]
    accuracy = {int(r["length"]): r for r in kept if r["quantity"] == "answer_accuracy"}
    judged = [n for n in sorted(accuracy) if not task.beyond_window(n)]
    for n in judged:
        answer = accuracy[n]
        chance = task.chance("matched", n)
        answers = int(task.sample(1, n, generator("one", n), "matched").mask.sum())
        low, high, note = shown_limits(answer["value"], answer["n"], answers, len(judged))
        value, low, high = ((a - chance) / (1 - chance) for a in (answer["value"], low, high))
        where = {name: answer[name] for name in ("law", "length", "mode", "target", "n")}
        kept.append(row(quantity="judged_skill", value=value, low=low, high=high, note=note, **where))
    strings = min(r["n"] for r in accuracy.values())
    longer = longer_question(task, max(judged)) if judged else None
    return kept + verdict_rows(kept, task.window, task.presentation.title, strings, longer)


def behaviour(run: Run, rows: Sequence[Row]) -> list[Row]:
    """The rows of ``behaviour`` at one step, with the verdict of today, of a task without a threshold.

    Raises:
        SystemExit: for a task that has one: its rows would need the answers to every sequence of short lengths.
    """
    if not issubclass(find_task(run.config["task"]["name"]), NextSymbol):  # its text need not be here
        raise SystemExit(f"{run.path} has a threshold: its verdicts take a measurement")
    lengths = sorted({int(r["length"]) for r in rows if r["quantity"] == "accuracy"})
    trained, shortest = run.trained_length, run.shortest_trained
    inside = tuple(n for n in lengths if shortest <= n <= trained)
    grid = Grid(trained, tuple(lengths), inside, tuple(n for n in lengths if n > trained), shortest=shortest)
    drawn = {(r["law"], int(r["length"])): r for r in rows if r["quantity"] == "accuracy" and r["status"] == "ok"}
    floors = {(r["law"], int(r["length"])): r["value"] for r in rows if r["quantity"] == "chance"}
    cells = {
        key: Cell(
            *key, right=round(r["value"] * r["n"]), n=r["n"], floor=floors[key], distinct=r["distinct"], best=None
        )
        for key, r in drawn.items()
        if r["mode"] == "teacher_forced"
    }
    board, rules = LookBoard(grid, Rules(), cells), Rules()
    made = verdict_rows_of(decide(board, Looks.of(rules, rules.looks[0], False), {}), board)
    kept = [r for r in rows if r["quantity"] not in ("verdict", "failure_length")]
    short = {n for n in lengths if n < grid.shortest}
    told = [UNTRAINED if r["quantity"] in ("accuracy", "skill") and r["length"] in short else r["note"] for r in kept]
    return [{**r, "note": note} for r, note in zip(kept, told, strict=True)] + made


RESTATED: dict[str, tuple[type[Measurement], Callable[[Run, Sequence[Row]], list[Row]]]] = {
    "behaviour.in_context": (InContext, in_context),
    "behaviour": (Behaviour, behaviour),
}
"""Measurement -> its class, and what makes its rows of stored ones."""


def restate(folder: Path) -> None:
    """Write the verdicts of a run without weights anew, and compact its table.

    Raises:
        SystemExit: for a run that has weights, or rows that cannot be read.
    """
    run = Run.open(folder)
    if not run.weightless:
        raise SystemExit(f"{folder} has weights: lengthlens measure {folder}")
    stored = read_run(run.path)
    for name, (measurement, make) in RESTATED.items():
        every = [r for r in stored.rows.to_pylist() if r["measurement"] == name]
        for step in sorted({r["step"] for r in every}):
            rows = [r for r in every if r["step"] == step]
            common = {column: rows[0][column] for column in ("run", "step", "measurement", "setting")}
            spec, sha256 = measurement().spec, run.meta(step)["sha256"]
            key = key_of({"restated": name, "version": spec.version, "sha256": sha256})
            metadata = {"spec": spec_json(spec), "key": key, "sha256": sha256, "run": run.id}
            path = shard_path(run.path, name, step, key)
            write_shard(path, [{**r, **common} for r in make(run, rows)], metadata)
    if problems := compact(run.path):
        raise SystemExit(problems[0])
    shutil.rmtree(run.path / "measurements", ignore_errors=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        restate(Path(name))
        print(f"{name}: verdicts restated.")
