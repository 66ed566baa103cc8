"""The verdicts on a checkpoint: the label, word, meaning and colours of each, and the step at which the last one began.

A new verdict is one entry of :data:`VERDICTS`. All code that shows, filters or colours verdicts reads that table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from workbench.core.thresholds import FITTED, FITTED_AT_TEXT, HORIZON, LOOKS, PARTIAL, ROBUST

SCALE_ROBUST, LENGTH_COUPLED, NOT_FITTED = "scale-robust", "length-coupled", "not fitted"
UNDECIDED, UNSEEN_POSITION = "undecided", "unseen position"
HOLDS, DECAYS, PARTLY, NOT_CAPABLE = "holds", "decays", "partial", "not capable"
NOT_MEASURED = "not measured"
"""The label of a checkpoint without a verdict."""

TOO_FEW, AT_THE_BAR, BETWEEN_THE_BARS = "too few strings", "at the bar", "between the bars"
UNDEFINED, TOO_SHORT, NO_THRESHOLD = "undefined", "horizon", "no threshold"
REASONS = (TOO_FEW, AT_THE_BAR, BETWEEN_THE_BARS, UNDEFINED, TOO_SHORT, NO_THRESHOLD)
"""Why a verdict is undecided. For ``TOO_FEW`` more sequences may decide it, for ``TOO_SHORT`` longer ones. Under
``NO_THRESHOLD`` the best possible accuracy is not known.
"""


@dataclass(frozen=True)
class VerdictKind:
    """The meaning and the colours of a verdict.

    Attributes:
        word: the label on chips and in sentences.
        meaning: one or two sentences for the help.
        role: the colour token of the word; ``plain`` takes the colour of the text.
        ribbon: the colour token of a segment on the ribbon over training steps.
        curve: SVG path of the accuracy curve on the glyph of 16 x 16.
        end: the end of that curve, where the glyph has a dot; None = no dot.
        dashed: whether that curve is dashed.
        at_length: for a verdict whose row has a length, the words around it, e.g. ``decays from`` 48 items ``on``.
        card: the sentence on its card above the list of runs; "" for a verdict without a card.
    """

    word: str
    meaning: str
    role: Literal["summary", "position", "plain"]
    ribbon: str
    curve: str
    end: tuple[float, float] | None = None
    dashed: bool = False
    at_length: tuple[str, str] | None = None
    card: str = ""


VERDICTS: dict[str, VerdictKind] = {
    SCALE_ROBUST: VerdictKind(
        "Scale-robust",
        f"Skill is significantly at least {ROBUST:g} at every tested length up to at least {HORIZON} times the "
        "trained length, on the matched and on the challenge test set. Small-margin inputs are reported separately.",
        role="summary",
        ribbon="summary",
        curve="M1.5 6h11",
        end=(13.2, 6),
        card=f"Accuracy stays high up to at least {HORIZON} \u00d7 N.",
    ),
    LENGTH_COUPLED: VerdictKind(
        "Length-coupled",
        f"The model solves the trained lengths, and skill is significantly below {ROBUST:g} of its trained value at a "
        "longer length. The next tested length, or a second batch at the last one, confirms it.",
        role="position",
        ribbon="position",
        curve="M1.5 4h5c2.6 0 1.6 7.5 4.6 7.5h1.4",
        end=(13.2, 11.5),
        card="Accuracy is high at trained lengths and falls beyond N.",
    ),
    NOT_FITTED: VerdictKind(
        "Not fitted",
        f"Skill is significantly below {FITTED:g} at one of {FITTED_AT_TEXT}, where N is the longest trained length. "
        "The verdict says nothing about longer lengths.",
        role="plain",
        ribbon="ribbon_unfitted",
        curve="M1.5 11.5h11",
        end=(13.2, 11.5),
        dashed=True,
        card="Accuracy is too low at the trained lengths themselves.",
    ),
    UNDECIDED: VerdictKind(
        "Undecided",
        f"No other verdict is significant. There are too few sequences so far (at most {LOOKS[-1]:,} for each length), "
        "or skill lies at a threshold or between two thresholds. The sentence states which.",
        role="plain",
        ribbon="line2",
        curve="M1.5 7.5h5M6.5 7.5l7-3.5M6.5 7.5l7 3.5",
    ),
    UNSEEN_POSITION: VerdictKind(
        "Unseen position",
        "The model reads position ids that training never showed, so longer inputs test those ids and not the length.",
        role="plain",
        ribbon="control",
        curve="M1.5 5h4M8 5h1.6M11.6 5h1.6",
    ),
    HOLDS: VerdictKind(
        "Holds in context",
        f"On a task in its prompt, the model reaches skill {FITTED:g}. Every longer list of items keeps at least "
        f"{ROBUST:g} of the skill shown before.",
        role="summary",
        ribbon="summary",
        curve="M1.5 5h11",
        end=(13.2, 5),
        at_length=("holds to", ""),
    ),
    DECAYS: VerdictKind(
        "Decays in context",
        f"On a task in its prompt, the model reaches skill {FITTED:g}. At two longer lists in a row, skill is "
        f"significantly below {ROBUST:g} of the skill shown before.",
        role="position",
        ribbon="position",
        curve="M1.5 4c6 0 6 8 11.7 8",
        end=(13.2, 12),
        at_length=("decays from", "on"),
    ),
    PARTLY: VerdictKind(
        "Partial, decays in context",
        f"On a task in its prompt, the model reaches skill {PARTIAL:g}, but skill {FITTED:g} is not shown. At two "
        "longer lists in a row, skill is significantly below half of the highest skill before.",
        role="position",
        ribbon="position",
        curve="M1.5 7c6 0 6 5 11.7 5",
        end=(13.2, 12),
        dashed=True,
        at_length=("partial, decays from", "on"),
    ),
    NOT_CAPABLE: VerdictKind(
        "Not capable",
        f"On a task in its prompt, skill is significantly below {FITTED:g} at every tested length.",
        role="plain",
        ribbon="ribbon_unfitted",
        curve="M1.5 12h11",
        end=(13.2, 12),
        dashed=True,
    ),
}
"""Every label that a verdict can have, in the order of lists and of the help."""


HARD_ATTENTION, SOFT_ATTENTION, MIXED_ATTENTION = "hardmax", "soft", "mixed"
"""Labels of ``hardmax_verdict``, the verdict on the attention of a head, besides :data:`UNDECIDED`."""

StratumLabel = Literal["fail", "hold", "open"]


class StratumKind(NamedTuple):
    """The meaning of a label for one kind of hard inputs (a *stratum*), or for all kinds of a task together.

    Attributes:
        one: the verb for one stratum.
        many: the verb for all strata together.
        word: the word next to a verdict.
        supports: the verdict that the label supports; "" = none.
    """

    one: str
    many: str
    word: str
    supports: str = ""


STRATA: dict[str, StratumKind] = {
    "fail": StratumKind("fails", "fail", "fail", LENGTH_COUPLED),
    "hold": StratumKind("holds", "hold", "hold", SCALE_ROBUST),
    "open": StratumKind("is inconclusive", "are inconclusive", "inconclusive"),
}
"""Every label of hard inputs; labels of inputs that fail come first."""

WORDS: dict[str, str] = {label: kind.word for label, kind in VERDICTS.items()} | {NOT_MEASURED: "Not measured"}
"""The word on screen for every label, and for a checkpoint without a verdict."""


def verdict_kind(label: str) -> VerdictKind:
    """Return the meaning and the colours of a verdict, from its label.

    Raises:
        KeyError: for a label that no verdict has.
    """
    if label not in VERDICTS:
        raise KeyError(f"unknown verdict {label!r}; the verdicts are {', '.join(VERDICTS)}")
    return VERDICTS[label]


@dataclass(frozen=True)
class Since:
    """The training steps between which the last verdict began: after step ``low``, and at step ``high`` at the latest.

    Attributes:
        low: the last step with another decided verdict; None if there is no such step.
        high: the first step after ``low`` with the last verdict.
        first: whether ``high`` is the first measured step, so that the verdict may have begun before it.
    """

    low: int | None
    high: int
    first: bool = False

    def __str__(self) -> str:
        """``since step 300 (last different verdict: step 200)``; ``at step 300 already, the first measured step``."""
        if self.first:
            return f"at step {self.high:,} already, the first measured step"
        different = "" if self.low is None else f" (last different verdict: step {self.low:,})"
        return f"since step {self.high:,}{different}"


def since(labels: Mapping[int, str]) -> Since | None:
    """Return when the verdict of the last checkpoint began; None if that verdict is undecided or missing.

    Undecided steps in between neither confirm nor contradict the verdict.

    Args:
        labels: step -> verdict.
    """
    if not labels or labels[max(labels)] == UNDECIDED:
        return None
    last = labels[max(labels)]
    low = max((step for step, label in labels.items() if label not in (last, UNDECIDED)), default=None)
    high = min(step for step, label in labels.items() if label == last and (low is None or step > low))
    return Since(low, high, first=high == min(labels))


def undecided_before(labels: Mapping[int, str]) -> list[int]:
    """The undecided steps among which the last verdict began, ascending; empty if its first step is known.

    Args:
        labels: step -> verdict.
    """
    began = since(labels)
    if began is None:
        return []
    after = -1 if began.low is None else began.low
    return sorted(step for step, label in labels.items() if after < step < began.high and label == UNDECIDED)
