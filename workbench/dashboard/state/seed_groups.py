"""Lines of the Runs page for several runs: for those that differ only in their seeds, and for those with one value of
a setting (:mod:`workbench.dashboard.state.setting_groups`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

import numpy as np

from workbench.core.verdicts import STRATA
from workbench.dashboard.state.cursor import query
from workbench.dashboard.state.failure_strip import STRIP_TIMES, at_multiples, group_strip, may_pool
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import proportion, whole, whole_answers
from workbench.figures.rows.multiples import times_text

CELLS = tuple(f"{cell}{part}" for cell in ("inside", "longest") for part in ("", "Text", "Interval", "Title"))
OF_ONE_RUN = ("strip", "stripChance", "stripItems", "damage", *CELLS)
"""Fields of the line of one run that several runs do not take over from one of them."""


def by_configuration(runs: Mapping[str, RunView], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one table line per configuration (runs that differ only in seeds). The line of a single run is
    unchanged.
    """
    ordered = sorted(rows, key=lambda row: (runs[row["name"]].family, row["name"]))
    groups = [list(group) for _, group in groupby(ordered, key=lambda row: runs[row["name"]].family)]
    lines = [line([runs[row["name"]] for row in group], group) for group in groups]
    return sorted(lines, key=lambda one: str(one["name"]))


