"""The published claims as data: statement, verdict, and the number of every seed with the thresholds of the claim."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workbench
from workbench.claims.claim import KINDS, Claim, Condition, Row, Suite
from workbench.claims.claims_table import FILE, Evidence, current_evidence, judge_stored, read_evidence
from workbench.claims.readable import (
    condition_text,
    conditions_text,
    item_text,
    note_text,
    observation_text,
    prediction_text,
    prose,
    quantity_text,
    reason_text,
    statistic_text,
)
from workbench.claims.similar_runs import is_similar
from workbench.claims.suites.registry import SUITES
from workbench.claims.typical_run import Typical, typical_run
from workbench.claims.verdict_rule import Judgement

_PACKAGE = Path(workbench.__file__).parent
PLACES = (_PACKAGE / "published_claims", _PACKAGE.parent / "docs" / "claims")
"""In an installed wheel, and in a checkout."""


def published_folder() -> Path:
    """The folder of the published tables of claims, which is read-only in an installed package."""
    return next((place for place in PLACES if (place / FILE).is_file()), PLACES[-1])


def published_claims(subjects: Sequence[Mapping[str, Any]] = (), folder: str = "") -> list[dict[str, Any]]:
    """Return all claims with their verdicts and the numbers that these rest on, in the order of the suites.

    Args:
        subjects: task, ``parameters``, ``positions``, ``ids`` and ``architecture`` of runs. Each claim lists the
            indices of those that are like its own runs.
        folder: the folder of the table of claims; "" = the published one.

    Returns:
        JSON: for each claim its texts, its verdict, ``parts`` (:func:`_parts`) and ``similar``, indices of subjects.

    Raises:
        ClaimError: for a file that is not a table of claims, or that was changed since it was written.
    """
    evidence = read_evidence(Path(folder) if folder else published_folder())
    return [
        {**_as_data(suite, claim, evidence), "similar": _similar(claim, subjects)}
        for suite in SUITES.values()
        for claim in suite.claims
    ]


def _similar(claim: Claim, subjects: Sequence[Mapping[str, Any]]) -> list[int]:
    """The indices of runs with a configuration of the claim."""
    return [
        index
        for index, subject in enumerate(subjects)
        if not subject.get("source")
        and any(
            is_similar(
                cell,
                subject["task"],
                subject["parameters"],
                subject["positions"],
                subject["ids"],
                subject.get("architecture", "transformer"),
            )
            for cell in claim.cells
        )
    ]


def _as_data(suite: Suite, claim: Claim, evidence: Mapping[str, Evidence]) -> dict[str, Any]:
    stored = current_evidence(claim, evidence)
    rows = stored.rows if stored else ()
    judgement = judge_stored(claim, evidence)
    return {
        "claim": claim.id,
        "suite": suite.name,
        "suite_title": suite.title,
        "kind": KINDS[claim.kind],
        "prediction": prediction_text(claim),
        "sources": [_source(source) for source in claim.sources],
        "verdict": judgement.verdict,
        "why": reason_text(judgement.why),
        "observation": observation_text(judgement, rows),
        "seeds": str(judgement.share or ""),
        "on_side": judgement.share.on_side if judgement.share else None,
        "of_seeds": judgement.share.seeds if judgement.share else None,
        "statistic": statistic_text(claim),
        "holds_if": conditions_text(claim),
        "scale": prose(claim.scale),
        "note": note_text(claim),
        "settled": prose(claim.settled),
        "outside": prose(claim.outside),
        "computed": stored.computed if stored else "",
        "page": f"docs/claims/{suite.name}.md",
        "parts": [part.as_data(claim) for part in _parts(claim, rows, judgement)],
    }


def _source(source: Any) -> dict[str, str]:
    paper = source.paper
    return {"text": str(source), "paper": paper.name if paper else "", "url": paper.url if paper else ""}


# ---- the numbers of a claim ----------------------------------------------------------------------
@dataclass(frozen=True)
class _Part:
    """Numbers under one condition that are drawn together: the seeds of an item, or the items of an exact claim.

    Attributes:
        condition: what they are compared with; None for a description.
        quantity: their quantity.
        item: the item whose seeds they are; "" for a number for each item.
        rows: in the order in which they are stored.
    """

    condition: Condition | None
    quantity: str
    item: str
    rows: tuple[Row, ...]

    @property
    def of_seeds(self) -> bool:
        """Whether each number is that of a run."""
        return any(row.run for row in self.rows)

    def as_data(self, claim: Claim) -> dict[str, Any]:
        """The part as JSON: thresholds, the numbers, and the median over the seeds that enter."""
        condition = self.condition
        return {
            "quantity": quantity_text(self.quantity),
            "item": item_text(self.item),
            "holds_if": condition_text(condition) if condition else "",
            "at_least": condition.at_least if condition else None,
            "at_most": condition.at_most if condition else None,
            "near": condition.near if condition else None,
            "of_seeds": self.of_seeds,
            "median": self._median(claim),
            "rows": [_number(claim, condition, row) for row in self.rows],
        }

    def _median(self, claim: Claim) -> dict[str, Any] | None:
        entering = [row for row in self.rows if row.fitted or claim.exempt]
        if not self.of_seeds or not entering:
            return None
        typical: Typical = typical_run(entering)
        return {"value": typical.value, "low": _finite(typical.low), "high": _finite(typical.high)}


def _parts(claim: Claim, rows: Sequence[Row], judgement: Judgement) -> list[_Part]:
    """The numbers of a claim by condition and item; those of the decisive number first."""
    conditions: Sequence[Condition | None] = claim.conditions
    if not conditions:
        return [_Part(None, name, "", tuple(r for r in rows if r.quantity == name)) for name in _distinct(rows)]
    parts = []
    for condition in filter(None, conditions):
        own = [row for row in rows if row.quantity == condition.quantity and row.has_value]
        items = list(dict.fromkeys(row.item for row in own if row.run))
        parts += [
            _Part(condition, condition.quantity, item, tuple(row for row in own if row.run and row.item == item))
            for item in items
        ]
        if others := tuple(row for row in own if not row.run):
            parts.append(_Part(condition, condition.quantity, "", others))
    return sorted(parts, key=lambda part: not _is_decisive(part, judgement))


def _is_decisive(part: _Part, judgement: Judgement) -> bool:
    same_item = part.item == judgement.item or not part.of_seeds
    return part.quantity == judgement.quantity and same_item


def _distinct(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.quantity for row in rows))


def _number(claim: Claim, condition: Condition | None, row: Row) -> dict[str, Any]:
    return {
        "item": item_text(row.item),
        "value": _finite(row.value),
        "low": _finite(row.low),
        "high": _finite(row.high),
        "expected": row.expected,
        "n": row.n,
        "run": row.run,
        "seed": row.seed,
        "counts": row.fitted is not False or claim.exempt,
        "side": condition.side(row.value, row.value, row.expected) if condition and row.value == row.value else "open",
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
