"""Definitions of the technical terms of the pages, for tooltips and the Glossary."""

from __future__ import annotations

import json
import re

from dash import html

from workbench.core.reach import MULTIPLES_TEXT
from workbench.core.thresholds import LEVEL_TEXT, ROBUST

TERMS: dict[str, str] = {
    "matched": "A test set (length-matched) in which the task state has the same distribution at every length, so that "
    "accuracies at two lengths can be compared.",
    "challenge": "A test set (shortcut-resistant) in which neither the first nor the last N tokens give the answer "
    "away. The verdict uses it from length 8N/3 on. At shorter lengths, a shortcut that reads only one end of the "
    "sequence can score far above chance.",
    "skill": "Accuracy beyond what a guess reaches: (accuracy − baseline) / (1 − baseline), 0 for the guess and 1 "
    "for perfect accuracy.",
    "reach": f"The mean of skill at {MULTIPLES_TEXT} on the matched test set, where N is the longest trained length. "
    "Skill below 0 counts as 0. Reach is 0 for a guess and 1 without errors at all five lengths.",
    "band": f"In plots of accuracy, the grey area of accuracies whose skill is at least {ROBUST:g}: a scale-robust "
    f"model stays in it past training. Around lines, bands are {LEVEL_TEXT} intervals.",
    "tie set": "The highest attention scores of a query: those keys whose uniform distribution is nearest to the "
    "query’s attention. A head with hard attention spreads its attention evenly over them.",
    "hardmax": "Attention that is uniform on a set of keys and zero elsewhere. The hardmax distance of a query is the "
    "total variation between its attention and the nearest such distribution.",
    "transfer": "A probe that is fitted at trained lengths, frozen, and evaluated at every length. It tests "
    "whether the task state has the same code at all lengths.",
    "refit": "A probe that is fitted separately at each length. It tests whether the task state can be decoded at "
    "that length at all.",
    "control": "The same measurement where the effect should be absent: for example a probe on an untrained model, "
    "on shuffled labels, or on only the last token.",
    "summary": "The task state: what the answer needs of a prefix, such as a count (a sufficient statistic of the "
    "prefix). It does not depend on length.",
    "ablation": "Replacing the output of a head, by zeros, by its mean, or by its output on another sequence, and "
    "measuring the accuracy drop.",
    "near tie": "A small-margin input, whose correct answer depends on very little, such as a majority by one.",
}
"""Term -> what it means."""
JARGON = ("matched", "challenge", "tie set", "refit", "transfer", "band")
"""Terms that are explained wherever the Run page's own words use them."""


def anchor(term: str) -> str:
    """Return the anchor of a term on the Glossary page."""
    return f"term-{term.replace(' ', '-')}"


def explain_terms(text: str) -> list[str | html.Button]:
    """Return a sentence in which technical terms show their definition on hover, focus and touch
    (``assets/js/popups.js``).
    """
    pattern = rf"\b({'|'.join(JARGON)})(?:s|ted)?\b"
    parts: list[str | html.Button] = []
    at = 0
    for match in re.finditer(pattern, text, re.IGNORECASE):
        term = match[1].lower()
        about = json.dumps([(term, TERMS[term])])
        if match.start() > at:
            parts.append(text[at : match.start()])
        parts.append(html.Button(match[0], type="button", className="jargon", **{"data-about": about}))
        at = match.end()
    return [*parts, text[at:]] if at < len(text) else parts
