"""Sentences about one sequence under an intervention: what changed, and how the sequence was chosen."""

from __future__ import annotations

import re
from typing import Any

from workbench.figures.labels import Piece, proportion, whole
from workbench.figures.rows.claims import READING, Cite, Claim
from workbench.measure.edits.reading import PassName, SequenceReading

DIGITS = re.compile(r"\d[\d.,]*")


def story_sentence(found: SequenceReading) -> list[Piece]:
    """At how many prefixes the model is right, as it is and under interventions.

    Empty without an intervention, or without an answer.
    """
    words = found.intervention
    asked = sum(found.asked)
    if not words or not asked or found.edited is None:
        return []
    pieces: list[Piece] = [
        _count(found, "clean", "As is: "),
        _number(whole(asked), "asked", " of ", " prefixes right; with "),
        Claim(words, "plain", [_cite(digits, "edits") for digits in DIGITS.findall(words)]),
    ]
    if found.strength != 1:
        pieces.append(_number(proportion(found.strength), "strength", " at strength ", ""))
    return [*pieces, _count(found, "edited", ": "), _number(whole(asked), "asked", " of ", ".")]


def right_means(found: SequenceReading) -> list[Piece]:
    """How close a number must be to the oracle's answer to be right; empty where answers are classes."""
    if not found.within:
        return []
    cites = [_cite(digits, "within") for digits in DIGITS.findall(found.within)]
    return [Claim(f" Right means {found.within} of the oracle\u2019s answer.", "plain", cites)]


def chosen_sentence(found: SequenceReading) -> list[Piece]:
    """How the sequence was chosen; empty for a typed sequence, or a sample by its number."""
    chosen = found.chosen
    if chosen is None:
        return []
    kind = f" {chosen.law} test sequences of length "
    if not chosen.wrong:
        return [
            _number(whole(chosen.tried), "tried", "The model\u2019s last answer is right in all ", kind),
            _number(whole(found.length), "length", "", ". This is the first of them."),
        ]
    return [
        _number(whole(chosen.sample + 1), "sample", "This is number ", ""),
        _number(whole(chosen.tried), "tried", " of ", kind),
        _number(whole(found.length), "length", "", ": the first whose last answer the model gets wrong."),
    ]


def _count(found: SequenceReading, part: PassName, before: str) -> Claim:
    right = sum(correct is True for correct in found.of(part).correct)
    text = whole(right)
    return Claim(f"{before}{text}", "plain", [_cite(text, "right", row="outputs", part=part)])


def _number(text: str, column: str, before: str, after: str) -> Claim:
    return Claim(f"{before}{text}{after}", "plain", [_cite(text, column)])


def _cite(text: str, column: str, **where: Any) -> Cite:
    return Cite(text, column, where, READING)
