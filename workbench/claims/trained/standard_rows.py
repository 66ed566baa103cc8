"""Measurements of the workbench on the runs of claims: behaviour, positions, and any other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.claims.errors import ClaimError
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.trained_run import TrainedRun
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.table.reading import read_run

WHOLE = ("verdict", "failure_length", "first_wrong", "near_ties")
"""Quantities about all lengths at once, whose length is the longest tested length."""


def standard_rows(
    name: str,
    run: TrainedRun,
    only: Sequence[str] = (),
    lengths: Sequence[float] | None = None,
    sequences: int | None = None,
    inside: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> StatisticRows:
    """Return the rows of a measurement at the last step.

    Args:
        name: the name of the measurement.
        run: it; its folder takes the shards.
        only: quantities that are kept; () = all.
        lengths: in multiples of N, in addition to those inside training; None = the usual grid.
        sequences: per test set and length.
        inside: whether the rows of other lengths are kept as well.
        settings: the settings of the measurement.

    Raises:
        ClaimError: if it could not be made.
    """
    wanted = None if lengths is None else [run.task.next_length(math.ceil(f * run.longest)) for f in lengths]
    suffixes = {} if lengths is None else {n: f" at {f:g} N" for n, f in zip(wanted or (), lengths, strict=True)}
    path = Path(run.run.path)
    request = MeasureRequest(
        [path], only=[name], steps="last", lengths=wanted, sequences=sequences,
        settings={} if settings is None else {name: settings}, executor="serial",
    )  # fmt: skip
    if problems := execute(plan(request)):
        raise ClaimError(problems[0])
    for row in read_run(path).rows.to_pylist():
        wanted_there = inside or row["length"] is None or row["length"] in suffixes
        if row["measurement"] == name and (not only or row["quantity"] in only) and not row["control"] and wanted_there:
            yield _reduced(row, suffixes)


def _reduced(row: Mapping[str, Any], places: Mapping[int, str]) -> dict[str, Any]:
    """A row of a measurement as one of a run of claims; ``places`` names lengths as multiples of N."""
    head = "" if row["layer"] is None else f"L{row['layer']}" + ("" if row["head"] is None else f"H{row['head']}")
    parts = (row["law"] if row["law"] != "matched" else "", row["mode"], head, row["target"])
    keep = {name: row[name] for name in ("value", "low", "high", "n")}
    label = row["label"] or (row["status"] if row["status"] != "ok" else "")
    length = -1 if row["length"] is None else row["length"]
    place = "" if row["quantity"] in WHOLE else places.get(length, "")
    setting = ", ".join(part for part in parts if part and part != "teacher_forced")
    return {**keep, "quantity": row["quantity"] + place, "setting": setting, "length": length, "label": label}
