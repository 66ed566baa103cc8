"""The rule that names a site, from readings by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.diagnosis.attempts import EPS
from workbench.diagnosis import location
from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import WrittenBit
from workbench.diagnosis.location import (
    Blind,
    BlockReading,
    HeadReading,
    Site,
    first_bad_block,
    name_site,
    other_class,
    read_blocks,
)
from workbench.diagnosis.measurement import recovered_at
from workbench.models import HookedSSM


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


def test_the_sign_of_a_state_that_leaks_stays_readable_and_is_not_lost() -> None:
    """Past 16 tokens the state is below the threshold, and at 128 far below what a probe of the rows weighs."""
    model, task = MemoryNumbers(decay=0.2, threshold=0.01).build(), WrittenBit()
    fit, inside, batch = (
        task.sample(512, n, torch.Generator().manual_seed(n + i), "matched") for i, n in enumerate((16, 16, 128))
    )
    blank = HookedSSM(model.cfg, seed=3)
    readings = read_blocks(model, blank, fit, inside, batch, np.random.default_rng(0))
    assert readings[-1].refit < 0.7
    assert readings[-1].ranked > 0.95
    found = name_site(readings, [], [], Blind(), 1.0, 0.6, 0.5)
    assert (found.label, found.layer) == ("code", 0)
    assert found.note.startswith("a probe of ranks fitted at n reads ")


@pytest.mark.parametrize(
    ("ranks", "untrained", "named"), [(0.96, 0.7, "code"), (0.94, 0.7, "lost"), (0.96, 0.76, "lost")]
)
def test_ranks_are_read_where_the_model_put_the_answer_there(ranks: float, untrained: float, named: str) -> None:
    gone = replace(block(1, 1.0, 0.76, 0.74), ranked=ranks, ranked_untrained=untrained)
    assert name_site([BEFORE, gone], [], [], Blind(), 1.0, 0.76, 0.5).label == named


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


def test_what_the_right_key_recovers_is_that_of_the_head_of_the_site() -> None:
    heads = [(HeadReading(1, 0, 1.0), 0.9), (HeadReading(0, 0, 1.0), 5.0)]
    assert recovered_at(Site("selection", 1, 0), heads) == 0.9
    for site in (None, Site("dispersion", 1, 0), Site("selection", 1, 1), Site("selection", 2, 0)):
        assert recovered_at(site, heads) is None


def one_block(layer: int, at_n: float, kept: float, refit: float = 0.5, untrained: float = 0.5) -> BlockReading:
    return BlockReading(layer, at_n, kept, refit, untrained, 0.5)


@pytest.mark.parametrize(
    ("at_n", "kept", "bad"),
    [
        (0.75, 0.625, True),
        (0.75 - EPS, 0.5, False),
        (0.75, 0.625 + EPS, False),
        (1.0, 0.875, True),
        (1.0, 0.876, False),
    ],
)
def test_the_first_bad_block_has_half_of_the_surplus_and_loses_half_of_the_loss(
    at_n: float, kept: float, bad: bool
) -> None:
    readings = [one_block(0, 0.5, 0.1), one_block(1, at_n, kept), one_block(2, 1.0, 0.1)]
    found = first_bad_block(readings, 1.0, 0.75, 0.5)
    assert found is not None
    assert found.layer == (1 if bad else 2)
    assert first_bad_block(readings[:1], 1.0, 0.75, 0.5) is None


@pytest.mark.parametrize(
    ("refit", "untrained", "moments", "said"),
    [
        (0.875, 0.5, False, "code"),
        (0.875 - EPS, 0.5, False, "lost"),
        (0.875, 0.75, False, "lost"),
        (0.875, 0.75 - EPS, False, "code"),
        (0.875, 0.75, True, "code"),
        (0.875 - EPS, 0.75, True, "lost"),
    ],
)
def test_what_is_readable_anew_and_not_before_training_is_a_code(
    monkeypatch: pytest.MonkeyPatch, refit: float, untrained: float, moments: bool, said: str
) -> None:
    monkeypatch.setattr(location, "READABLE", 0.75)
    bad = one_block(1, 1.0, 0.75, refit, untrained)
    blind = Blind(frozenset("C") if moments else frozenset())
    assert name_site([one_block(0, 0.5, 0.5), bad], [], [], blind, 1.0, 0.75, 0.5).label == said


LOST = [one_block(0, 0.5, 0.5), one_block(1, 1.0, 0.75)]


SHARP = Blind(frozenset("D"))


@pytest.mark.parametrize(
    ("reading", "share", "blind", "said"),
    [
        # A key that ties with the best other one is neither outscored nor on top.
        (HeadReading(1, 0, 1.0, gap=0.0, weight_trained=0.8, weight=0.1), 1.0, SHARP, "lost"),
        (HeadReading(1, 0, 1.0, gap=-EPS, weight_trained=0.8, weight=0.1), 1.0, Blind(), "selection"),
        (HeadReading(1, 0, 1.0, gap=-EPS, weight_trained=0.8, weight=0.1), 0.5, Blind(), "selection"),
        (HeadReading(1, 0, 1.0, gap=-EPS, weight_trained=0.8, weight=0.1), 0.5 - EPS, Blind(), "lost"),
        (HeadReading(2, 0, 1.0, gap=-EPS, weight_trained=0.8, weight=0.1), 1.0, Blind(), "lost"),
        (HeadReading(1, 0, 1.0, gap=EPS, weight_trained=0.8, weight=0.4 - EPS), 1.0, SHARP, "dispersion"),
        (HeadReading(1, 0, 1.0, gap=EPS, weight_trained=0.8, weight=0.4), 1.0, SHARP, "selection"),
        (HeadReading(1, 0, 1.0, gap=EPS, weight_trained=0.8, weight=0.8), 1.0, SHARP, "lost"),
    ],
)
def test_heads_at_their_bounds(reading: HeadReading, share: float, blind: Blind, said: str) -> None:
    assert name_site(LOST, [reading], [share], blind, 1.0, 0.75, 0.5).label == said


def test_odds_that_fall_by_exactly_twice_what_keys_cost_have_not_moved() -> None:
    reading = HeadReading(1, 0, 1.0, gap=1.0, weight_trained=0.8, weight=0.2)
    assert reading.nats_lost == pytest.approx(2 * math.log(4))
    for nats, said in ((reading.nats_lost / 2, "dispersion"), (reading.nats_lost / 2 - EPS, "selection")):
        assert name_site(LOST, [reading], [1.0], Blind(nats_of_keys=nats), 1.0, 0.75, 0.5).label == said
    sure = HeadReading(1, 0, 1.0, weight_trained=1.0, weight=0.0)
    assert sure.nats_lost == pytest.approx(2 * math.log(999_999)), "odds are held a millionth from 0 and 1"


def test_sites_say_what_they_rest_on() -> None:
    head = HeadReading(1, 3, 1.0, gap=-1.26, weight_trained=0.8, weight=0.25)
    thin = HeadReading(1, 3, 1.0, gap=1.0, weight_trained=0.8, weight=0.25)
    moved = HeadReading(1, 3, 1.0, gap=1.0, weight_trained=0.8, weight=0.05)
    kept = [one_block(0, 0.5, 0.5), one_block(1, 1.0, 0.96, 0.97)]
    gone = [one_block(0, 0.5, 0.5), one_block(1, 1.0, 0.71, 0.73)]
    anew = [one_block(0, 0.5, 0.5), one_block(1, 1.0, 0.71, 0.98)]
    nats = Blind(nats_of_keys=math.log(4))
    told = [
        name_site(gone, [head], [1.0], Blind(), 1.0, 0.75, 0.5),
        name_site(gone, [thin], [1.0], SHARP, 1.0, 0.75, 0.5),
        name_site(kept, [], [], Blind(), 1.0, 0.75, 0.5),
        name_site(anew, [], [], Blind(), 1.0, 0.75, 0.5),
        name_site(gone, [moved], [1.0], nats, 1.0, 0.75, 0.5),
        name_site(gone, [], [], Blind(), 1.0, 0.75, 0.5),
    ]
    assert told == [
        Site("selection", 1, 3, "the answer's key scores 1.3 below the best"),
        Site("dispersion", 1, 3, "weight on the answer's key 0.25, at N 0.80"),
        Site("read-out", note="a probe fitted at N reads 0.96 behind the last block"),
        Site("code", 1, note="a probe fitted at n reads 0.98, one fitted at N 0.71"),
        Site("selection", 1, 3, "weight on the answer's key fell by 4.3 nats, by more keys 1.4"),
        Site("lost", 1, note="a probe fitted at n reads 0.73 behind block 1"),
    ]


def test_another_string_of_another_class() -> None:
    classes = np.array([0, 1, 1, 2, 0])
    for seed in range(5):
        found = other_class(classes, np.random.default_rng(seed))
        assert found is not None
        assert (classes[found] != classes).all()
    assert other_class(np.array([4, 4, 4]), np.random.default_rng(0)) is None
    two = other_class(np.array([4, 5]), np.random.default_rng(0))
    assert two is not None
    assert two.tolist() == [1, 0]
