"""Sequences that a checkpoint answers wrong, as a table and in words."""

from __future__ import annotations

import pandas as pd

from workbench.figures.labels import signed, whole
from workbench.figures.offered import offered
from workbench.measure.edits.reading import Twin, WrongStrings


@offered
def wrong_strings_table(found: WrongStrings) -> pd.DataFrame:
    """One line per string, as text: what is right, what is answered by which margin, what flips it, and the repair."""
    columns = ["string", "right", "answered", "margin, nats", "nearest right twin", "repaired"]
    lines = [
        {
            "string": one.text,
            "right": one.right,
            "answered": one.answered,
            "margin, nats": signed(one.margin, 1),
            "nearest right twin": twin_said(one.twin),
            "repaired": "" if one.repaired is None else "yes" if one.repaired else "no",
        }
        for one in found.strings
    ]
    return pd.DataFrame(lines, columns=columns)


def twin_said(twin: Twin | None) -> str:
    """What it takes to be answered right."""
    if twin is None:
        return "none in the sample"
    if twin.made:
        return f"token {whole(twin.differs[0])}: {twin.was} \u2192 {twin.becomes}"
    return f"{whole(len(twin.differs))} tokens differ"
