"""Train, diagnose and tell the runs of docs/diagnosis.md: ``python docs/diagnosis_runs.py ROOT PAGE``.

Each run of the sweep ``diagnosis`` is trained in ROOT as far as that is missing, and diagnosed three times: on the
matched law, on fresh strings of it, and on the challenge law. Rows go to docs/diagnosed.parquet as soon as a run is
done, so that any end will do; the same command goes on, also where the runs themselves are gone. The tables of PAGE
and of its appendix PAGE_tables.md stand between comments with their names. Only what is between them is written anew.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from other_machines_table import write_tables

from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import TrainingJob, train_cell
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.core.names import NOT_EXPLAINED, OPEN_CAUSES
from workbench.diagnosis.bench.members import diagnosis_columns
from workbench.diagnosis.measurement import Diagnosis
from workbench.figures.rows.diagnosis_rows import recovered_by
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp, refuse_late
from workbench.jobs.executors import Failure
from workbench.measure.grid import make_grid
from workbench.measure.model_study import ModelStudy
from workbench.measure.result import Result
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, replacing

ROWS = Path(__file__).parent / "diagnosed.parquet"
"""Where rows are kept."""
STORY = ("flip_flop_rotary_s0", "flip_flop_rotary_s1")
"""Runs of the gallery that the page begins with."""
TRIALS = {"first": ("matched", 0), "fresh strings": ("matched", 1), "second law": ("challenge", 0)}
"""Law and seed of each diagnosis of a run."""
TRIAL_NAMES = {"fresh strings": "fresh sequences", "second law": "the challenge test set"}
STRINGS = 512
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "task", "positions", "trial", "sentence", "entry", "grade", "by")),
        *((name, pa.string()) for name in ("note", "site", "rows")),
        *((name, pa.int64()) for name in ("length", "layer", "head")),
        *((name, pa.float64()) for name in ("measured_loss", "share", "low", "high", "seconds")),
    ]
)
"""``rows`` is JSON, of the diagnosis at that length; empty for runs that were diagnosed before it was kept."""
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A run to be diagnosed.

    Attributes:
        folder: the run's.
        work: how it is trained; None = it is there.
    """

    folder: str
    work: TrainingJob | None = None


def diagnosed(asked: Asked) -> list[Line]:
    """A row for each length and trial of a run, which is trained first where it has to be."""
    if asked.work is not None:
        train_cell(asked.work)
    run = Run.open(asked.folder)
    first = _trial(run, "first", (2, 4)) or [_nothing(run)]
    named_at = [line for line in first if line["entry"]]
    lines = list(first)
    for trial in ("fresh strings", "second law"):
        for line in named_at[:1]:  # what the sentence speaks of
            lines += _trial(run, trial, (line["length"] / run.trained_length,))
    return lines


def _trial(run: Run, trial: str, factors: Sequence[float]) -> list[Line]:
    law, seed = TRIALS[trial]
    step, begun = run.steps[-1], time.process_time()
    study = ModelStudy(run.load(step), run.task, make_grid(run.task, run.trained_length), STRINGS, seed)
    study.trained_ids = run.meta(step).get("trained_ids")
    rows = Diagnosis(factors=tuple(factors), law=law).finish(study)  # type: ignore[arg-type]
    filled = [{**row, "run": run.name, "step": step, "measurement": "diagnosis", "setting": ""} for row in rows]
    frame = Result("diagnosis", filled, run.trained_length).frame()
    facts = _facts(run)
    lines = []
    for length in sorted({row["length"] for row in rows if row["quantity"] == "entry" and row["length"]}):
        own = [row for row in rows if row["length"] == length]
        sentence = plain_text(diagnosis_sentence(frame, step=step, longest=run.trained_length, length=length))
        seconds = time.process_time() - begun
        kept = json.dumps([{k: v for k, v in row.items() if v not in (None, "")} for row in own])
        told_at = {"trial": trial, "length": length, "sentence": sentence, "seconds": seconds, "rows": kept}
        lines.append({**facts, **told_at, **diagnosis_columns(own)})
    return lines


def _nothing(run: Run) -> Line:
    """Where no length beyond N can be asked; so that the run is not asked again."""
    empty: dict[str, Any] = {field.name: None for field in SCHEMA}
    return {**empty, **_facts(run), "trial": "first", "length": 0, "entry": "", "sentence": "No length can be asked."}


def _facts(run: Run) -> dict[str, str]:
    model = run.config["model"]
    return {"run": run.name, "task": run.config["task"]["name"], "positions": model["positions"]["name"]}


