"""The committed rows of the exact claims that take longest are what computing them gives."""

from __future__ import annotations

import pytest

from tests.support.claims.committed import LONG, built, compare_with_committed
from workbench.claims.claim import Claim


@pytest.mark.parametrize("claim", [claim for claim in built() if claim.minutes >= LONG], ids=lambda claim: claim.id)
def test_the_committed_rows_are_computed_again(claim: Claim) -> None:
    compare_with_committed(claim)
