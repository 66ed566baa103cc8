"""Try the changes that docs/diagnosis.md suggests: ``python docs/prescription_trial.py ROOT PAGE``.

Parents are runs of docs/diagnosed.parquet for which a change is suggested. Each has a child in every arm, with as many
steps: the suggested change; another change, drawn at random; the same recipe with a new seed, since seeds differ.
Children are judged on strings of the matched and of the challenge law at the parent's N, 2 N and 4 N, and compared with
one another where both fit at N. A child is kept in docs/prescriptions.parquet as soon as it is judged, so that any end
will do; the same command goes on, also where the runs themselves are gone.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from diagnosis_runs import ROWS as DIAGNOSED
from diagnosis_runs import Line, collect, read, spoken
from other_machines_table import write_tables

from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import TrainingJob, config_of, train_cell
from workbench.cli.sweeping.sweep_file import SweepCell, read_sweep
from workbench.cli.train_command import with_change
from workbench.diagnosis.intervened_pass import asking, clearly_right, last_classes
from workbench.diagnosis.prescription import Prescription, suggest_change
from workbench.diagnosis.recovered_share import balanced_accuracy, chance
from workbench.figures.labels import signed_number
from workbench.measure.grid import make_grid, near_multiples
from workbench.measure.intervals import interval
from workbench.measure.model_study import ModelStudy
from workbench.measure.study import forward
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, replacing

ROWS = Path(__file__).parent / "prescriptions.parquet"
PARENTS = 20
"""Parents that are tried; of more, so many."""
TASKS = 4
"""Tasks that they are of, at least, for a comparison to be told."""
SEEDS = 100
"""What is added to a parent's seed for its new one."""
FITS = 0.95
"""Skill at N (accuracy between chance and 1) from which a child counts as fitted."""
STRINGS = 512
RESAMPLES = 2000
PRESCRIBED, OTHER, SAME = "prescribed", "other", "same"
ARMS = {
    PRESCRIBED: "the suggested change",
    OTHER: "another change, drawn at random",
    SAME: "the same recipe, another seed",
}
LAWS = ("matched", "challenge")
FACTORS = (1, 2, 4)
SCORES = [f"{law}_{factor}" for law in LAWS for factor in FACTORS]
"""Columns of balanced accuracy: law and multiple of N."""
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("parent", "configuration", "task", "entry", "site", "arm", "change")),
        ("fits", pa.bool_()),
        *((name, pa.float64()) for name in (*SCORES, "seconds")),
    ]
)


@dataclass(frozen=True)
class Child:
    """A run to be trained and judged.

    Attributes:
        facts: what is known of it before: parent, configuration, task, entry, site, arm, change.
        cell: how it is trained.
        folder: where.
        trained: the parent's N.
        until: when to stop and save, in seconds since the epoch.
    """

    facts: Mapping[str, str]
    cell: SweepCell
    folder: str
    trained: int
    until: float | None = None


