"""The tables of docs/other_machines.md: ``python docs/other_machines_table.py ROOT PAGE``.

ROOT holds the measured runs of the sweep ``other_machines``. Each table stands on the page between two comments with
its name, and what is between them is written anew; nothing else on the page is touched.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.runs import Run, find_runs
from workbench.table.query import Table

Naming = Callable[[Run], "tuple[str, ...] | None"]
"""What the first columns say of a run; None for one that is not of the table."""
Columns = tuple[tuple[str, tuple[float, ...]], ...]
"""Laws, and the multiples of N at which accuracy under each is told."""

POSITIONS = {"predicted": "predicted ids", "random_offset": "no coupling", "pose": "rotary with PoSE"}
"""What the columns call an id sampler."""

RARE = 0.1
"""Below this share of writes, a flip-flop's default, its writes are called rare."""
TASKS = ("flip_flop", "flip_flop, rare writes", "parity", "aa_star", "dyck_1", "a_n_b_n")
ORDER = (*TASKS, "nonnegative", "signed", "usual", "wide", *POSITIONS.values())


@dataclass(frozen=True)
class Cell:
    """The runs that differ in nothing but their seeds, and the rows of their last checkpoints.

    Attributes:
        name: what the first columns of its row say.
        trained: N.
        frames: rows of ``behaviour`` by seed.
    """

    name: tuple[str, ...]
    trained: int
    frames: dict[int, pd.DataFrame] = field(default_factory=dict)

    def verdicts(self) -> str:
        """Each verdict with the number of seeds that got it."""
        found = Counter(str(one(f, quantity="verdict")["label"]) for f in self.frames.values())
        return ", ".join(f"{count} {label}" for label, count in found.most_common())

    def at(self, law: str, factor: float) -> str:
        """Accuracy at ``factor`` N under a law: of all seeds if they agree, else lowest to highest; "" if not read."""
        found = [value for f in self.frames.values() if (value := self._accuracy(f, law, factor)) is not None]
        return span(found, "{:.2f}") if len(found) == len(self.frames) else ""

    def loss(self) -> str:
        """Mean loss at N under the matched law, lowest to highest over seeds."""
        where = {"quantity": "loss", "mode": "teacher_forced", "law": "matched", "length": self.trained}
        return span([float(one(f, **where)["value"]) for f in self.frames.values()], "{:.1g}")

    def _accuracy(self, frame: pd.DataFrame, law: str, factor: float) -> float | None:
        """At the first length measured from ``factor`` N on, which is its next admissible one."""
        rows = pick(frame, quantity="accuracy", mode="teacher_forced", law=law, status="ok")
        rows = rows[rows["length"] >= factor * self.trained].sort_values("length")
        near = rows[rows["length"] < 1.25 * factor * self.trained]
        return None if near.empty else float(near.iloc[0]["value"])


def pick(frame: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The rows in which columns have these values."""
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


def one(frame: pd.DataFrame, **where: Any) -> pd.Series[Any]:
    """The one row in which columns have these values.

    Raises:
        SystemExit: if there is none, or several.
    """
    rows = pick(frame, **where)
    if len(rows) != 1:
        raise SystemExit(f"{', '.join(sorted(set(frame['run'])))}: {len(rows)} rows with {where}")
    return rows.iloc[0]


def span(values: Sequence[float], form: str) -> str:
    """One value if all read the same, else the lowest and the highest."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def ssm_name(run: Run) -> tuple[str, ...] | None:
    """Task, gates, where these begin, and steps, of a state-space model."""
    model, task = run.config["model"], run.config["task"]
    if model.get("architecture") != "ssm":
        return None
    rare = task["parameters"].get("write_probability", RARE) < RARE
    start = "wide" if model["dt_max"] == 1.0 else "usual"
    return task["name"] + ", rare writes" * rare, model["gates"], start, str(run.config["training"]["steps"])


def coupled_name(task: str, parameter: str) -> Naming:
    """Names for the transformers of one task: a parameter of the task, and what they do about positions."""

    def name(run: Run) -> tuple[str, ...] | None:
        if run.config["task"]["name"] != task:
            return None
        return str(run.config["task"]["parameters"][parameter]), POSITIONS[run.config["model"]["ids"]["name"]]

    return name


def cells(root: Path, naming: Naming) -> list[Cell]:
    """The cells of one table, in the order of their names.

    Raises:
        SystemExit: for a run that is not measured.
    """
    table = Table.load(root)
    found: dict[tuple[str, ...], Cell] = {}
    for run in find_runs(root):
        name = naming(run)
        if name is None:
            continue
        frame = pick(table.frame(run=run.name), measurement="behaviour", step=run.steps[-1])
        if frame.empty:
            raise SystemExit(f"{run.name} is not measured: lengthlens sweep other_machines does it")
        found.setdefault(name, Cell(name, run.trained_length)).frames[run.config["seeds"]["init"]] = frame
    return sorted(found.values(), key=order)


def order(cell: Cell) -> tuple[int, ...]:
    """First name, longest N first, then the other names: their places in ORDER; numbers stand for themselves."""
    first, *others = (int(name) if name.isdigit() else ORDER.index(name) for name in cell.name)
    return first, -cell.trained, *others


def markdown(head: Sequence[str], columns: Columns, found: Sequence[Cell]) -> str:
    """One table: names, N, seeds, loss at N, accuracies, verdicts."""
    shown = [(law, f) for law, factors in columns for f in factors]
    titles = [*head, "N", "seeds", "loss at N", *(f"{law} {f:g} N" for law, f in shown), "verdicts"]
    lines = [titles, ["---"] * len(titles)]
    for cell in found:
        facts = [str(cell.trained), str(len(cell.frames)), cell.loss()]
        lines.append([*cell.name, *facts, *(cell.at(law, f) for law, f in shown), cell.verdicts()])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rewritten(page: str, name: str, table: str) -> str:
    """The page with another table between the comments of that name.

    Raises:
        SystemExit: if they are not there.
    """
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"the page has no place for the table {name}: it stands between {start} and {end}")
    return pattern.sub(lambda _: f"{start}\n{table}\n{end}", page)


def write_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Write tables into a page and its appendix, PAGE_tables.md, each where it has its comments.

    Raises:
        SystemExit: if neither has a place for a table.
    """
    files = [file for file in (page.with_stem(f"{page.stem}_tables"), page) if file.exists()]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    for name, table in tables.items():
        file = next((file for file in files if f"<!-- {name} -->" in texts[file]), page)
        texts[file] = rewritten(texts[file], name, table)
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of docs/other_machines.md.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("page", type=Path, metavar="PAGE")
    given = parser.parse_args()
    page = given.page.read_text(encoding="utf-8")
    for name, (head, columns, naming) in TABLES.items():
        page = rewritten(page, name, markdown(head, columns, cells(given.root, naming)))
    given.page.write_text(page, encoding="utf-8")


SCALES: Columns = (("matched", (1, 2, 4, 8)), ("challenge", (1, 2, 4, 8)))
ANSWERS: Columns = (("matched", (1, 1.5, 2, 3, 4)),)
TABLES: Mapping[str, tuple[tuple[str, ...], Columns, Naming]] = {
    "state-space models": (("task", "gates", "start", "steps"), SCALES, ssm_name),
    "parity_scratchpad": (("jump", "positions"), ANSWERS, coupled_name("parity_scratchpad", "jump")),
    "variable_assignment": (("depth", "positions"), ANSWERS, coupled_name("variable_assignment", "depth")),
}
"""Name on the page; the first columns, what is told after them, and what a run says in the first ones."""


if __name__ == "__main__":
    main()