# ---- the table ----------------------------------------------------------------------------------
def read(path: Path) -> list[Line]:
    """What is stored; nothing where there is no table yet."""
    return [] if not path.exists() else pq.read_table(path).to_pylist()


def write(path: Path, lines: Sequence[Line]) -> None:
    """Write all rows, sorted."""
    ordered = sorted(lines, key=lambda line: (line["run"], list(TRIALS).index(line["trial"]), line["length"]))
    with replacing(path.parent, path.name) as stream:
        pq.write_table(
            pa.Table.from_pylist([dict(line) for line in ordered], schema=SCHEMA), stream, compression="zstd"
        )


def make(root: Path, rows: Path, gallery: Path, workers: int | None, minutes: float | None) -> None:
    """Train and diagnose what is missing."""
    make_folder(root)
    lines = read(rows)
    until = None if minutes is None else time.time() + 60 * minutes
    cells = read_sweep(find_sweep(Path("diagnosis"))).cells
    every = [Asked(str(gallery / name)) for name in STORY]
    every += [Asked(str(root / cell.name), TrainingJob(cell, str(root / cell.name), until)) for cell in cells]
    done = {line["run"] for line in lines}
    missing = [asked for asked in every if Path(asked.folder).name not in done]
    print(f"{len(every) - len(missing)} of {len(every)} runs are there", flush=True)

    def keep(outcome: list[Line]) -> None:
        lines.extend(outcome)
        write(rows, lines)

    collect(diagnosed, missing, [asked.folder for asked in missing], "runs", workers, until, keep)


def begun_in_time(function: Callable[[Any], Any], until: float | None, item: Any) -> Any:
    """The answer to an item; raises TimeIsUp if the time for it is up."""
    refuse_late(until)
    return function(item)


def collect(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    names: Sequence[str],
    what: str,
    workers: int | None,
    until: float | None,
    keep: Callable[[Any], None],
) -> None:
    """Ask for every item in worker processes; what fails is named, and what time is too short for is counted.

    Args:
        function: makes the answer to one item.
        items: what is asked for.
        names: of the items, for what is said of them.
        what: they are.
        workers: processes; None = one per core.
        until: begin none after it, in seconds since the epoch; None = all.
        keep: takes an answer as soon as it is there.
    """
    late = []

    def told(index: int, outcome: Any) -> None:
        if not isinstance(outcome, Failure):
            keep(outcome)
        elif outcome.error.startswith((TimeIsUp.__name__, "Stopped")):
            late.append(index)
        else:
            print(f"problem: {names[index]}: {outcome.error}", flush=True)

    make_executor("processes", workers=workers).map(partial(begun_in_time, function, until), items, on_done=told)
    if late:
        print(f"{len(late)} {what} are left for the same command", flush=True)


NEEDS = " The diagnosis names a cause only if the drop is at least 0.2."
READABLE = (
    (r" A cause is named from a drop of 0\.2 on\.", NEEDS),
    (r"at ([\d,]+), less than 0\.2: no cause is named\.", r"at length \1." + NEEDS),
    (r"Not learned: class-balanced", "The model did not learn the task: class-balanced"),
    (r"costs too much accuracy at ([\d,]+)", r"costs too much accuracy at length \1"),
    (r"Whether by position or by content could not be", "Whether positions or content are the cause could not be"),
    (r", but with a wrong constant ([−\d.]+ \[[^]]*\])", r". With a wrong constant, the same edit recovers \1"),
    (r"Rows moved to where they lay at N", "Residual streams with the mean and scale of length N"),
    (r"(Equal weights) on the top keys alone", r"\1 on only the top keys"),
    (r"Weights of the top keys held as at N", "Weights of the top keys fixed at their values at N"),
    (r"(Trained ids) for the last tokens alone", r"\1 for only the last tokens"),
    (r"The right key alone recovers", "Attention to only the right key recovers"),
)
"""Patterns in stored sentences, and what the page says in their place."""


# ---- the page -----------------------------------------------------------------------------------
def on_page(*sentences: str) -> str:
    """Stored sentences in the words of the page. What a diagnosis needs is said once, at the end."""
    text = " ".join(dict.fromkeys(sentences))
    for pattern, words in READABLE:
        text = re.sub(pattern, words, text)
    return text.replace(NEEDS, "", text.count(NEEDS) - 1) if NEEDS in text else text


def story(lines: Sequence[Line]) -> str:
    """What is said of the runs that the page begins with."""
    rows = ["| run | diagnosed at length | diagnosis |", "|---|---|---|"]
    for line in lines:
        if line["run"] in STORY and line["trial"] == "first":
            rows.append(f"| {line['run']} | {line['length']} | {on_page(line['sentence'])} |")
    return "\n".join(rows)


