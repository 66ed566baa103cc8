"""What the Runs page is filtered by, and how a link says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.dashboard.state.cursor import VERDICTS, Notice, parse, query

TIES = ("hold", "fail", "open")
"""What near ties may add to a verdict."""


@dataclass(frozen=True)
class Filters:
    """What the Runs page shows; an empty string shows all.

    Attributes:
        verdict, task, positions: what a line must have.
        text: words that must stand in it.
        seeds: "1" for one line per configuration, all its seeds together.
        ties: ``hold``, ``fail`` or ``open``: what near ties must add to the verdict.
    """

    verdict: str = ""
    task: str = ""
    positions: str = ""
    text: str = ""
    seeds: str = ""
    ties: str = ""


def read_filters(search: str | None) -> tuple[Filters, list[Notice]]:
    """The filters a link means; a verdict that does not exist becomes a notice."""
    asked, notices = parse(search), []
    verdict = asked.get("verdict", "")
    if verdict and verdict not in VERDICTS:
        notices.append(
            Notice(
                f"This link names the verdict \u201c{verdict}\u201d, which does not exist.",
                "Shown: all runs.",
                "Keep all",
            )
        )
        verdict = ""
    ties = asked.get("ties", "")
    if ties and ties not in TIES:
        said = f"This link asks for near ties \u201c{ties[:40]}\u201d; what they add is {', '.join(TIES)}."
        notices.append(Notice(said, "Shown: all runs.", "Keep all"))
        ties = ""
    seeds = "1" if asked.get("seeds") == "1" else ""
    filters = Filters(verdict, asked.get("task", ""), asked.get("positions", ""), asked.get("filter", ""), seeds, ties)
    return filters, notices


def check_filters(filters: Filters, tasks: Sequence[str], positions: Sequence[str]) -> tuple[Filters, list[Notice]]:
    """Drop a task or a position scheme that no run here has, saying so."""
    notices = []
    if filters.task and filters.task not in tasks:
        notices.append(
            Notice(
                f"This link names the task {filters.task}, which no run here has.",
                "Shown: all tasks.",
                "Keep all",
            )
        )
        filters = replace(filters, task="")
    if filters.positions and filters.positions not in positions:
        notices.append(
            Notice(
                f"This link names positions \u201c{filters.positions}\u201d, which no run here has.",
                "Shown: all positions.",
                "Keep all",
            )
        )
        filters = replace(filters, positions="")
    return filters, notices


def write_filters(filters: Filters) -> str:
    """The canonical link of the Runs page."""
    named = {
        "verdict": filters.verdict,
        "task": filters.task,
        "positions": filters.positions,
        "filter": filters.text,
        "seeds": filters.seeds,
        "ties": filters.ties,
    }
    return "/" + query({key: value for key, value in named.items() if value})