def line(runs: Sequence[RunView], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the table line of one configuration.

    Numbers are medians, with the lowest and the highest seed in place of an interval; steps are a range, for a median
    of two may be no step of either.
    """
    if len(rows) == 1:
        return {**rows[0], "of": "1 of 1"}
    names = [run.name for run in runs]
    fields = combine_runs(runs, rows, "seeds")
    return fields | {
        "name": shared_name(names),
        "href": "/compare" + query({"run": names[0], "run2": names[1], "seeds": "1"}),
        "first": names[0],
        "seeds": len(runs),
    }


def combine_runs(runs: Sequence[RunView], rows: Sequence[dict[str, Any]], members: str) -> dict[str, Any]:
    """Return what the line of several runs shows of their results.

    Args:
        runs: of one kind.
        rows: their own lines.
        members: what the runs are called, "seeds" or "runs".
    """
    counted = Counter(str(row["verdict"]) for row in rows)
    verdict, count = counted.most_common(1)[0]
    first = next(row for row in rows if row["verdict"] == verdict)
    began = sorted(int(row["since"]) for row in rows if row.get("since") is not None)
    fields = {
        **{name: value for name, value in first.items() if name not in OF_ONE_RUN},
        "seed": None,
        "of": f"{count} of {len(rows)}",
        "steps": max(row["steps"] for row in rows),
        "since": began[0] if began else None,
        "sinceText": _range(began),
        "sinceAfter": None,
        **_ties(rows, members),
        "live": any(row["live"] for row in rows),
        "tags": sorted({tag for row in rows for tag in row["tags"]}),
        "note": "",
        "ticks": [{name: row[name] for name in ("name", "slug", "verdict", "seed")} for row in rows],
        **_damage(rows, members),
    }
    for name in ("summary", "position"):
        fields[name] = _median(rows, name)
    fields |= _reach(rows, members)
    fields["carries"] = "; ".join(
        f"{name} {proportion(fields[name])}, median of the {members}"
        for name in ("summary", "position")
        if fields[name] is not None
    )
    failed = sorted((row for row in rows if row.get("failed")), key=lambda row: float(row["fails"]))
    if failed:
        said = {name: failed[0][name] for name in ("fails", "failsTimes", "failed") if name in failed[0]}
        fields |= said | {"failsText": f"{failed[0]['failsText']} at first"}
    strip = group_strip(runs, members)
    return {name: value for name, value in fields.items() if value is not None} | strip | _accuracies(runs, members)


def shared_name(names: Sequence[str]) -> str:
    """Return the beginning that the names of all seeds share, without a final dash, ``s`` or digits."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same).rstrip("-_/. s0123456789") or names[0]


def _damage(rows: Sequence[Mapping[str, Any]], members: str) -> dict[str, Any]:
    """How many of the runs have a damaged table, and the sentence on the first one."""
    sentences = [row["damage"] for row in rows if "damage" in row]
    return {"damage": f"{len(sentences)} of {len(rows)} {members}: {sentences[0]}"} if sentences else {}


def _reach(rows: Sequence[Mapping[str, Any]], members: str) -> dict[str, Any]:
    """The median of reach over the runs that have a value, with the lowest and the highest of them."""
    values = [float(row["reach"]) for row in rows if row.get("reach") is not None]
    names = ("reach", "reachText", "reachInterval", "reachTitle", "reachWhy")
    if not values:
        return dict.fromkeys(names)
    middle = float(np.median(values))
    texts = (
        proportion(middle),
        f"{proportion(min(values))} to {proportion(max(values))}",
        f"{proportion(middle)}, the median of {len(values)} {members} with a value",
    )
    return dict(zip(names, (middle, *texts, None), strict=True))


def _ties(rows: Sequence[Mapping[str, Any]], members: str) -> dict[str, Any]:
    """Hard strata over all runs: the worst result, and how many runs have it; nothing where they are of two kinds."""
    labels = [row["ties"] for row in rows if "ties" in row]
    kinds = list(dict.fromkeys(row["tiesKind"] for row in rows if "tiesKind" in row))
    worst = next((label for label in STRATA if label in labels), None)
    if worst is None:
        return {}
    if len(kinds) > 1:
        return dict.fromkeys(("ties", "tiesKind", "tiesText", "tiesNote"))
    kind, said = kinds[0], f"{labels.count(worst)} of {len(rows)} {members}"
    return {"ties": worst, "tiesText": f"{kind} {STRATA[worst].word}", "tiesNote": said}


def _range(steps: Sequence[int]) -> str | None:
    """The first and the last of ascending steps."""
    if not steps:
        return None
    ends = [whole(step) for step in dict.fromkeys((steps[0], steps[-1]))]
    return " to ".join(ends)


def _median(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    return float(np.median(values)) if values else None


def _accuracies(runs: Sequence[RunView], members: str) -> dict[str, Any]:
    """The median accuracy at the longest trained length and at the longest length that all runs have, each with the
    lowest and the highest run.

    Runs of one N are taken at equal lengths, other runs at equal multiples of their own N.
    """
    measured = [run for run in runs if run.brief.accuracy]
    if not measured or not may_pool(measured):
        return {}
    fields: dict[str, Any] = {}
    curves, trained = _curves(measured)
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    within = [place for place in shared if place <= trained and measured[0].kind.has_trained_length]
    places = {"inside": within[-1:], "longest": shared[-1:]}
    for name, found in places.items():
        for place in found:
            values = [curve[place] for curve in curves]
            middle = float(np.median(values))
            fields |= {
                name: middle,
                f"{name}Text": proportion(middle),
                f"{name}Interval": f"{proportion(min(values))} to {proportion(max(values))}",
                f"{name}Title": _said(measured, place, trained, proportion(middle), members),
            }
    length = {"longestLength": int(shared[-1])} if shared and trained != 1.0 else {}
    return fields | length


def _curves(runs: Sequence[RunView]) -> tuple[list[dict[float, float]], float]:
    """The accuracies of each run by length, and N; if their N differ, by multiples of N, and 1."""
    trained = [run.trained for run in runs]
    if len(set(trained)) == 1 or any(not run.kind.has_trained_length for run in runs):
        lengths = [{float(row["length"]): float(row["value"]) for row in run.brief.accuracy} for run in runs]
        return lengths, float(max(trained))
    found = [zip(STRIP_TIMES, at_multiples(run.brief.accuracy, run.trained), strict=True) for run in runs]
    return [{times: float(row["value"]) for times, row in one if row is not None} for one in found], 1.0


def _said(runs: Sequence[RunView], place: float, trained: float, middle: str, members: str) -> str:
    """The tooltip of a median accuracy. Of seeds, as of one run: empty where an answer is one token."""
    if members != "seeds":
        where = times_text(place) if trained == 1.0 else runs[0].kind.length_text(place)
        return f"{middle} at {where}, the median of {len(runs)} {members}"
    accuracy = f"{middle}, the median of seeds"
    tokens = [run.brief.tokens[int(place)] for run in runs if int(place) in run.brief.tokens]
    if tokens:
        return whole_answers(accuracy, float(np.median(tokens)))
    return f"{accuracy}, of all answer tokens" if runs[0].kind.items else ""
