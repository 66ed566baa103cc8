"""Strings that a checkpoint answers wrong, as plain values: what diagnosis finds and pages show. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workbench.figures.labels import signed, whole
from workbench.figures.offered import offered


@dataclass(frozen=True)
class Twin:
    """The nearest string of the same length and the same right answer that is answered right.

    Attributes:
        text: as one types it.
        differs: places at which it differs, as prefix lengths: 1 is the first token.
        margin: the right answer's logit less the best other one, nats.
        made: whether it is the string with one token replaced; else it is of the sample.
        was, becomes: the replaced token and what replaces it; "" where it was not made.
    """

    text: str
    differs: tuple[int, ...]
    margin: float
    made: bool
    was: str = ""
    becomes: str = ""


@dataclass(frozen=True)
class WrongString:
    """One string.

    Attributes:
        text: as one types it.
        right, answered: names of the answers.
        margin: the given answer's logit less the right one's, nats.
        twin: its nearest right twin; None where the sample has none.
        repaired: whether the repair makes the answer right; None = no repair was tried.
    """

    text: str
    right: str
    answered: str
    margin: float
    twin: Twin | None = None
    repaired: bool | None = None


@dataclass(frozen=True)
class WrongStrings:
    """The most confidently wrong strings of a sample, the worst first.

    Attributes:
        strings: them.
        wrong, asked: how many of the sample are wrong, and its size.
        step, length, law: of which checkpoint and which strings.
        repair: the name of the repair that was tried; "" = none.
        repaired: how many of the wrong ones it makes right; None where none was tried.
        tried: tokens replaced, one at a time, for each string.
        problem: why there are none, or "".
    """

    strings: Sequence[WrongString]
    wrong: int
    asked: int
    step: int
    length: int
    law: str
    repair: str = ""
    repaired: int | None = None
    tried: int = 0
    problem: str = ""


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
