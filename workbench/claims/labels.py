"""The verdicts on claims, as tables and pages show them; nothing here needs numpy."""

from __future__ import annotations

from typing import Literal

from workbench.claims.claim import Claim

Label = Literal[
    "holds",
    "does not hold at this scale",
    "does not hold",
    "depends on the seed",
    "undecided",
    "outside the theorem's range",
    "not run",
    "described",
]
HOLDS: Label = "holds"
FAILS: Label = "does not hold at this scale"
FAILS_EXACTLY: Label = "does not hold"
DEPENDS: Label = "depends on the seed"
UNDECIDED: Label = "undecided"
OUTSIDE: Label = "outside the theorem's range"
NOT_RUN: Label = "not run"
DESCRIBED: Label = "described"
LABELS: tuple[Label, ...] = (HOLDS, FAILS, FAILS_EXACTLY, DEPENDS, UNDECIDED, OUTSIDE, NOT_RUN, DESCRIBED)
DECIDED: tuple[Label, ...] = (HOLDS, FAILS, FAILS_EXACTLY, DEPENDS)
"""Verdicts that decide about the claim."""


RULE = 2
"""Version of the rule of verdicts; raised if the same rows could get another verdict."""


def verdict_text(claim: Claim, verdict: str, why: str) -> str:
    """Return a verdict on a claim in words, with its reason, and whether settings were chosen when results were
    known.
    """
    beside = ", ".join(filter(None, (why, "settled with its numbers known" if claim.settled else "")))
    return f"{verdict} ({beside})" if beside else verdict
