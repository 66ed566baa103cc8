"""The rules of a diagnosis at their thresholds: what is named exactly at one, just above it and just below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.diagnosis import shares, sites
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.diagnosis.diagnosis import content, diagnose, samples_row
from workbench.diagnosis.entry import CLEARLY, JOINT, STRONG, STRONG_LOW, Entry, grade, name_entry
from workbench.diagnosis.repaired_pass import TIE, asking, clearly_right, gap_set, inside_of
from workbench.diagnosis.shares import (
    Bootstrap,
    Estimate95,
    Judged,
    balanced_accuracy,
    below,
    best_member,
    chance,
    refusal,
)  # fmt: skip
from workbench.diagnosis.sites import Blind, BlockReading, HeadReading, Site, first_bad_block, name_site, other_class
from workbench.diagnosis.trials import HARM, LEAST, OVER_CONTROL, PASSES, Findings, Trials, Tried, passes
from workbench.measure.edits.repairs import KEYS, POSITION, SHARPENING, STEPS, Repair, by_name, pooled_rows
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

EPS = 1e-6
FIRST = {"P": POSITION[0], "D": SHARPENING[0], "K": KEYS[0], "T": STEPS[0], "C": pooled_rows(0)}


def one(
    family: str | Sequence[str], share: float | None, low: float = 0.7, control: float | None = 0.0, by: float = 0.0
) -> Tried:
    """A repair, or a pair of them, by what it restores."""
    made = None if share is None else Estimate95(share, low, 1.2)
    beside = None if control is None else Estimate95(control, control, control)
    right = np.array([share or 0.0])
    return Tried(tuple(FIRST[name] for name in family), share=made, control=beside, chosen_by=by, right=right)


# ---- what passes, and how strongly ---------------------------------------------------------------
@pytest.mark.parametrize(
    ("share", "low", "control", "said"),
    [
        (PASSES, 0.3, 0.0, True),
        (PASSES - EPS, 0.3, 0.0, False),
        (PASSES, LEAST, 0.0, False),
        (PASSES, LEAST + EPS, 0.0, True),
        (0.75, 0.3, 0.75 - OVER_CONTROL - EPS, True),
        (0.75, 0.3, 0.75 - OVER_CONTROL + EPS, False),
        (PASSES, 0.3, 0.5 - OVER_CONTROL, True),
        (PASSES - EPS, 0.3, -1.0, False),
        (PASSES, 0.3, -5.0, True),
        (None, 0.3, 0.0, False),
        (1.0, 0.9, None, False),
    ],
)
def test_what_a_repair_must_restore_over_its_control(
    share: float | None, low: float, control: float | None, said: bool
) -> None:
    assert passes(one("P", share, low, control)) is said


@pytest.mark.parametrize(
    ("share", "low", "said"),
    [
        (None, 1.0, "none"),
        (PASSES - EPS, 0.9, "none"),
        (PASSES, 0.9, "partly"),
        (STRONG - EPS, 0.9, "partly"),
        (STRONG, STRONG_LOW, "strong"),
        (STRONG, STRONG_LOW - EPS, "partly"),
    ],
)
def test_grades(share: float | None, low: float, said: str) -> None:
    assert grade(one("P", share, low)) == said


# ---- the entry -----------------------------------------------------------------------------------
def findings(families: dict[str, Tried], pairs: Sequence[Tried] = (), more: tuple[float, float] = (0, 0)) -> Findings:
    """What blind repairs showed; ``more``: by how much the first of two restores more, and the interval's lower end."""
    difference = SimpleNamespace(share_difference=lambda first, second: Estimate95(more[0], more[1], 1.0))
    return Findings((), families, tuple(pairs), difference)  # type: ignore[arg-type]


def entry_of(shares: dict[str, float], recurrent: bool = False, **options: Any) -> tuple[str, str, list[str]]:
    found = name_entry(findings({family: one(family, v) for family, v in shares.items()}, **options), recurrent)
    assert found.by is not None
    return found.label, found.by.name, [other.name for other in found.also]