def counts(lines: Sequence[Line]) -> str:
    """How many runs fail, how many of them have a named cause, which, and where, by positions."""
    own = [line for line in lines if line["run"] not in STORY]
    heads = (
        "positions", "runs", "diagnosed", "tasks", "position", "keys", "content", *OPEN_CAUSES, "other", "joint",
        NOT_EXPLAINED,
    )  # fmt: skip
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for scheme in [*sorted({line["positions"] for line in own}), "all"]:
        of = [line for line in own if scheme in ("all", line["positions"])]
        found = list(spoken(of).values())
        label = Counter(line["entry"] for line in found)
        other = sum(label[name] for name in ("keys or content", "steps or content", "steps"))
        cells = [len({line["run"] for line in of}), len(found), len({line["task"] for line in found})]
        cells += [label[name] for name in ("position", "keys", "content", *OPEN_CAUSES)]
        cells += [other, label["joint"], label[NOT_EXPLAINED]]
        rows.append(f"| {scheme} | {' | '.join(map(str, cells))} |")
    planned = len(read_sweep(find_sweep(Path("diagnosis"))).cells)
    there = len({line["run"] for line in own})
    rows += [] if there == planned else ["", f"{there} of {planned} runs so far: `make diagnosis-runs` goes on."]
    sites = Counter(f"{line['entry']}, {line['site']}" for line in spoken(own).values() if explained(line))
    told_sites = [f"- {name}: {count}" for name, count in sites.most_common()]
    apart = [line for line in spoken(own).values() if len(recovered_by({**line, "target": line["by"]})) > 1]
    several = (
        f"In {len(apart)} of the runs with a named cause, an intervention against another cause recovers half of the "
        "accuracy drop, too."
    )
    return "\n".join([*rows, "", several, "", "Number of runs with each named cause and location:", "", *told_sites])


def again(lines: Sequence[Line]) -> str:
    """How often the entry, and the site, are the same on fresh strings and on the second law."""
    first = {run: line for run, line in spoken(lines).items() if explained(line) and run not in STORY}
    rows = [
        "| diagnosed again on | runs with a named cause | accuracy drop too small there | same cause | same location |",
        "|---|---|---|---|---|",
    ]
    for trial in ("fresh strings", "second law"):
        second = {line["run"]: line for line in lines if line["trial"] == trial and line["run"] in first}
        asked = {run: line for run, line in second.items() if line["entry"]}
        entry = sum(line["entry"] == first[run]["entry"] for run, line in asked.items())
        site = sum(line["site"] == first[run]["site"] for run, line in asked.items())
        few = len(second) - len(asked)
        rows.append(
            f"| {TRIAL_NAMES[trial]} | {len(second)} | {few} | {entry} of {len(asked)} | {site} of {len(asked)} |"
        )
    return "\n".join(rows)


def every_run(lines: Sequence[Line]) -> str:
    """The sentence of each run."""
    rows = ["| run | diagnosis |", "|---|---|"]
    for run in sorted({line["run"] for line in lines if line["run"] not in STORY}):
        own = [line for line in lines if line["run"] == run and line["trial"] == "first"]
        named = spoken(own).get(run)
        told_lines: Sequence[Line] = [named] if named else own
        rows.append(f"| {run} | {on_page(*(line['sentence'] for line in told_lines))} |")
    return "\n".join(rows)


def spoken(lines: Sequence[Line]) -> dict[str, Line]:
    """Of each run the first length at which a name, or none, was found."""
    found: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: line["length"]):
        if line["trial"] == "first" and line["entry"]:
            found.setdefault(line["run"], line)
    return found


def explained(line: Line) -> bool:
    """Whether a cause is named."""
    return line["entry"] not in ("", NOT_EXPLAINED, *OPEN_CAUSES)


TABLES = {"story": story, "counts": counts, "again": again, "every run": every_run}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and diagnose the runs of docs/diagnosis.md, and write it.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("page", type=Path, metavar="PAGE", nargs="?")
    parser.add_argument("--rows", type=Path, default=ROWS, help="table that is read, added to and told")
    parser.add_argument("--gallery", type=Path, default=Path("checkpoints/gallery"))
    parser.add_argument("--workers", type=int, help="worker processes; default: one per core")
    parser.add_argument("--minutes", type=float, help="begin no run after so many; the same command goes on")
    given = parser.parse_args()
    make(given.root, given.rows, given.gallery, given.workers, given.minutes)
    if given.page:
        lines = read(given.rows)
        write_tables(given.page, {name: table(lines) for name, table in TABLES.items()})


if __name__ == "__main__":
    main()
