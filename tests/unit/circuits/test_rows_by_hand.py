"""Rows of the interventions against values known by hand: sign, length, law and interval."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from circuits.head_rows import head_rows, ratio_row
from circuits.interchange.measurement import _Rows, interchange_statistics
from circuits.interchange.residual_patching import Patched
from circuits.interventions import attention_swaps
from circuits.interventions.ablate_components import Answers
from circuits.interventions.ablation import Ablation, ablation_statistics
from circuits.interventions.attention_swaps import swap_statistics
from tests.support.circuits.rows_by_hand import drawn
from workbench.measure.intervals import all_equal, newcombe, sign_test, tango
from workbench.measure.result import Result
from workbench.measure.rows import difference_rows, mean_row
from workbench.models import HookedTransformer
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

MAJORITY = make_task("majority")
KGRAM = make_task("kgram_retrieval", symbols=10)
RNG = np.random.default_rng


def first(count: int, of: int) -> Any:
    """``of`` flags, the first ``count`` of them set."""
    return np.arange(of) < count


def only(rows: list[Any], **where: Any) -> Any:
    (found,) = [r for r in rows if all(r[key] == value for key, value in where.items())]
    return found


# ---- the kinds of rows ------------------------------------------------------------------------------
def test_a_paired_difference_has_tangos_interval_and_the_p_of_the_sign_test() -> None:
    gap, p = difference_rows(first(30, 512), np.roll(first(10, 512), 40), "", quantity="drop", length=7)
    assert (gap["quantity"], gap["value"], gap["n"], gap["length"]) == ("drop", 20 / 512, 512, 7)
    assert (gap["low"], gap["high"]) == tango(30, 10, 512)
    assert (p["quantity"], p["n"], p["low"]) == ("drop_p", 512, None)
    assert p["value"] == pytest.approx(0.0022, abs=1e-4)
    assert p["note"] == "30 against 10 sequences"
    lost = difference_rows([], [], "nothing is asked", quantity="drop")
    assert [(r["quantity"], r["status"], r["note"]) for r in lost] == [
        ("drop", "undefined", "nothing is asked"),
        ("drop_p", "undefined", "nothing is asked"),
    ]


def test_a_mean_of_equal_values_says_so() -> None:
    bounded = mean_row(np.full(32, 0.5), RNG(0), 50, "", (0.0, 1.0), quantity="q", note="k = 5")
    assert (bounded["low"], bounded["high"]) == all_equal(0.5, 32, (0.0, 1.0))
    assert bounded["note"] == "k = 5; all 32 equal"
    open_ended = mean_row(np.array([0.7, 0.7, np.nan]), RNG(0), 50, "", quantity="q")
    assert (open_ended["value"], open_ended["low"], open_ended["high"], open_ended["n"]) == (0.7, None, None, 2)
    assert open_ended["note"] == "all 2 equal"


def test_each_head_has_its_own_interval() -> None:
    values = np.stack([np.full(40, 0.25), np.arange(40.0) / 40, np.full(40, np.nan)], 1)
    rows = head_rows({"mass": values, "score": values}, RNG(0), 100, "none", {"mass": (0.0, 1.0)}, layer=1)
    assert [(r["quantity"], r["head"]) for r in rows] == [(q, h) for q in ("mass", "score") for h in range(3)]
    assert (rows[0]["low"], rows[0]["high"]) == all_equal(0.25, 40, (0.0, 1.0))
    assert rows[3]["low"] is None
    assert rows[0]["note"] == rows[3]["note"] == "all 40 equal"
    assert rows[1]["value"] == pytest.approx(0.4875)
    assert 0.3 < rows[1]["low"] < 0.4875 < rows[1]["high"] < 0.7
    assert rows[2]["status"] == rows[5]["status"] == "undefined"


def test_a_ratio_of_paired_differences() -> None:
    below = first(60, 100).astype(float)
    half = ratio_row(first(30, 100), below, RNG(0), 400, "", quantity="rescue")
    assert half["value"] == 0.5
    assert 0.3 < half["low"] < 0.5 < half["high"] < 0.7
    whole = ratio_row(below, below, RNG(0), 400, "", quantity="rescue")
    slack = tango(0, 0, 100)[1] / tango(60, 0, 100)[0]
    assert (whole["value"], whole["low"], whole["high"]) == pytest.approx((1.0, 1 - slack, 1 + slack))
    none = ratio_row(0 * below, below, RNG(0), 400, "", quantity="rescue")
    assert (none["value"], none["low"], none["high"]) == pytest.approx((0.0, -slack, slack))
    # Three sequences of 100 that differ do not yet show that the accuracies do.
    few = ratio_row(first(3, 100), first(3, 100), RNG(0), 400, "too near", quantity="rescue")
    assert (few["status"], few["note"]) == ("undefined", "too near")
    assert tango(3, 0, 100)[0] < 0 < tango(4, 0, 100)[0]


# ---- ablation ---------------------------------------------------------------------------------------
def compared(whole: Any, without: Any, losses: tuple[Any, Any]) -> list[Any]:
    study: Any = SimpleNamespace(rng=lambda *parts: RNG(0))
    answered = (Answers(np.asarray(r, dtype=float), x) for r, x in zip((whole, without), losses, strict=True))
    return Ablation()._compare(study, *answered, {"law": "matched", "length": 9, "target": "head"})


@pytest.mark.asserts("ablated_accuracy", "accuracy_drop", "accuracy_drop_p", "loss_rise")
def test_one_sequence_in_512_does_not_show_a_drop() -> None:
    """Resampled, this interval ended at 0 exactly; all that was lost is one answer, and one may be gained as well."""
    zero = np.zeros(512)
    accuracy, drop, p, rise = compared(first(512, 512), first(511, 512), (zero, zero + 0.5))
    assert (accuracy["quantity"], accuracy["value"]) == ("ablated_accuracy", 511 / 512)
    assert (drop["quantity"], drop["value"], drop["n"], drop["length"]) == ("accuracy_drop", 1 / 512, 512, 9)
    assert (drop["low"], drop["high"]) == tango(1, 0, 512)
    assert drop["low"] == pytest.approx(-0.0055, abs=1e-4)
    assert (p["quantity"], p["value"], p["note"]) == ("accuracy_drop_p", 1.0, "1 against 0 sequences")
    assert (rise["quantity"], rise["value"], rise["low"], rise["high"]) == ("loss_rise", 0.5, None, None)
    assert rise["note"] == "all 512 equal"


def test_a_part_that_hurts_has_a_drop_below_0_and_a_loss_that_falls() -> None:
    _, drop, p, rise = compared(first(10, 64), first(40, 64), (np.linspace(1, 2, 64), np.linspace(0.5, 1, 64)))
    assert drop["value"] == -30 / 64
    assert (drop["low"], drop["high"]) == tango(0, 30, 64)
    assert p["value"] < 1e-6
    assert rise["value"] == pytest.approx(-0.75)
    assert rise["low"] < -0.75 < rise["high"] < 0


def test_without_the_matching_head_loss_rises_by_what_hooks_say() -> None:
    model = induction_model(10, 9.0)
    found = ablation_statistics(model, KGRAM, trained=16, lengths=[16], modes=["zero"], factors=[1])
    batch = drawn(KGRAM, 16, 64)

    def zero(value: Tensor, hook: Any) -> Tensor:
        return torch.zeros_like(value)

    with torch.no_grad():
        whole = model(batch.tokens)
        without = model.run_with_hooks(batch.tokens, fwd_hooks=[("blocks.1.attn.hook_z", zero)])
    loss = [KGRAM.losses(out, batch)[:, -1].mean() for out in (without, whole)]
    right = [KGRAM.correct(out, batch)[:, -1].double().mean() for out in (whole, without)]
    assert found.value("loss_rise", target="matching heads") == pytest.approx(float(loss[0] - loss[1]), abs=1e-6)
    assert found.value("loss_rise", target="matching heads") > 0.5
    assert found.value("accuracy_drop", target="matching heads") == float(right[0] - right[1])
    assert found.value("loss_rise", target="nothing") == 0.0
    assert only(found.rows, quantity="accuracy_drop", target="nothing")["high"] == tango(0, 0, 64)[1]


# ---- swaps ------------------------------------------------------------------------------------------
N, LONG = 20, 101


def accuracy(model: HookedTransformer, batch: Any) -> float:
    with torch.no_grad():
        return float((model(batch.tokens)[:, -1].argmax(-1) == batch.targets[:, -1]).double().mean())


@pytest.mark.asserts(
    "hardmax_swap", "hardmax_swap_drop", "hardmax_swap_drop_p", "logn_swap", "logn_swap_gain", "logn_swap_gain_p"
)
def test_a_dissolved_matching_head_gains_from_its_top_key_and_from_log_n() -> None:
    """Margin 1.5 is outvoted at 101 keys. On its top key alone it is the head of an infinite margin; kept sharp it has
    the margin 1.5 log K / log K_train at the one query that counts. Its tie set is all keys, and says nothing."""
    model = induction_model(10, 1.5)
    found = swap_statistics(model, KGRAM, trained=N, lengths=[N, LONG], sequences=64, delta=0.0)
    batch = drawn(KGRAM, LONG, 64)
    own, hard = accuracy(model, batch), accuracy(induction_model(10, 60.0), batch)
    kept = accuracy(induction_model(10, 1.5 * math.log(LONG + 1) / math.log(N + 1)), batch)
    assert (hard, own < 0.8, kept > own + 0.05) == (1.0, True, True)
    place: dict[str, Any] = {"target": "head", "layer": 1, "head": 0, "length": LONG, "law": "matched"}
    assert found.value("logn_swap", **place) == kept
    assert found.value("logn_swap_gain", **place) == pytest.approx(kept - own)
    assert found.value("hardmax_swap", **place) == hard
    assert found.value("hardmax_swap_drop", **place) == pytest.approx(own - hard)
    drop, gain = (only(found.rows, quantity=name, **place) for name in ("hardmax_swap_drop_p", "logn_swap_gain_p"))
    assert 0 <= drop["value"] < 0.001
    changed = [int(count) for count in gain["note"].split()[:3:2]]
    assert gain["value"] == pytest.approx(sign_test(*changed))
    assert (changed[0] - changed[1]) / 64 == pytest.approx(kept - own)
    of_ties = swap_statistics(model, KGRAM, trained=N, lengths=[N, LONG], sequences=64)
    assert of_ties.value("hardmax_swap_drop", **place) > 0.1


def test_the_trained_number_of_keys_counts_bos(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    own = attention_swaps.log_scaled
    monkeypatch.setattr(attention_swaps, "log_scaled", lambda keys: asked.append(keys) or own(keys))
    swap_statistics(majority(), MAJORITY, trained=15, lengths=[15, 61], sequences=4)
    assert set(asked) == {16.0}


def test_a_counter_loses_nothing_to_its_own_hardmax_and_the_row_says_how_sure_that_is() -> None:
    found = swap_statistics(majority(), MAJORITY, trained=15, lengths=[15, 61], sequences=24)
    drop = only(found.rows, quantity="hardmax_swap_drop", target="all heads", length=61)
    assert (drop["value"], drop["low"], drop["high"]) == (0.0, *tango(0, 0, 24))


# ---- interchange ------------------------------------------------------------------------------------
def patched(**flags: Any) -> Patched:
    size = len(next(iter(flags.values())))
    names = ("follows_donor", "follows_recipient", "right", "donors_target", "donor_right", "recipient_right")
    return Patched(**{name: np.asarray(flags.get(name, first(0, size))) for name in names}, sequences=np.arange(size))


def rows_of() -> _Rows:
    model = majority()
    study: Any = SimpleNamespace(rng=lambda *parts: RNG(0), model=model, task=MAJORITY, cfg=model.cfg)
    return _Rows(study, 8, 400, 5)


SITE = "blocks.0.hook_attn_out"


def test_rescue_and_harm_are_shares_of_what_could_be_gained_and_lost() -> None:
    rows = rows_of()
    place: dict[str, Any] = {"law": "matched", "length": 40, "layer": 0, "site": SITE, "mode": "from 5"}
    up = patched(right=first(80, 100), recipient_right=first(60, 100), donor_right=first(100, 100))
    rescue = rows._ratio(SITE, True, {("same", SITE): up}, place)
    assert (rescue["quantity"], rescue["value"], rescue["status"]) == ("rescue", pytest.approx(0.5), "ok")
    assert 0.2 < rescue["low"] < 0.5 < rescue["high"] < 0.8
    down = patched(right=first(70, 100), recipient_right=first(100, 100), donor_right=first(60, 100))
    harm = rows._ratio(SITE, False, {("same", SITE): down}, place)
    assert (harm["quantity"], harm["value"]) == ("harm", pytest.approx(0.75))
    # The wrong way round there is nothing to rescue, and nothing to be harmed.
    assert rows._ratio(SITE, True, {("same", SITE): down}, place)["status"] == "undefined"
    assert rows._ratio(SITE, False, {("same", SITE): up}, place)["status"] == "undefined"


def test_the_deficit_is_within_minus_across_among_donors_that_are_right() -> None:
    right = first(50, 60)
    within = {("same", SITE): patched(follows_donor=first(60, 60), donor_right=right)}
    across = {("same", SITE): patched(follows_donor=first(30, 60), donor_right=right)}
    rows = rows_of()
    found = rows._deficit(SITE, across, within, {"length": 40})
    assert (found["quantity"], found["n"]) == ("across_length_deficit", 50)
    assert found["value"] == pytest.approx(0.4)  # 50 of 50 against 30 of 50
    assert (found["low"], found["high"]) == pytest.approx(newcombe(50, 50, 30, 50))
    same = rows._deficit(SITE, within, within, {"length": 40})
    assert (same["value"], same["low"], same["high"]) == pytest.approx((0.0, *newcombe(50, 50, 50, 50)))
    assert same["high"] > 0.05
    nobody = {("same", SITE): patched(follows_donor=first(60, 60))}
    assert rows._deficit(SITE, across, nobody, {"length": 40})["status"] == "undefined"


def exchanged(window: int | None) -> Result:
    model = majority() if window is None else majority(window=window)
    return interchange_statistics(model, MAJORITY, trained=9, lengths=[9, 41], sequences=256, factors=[4], suffix=4)


def chosen(strings: Any, length: int) -> Any:
    """Recipients of a length that can have a donor of the other: lead of at most 9."""
    return (2 * (strings[:, 1:] - 1) - 1)[:, :length].sum(1)


@pytest.mark.asserts(
    "prefix_exchange_agreement", "kv_splice_agreement", "follows_donor", "follows_recipient", "across_length_deficit"
)
def test_of_a_sound_counter_a_row_of_equal_lead_is_followed_and_kept() -> None:
    found = exchanged(None)
    for mode, length in (("from 9", 41), ("from 41", 9)):
        place: dict[str, Any] = {"site": SITE, "mode": mode, "length": length, "control": ""}
        assert found.value("follows_donor", **place) == 1.0
        assert found.value("follows_recipient", **place) == 1.0
        assert found.value("prefix_exchange_agreement", mode=mode, length=length, control="") == 1.0
        assert found.value("kv_splice_agreement", mode=mode, length=length, control="", layer=None) == 1.0
    assert found.value("across_length_deficit", site=SITE, mode="from 9") == 0.0
    random = found.value("follows_recipient", site=SITE, mode="from 9", length=41, control="random donor")
    assert random < 0.8
    agreed = only(found.rows, quantity="prefix_exchange_agreement", mode="from 9", length=41, control="")
    assert (agreed["low"], agreed["high"]) == all_equal(1.0, agreed["n"], (0.0, 1.0))
    for quantity in ("rescue", "harm"):
        assert {r["status"] for r in found.rows if r["quantity"] == quantity} == {"undefined"}


@pytest.mark.asserts("rescue", "harm")
def test_of_its_twin_that_sees_the_first_tokens_attention_is_what_fails() -> None:
    """Rescue 1 and harm 1 behind attention; the recipient is followed exactly as often as it is right itself."""
    found = exchanged(9)
    up: dict[str, Any] = {"site": SITE, "mode": "from 9", "length": 41}
    assert found.value("follows_donor", control="", **up) == 1.0
    assert found.value("rescue", **up) == 1.0
    assert found.value("harm", site=SITE, mode="from 41", length=9) == 1.0
    batch, short = drawn(MAJORITY, 41, 256), drawn(MAJORITY, 41, 256).prefix(9)
    leads = {int(lead) for lead in chosen(short.tokens, 9)}
    lead = chosen(batch.tokens, 41)
    has = torch.tensor([int(x) in leads for x in lead])
    right = ((chosen(batch.tokens, 9) > 0) == (lead > 0))[has].double().mean()
    assert 0.5 < float(right) < 0.9
    assert found.value("follows_recipient", control="", **up) == pytest.approx(float(right))
