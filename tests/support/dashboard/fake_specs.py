"""The specs that made-up measurements carry: names and definitions for tooltips."""

from __future__ import annotations

from typing import Any

#: sequences per law and length
N = 512


def _spec(name: str, title: str, **quantities: str) -> dict[str, Any]:
    listed = [
        {"name": key, "definition": text, "unit": "share", "low": 0.0, "high": 1.0, "about": ""}
        for key, text in quantities.items()
    ]
    return {
        "name": name,
        "version": 1,
        "title": title,
        "settings": {},
        "quantities": listed,
        "laws": ["matched"],
        "sequences": N,
    }


SPECS = {
    "behaviour": _spec(
        "behaviour",
        "Behaviour",
        accuracy="Share of sequences whose last answer is right.",
        failure_length="First length at which skill has fallen below 0.9 of its trained value.",
    ),
    "probes.summary": _spec(
        "probes.summary",
        "Summary probes",
        summary_decodability="Balanced accuracy of a linear probe for the output summary.",
    ),
    "probes.position": _spec(
        "probes.position", "Position probes", position_decodability="R2 of a linear probe for the position."
    ),
    "circuits.hardmax": _spec(
        "circuits.hardmax",
        "Hardmax",
        hardmax_distance="Total variation to the nearest uniform distribution on a set.",
    ),
}
