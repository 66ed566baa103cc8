"""The committed table of claims, and a claim's rows computed anew held against it."""

from __future__ import annotations

import pytest

from tests.support.places import ROOT
from workbench.claims.claim import Claim
from workbench.claims.claims_table import read_evidence
from workbench.claims.reproducing import compute_rows
from workbench.claims.suites.registry import SUITES

FOLDER = ROOT / "docs" / "claims"
EVIDENCE = read_evidence(FOLDER)
QUICK = {
    "DX07",
    "DX09",
    "DP02",
    "DP10",
    "DP21",
    "HE05",
    "HE06",
    "HE11",
    "HE14",
    "HE15",
    "HE16",
    "HE16b",
    "QB01",
    "QB02",
    "QB05",
    "QB08",
    "QB14",
    "SE11",
    "SE12",
    "SE15",
    "TR02",
    "TR03",
    "TR05",
}
"""Claims that take a second or two, even with every call checked by its types."""
LONG = 0.3
"""Minutes from which on a claim is computed again in tests/product alone."""


def built() -> list[Claim]:
    """The exact claims that can be computed."""
    return [claim for suite in SUITES.values() for claim in suite.claims if claim.rows and not claim.trained]


def compare_with_committed(claim: Claim) -> None:
    """Assert that a claim's rows come out as they are stored, numbers within 1e-9."""
    found, stored = compute_rows(claim), EVIDENCE[claim.id].rows
    assert [(row.quantity, row.item, row.n) for row in found] == [(row.quantity, row.item, row.n) for row in stored]
    for one, other in zip(found, stored, strict=True):
        for name in ("value", "low", "high", "expected"):
            new, old = getattr(one, name), getattr(other, name)
            assert (new is None) == (old is None)
            assert new is None or new == pytest.approx(old, rel=1e-9, abs=1e-9), (one.quantity, one.item)
