"""The wording of titles and definitions of measurements, as plain data in ``wording.json``.

Rows are stored with the definitions of the day they were measured. While a measurement's version stays the same, only
words can differ, so screens show the words of this version of the software. Reading the file needs no torch;
``python -m docs.quantity_wording`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("wording.json")
WORDS = ("definition", "unit", "formula", "where")
"""The parts of a quantity that are words."""

LABELS: Mapping[str, str] = {
    "stratum_accuracy": "accuracy on hard inputs",
    "stratum_verdict": "verdict on hard inputs",
    "near_ties": "verdict on all hard inputs",
    "first_wrong": "first incorrect length",
    "judged_skill": "tested skill",
    "position_given_summary": "position given task state",
    "summary_given_position": "task state given position",
    "summary_decodability": "task state decodability",
    "summary_rmse": "task state RMSE",
    "kept_accuracy": "accuracy with only the task state",
    "rescue": "recovered by a shorter prefix",
    "harm": "destroyed by a longer prefix",
    "balanced_loss": "balanced accuracy drop",
    "restored_share": "recovered share",
    "harm_inside": "cost at N",
    "entry": "cause",
    "entry_grade": "strength of the cause",
    "failure_site": "location",
    "code_kept": "answer decodable, probe of N",
    "answer_readable": "answer decodable, probe refitted",
    "oracle_key_share": "recovered with the right key",
    "oracle_key_gap": "score gap of the right key",
}
"""Quantity -> its label on screen, where that is not its name with spaces."""


def quantity_label(name: str) -> str:
    """Return the label of a quantity on screen.

    Example:

        >>> quantity_label("entry"), quantity_label("failure_length")
        ('cause', 'failure length')
    """
    return LABELS.get(name, name.replace("_", " "))


def sentence_case(text: str) -> str:
    """Return a text with a capital first letter; the other letters stay as they are."""
    return text[:1].upper() + text[1:]


def in_current_words(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored spec with the title and definitions of this version of the software.

    A spec of another version, of an unknown measurement, or of an unknown quantity keeps its own words: its numbers may
    mean something else.

    Args:
        spec: as shards carry it: ``name``, ``version``, ``title`` and ``quantities``, each with a ``name``.
    """
    known = current().get(str(spec.get("name")))
    if known is None or known["version"] != spec.get("version"):
        return dict(spec)
    words = known["quantities"]
    quantities = [{**quantity, **words.get(quantity["name"], {})} for quantity in spec.get("quantities", ())]
    return {**spec, "title": known["title"], "quantities": quantities}


@cache
def current() -> dict[str, Any]:
    """Return the wording of every built-in measurement: its version, its title, and the words of its quantities."""
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content
