"""The committed rows of all exact claims are what computing them gives; the quick ones are tested with the units."""

from __future__ import annotations

import pytest

from tests.support.claims.committed import QUICK, built, compare_with_committed
from workbench.claims.claim import Claim


@pytest.mark.parametrize("claim", [claim for claim in built() if claim.id not in QUICK], ids=lambda claim: claim.id)
def test_the_committed_rows_are_computed_again(claim: Claim) -> None:
    compare_with_committed(claim)
