"""Behaviour in context of models by hand that copy exactly up to a known number of items."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.circuits.copying_in_context import copying, model_by_hand
from tests.support.tasks.presenting import Copier, put
from workbench.measure.in_context.measurement import AnswerShares, InContext, longer_question, verdict_rows
from workbench.measure.in_context.neighbour_asymmetry import NeighbourAsymmetry
from workbench.measure.in_context.verdict import limits
from workbench.measure.intervals import tango
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy, run
from workbench.measure.study import Evaluation
from workbench.models import ModelConfig
from workbench.tasks.random_generator import generator

LENGTHS = (4, 8, 16, 32, 64)
SYMBOLS = 64


def found(reach: int, window: int = 1000, lengths: tuple[int, ...] = LENGTHS) -> Any:
    task = put("uf", "bare", SYMBOLS, lengths, window)
    model = Copier(ModelConfig(d_vocab=task.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=8), reach)
    return run(InContext(), model, task, trained=task.fitting, sequences=128)


def label(result: Any) -> tuple[str, int]:
    row = next(r for r in result.rows if r["quantity"] == "in_context_verdict")
    assert row["target"] == "bare"
    return row["label"], row["length"]


@pytest.mark.asserts(
    "answer_accuracy", "candidate_accuracy", "answer_log_probability", "candidate_chance", "answer_skill",
    "prompt_tokens", "window_share",
)  # fmt: skip
def test_a_copier_is_right_up_to_its_reach_and_its_log_probability_is_that_of_its_logits() -> None:
    result = found(16)
    for n in LENGTHS:
        far = n > 16
        assert result.value("answer_accuracy", length=n) == (0.0 if far else 1.0)
        assert result.value("candidate_accuracy", length=n) == 1.0
        others = 100 + SYMBOLS - 1 - far  # their logits are 0
        total = math.exp(4) + far * math.exp(2) + others
        wanted = (2 if far else 4) - math.log(total)
        assert result.value("answer_log_probability", length=n) == pytest.approx(wanted, abs=1e-5)
        assert result.value("candidate_chance", length=n) == 1 / SYMBOLS
        skill = -1 / (SYMBOLS - 1) if far else 1.0
        assert result.value("answer_skill", length=n) == pytest.approx(skill)
        assert result.value("prompt_tokens", length=n) == 2 * n
        assert result.value("window_share", length=n) == 2 * n / 1000
    row = next(r for r in result.rows if r["quantity"] == "answer_accuracy" and r["length"] == 8)
    assert (row["n"], row["high"]) == (128, 1.0)
    assert row["low"] == pytest.approx(0.025 ** (1 / 128))


def test_shares_of_logits_with_a_gradient_are_those_without() -> None:
    """A caller's own forward pass may record gradients."""
    study = ModelStudy(model_by_hand(), copying(), Grid(16, (16,), (16,), ()), 4, 0)
    batch = study.batch("matched", 16)
    logits = study.model(batch.tokens).detach()
    shares = []
    for recorded in (False, True):
        observer = AnswerShares(study, batch)
        observer.see(0, slice(None), batch, {observer.groups[0][0]: logits.clone().requires_grad_(recorded)})
        shares.append(observer.shares())
    for name, values in shares[0].items():
        assert shares[1][name].tolist() == values.tolist()
    assert shares[0]["answer_accuracy"].tolist() == [1.0] * 4


@pytest.mark.asserts("in_context_verdict", "decays_from", "capable_from", "judged_skill")
def test_the_verdicts_are_those_of_what_the_model_can_do() -> None:
    decays = found(16)
    assert label(decays) == ("decays", 32)
    assert (decays.value("decays_from"), decays.value("capable_from")) == (32, 4)
    row = next(r for r in decays.rows if r["quantity"] == "in_context_verdict")
    assert "at 32 items (64 tokens, 6.4 % of the window), below 0.9 of the 0.959 shown at 4 items" in row["note"]
    assert row["note"].endswith("; capable from 4 items")
    assert label(found(64)) == ("holds", 64)
    assert label(found(2)) == ("not capable", 64)
    last = found(32)
    assert label(last) == ("undecided", 64), "the last length fails alone, and none follows"
    row = next(r for r in last.rows if r["quantity"] == "in_context_verdict")
    assert row["note"].endswith("no longer question fits"), "64 symbols make no longer copy"


def test_the_verdict_is_that_of_the_stored_rows() -> None:
    for reach in (2, 16, 32, 64):
        rows = found(reach).rows
        (verdict,) = (r for r in rows if r["quantity"] == "in_context_verdict")
        again = verdict_rows(rows, 1000, "bare", 128)
        assert [r["label"] for r in again if r["quantity"] == "in_context_verdict"] == [verdict["label"]]
    limited = {r["length"]: (r["low"], r["high"]) for r in rows if r["quantity"] == "judged_skill"}
    chance = 1 / SYMBOLS
    low = (0.025 / 5) ** (1 / 128)
    assert limited == {n: (pytest.approx((low - chance) / (1 - chance)), 1.0) for n in LENGTHS}


