"""Compare the rows that two devices measured of the same checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from workbench.table.reading import read_run
from workbench.table.schema import IDENTIFYING

ABSOLUTE, RELATIVE = 1e-4, 1e-3
"""Two values agree if they differ by at most ABSOLUTE + RELATIVE times the CPU's value."""
ROUNDING = 1e-6
KEYS = [name for name in IDENTIFYING if name != "run"]


def rows_of(folder: Path) -> pd.DataFrame:
    """All rows of one run, without the database that ``Table`` needs."""
    frame = read_run(folder).rows.to_pandas()
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].astype(object)
    return frame


def compared(cpu: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Every row of both, side by side, with how they relate.

    The column ``relation`` is one of: ``equal`` (same value and label), ``rounding`` (values differ by at most 1e-6),
    ``agrees`` (within the tolerance), ``differs`` (beyond it), ``label`` (another label or status), ``only one``.
    """
    columns = [*KEYS, "value", "label", "status"]
    both = cpu[columns].merge(other[columns], on=KEYS, how="outer", suffixes=("", "_other"), indicator=True)
    gap = (both["value"] - both["value_other"]).abs()
    gap = gap.mask(both["value"] == both["value_other"], 0.0)  # also where both are infinite
    empty = both["value"].isna() & both["value_other"].isna()
    tolerance = ABSOLUTE + RELATIVE * both["value"].abs()
    relation = pd.Series("differs", index=both.index)
    relation[gap <= tolerance] = "agrees"
    relation[gap <= ROUNDING] = "rounding"
    relation[empty | (gap == 0.0)] = "equal"
    relation[(both["label"] != both["label_other"]) | (both["status"] != both["status_other"])] = "label"
    relation[both["_merge"] != "both"] = "only one"
    return both.drop(columns="_merge").assign(gap=gap, relation=relation)


def by_measurement(pairs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Counts of relations and the largest difference, per measurement."""
    summary: dict[str, dict[str, Any]] = {}
    for name, group in pairs.groupby("measurement"):
        counts = {str(relation): int(count) for relation, count in group["relation"].value_counts().items()}
        largest = group["gap"].max()
        summary[str(name)] = {"rows": len(group), **counts, "largest": None if pd.isna(largest) else float(largest)}
    return summary


def labels_of(frame: pd.DataFrame, measurement: str) -> dict[str, str]:
    """The labels of one measurement, by quantity and everything else that identifies the row."""
    part = frame[(frame["measurement"] == measurement) & (frame["label"] != "")]
    short = ["quantity", "law", "length", "target", "mode", "control", "layer", "head", "step"]
    return {" ".join(str(x) for x in keys): label for *keys, label in part[[*short, "label"]].itertuples(index=False)}
