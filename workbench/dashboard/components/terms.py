"""Words of the pages as they are meant here: each defined once, explained where it stands, listed in the glossary."""

from __future__ import annotations

import json
import re

from dash import html

from workbench.core.thresholds import ROBUST

TERMS: dict[str, str] = {
    "matched": "A law of strings under which the summary that the answer needs has the same distribution at every "
    "length, so that accuracies at two lengths ask equally much.",
    "challenge": "A law of strings in which neither the first nor the last N tokens give the answer away, so that a "
    "shortcut through either end scores near chance.",
    "skill": "Accuracy beyond what a guess reaches: (accuracy − floor) / (1 − floor), 0 for the guess, 1 for no error.",
    "band": f"Grey in plots of accuracy: the accuracies whose skill is at least {ROBUST:g}, which a scale-robust run "
    "must keep past training. Around lines, bands are 95 % intervals.",
    "tie set": "Of a row of attention scores: the highest ones whose uniform distribution is nearest to the "
    "row's attention. A head that is hard spreads its attention evenly over it.",
    "hardmax": "Attention that is uniform on a set of keys and zero elsewhere; the hardmax distance of a row is how "
    "far it is, in total variation, from the nearest such distribution.",
    "transfer": "A probe that is fitted at trained lengths, frozen, and read at every length: it asks for one code.",
    "refit": "A probe that is fitted anew at each length: it asks whether something can be read there at all.",
    "control": "What a probe or an edit reaches without what it claims to find, such as on an untrained model, on "
    "shuffled labels, or from the token alone.",
    "summary": "What of a prefix the task's answer needs, such as a count or a state; it does not depend on length.",
    "ablation": "Replacing a head's output (by zeros, its mean, or another string's) and asking what that costs.",
    "near tie": "A string whose right answer hangs on very little, such as a majority by one.",
}
"""Term -> what it means."""
JARGON = ("matched", "challenge", "tie set", "refit", "transfer", "band")
"""Terms that are explained wherever the Run page's own words use them."""


def anchor(term: str) -> str:
    """A term's place on the Glossary page."""
    return f"term-{term.replace(' ', '-')}"


def explained(text: str) -> list[str | html.Button]:
    """A sentence whose jargon says what it means on hover, focus and touch (``assets/js/popups.js``)."""
    pattern = rf"\b({'|'.join(JARGON)})(?:s|ted)?\b"
    made: list[str | html.Button] = []
    at = 0
    for found in re.finditer(pattern, text, re.IGNORECASE):
        term = found[1].lower()
        about = json.dumps([(term, TERMS[term])])
        if found.start() > at:
            made.append(text[at : found.start()])
        made.append(html.Button(found[0], type="button", className="jargon", **{"data-about": about}))
        at = found.end()
    return [*made, text[at:]] if at < len(text) else made
