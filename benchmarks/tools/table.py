"""How speed is measured and shown: ratios of medians, taken side by side in one process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        what: the thing that was timed.
        against: what the figure is the ratio of, or the unit of an absolute one.
        value: the figure.
        wanted: the bound, or None where there is none.
        note: absolute figures, for the reader's sense of scale.
        at_most: whether the bound is an upper one.
    """

    what: str
    against: str
    value: float
    wanted: float | None
    note: str = ""
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        if self.wanted is None:
            return None
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted


@dataclass(frozen=True)
class Times:
    """Processor time of each contestant in each round, in milliseconds."""

    rounds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def ratio(self, above: str, below: str) -> float:
        """Median over rounds of the ratio within a round: what slows a round slows both."""
        return statistics.median(a / b for a, b in zip(self.rounds[above], self.rounds[below], strict=True))


def interleaved(work: Mapping[str, Callable[[], object]], rounds: int, warm: int = 2) -> Times:
    """Time all contestants in every round, one after the other.

    Processor time, not the clock: other work on a shared machine then counts little. Everything runs in
    one thread, so the two agree on a quiet machine.
    """
    for run in work.values():
        for _ in range(warm):
            run()
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            gc.collect()
            start = time.process_time()
            run()
            found[name].append(1e3 * (time.process_time() - start))
    return Times(found)


def show(lines: Sequence[Line]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, justify in (
        ("what", "left"),
        ("figure", "left"),
        ("value", "right"),
        ("bound", "right"),
        ("", "left"),
        ("", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for line in lines:
        bound = "" if line.wanted is None else f"{'<=' if line.at_most else '>='} {line.wanted:g}"
        mark = {None: "", True: "met", False: "NOT MET"}[line.met]
        table.add_row(line.what, line.against, f"{line.value:.3g}", bound, mark, line.note)
    Console(width=160).print(table)


def markdown(lines: Sequence[Line]) -> str:
    """The table as Markdown."""
    rows = ["| what | figure | value | bound | |", "|---|---|---|---|---|"]
    for line in lines:
        bound = "" if line.wanted is None else f"{'≤' if line.at_most else '≥'} {line.wanted:g}"
        mark = {None: "", True: "met", False: "**not met**"}[line.met]
        rows.append(
            f"| {line.what} | {line.against} | {line.value:.3g} | {bound} | {' '.join([mark, line.note]).strip()} |"
        )
    return "\n".join(rows)
