"""Rows of runs that ship, as figures take them, at a few of their checkpoints; and the same rows worn: with gaps of every kind."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.figures.rows.frame import Frame

GALLERY = Path(__file__).resolve().parents[3] / "checkpoints" / "gallery"
RUNS = (
    "flip_flop_rotary_s0",
    "majority_learned",
    "parity_nope",
    "small_model",
    "compiled/majority_first_32",
    "pretrained/smollm2_pairs",
)
CHECKPOINTS = 3
"""Of each run: its first, its last, and those between that divide its checkpoints evenly."""
LAYERS, HEADS = 3, 4
"""Of large models the first."""


@cache
def table(run: str) -> pd.DataFrame:
    """The rows of a run at :data:`CHECKPOINTS` of its checkpoints; treat as read-only."""
    file = GALLERY / run / "table.parquet"
    steps = np.unique(pd.read_parquet(file, columns=["step"])["step"])
    kept = steps[np.unique(np.linspace(0, len(steps) - 1, CHECKPOINTS).round().astype(int))]
    # Filtered after reading: with its own filter, Parquet returns the row groups in an order that changes between runs.
    rows = pd.read_parquet(file)
    rows = rows[rows["step"].isin(kept)]
    return rows[~(rows["layer"] >= LAYERS).fillna(False) & ~(rows["head"] >= HEADS).fillna(False)].reset_index(
        drop=True
    )


@cache
def rows_of(run: str) -> Frame:
    """The rows of :func:`table` as a frame."""
    return Frame.of(table(run))


@cache
def config_of(run: str) -> dict[str, object]:
    """What ``run.json`` says."""
    return dict(json.loads((GALLERY / run / "run.json").read_text()))


def trained_of(run: str) -> int:
    """N."""
    return int(config_of(run)["training"]["trained_length"])  # type: ignore[index]


@cache
def worn(run: str) -> Frame:
    """The rows of a run with values below 0 and above 1, rows without value, interval, n or note, and other statuses.

    Which row is worn in which way goes by its number alone.
    """
    rows = table(run).copy()
    number = np.arange(len(rows))
    for column in ("value", "low", "high"):
        rows[column] = rows[column].astype(float)
    rows.loc[number % 19 == 3, ["value", "low", "high"]] *= -1.5
    rows.loc[number % 23 == 7, ["value", "low", "high"]] += 0.75
    rows.loc[number % 11 == 5, ["low", "high"]] = np.nan
    rows.loc[number % 13 == 8, "n"] = None
    for every, at, status in ((17, 2, "undefined"), (29, 11, "censored"), (31, 6, "not_applicable")):
        these = number % every == at
        rows.loc[these, "status"], rows.loc[these, "note"] = status, f"it is {status.replace('_', ' ')}."
        rows.loc[these, "value"] = np.nan
    rows.loc[number % 37 == 9, "status"] = "sampled"
    rows = rows[number % 41 != 13]
    return Frame.of(rows.reset_index(drop=True))


CONTENT = ["value", "label", "low", "high", "n", "status", "note", "reason"]


@cache
def mixed(run: str) -> Frame:
    """The rows of a run whose contents have changed places with those of other rows of the same quantity.

    So that anything may stand beside anything: a verdict beside any decodability, a control above what it is of.
    """
    rows = table(run).copy()
    draw = np.random.default_rng(len(rows))
    at = np.arange(len(rows))
    for _, places in rows.groupby(["measurement", "quantity"], sort=True).indices.items():
        at[places] = draw.permutation(places)
    rows[CONTENT] = rows[CONTENT].take(at).reset_index(drop=True)
    return Frame.of(rows)
