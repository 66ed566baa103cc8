"""The filters of the Runs page, and how a link gives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.core.verdicts import WORDS
from workbench.dashboard.state.cursor import Notice, parse, query

FILTER_KEYS = ("verdict", "task", "positions", "filter", "seeds", "ties", "tag", "where", "group")
"""Keys that a link to the Runs page may have."""
TIES = ("hold", "fail", "open")
"""What hard strata may add to a verdict."""


SEEDS = "seeds"
"""The grouping of runs that differ only in their seeds."""


@dataclass(frozen=True)
class Filters:
    """The filters of the Runs page; "" shows all runs.

    Attributes:
        seeds: "1" for a line per configuration.
        group: the setting whose values have a line each, as a configuration axis.
        where: settings that runs must have, each an axis and the text of its value.
    """

    verdict: str = ""
    task: str = ""
    positions: str = ""
    text: str = ""
    seeds: str = ""
    ties: str = ""
    tag: str = ""
    where: tuple[tuple[str, str], ...] = ()
    group: str = ""

    @property
    def grouping(self) -> str:
        """Return what has a line: a setting, ``seeds`` for configurations, or "" for single runs."""
        return self.group or (SEEDS if self.seeds else "")


def grouped_by(grouping: str) -> dict[str, str]:
    """Return the fields of :class:`Filters` for a :attr:`Filters.grouping`."""
    return {"seeds": "1", "group": ""} if grouping == SEEDS else {"seeds": "", "group": grouping}


def read_filters(search: str | None) -> tuple[Filters, list[Notice]]:
    """The filters a link means; a verdict that does not exist becomes a notice."""
    parameters, notices = parse(search), []
    verdict = parameters.get("verdict", "")
    if verdict and verdict not in WORDS:
        notices.append(
            Notice(
                f"This link names the verdict \u201c{verdict}\u201d, which does not exist.",
                "The page shows all runs.",
                "Keep all",
            )
        )
        verdict = ""
    ties = parameters.get("ties", "")
    if ties and ties not in TIES:
        said = f"This link filters hard inputs by \u201c{ties[:40]}\u201d; known are {', '.join(TIES)}."
        notices.append(Notice(said, "The page shows all runs.", "Keep all"))
        ties = ""
    seeds = "1" if parameters.get("seeds") == "1" else ""
    settings = (part.partition("=") for part in parameters.get("where", "").split("|") if part)
    filters = Filters(
        verdict,
        parameters.get("task", ""),
        parameters.get("positions", ""),
        parameters.get("filter", ""),
        seeds,
        ties,
        parameters.get("tag", ""),
        tuple((axis, value) for axis, _, value in settings),
        "" if seeds else parameters.get("group", ""),
    )
    return filters, notices


def check_filters(
    filters: Filters,
    tasks: Sequence[str],
    positions: Sequence[str],
    tags: Collection[str] = (),
    settings: Mapping[str, Collection[str]] | None = None,
) -> tuple[Filters, list[Notice]]:
    """Drop a task, position scheme, tag or setting that no run here has, and a grouping by a setting in which they do
    not differ, each with a notice.

    Args:
        filters: what a link means.
        tasks, positions, tags: those of the runs here.
        settings: configuration axis -> the texts of its values.
    """
    notices = []
    if filters.tag and filters.tag not in tags:
        message = f"This link names the tag \u201c{filters.tag[:40]}\u201d, which no run here has."
        notices.append(Notice(message, "The page shows all tags.", "Keep all"))
        filters = replace(filters, tag="")
    for axis, value in filters.where:
        if value not in (settings or {}).get(axis, ()):
            message = f"This link names the setting {axis[:60]}={value[:40]}, which no run here has."
            notices.append(Notice(message, "The page shows all of its values.", "Keep all"))
    known = tuple((axis, value) for axis, value in filters.where if value in (settings or {}).get(axis, ()))
    filters = replace(filters, where=known)
    if filters.group and filters.group not in (settings or {}):
        message = f"This link groups runs by {filters.group[:60]}, a setting in which the runs here do not differ."
        notices.append(Notice(message, "The page shows single runs.", "Keep single runs"))
        filters = replace(filters, group="")
    if filters.task and filters.task not in tasks:
        notices.append(
            Notice(
                f"This link names the task {filters.task}, which no run here has.",
                "The page shows all tasks.",
                "Keep all",
            )
        )
        filters = replace(filters, task="")
    if filters.positions and filters.positions not in positions:
        notices.append(
            Notice(
                f"This link names the position encoding \u201c{filters.positions}\u201d, which no run here has.",
                "The page shows runs with all position encodings.",
                "Keep all",
            )
        )
        filters = replace(filters, positions="")
    return filters, notices


def write_filters(filters: Filters) -> str:
    """The canonical link of the Runs page."""
    parameters = {
        "verdict": filters.verdict,
        "task": filters.task,
        "positions": filters.positions,
        "filter": filters.text,
        "seeds": filters.seeds,
        "ties": filters.ties,
        "tag": filters.tag,
        "where": "|".join(f"{axis}={value}" for axis, value in filters.where),
        "group": filters.group,
    }
    return "/" + query({key: value for key, value in parameters.items() if value})
