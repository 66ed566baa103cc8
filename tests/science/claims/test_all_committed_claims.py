"""The committed rows of exact claims are what computing them gives; the quickest are tested with the units, the longest
in tests/product."""

from __future__ import annotations

import pytest

from tests.support.claims.committed import LONG, QUICK, built, compare_with_committed
from workbench.claims.claim import Claim

CLAIMS = [claim for claim in built() if claim.id not in QUICK and claim.minutes < LONG]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_committed_rows_are_computed_again(claim: Claim) -> None:
    compare_with_committed(claim)