@pytest.mark.parametrize(
    ("shares", "recurrent", "more", "said"),
    [
        ({"P": 0.6}, False, (0, 0), ("position", "P.int", [])),
        ({"P": 0.6, "C": 0.9}, False, (1, 1), ("position", "P.int", ["C.pool0"])),
        ({"P": 0.6, "D": 0.9}, False, (CLEARLY, 0.1), ("position", "P.int", ["D.logn"])),
        ({"P": 0.6, "D": 0.9}, False, (CLEARLY + EPS, 0.1), ("keys", "D.logn", ["P.int"])),
        ({"P": 0.6, "D": 0.9}, False, (0.3, 0.0), ("position", "P.int", ["D.logn"])),
        ({"P": 0.6, "D": 0.9}, False, (0.3, EPS), ("keys", "D.logn", ["P.int"])),
        ({"D": 0.6, "K": 0.7}, False, (0, 0), ("keys", "K.sink", ["D.logn"])),
        ({"D": 0.7, "K": 0.6}, False, (0, 0), ("keys", "D.logn", ["K.sink"])),
        ({"D": 0.6, "K": 0.6}, False, (0, 0), ("keys", "D.logn", ["K.sink"])),
        ({"P": 0.6, "D": 0.6, "K": 0.9}, False, (0.3, 0.1), ("keys", "K.sink", ["P.int", "D.logn"])),
        ({"D": 0.55, "T": 0.9, "C": 0.9}, False, (0, 0), ("keys", "D.logn", ["T.slow", "C.pool0"])),
        ({"T": 0.6, "C": 0.9}, True, (0, 0), ("steps", "T.slow", ["C.pool0"])),
        ({"C": 0.6, "P": 0.4}, True, (0, 0), ("steps or content", "C.pool0", [])),
        ({"C": 0.6}, False, (0, 0), ("keys or content", "C.pool0", [])),
    ],
)
def test_the_first_family_that_passes_names_the_entry(
    shares: dict[str, float], recurrent: bool, more: tuple[float, float], said: tuple[str, str, list[str]]
) -> None:
    assert entry_of(shares, recurrent, more=more) == said


def test_sharpening_is_compared_with_ids_on_their_strings() -> None:
    asked: list[tuple[float, float]] = []

    def share_difference(first: Any, second: Any) -> Estimate95:
        asked.append((float(first[0]), float(second[0])))
        return Estimate95(0, 0, 0)

    found = findings({"P": one("P", 0.6), "D": one("D", 0.7), "K": one("K", 0.9)})
    name_entry(Findings((), found.families, (), SimpleNamespace(share_difference=share_difference)))  # type: ignore[arg-type]
    assert asked == [(0.9, 0.6)]


WEAK = {"P": one("P", PASSES - EPS), "D": one("D", 0.1), "K": one("K", PASSES, control=0.4)}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([one("PD", JOINT)], "P.int and D.logn"),
        ([one("PD", JOINT - EPS)], None),
        ([one("PD", None)], None),
        ([one("PK", 0.9)], None),
        ([one("DP", 0.9, by=0.2), one("PD", 0.85, by=0.3)], "P.int and D.logn"),
        ([], None),
    ],
)
def test_a_pair_is_joint_where_each_alone_restores_less_than_half(pairs: list[Tried], said: str | None) -> None:
    found = name_entry(findings(WEAK, pairs))
    assert (found.by.name if found.by else None) == said
    assert (found.label, found.grade) == (("joint", "strong") if said else ("not explained", "none"))
    assert found.also == ()


def test_where_only_selection_is_left_the_string_itself_is_to_blame() -> None:
    nothing, named = Entry("not explained", "none", None), Entry("keys", "strong", one("K", 0.9))
    at = Site("selection", 1, 0)

    def said(restored: float, layer: int = 1, head: int = 0, entry: Entry = nothing, site: Site | None = at) -> Any:
        made = content(entry, site, [(HeadReading(layer, head, 1.0), restored), (HeadReading(0, 0, 1.0), 5.0)])
        return made.label, made.grade, made.by

    assert said(0.8) == ("content", "strong", None)
    assert said(0.8 - EPS) == ("content", "partly", None)
    assert said(PASSES) == ("content", "partly", None)
    for unmoved in (said(PASSES - EPS), said(0.9, layer=2), said(0.9, head=1), said(0.9, site=None)):
        assert unmoved == ("not explained", "none", None)
    assert said(0.9, site=Site("dispersion", 1, 0)) == ("not explained", "none", None)
    assert said(0.9, entry=named) == ("keys", "strong", named.by)
    assert content(nothing, at, []) is nothing


# ---- losses and shares ---------------------------------------------------------------------------
def judged(*right: tuple[int, int]) -> Judged:
    """From (right, of) for each class."""
    flags = np.concatenate([np.arange(of) < k for k, of in right]).astype(float)
    return Judged(flags, np.concatenate([np.full(of, c) for c, (_, of) in enumerate(right)]))


