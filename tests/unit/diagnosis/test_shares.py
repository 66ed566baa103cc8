"""Loss and share of it: values by hand, half-widths by simulation, and every refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.diagnosis.attempts import EPS, attempt
from workbench.diagnosis import recovered_share
from workbench.diagnosis.cause import CLEARLY, name_entry
from workbench.diagnosis.measurement import samples_row
from workbench.diagnosis.recovered_share import (
    Bootstrap,
    Estimate95,
    Judged,
    balanced_accuracy,
    balanced_weights,
    below,
    best_member,
    chance,
    halves,
    refusal,
)
from workbench.diagnosis.tried_interventions import Findings, Tried


def judged(right: list[tuple[int, int]]) -> Judged:
    """From (right, of) for each class."""
    flags = np.concatenate([np.arange(of) < k for k, of in right]).astype(float)
    return Judged(flags, np.concatenate([np.full(of, c) for c, (_, of) in enumerate(right)]))


def test_a_model_that_gives_one_answer_is_at_chance_however_frequent_that_answer_is() -> None:
    one_answer = judged([(90, 90), (0, 10)])
    assert one_answer.right.mean() == 0.9
    assert balanced_accuracy(one_answer.right, one_answer.classes) == 0.5


def test_weights_give_each_class_the_same() -> None:
    assert balanced_weights([0, 0, 0, 1]) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_shares_by_hand_neither_clipped_at_0_nor_at_1() -> None:
    at = judged([(30, 50), (30, 50)])
    found = Bootstrap(judged([(45, 50), (45, 50)]), at, np.random.default_rng(0))
    assert found.loss.value == pytest.approx(0.3)
    assert found.share(at.right).value == pytest.approx(0)
    for k, share in ((45, 1.0), (50, 4 / 3), (15, -1.0)):
        made = found.share(judged([(k, 50), (k, 50)]).right)
        assert made.value == pytest.approx(share)
        assert made.low < share < made.high


def test_a_repair_that_turns_one_class_right_and_the_other_wrong_restores_nothing() -> None:
    """In the plain accuracy of this law, with 9 of 10 strings of one class, it would restore nearly all."""
    at = judged([(45, 90), (10, 10)])
    found = Bootstrap(judged([(90, 90), (10, 10)]), at, np.random.default_rng(0))
    assert found.share(judged([(90, 90), (5, 10)]).right).value == pytest.approx(0)


def test_the_interval_of_a_complete_repair_of_a_complete_loss_is_not_a_point() -> None:
    found = Bootstrap(judged([(64, 64)] * 2), judged([(0, 64)] * 2), np.random.default_rng(0))
    made = found.share(np.ones(128))
    assert (made.value, made.low < 0.98, made.high > 1.02) == (1.0, True, True)


@pytest.mark.parametrize(
    ("strings", "loss", "half"), [(256, 0.2, 0.16), (512, 0.1, 0.18), (512, 0.2, 0.11), (512, 0.4, 0.07)]
)
def test_half_widths_where_half_of_the_wrong_are_mended_and_2_percent_harmed(
    strings: int, loss: float, half: float
) -> None:
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(8):
        classes = rng.integers(0, 2, strings)
        right = (rng.random(strings) > loss).astype(float)
        repaired = np.where(right == 1, rng.random(strings) > 0.02, rng.random(strings) < 0.5).astype(float)
        found = Bootstrap(Judged(np.ones(strings), classes), Judged(right, classes), rng, 400).share(repaired)
        widths.append((found.high - found.low) / 2)
    assert np.mean(widths) == pytest.approx(half, rel=0.2)


def test_two_repairs_are_compared_on_the_same_strings() -> None:
    at = judged([(20, 100), (20, 100)])
    found = Bootstrap(judged([(100, 100)] * 2), at, np.random.default_rng(0))
    most = judged([(90, 100), (90, 100)]).right
    more = found.share_difference(judged([(100, 100), (100, 100)]).right, most)
    assert more.value == pytest.approx(0.125)
    assert more.low > 0
    assert found.share_difference(most, most).low < 0 < found.share_difference(most, most).high


def test_what_cannot_be_diagnosed_says_why() -> None:
    whole = judged([(256, 256)] * 2)
    assert "not learned" in refusal(judged([(140, 256)] * 2), judged([(130, 256)] * 2), 64)
    assert refusal(whole, judged([(240, 256)] * 2), 64) == "accuracy drops by less than 0.1: nothing to explain at 64"
    assert refusal(whole, judged([(10, 20)] * 2), 64) == (
        "20 sequences of length 64 are answered wrong; a diagnosis needs 100"
    )
    assert refusal(whole, judged([(215, 256)] * 2), 64).startswith("24") is False
    assert refusal(whole, judged([(880, 1024)] * 2), 64) == (
        "accuracy drops by 0.14 at 64, less than 0.2: no cause is named"
    )
    assert refusal(whole, judged([(130, 256)] * 2), 64) == ""
    nearly = refusal(judged([(1794, 2000)] * 2), judged([(130, 256)] * 2), 64)
    assert nearly == "not learned: class-balanced accuracy at N is 0.897, below 0.9", "never 0.90, below 0.9"
    assert refusal(whole, judged([(1606, 2000)] * 2), 64) == (
        "accuracy drops by 0.197 at 64, less than 0.2: no cause is named"
    )


def test_halves_share_no_string() -> None:
    first, second = halves(7)
    assert sorted([*first, *second]) == list(range(7))
    assert not set(first) & set(second)


def findings(families: dict[str, Tried], pairs: Sequence[Tried] = (), more: tuple[float, float] = (0, 0)) -> Findings:
    """What blind repairs showed; ``more``: by how much the first of two restores more, and the interval's lower end."""
    difference = SimpleNamespace(share_difference=lambda first, second: Estimate95(more[0], more[1], 1.0))
    return Findings((), families, tuple(pairs), difference)  # type: ignore[arg-type]


