"""The rule that names a site, from readings by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from workbench.diagnosis.sites import Blind, BlockReading, HeadReading, name_site


def block(layer: int, at_n: float, kept: float, refit: float, untrained: float = 0.5) -> BlockReading:
    return BlockReading(layer, at_n, kept, refit, untrained, 0.5)


def head(gap: float, weight: float, layer: int = 1) -> HeadReading:
    return HeadReading(layer, 0, carries=1.0, gap=gap, weight_trained=0.8, weight=weight)


KEYS = math.log(4)
"""Nats of four times as many keys: with them alone odds of 4 at N, a weight of .8, become odds of 1, a weight of .5."""


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
    found = name_site(blocks, heads, [share] * len(heads), Blind(nats_of_keys=KEYS), 1.0, 0.76, 0.5)
    assert (found.label, found.layer, found.head) == named


MOVED, GONE, KEPT = block(1, 1.0, 0.76, 1.0), block(1, 1.0, 0.76, 0.74), block(1, 1.0, 0.95, 1.0)


@pytest.mark.parametrize(
    ("passed", "after", "weight", "named"),
    [
        # Only sharper heads mend it: thin weight came first, whatever probes read of what it left.
        ("D", MOVED, 0.3, "dispersion"),
        ("CD", MOVED, 0.3, "dispersion"),
        ("D", KEPT, 0.3, "dispersion"),
        ("D", MOVED, 0.5, "code"),
        # Sharper heads outweigh an offset too, and so does the number of keys of N, or its ids: then it is the offset.
        ("DK", MOVED, 0.3, "code"),
        ("DP", MOVED, 0.3, "code"),
        ("DK", KEPT, 0.3, "read-out"),
        ("", MOVED, 0.3, "code"),
    ],
)
def test_thin_weight_comes_before_what_it_leaves_where_only_sharpening_restores(
    passed: str, after: BlockReading, weight: float, named: str
) -> None:
    said = Blind(frozenset(passed), KEYS)
    assert name_site([BEFORE, after], [head(2.0, weight)], [1.0], said, 1.0, 0.76, 0.5).label == named
    assert name_site([BEFORE, KEPT], [head(2.0, weight)], [0.3], said, 1.0, 0.76, 0.5).label == "read-out"


@pytest.mark.parametrize(("passed", "named"), [("C", "code"), ("CK", "code"), ("K", "lost"), ("", "lost")])
def test_what_untrained_weights_show_too_is_a_moved_code_where_the_moments_of_n_restore_it(
    passed: str, named: str
) -> None:
    after = block(1, 1.0, 0.76, 1.0, untrained=0.98)
    assert name_site([BEFORE, after], [], [], Blind(frozenset(passed)), 1.0, 0.76, 0.5).label == named
    lost = block(1, 1.0, 0.76, 0.8, untrained=0.98)
    assert name_site([BEFORE, lost], [], [], Blind(frozenset(passed)), 1.0, 0.76, 0.5).label == "lost", "it is gone"


def test_a_key_on_top_whose_odds_fall_faster_than_keys_come_was_outscored_by_many() -> None:
    """From odds of 4, keys alone leave 1; twice those nats leave odds of 1/4, a weight of .2."""
    said = Blind(nats_of_keys=KEYS)
    assert head(2.0, 0.2).nats_lost == pytest.approx(2 * KEYS)
    for weight, named in ((0.19, "selection"), (0.21, "dispersion")):
        found = name_site([BEFORE, GONE], [head(2.0, weight)], [1.0], said, 1.0, 0.76, 0.5)
        assert (found.label, found.layer, found.head) == (named, 1, 0)
    unmended = name_site([BEFORE, GONE], [head(2.0, 0.19)], [0.3], said, 1.0, 0.76, 0.5)
    assert unmended.label == "dispersion", "the own key in its place mends nothing, so that no key is the wrong one"