@pytest.mark.parametrize(
    ("inside", "right", "said"),
    [
        (384, 0, ""),
        (383, 0, "not learned"),
        (512, 448, "12"),  # a loss of exactly the smallest, of which too few strings are wrong
        (512, 449, "nothing to explain"),
        (512, 256, ""),
    ],
)
def test_refusals_at_their_bounds(monkeypatch: pytest.MonkeyPatch, inside: int, right: int, said: str) -> None:
    """With thresholds that are sums of powers of 2, which a share can meet exactly."""
    monkeypatch.setattr(shares, "LEARNED", 0.75)
    monkeypatch.setattr(shares, "SMALLEST", 0.125)
    monkeypatch.setattr(shares, "NAMED", 0.5)
    monkeypatch.setattr(shares, "WRONG", 200)
    why = refusal(judged((inside, 512), (inside, 512)), judged((right, 512), (right, 512)), 64)
    assert said in why
    assert bool(why) == bool(said)


@pytest.mark.parametrize(("wrong", "refused"), [(99, True), (100, False), (101, False)])
def test_a_hundred_wrong_strings_are_enough(wrong: int, refused: bool) -> None:
    at = Judged((np.arange(400) >= wrong).astype(float), np.zeros(400, dtype=np.int64))
    why = refusal(judged((400, 400)), at, 64)
    assert why == (f"{wrong} wrong strings of the 100 that are needed" if refused else "")


@pytest.mark.parametrize(("lost", "named"), [(127, False), (128, True), (129, True)])
def test_from_a_loss_of_exactly_the_named_one_on_a_cause_is_named(
    monkeypatch: pytest.MonkeyPatch, lost: int, named: bool
) -> None:
    monkeypatch.setattr(shares, "NAMED", 0.25)
    why = refusal(judged((512, 512)), judged((512 - lost, 512)), 64)
    assert why == ("" if named else "loss 0.248, below 0.25: no cause is named")


def test_of_a_refused_loss_the_length_is_told_with_its_thousands() -> None:
    assert refusal(judged((9, 9)), judged((9, 9)), 12_345) == "loss below 0.1: nothing to explain at 12,345"


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        (0.5, 0.9, "0.50"), (0.894, 0.9, "0.89"), (0.896, 0.9, "0.896"), (0.8996, 0.9, "0.8996"),
        (0.89999999999, 0.9, "0.900000000"), (-0.2, 0.1, "-0.20"), (0.0996, 0.1, "0.0996"),
    ],
)  # fmt: skip
def test_a_number_reads_below_its_limit(value: float, limit: float, said: str) -> None:
    assert below(value, limit) == said


def test_of_equal_members_the_first_in_order_is_best() -> None:
    assert best_member({"a": 1.0, "b": 1.0, "c": 0.5}, ["b", "a", "c"]) == "b"
    assert best_member({"a": 1.0, "b": 1.5, "c": 0.5}, ["a", "b", "c"]) == "b"
    assert best_member({"a": -1.0}, ["a"]) == "a"


def test_a_guess_and_what_is_lost_of_nothing() -> None:
    assert (chance([0, 0, 5]), chance([3])) == (0.5, 1.0)
    nothing = Bootstrap(judged((5, 10)), judged((5, 10)), np.random.default_rng(0), 3)
    assert math.isnan(nothing.gained_share(np.ones(10)))
    with pytest.raises(ValueError, match="nothing has a share"):
        nothing.share(np.ones(10))
    for reference, at in ((judged((0, 0)), judged((1, 2))), (judged((1, 2)), judged((0, 0)))):
        with pytest.raises(ValueError, match="strings at N and at n"):
            Bootstrap(reference, at, np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match="at least one string"):
        balanced_accuracy([], [])


def test_the_row_of_an_accuracy_has_its_value_between_its_ends() -> None:
    """Two resamples may lie to one side of it."""
    for seed in range(8):
        samples = Bootstrap(judged((9, 9)), judged((5, 9), (3, 4)), np.random.default_rng(seed), 2)
        made = samples_row(samples, quantity="balanced_accuracy")
        assert made["value"] == pytest.approx((5 / 9 + 3 / 4) / 2)
        ends = np.sort(samples.accuracies)
        assert made["low"] <= made["value"] <= made["high"]
        assert made["low"] == pytest.approx(min(np.quantile(ends, 0.025), made["value"]))
        assert made["high"] == pytest.approx(max(np.quantile(ends, 0.975), made["value"]))


# ---- the site ------------------------------------------------------------------------------------
def block(layer: int, at_n: float, kept: float, refit: float = 0.5, untrained: float = 0.5) -> BlockReading:
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
    readings = [block(0, 0.5, 0.1), block(1, at_n, kept), block(2, 1.0, 0.1)]
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
    monkeypatch.setattr(sites, "READABLE", 0.75)
    bad = block(1, 1.0, 0.75, refit, untrained)
    blind = Blind(frozenset("C") if moments else frozenset())
    assert name_site([block(0, 0.5, 0.5), bad], [], [], blind, 1.0, 0.75, 0.5).label == said