def entry_of(shares: dict[str, float], recurrent: bool = False, **options: Any) -> tuple[str, str, list[str]]:
    found = name_entry(findings({family: attempt(family, v) for family, v in shares.items()}, **options), recurrent)
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

    found = findings({"P": attempt("P", 0.6), "D": attempt("D", 0.7), "K": attempt("K", 0.9)})
    name_entry(Findings((), found.families, (), SimpleNamespace(share_difference=share_difference)))  # type: ignore[arg-type]
    assert asked == [(0.9, 0.6)]


def judged_with(*right: tuple[int, int]) -> Judged:
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
    monkeypatch.setattr(recovered_share, "LEARNED", 0.75)
    monkeypatch.setattr(recovered_share, "SMALLEST_DROP", 0.125)
    monkeypatch.setattr(recovered_share, "NAMED_DROP", 0.5)
    monkeypatch.setattr(recovered_share, "WRONG", 200)
    why = refusal(judged_with((inside, 512), (inside, 512)), judged_with((right, 512), (right, 512)), 64)
    assert said in why
    assert bool(why) == bool(said)


@pytest.mark.parametrize(("wrong", "refused"), [(99, True), (100, False), (101, False)])
def test_a_hundred_wrong_strings_are_enough(wrong: int, refused: bool) -> None:
    at = Judged((np.arange(400) >= wrong).astype(float), np.zeros(400, dtype=np.int64))
    why = refusal(judged_with((400, 400)), at, 64)
    assert why == (f"{wrong} sequences of length 64 are answered wrong; a diagnosis needs 100" if refused else "")


@pytest.mark.parametrize(("lost", "named"), [(127, False), (128, True), (129, True)])
def test_from_a_loss_of_exactly_the_named_one_on_a_cause_is_named(
    monkeypatch: pytest.MonkeyPatch, lost: int, named: bool
) -> None:
    monkeypatch.setattr(recovered_share, "NAMED_DROP", 0.25)
    why = refusal(judged_with((512, 512)), judged_with((512 - lost, 512)), 64)
    assert why == ("" if named else "accuracy drops by 0.248 at 64, less than 0.25: no cause is named")


def test_of_a_refused_loss_the_length_is_told_with_its_thousands() -> None:
    assert refusal(judged_with((9, 9)), judged_with((9, 9)), 12_345) == (
        "accuracy drops by less than 0.1: nothing to explain at 12,345"
    )


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
    nothing = Bootstrap(judged_with((5, 10)), judged_with((5, 10)), np.random.default_rng(0), 3)
    assert math.isnan(nothing.gained_share(np.ones(10)))
    with pytest.raises(ValueError, match="share"):
        nothing.share(np.ones(10))
    for reference, at in ((judged_with((0, 0)), judged_with((1, 2))), (judged_with((1, 2)), judged_with((0, 0)))):
        with pytest.raises(ValueError, match="sequences"):
            Bootstrap(reference, at, np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match="sequence"):
        balanced_accuracy([], [])


def test_the_row_of_an_accuracy_has_its_value_between_its_ends() -> None:
    """Two resamples may lie to one side of it."""
    for seed in range(8):
        samples = Bootstrap(judged_with((9, 9)), judged_with((5, 9), (3, 4)), np.random.default_rng(seed), 2)
        made = samples_row(samples, quantity="balanced_accuracy")
        assert made["value"] == pytest.approx((5 / 9 + 3 / 4) / 2)
        ends = np.sort(samples.accuracies)
        assert made["low"] <= made["value"] <= made["high"]
        assert made["low"] == pytest.approx(min(np.quantile(ends, 0.025), made["value"]))
        assert made["high"] == pytest.approx(max(np.quantile(ends, 0.975), made["value"]))