# ---- who is tried, and with what ------------------------------------------------------------------
def parents(lines: Sequence[Line], configs: Mapping[str, Mapping[str, Any]], most: int = PARENTS) -> list[Line]:
    """Explained runs with a prescription, no entry with more than half of them: one of each configuration in turn.

    Args:
        lines: rows of the diagnoses.
        configs: name of a run -> its ``run.json``.
        most: so many.
    """
    able = [
        line
        for run, line in sorted(spoken(lines).items())
        if run in configs and suggest_change(line["entry"], line["site"], configs[run]).about
    ]
    turn: Counter[str] = Counter()
    order = []
    for line in able:
        order.append((turn[configuration(line["run"])], line["run"], line))
        turn[configuration(line["run"])] += 1
    sizes = Counter(line["entry"] for line in able)
    # At most half of one entry, unless there is only that one: then nothing but it can be tried.
    others = len(able) - max(sizes.values(), default=0)
    room = {entry: max(others, 1) if len(sizes) > 1 else most for entry in sizes}
    chosen: list[Line] = []
    taken: Counter[str] = Counter()
    for _, _, line in sorted(order, key=lambda one: one[:2]):
        if len(chosen) < most and taken[line["entry"]] < min(room[line["entry"]], max(1, most // 2)):
            chosen.append(line)
            taken[line["entry"]] += 1
    return chosen


def configuration(run: str) -> str:
    """A run's name without its seed: seeds of one configuration are no parents of their own."""
    return run.rpartition("-")[0]


def changes(config: Mapping[str, Any]) -> list[Prescription]:
    """Every change that is prescribed for something, as far as it changes this run."""
    causes = (("position", "selection"), ("keys", "dispersion"), ("content", "selection"))
    return [found for entry, site in causes if (found := suggest_change(entry, site, config)).about]


def arms(line: Line, config: Mapping[str, Any]) -> dict[str, tuple[Prescription, int]]:
    """Arm -> the change of training, and the seed."""
    own = suggest_change(line["entry"], line["site"], config)
    others = [one for one in changes(config) if not _same(one, own)]
    seed = int(config["seeds"]["init"])
    made = {PRESCRIBED: (own, seed), SAME: (Prescription(), seed + SEEDS)}
    if others:
        draw = np.random.default_rng(list(line["run"].encode()))
        made[OTHER] = (others[int(draw.integers(len(others)))], seed)
    return {arm: made[arm] for arm in ARMS if arm in made}


def _same(one: Prescription, other: Prescription) -> bool:
    """Whether one change is, or is part of, another."""
    small, large = (dict(c.options) | dict(c.settings) for c in (one, other))
    return small.items() <= large.items() or large.items() <= small.items()


def children(root: Path, lines: Sequence[Line], until: float | None) -> list[Child]:
    """All children of all parents."""
    cells = {cell.name: cell for cell in read_sweep(find_sweep(Path("diagnosis"))).cells}
    asked = {line["run"] for line in lines if line["entry"]}
    configs = {name: config_of(cell).as_json() for name, cell in cells.items() if name in asked}
    made = []
    for line in parents(lines, configs):
        config = configs[line["run"]]
        for arm, (change, seed) in arms(line, config).items():
            options, settings = with_change(config, change)
            name = f"{line['run']}-{arm}"
            cell = SweepCell(name, {"task": config["task"]["name"], **options, **settings, "seed": seed}, {})
            facts = {key: line[key] for key in ("task", "entry", "site")}
            facts |= {"parent": line["run"], "configuration": configuration(line["run"]), "arm": arm}
            facts["change"] = change.about or "none"
            made.append(Child(facts, cell, str(root / name), config["training"]["trained_length"], until))
    return made


# ---- a child --------------------------------------------------------------------------------------
def judged(child: Child) -> Line:
    """Train a child as far as that is missing, and judge it at the parent's lengths."""
    begun = time.process_time()
    train_cell(TrainingJob(child.cell, child.folder, child.until))
    run = Run.open(child.folder)
    scores, fits = accuracies(run, child.trained)
    return {**child.facts, **scores, "fits": fits, "seconds": time.process_time() - begun}


def accuracies(run: Run, trained: int) -> tuple[dict[str, float | None], bool]:
    """Class-balanced accuracy of the last checkpoint by law and multiple of N, and whether it fits at N.

    None where the task has no string of that length and law, or the model no place for it.
    """
    model, task = run.load(), run.task
    grid = make_grid(task, trained, [factor * trained for factor in FACTORS])
    study = ModelStudy(model, task, grid, STRINGS, run.config["seeds"]["evaluation"])
    found: dict[str, float | None] = dict.fromkeys(SCORES)
    fits = False
    for factor in FACTORS:
        for length in near_multiples(grid.lengths, trained, (factor,)):
            for law in LAWS:
                if length + int(task.bos) > model.cfg.n_ctx and model.cfg.positions.table:
                    continue
                batch = asking(study.batch(law, length))
                right = clearly_right(task, forward(model, batch, [])["logits"], batch)
                classes = last_classes(batch)
                value = balanced_accuracy(right, classes)
                found[f"{law}_{factor}"] = value
                guess = chance(classes)
                if (law, factor) == ("matched", 1):
                    fits = (value - guess) / (1 - guess) >= FITS
    return found, fits


# ---- the table ------------------------------------------------------------------------------------
def stored(path: Path) -> list[Line]:
    """Children that were judged; none where there is no table yet."""
    return pq.read_table(path).to_pylist() if path.exists() else []


def store(path: Path, lines: Sequence[Line]) -> None:
    """Write all children, sorted."""
    ordered = sorted(lines, key=lambda line: (line["parent"], [*ARMS].index(line["arm"])))
    with replacing(path.parent, path.name) as stream:
        pq.write_table(pa.Table.from_pylist([dict(one) for one in ordered], schema=SCHEMA), stream, compression="zstd")


def make(root: Path, diagnosed: Path, rows: Path, workers: int | None, minutes: float | None) -> None:
    """Train and judge what is missing."""
    make_folder(root)
    until = None if minutes is None else time.time() + 60 * minutes
    lines = stored(rows)
    done = {(line["parent"], line["arm"]) for line in lines}
    every = children(root, read(diagnosed), until)
    missing = [child for child in every if (child.facts["parent"], child.facts["arm"]) not in done]
    print(f"{len(every) - len(missing)} of {len(every)} children are there", flush=True)

    def keep(outcome: Line) -> None:
        lines.append(outcome)
        store(rows, lines)

    collect(judged, missing, [child.folder for child in missing], "children", workers, until, keep)


# ---- the page -------------------------------------------------------------------------------------
def compared(lines: Sequence[Line], against: str, score: str) -> tuple[float, float, float, int] | None:
    """Mean difference of the prescribed arm and another, with its interval, over parents in which both fit at N.

    The interval resamples configurations, since seeds of one are alike; None below two of them. Parents of which no
    cause is named any more (their ``entry`` is empty) are left out.
    """
    lines = [line for line in lines if line["entry"]]
    by = {(line["parent"], line["arm"]): line for line in lines}
    pairs: dict[str, list[float]] = {}
    for (parent, arm), line in by.items():
        other = by.get((parent, against))
        if arm != PRESCRIBED or other is None or not (line["fits"] and other["fits"]):
            continue
        if line[score] is not None and other[score] is not None:
            pairs.setdefault(line["configuration"], []).append(line[score] - other[score])
    if len(pairs) < 2:
        return None
    sums = np.array([[sum(values), len(values)] for values in pairs.values()])
    draws = np.random.default_rng(0).integers(len(sums), size=(RESAMPLES, len(sums)))
    total = sums[draws].sum(1)
    low, high = interval(total[:, 0] / total[:, 1])
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high), int(sums[:, 1].sum())


def comparison(lines: Sequence[Line]) -> str:
    """What the prescribed change gains over the other arms."""
    dropped = len({line["parent"] for line in lines if not line["entry"]})
    left_out = f"{dropped} more parents are listed but not compared, because no cause is named any more."
    lines = [line for line in lines if line["entry"]]
    tasks = {line["task"] for line in lines}
    head = f"{len({line['parent'] for line in lines})} parents of {len(tasks)} tasks"
    fit = Counter(line["arm"] for line in lines if line["fits"])
    every = Counter(line["arm"] for line in lines)
    counts = "; ".join(f"{ARMS[arm]}: {fit[arm]} of {every[arm]}" for arm in ARMS)
    rows = [
        f"{head}. Children that solve length N: {counts}.",
        *([left_out] if dropped else []),
        "",
        "| suggested change compared with | test set | at length | gain in class-balanced accuracy | parents |",
        "|---|---|---|---|---|",
    ]
    for against in (OTHER, SAME):
        for law in LAWS:
            for factor in FACTORS[1:]:
                found = compared(lines, against, f"{law}_{factor}")
                said = "fewer than two configurations"
                if found is not None:
                    said = f"{signed_number(found[0])} [{signed_number(found[1])}, {signed_number(found[2])}]"
                rows.append(f"| {ARMS[against]} | {law} | {factor} N | {said} | {0 if found is None else found[3]} |")
    if len(tasks) < TASKS:
        rows += ["", f"Fewer than {TASKS} tasks so far: this compares changes for few causes, and is no result yet."]
    return "\n".join(rows)


def every_child(lines: Sequence[Line]) -> str:
    """Each child with its accuracies."""
    heads = ["parent", "entry", "arm", "change", "solves N", *(f"{law}, {f} N" for law in LAWS for f in FACTORS)]
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for line in lines:
        cells = [line["parent"], line["entry"] or "none", line["arm"], line["change"], "yes" if line["fits"] else "no"]
        cells += ["" if line[name] is None else f"{line[name]:.2f}" for name in SCORES]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


TABLES = {"comparison": comparison, "every child": every_child}


def main() -> None:
    parser = argparse.ArgumentParser(description="Try the changes that diagnoses prescribe, and tell it.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("page", type=Path, metavar="PAGE", nargs="?")
    parser.add_argument("--diagnosed", type=Path, default=DIAGNOSED, help="table of the diagnoses")
    parser.add_argument("--rows", type=Path, default=ROWS, help="table that is read, added to and told")
    parser.add_argument("--workers", type=int, help="worker processes; default: one per core")
    parser.add_argument("--minutes", type=float, help="begin no child after so many; the same command goes on")
    given = parser.parse_args()
    make(given.root, given.diagnosed, given.rows, given.workers, given.minutes)
    if given.page:
        lines = stored(given.rows)
        write_tables(given.page, {name: table(lines) for name, table in TABLES.items()})


if __name__ == "__main__":
    main()