LOST = [block(0, 0.5, 0.5), block(1, 1.0, 0.75)]
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
    kept = [block(0, 0.5, 0.5), block(1, 1.0, 0.96, 0.97)]
    gone = [block(0, 0.5, 0.5), block(1, 1.0, 0.71, 0.73)]
    anew = [block(0, 0.5, 0.5), block(1, 1.0, 0.71, 0.98)]
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


# ---- repairs -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("harm", "refused"), [(HARM, False), (HARM + EPS, True), (-1.0, False)])
def test_what_costs_more_than_a_little_at_n_is_not_applicable(harm: float, refused: bool) -> None:
    model, task = NeedleNumbers().build(), WrittenBit()
    inside = inside_of(model, task.sample(16, 32, generator("in"), "matched"))
    batch = task.sample(16, 64, generator("at"), "matched")
    right = Judged(np.ones(16), np.arange(16) % 2)
    trials = Trials(model, task, inside, batch, right)
    repair: Repair = by_name("D.beta2")
    trials._harms[(repair,)] = harm
    assert trials.why_not(repair, batch) == ("it harms inside training: it costs 0.05 at N" if refused else "")


@pytest.mark.parametrize(
    ("scores", "under", "over"),
    [
        # The edge of the gap is its upper key; of the better half alone.
        ([3.0, 2.0, 2.0, 2.0], [1, 0, 0, 0], [0, 0, 0, 0]),
        ([3.0, 3.0, 2.5, 0.0], [1, 1, 0, 0], [0, 0, 0, 0]),  # .5 stands apart, and is looked at; 2.5 is not
        ([3.0, 3.0, 2.6, 0.0], [1, 1, 1, 1], [0, 0, 0, 0]),  # .4 does not
        ([1.0], [1], [0]),
        ([2.0, 1.0], [1, 0], [0, 0]),
        ([2.0, 1.6], [1, 1], [0, 0]),
        ([5.0, 1.0, 0.0], [1, 0, 0], [0, 0, 0]),
    ],
)
def test_the_gap_set_by_hand(scores: list[float], under: list[int], over: list[int]) -> None:
    assert gap_set(torch.tensor([[scores]])).int()[0, 0].tolist() == under


def test_the_gap_of_the_worse_half() -> None:
    ranked = torch.tensor([[[9.0, 5.0, 4.0, 1.0, 0.9, 0.8]]])
    # Of the gaps 4, 1, 3, .1, .1 the worse half are those from the fourth on: too small, so that all keys are meant.
    assert bool(gap_set(ranked, below=True).all())
    apart = torch.tensor([[[9.0, 5.0, 4.0, 3.0, 2.0, 0.0]]])
    assert gap_set(apart, below=True).int()[0, 0].tolist() == [1, 1, 1, 1, 1, 0]
    assert gap_set(torch.tensor([[[2.0, 1.0]]]), below=True).int()[0, 0].tolist() == [1, 0]


def test_answers_tie_that_lead_by_no_more_than_the_last_bits() -> None:
    task = WrittenBit()
    batch = task.sample(3, 4, generator("tie"), "matched")
    lead = TIE * (1 + 8.0)
    outputs = torch.full((3, 5, 2), 8.0, dtype=torch.float64)
    answers = batch.targets[:, -1]
    for string, less in enumerate((lead * 1.01, lead * 0.99, -1.0)):
        outputs[string, -1, 1 - answers[string]] -= less
    assert clearly_right(task, outputs, batch).tolist() == [1.0, 0.0, 0.0]


def test_strings_that_ask_nothing_are_left_out() -> None:
    drawn = make_task("flip_flop").sample(6, 9, generator("some"), "matched")
    mask = drawn.mask.clone()
    mask[[0, 3], -1] = False
    kept = asking(replace(drawn, mask=mask))
    assert torch.equal(kept.tokens, drawn.tokens[[1, 2, 4, 5]])
    whole = make_task("parity").sample(6, 8, generator("even"), "matched")
    assert asking(whole) is whole


def test_what_is_not_asked_of_a_checkpoint_says_why() -> None:
    task, model = WrittenBit(), NeedleNumbers(n_ctx=64).build()
    short = diagnose(model, task, trained=32, lengths=[16, 32], sequences=8)
    assert {r["note"] for r in short.rows} == {"no length beyond N is measured"}
    assert {r["law"] for r in short.rows} == {"matched"}
    single = diagnose(model, make_task("aa_star"), trained=4, lengths=[4, 8], sequences=8)
    assert {r["note"] for r in single.rows} == {
        "there is one string of each length: shares of a loss have no strings to be taken over"
    }
    assert {r["status"] for r in [*short.rows, *single.rows]} == {"not_applicable"}
