"""Seeds together: one line of the Runs page for all runs that differ in nothing but their seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

import numpy as np

from workbench.core.verdicts import STRATA
from workbench.dashboard.state.cursor import query
from workbench.dashboard.state.run_summary import SPARK, spark_places
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import proportion, whole, whole_answers
from workbench.figures.style.sparklines import spark_path


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

    The curve is the median over the seeds at each length that all of them have; beneath it one faint line per seed.
    Numbers are medians, with the lowest and the highest seed in place of an interval; steps are a range, for a median
    of two may be no step of either.
    """
    if len(rows) == 1:
        return {**rows[0], "of": "1 of 1"}
    counted = Counter(str(row["verdict"]) for row in rows)
    verdict, count = counted.most_common(1)[0]
    first = next(row for row in rows if row["verdict"] == verdict)
    names = [run.name for run in runs]
    began = sorted(int(row["since"]) for row in rows if row.get("since") is not None)
    href = query({"run": names[0], "run2": names[1], "seeds": "1"})
    fields = {
        **first,
        "name": shared_name(names),
        "href": f"/compare{href}",
        "first": names[0],
        "seed": None,
        "seeds": len(runs),
        "of": f"{count} of {len(rows)}",
        "steps": max(row["steps"] for row in rows),
        "since": began[0] if began else None,
        "sinceText": _range(began),
        "sinceAfter": None,
        **_ties(rows),
        "live": any(row["live"] for row in rows),
        "tags": sorted({tag for row in rows for tag in row["tags"]}),
        "note": "",
        "ticks": [{name: row[name] for name in ("name", "slug", "verdict", "seed")} for row in rows],
    }
    for name in ("summary", "position"):
        fields[name] = _median(rows, name)
    fields |= _reach(rows)
    fields["carries"] = "; ".join(
        f"{name} {proportion(fields[name])}, median of the seeds"
        for name in ("summary", "position")
        if fields[name] is not None
    )
    failed = sorted((row for row in rows if row.get("failed")), key=lambda row: float(row["fails"]))
    if failed:
        said = {name: failed[0][name] for name in ("fails", "failsTimes", "failed")}
        fields |= said | {"failsText": f"{failed[0]['failsText']} at first"}
    return {name: value for name, value in fields.items() if value is not None} | _curves(runs)


def shared_name(names: Sequence[str]) -> str:
    """Return the beginning that the names of all seeds share, without a final dash, ``s`` or digits."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same).rstrip("-_/. s0123456789") or names[0]


def _reach(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median of reach over the seeds that have a value, with the lowest and the highest of them."""
    values = [float(row["reach"]) for row in rows if row.get("reach") is not None]
    names = ("reach", "reachText", "reachInterval", "reachTitle", "reachWhy")
    if not values:
        return dict.fromkeys(names)
    middle = float(np.median(values))
    texts = (
        proportion(middle),
        f"{proportion(min(values))} to {proportion(max(values))}",
        f"{proportion(middle)}, the median of {len(values)} seeds with a value",
    )
    return dict(zip(names, (middle, *texts, None), strict=True))


def _ties(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Hard strata over all seeds: the worst result, and how many seeds have it."""
    labels = [row["ties"] for row in rows if "ties" in row]
    kind = next((row["tiesKind"] for row in rows if "tiesKind" in row), "")
    worst = next((label for label in STRATA if label in labels), None)
    if worst is None:
        return {}
    said = f"{labels.count(worst)} of {len(rows)} seeds"
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


def _curves(runs: Sequence[RunView]) -> dict[str, Any]:
    """Every seed's curve, their median, and both at the trained and at the longest length."""
    curves = [{int(row["length"]): float(row["value"]) for row in run.brief.accuracy} for run in runs]
    curves = [curve for curve in curves if curve]
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    if not shared:
        return {}
    values = np.array([[curve[length] for length in shared] for curve in curves])
    middle = np.median(values, axis=0)
    x, bottom = spark_places(shared), min(run.brief.chance for run in runs) - 0.08
    inside = max((i for i, length in enumerate(shared) if length <= runs[0].trained), default=0)
    paths = [spark_path(list(one), bottom, 1.05, *SPARK, x=x) for one in values]
    fields: dict[str, Any] = {
        "spark": spark_path(list(middle), bottom, 1.05, *SPARK, x=x),
        "sparkLines": paths,
        "sparkEnd": round((1 - (min(1.05, float(middle[-1])) - bottom) / (1.05 - bottom)) * SPARK[1], 2),
        "longestLength": shared[-1],
    }
    for name, at in (("inside", inside), ("longest", len(shared) - 1)):
        low, high = float(values[:, at].min()), float(values[:, at].max())
        fields |= {
            name: float(middle[at]),
            f"{name}Text": proportion(float(middle[at])),
            f"{name}Interval": f"{proportion(low)} to {proportion(high)}",
            f"{name}Title": _share_of(runs, shared[at], f"{proportion(float(middle[at]))}, the median of seeds"),
        }
    return fields


def _share_of(runs: Sequence[RunView], length: int, accuracy: str) -> str:
    """The tooltip of an accuracy at a length, as of one run: empty where an answer is one token."""
    tokens = [run.brief.tokens[length] for run in runs if length in run.brief.tokens]
    if tokens:
        return whole_answers(accuracy, float(np.median(tokens)))
    return f"{accuracy}, of all answer tokens" if runs[0].kind.items else ""
