"""The rule that names a site, from readings by hand."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.diagnosis.sites import BlockReading, HeadReading, name_site


def block(layer: int, at_n: float, kept: float, refit: float, untrained: float = 0.5) -> BlockReading:
    return BlockReading(layer, at_n, kept, refit, untrained, 0.5)


def head(gap: float, weight: float, layer: int = 1) -> HeadReading:
    return HeadReading(layer, 0, carries=1.0, gap=gap, weight_trained=0.8, weight=weight)


BEFORE = block(0, 0.5, 0.5, 0.5)
"""A block that has no answer yet, at N or at n."""


@pytest.mark.parametrize(
    ("blocks", "heads", "share", "named"),
    [
        # The model loses .24 of the .5 that it has over a guess; so does the code of block 1: that is where.
        ([BEFORE, block(1, 1.0, 0.76, 0.74)], [head(-1.8, 0.4)], 1.0, ("selection", 1, 0)),
        ([BEFORE, block(1, 1.0, 0.76, 0.74)], [head(2.0, 0.3)], 1.0, ("dispersion", 1, 0)),
        ([BEFORE, block(1, 1.0, 0.76, 0.74)], [head(2.0, 0.5)], 1.0, ("lost", 1, None)),
        ([BEFORE, block(1, 1.0, 0.76, 0.74)], [head(-1.8, 0.4)], 0.3, ("lost", 1, None)),
        # What can still be read was not thinned away.
        ([BEFORE, block(1, 1.0, 0.76, 1.0)], [head(2.0, 0.3)], 1.0, ("code", 1, None)),
        ([BEFORE, block(1, 1.0, 0.76, 1.0)], [head(-2.0, 0.3)], 1.0, ("selection", 1, 0)),
        # Counts are there to be read in untrained weights as well, so that nothing follows.
        ([BEFORE, block(1, 1.0, 0.76, 1.0, untrained=0.98)], [], 1.0, ("lost", 1, None)),
        # A head behind the first bad block cannot be where it begins.
        ([block(0, 1.0, 0.76, 0.76), block(1, 1.0, 0.7, 0.7)], [head(-1.8, 0.4)], 1.0, ("lost", 0, None)),
        # No code loses half of what the model loses: the read-out errs on a code that is kept.
        ([BEFORE, block(1, 1.0, 0.95, 1.0)], [head(2.0, 0.3)], 1.0, ("read-out", None, None)),
    ],
)
def test_sites(blocks: list[BlockReading], heads: list[HeadReading], share: float, named: tuple[Any, ...]) -> None:
    found = name_site(blocks, heads, [share] * len(heads), a_reference=1.0, a_at=0.76, guess=0.5)
    assert (found.label, found.layer, found.head) == named
