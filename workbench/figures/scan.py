"""What the Run page says where attention would stand, of a model that has none."""

from __future__ import annotations

import numpy as np
import pandas as pd

from workbench.figures.labels import Piece, magnitude, whole
from workbench.figures.mechanism import MEASUREMENT as HARDMAX
from workbench.figures.rows import DRAWN, cells, nearest, pick

SCAN = "circuits.effective_attention"


def without_attention(frame: pd.DataFrame) -> bool:
    """Whether the rows say that the model has no attention: its measurement is there, and does not apply."""
    rows = pick(frame, measurement=HARDMAX)
    return len(rows) > 0 and bool((rows["status"] == "not_applicable").all())


def scan_text(frame: pd.DataFrame, step: int, trained: float | None) -> list[Piece]:
    """How far the scan's median channel looks back, at N and at the longest length measured.

    Args:
        frame: rows of one run, of a model without attention.
        step: the cursor's training step.
        trained: N; without it the shortest measured length stands in its place.

    Returns:
        sentences; only that there is no attention, where the scan is not measured.
    """
    none: Piece = ("This model has no attention.", "plain")
    where = {"measurement": SCAN, "quantity": "scan_locality", "step": step, "status": list(DRAWN)}
    lengths = [int(n) for n in np.unique(cells(frame, "length", **where))]
    if not lengths:
        return [none]
    ends = (min(lengths) if trained is None else nearest(lengths, trained), lengths[-1])
    back = [float(np.median(cells(frame, "value", length=length, **where))) for length in ends]
    at = f"{magnitude(back[0])} tokens at length {whole(ends[0])}, {magnitude(back[1])} at {whole(ends[1])}"
    return [none, (f" Its scan's median channel looks back {at}.", "plain")]
