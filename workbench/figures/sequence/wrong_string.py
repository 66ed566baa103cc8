"""Sequences that a checkpoint answers wrong, as a table and in words."""

from __future__ import annotations

import pandas as pd

from workbench.figures.labels import signed_number, whole
from workbench.figures.offered import register_public
from workbench.measure.edits.reading import Twin, WrongStrings


@register_public
def wrong_strings_table(found: WrongStrings) -> pd.DataFrame:
    """Return one row of texts per sequence: correct answer, the model's answer and its margin, and the nearest correct
    input.

    The last column states whether the intervention recovers the correct answer.
    """
    columns = ["sequence", "correct", "answered", "margin, nats", "nearest correct input", "recovered"]
    lines = [
        {
            "sequence": example.text,
            "correct": example.right,
            "answered": example.answered,
            "margin, nats": signed_number(example.margin, 1),
            "nearest correct input": twin_said(example.twin),
            "recovered": "" if example.repaired is None else "yes" if example.repaired else "no",
        }
        for example in found.strings
    ]
    return pd.DataFrame(lines, columns=columns)


def twin_said(twin: Twin | None) -> str:
    """Return how a sequence differs from its nearest correct input, in words. None means that the sample has no such
    input.
    """
    if twin is None:
        return "none in the sample"
    if twin.made:
        return f"token {whole(twin.differs[0])}: {twin.was} \u2192 {twin.becomes}"
    return f"{whole(len(twin.differs))} tokens differ"