def test_a_longer_question_is_named_where_one_fits() -> None:
    task = put("uf", "bare", SYMBOLS, LENGTHS, 100)
    assert longer_question(task, 16) == 32
    assert longer_question(task, 40) == 50, "of as many tokens as the window has"
    assert longer_question(task, 50) is None
    wide = put("uf", "bare", SYMBOLS, LENGTHS, 1000)
    assert [longer_question(wide, n) for n in (48, 64)] == [64, None], "it has so many symbols"
    row = next(r for r in found(16, lengths=(4, 8, 16, 32)).rows if r["quantity"] == "in_context_verdict")
    assert row["note"].endswith("a longer length would tell: --lengths 4,8,16,32,64")


def test_lengths_beyond_the_window_are_not_judged() -> None:
    result = found(16, window=40)
    assert label(result) == ("holds", 16)
    assert [r["length"] for r in result.rows if r["quantity"] == "judged_skill"] == [4, 8, 16]
    nothing = found(16, window=8, lengths=(4, 8))
    assert label(nothing) == ("undecided", 4)
    row = next(r for r in nothing.rows if r["quantity"] == "in_context_verdict")
    assert row["reason"] == "horizon"


def test_limits_of_shares_are_exact_for_one_answer_and_never_without_width() -> None:
    rng = np.random.default_rng(0)
    assert limits(np.ones(64), 0.025, rng) == (pytest.approx(0.025 ** (1 / 64)), 1.0)
    low, high = limits(np.full(64, 0.5), 0.025, rng)
    assert low < 0.5 < high
    low, high = limits(np.array([0.5, 0.75] * 50), 0.025, rng)
    assert 0.58 < low < 0.61 < 0.64 < high < 0.67


@pytest.mark.asserts("neighbour_asymmetry", "neighbour_asymmetry_p", "candidate_asymmetry", "candidate_asymmetry_p")
@pytest.mark.parametrize("side", ["ur", "ul"])
def test_a_copier_finds_the_right_neighbour_and_not_the_left_one(side: str) -> None:
    """As far as it reaches each pair is right on the one side only; beyond, on neither, and nothing is claimed."""
    task = put(side, "bare", SYMBOLS, (4, 64), 1000)
    model = Copier(ModelConfig(d_vocab=task.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=8), reach=6)
    result = run(NeighbourAsymmetry(), model, task, trained=task.fitting, lengths=[4, 64], sequences=128)
    rows = {(r["quantity"], r["length"]): r for r in result.rows}
    # Where both neighbours are one word, what follows the query is the left one too.
    left = (
        Evaluation(put("ul", "bare", SYMBOLS, (4,), 1000), Grid(4, (4,), (4,), ()), 0, 128).batch("matched", 4).tokens
    )
    place = (left[:, 1:5] == left[:, -1:]).long().argmax(1, keepdim=True) + 1
    both = int((left.gather(1, place - 1) == left.gather(1, place + 1)).sum())
    assert both < 8
    for name in ("neighbour_asymmetry", "candidate_asymmetry"):
        near, far = rows[name, 4], rows[name, 64]
        assert (near["value"], near["n"]) == (1 - both / 128, 128)
        assert (near["low"], near["high"]) == tango(128 - both, 0, 128)
        assert rows[f"{name}_p", 4]["value"] == pytest.approx(2 * 0.5 ** (128 - both))
        assert rows[f"{name}_p", 4]["note"] == f"{128 - both} against 0 sequences"
        # Beyond its reach it says another token, and still what it would have said among the symbols.
        assert far["value"] <= 0.2 if name == "neighbour_asymmetry" else far["value"] >= 0.9
        assert far["target"] == "bare"


def test_the_two_sides_are_asked_of_the_same_strings_but_for_the_query() -> None:
    right, left = (put(side, "bare", SYMBOLS, (16,), 1000) for side in ("ur", "ul"))
    one, other = (task.sample(64, 16, generator("evaluate", 0, "matched", 16, 0), "matched") for task in (right, left))
    assert ((one.tokens != other.tokens).sum(1) <= 2).all(), "the query is exchanged with the item behind it"
    assert (one.tokens[:, -1] == other.tokens[:, -1]).all(), "the same query"


def test_other_tasks_have_no_sides() -> None:
    task = put("uf", "bare", SYMBOLS, (4,), 1000)
    model = Copier(ModelConfig(d_vocab=task.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=8), reach=6)
    result = run(NeighbourAsymmetry(), model, task, trained=task.fitting, lengths=[4], sequences=64)
    assert {(r["status"], r["note"]) for r in result.rows} == {
        ("not_applicable", "it asks for the right and the left neighbour (ur, ul), and this task is uf")
    }
