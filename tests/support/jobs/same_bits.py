"""What two folders of runs must have alike: all weights, and all rows."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from workbench.table import Table


def weights(root: Path) -> dict[str, str]:
    """The sha256 of every checkpoint."""
    metas = sorted(root.glob("*/steps/*/meta.json"))
    return {f"{p.parents[2].name}/{p.parent.name}": json.loads(p.read_text())["sha256"] for p in metas}


def rows(root: Path) -> pd.DataFrame:
    """Every row, in an order of its own."""
    frame = Table.load(root).frame()
    return frame.sort_values(list(frame.columns), ignore_index=True)
