"""The baseline of each test set: the accuracy of a guess, or of the best shortcut, and where the set is tested.

The baseline of the matched test set is chance, the accuracy of the best constant answer. For a language model it is a
table of the training text (``bigram``) if that scores more. The baseline of the challenge test set is the best of
chance and the stated shortcuts. The challenge test set is tested only from 8/3 times the longest trained length on. At
shorter lengths the first or the last N tokens of a sequence can give the answer away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.names import BEHAVIOUR, CHALLENGE, MATCHED
from workbench.core.shortcut_names import BIGRAM
from workbench.core.thresholds import CHALLENGE_FROM, OUTSIDE_BASELINE
from workbench.figures.rows.frame import Frame, numbers
from workbench.figures.rows.select_rows import highest, rows_with_values

MEASUREMENT = BEHAVIOUR


def baseline_rows(frame: Frame, law: str, along: str, **where: Any) -> Frame:
    """Return the baseline of a test set, one row per ``length`` or ``step``, ascending.

    Args:
        frame: rows of one run.
        law: ``matched`` (chance), or ``challenge`` (the best of chance and the shortcuts).
        along: the column of the axis.
        where: further columns and the values they equal.
    """
    names = ["chance", "shortcut"] if law == CHALLENGE else ["chance"]
    rows = rows_with_values(frame.where(measurement=MEASUREMENT, quantity=names, law=law, **where))
    return highest(rows.where(rows["note"] != OUTSIDE_BASELINE), along)


def predictor_rows(frame: Frame, along: str, **where: Any) -> Frame:
    """Return the accuracy of the bigram table of the training text on the matched test set, where it is above the
    constant answer.

    Args:
        frame: rows of one run; only those of a language model have such rows.
        along: the column of the axis.
        where: further columns and the values they equal.
    """
    where = {"measurement": MEASUREMENT, "law": MATCHED, **where}
    chance = rows_with_values(frame.where(quantity="chance", **where))
    table = rows_with_values(frame.where(quantity="shortcut", target=BIGRAM, **where))
    best = highest(Frame.concat([chance, table]), along) if len(table) else table
    return best.where(quantity="shortcut")


def counts_for_verdict(law: str, length: float, trained: float) -> bool:
    """Whether the verdict takes a length beyond training of a test set into account."""
    return length > trained and (law != CHALLENGE or length >= CHALLENGE_FROM * trained - 1e-9)


def first_judged(frame: Frame, law: str, trained: float, step: int) -> float | None:
    """The shortest measured length at which a test set is tested, or None."""
    rows = frame.where(measurement=MEASUREMENT, quantity="accuracy", law=law, step=step)
    lengths = [float(n) for n in np.unique(numbers(rows["length"])) if counts_for_verdict(law, float(n), trained)]
    return min(lengths, default=None)
