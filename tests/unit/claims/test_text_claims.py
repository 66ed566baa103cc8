"""The suite ``text``: losses of single texts on models whose answers are known, and verdicts of losses made by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.circuits.planted_adder import adder
from tests.support.claims.made_by_hand import table_for, with_seeds
from tests.unit.circuits.sparsity.test_few_tokens import SOURCE, without_numbers
from workbench.claims.claim import Claim
from workbench.claims.claim_pages import suite_page
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import reduce_runs
from workbench.claims.suites.golowich_text import LATE, LONG, OF_TWO, POSE, ROPE
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained.claim_runs import runs_of
from workbench.claims.trained.in_text import text_losses
from workbench.claims.trained.in_text.regained import by_text, correlations, slopes
from workbench.claims.trained.in_text.text_losses import (
    config_otherwise,
    ending_of,
    few_token_rows,
    fit_by_bigrams,
    last_byte_rows,
    overlap_rows,
    whole_texts,
)
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained_cells import TrainedCell
from workbench.claims.verdict_rule import judge
from workbench.tasks import make_task
from workbench.tasks.base import Batch

CLAIMS = {claim.id: claim for claim in SUITES.find("text").claims}


@dataclass(frozen=True)
class Knowing(TrainedRun):
    """Gives the right byte a probability that hangs on the length of the context; the rest is shared evenly."""

    sure: Any = None

    @property
    def cfg(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ids=SimpleNamespace(predicted=False))

    def answers(self, batch: Batch) -> dict[str, Tensor]:
        p = self.sure(batch.length)
        shape = (*batch.tokens.shape, 256)
        logits = torch.full(shape, math.log((1 - p) / 255), dtype=torch.float64)
        return {"logits": logits.scatter(2, batch.targets[..., None], math.log(p))}


def knowing(sure: Any) -> Knowing:
    return Knowing(SimpleNamespace(trained_length=8), None, make_task("text", folder="generated"), sure)  # type: ignore[arg-type]


# ---- losses of texts -------------------------------------------------------------------------------
def test_losses_under_two_contexts_are_those_of_the_same_texts() -> None:
    rows = list(last_byte_rows(knowing(lambda length: {8: 0.25, 16: 0.5}[length]), 8, 30))
    found = {row["quantity"]: row for row in rows if "text" not in row.get("setting", "")}
    assert found["loss with twice the context"]["value"] == pytest.approx(math.log(2))
    assert found["loss with the context"]["value"] == pytest.approx(math.log(4))
    both = found["loss with twice the context less with it"]
    assert [both[key] for key in ("value", "low", "high")] == pytest.approx([-math.log(2)] * 3)
    assert both["n"] == 30
    single = [row for row in rows if row["quantity"] == "loss with 16 bytes of a text"]
    assert [row["setting"] for row in single] == [f"text {i}" for i in range(30)]
    assert {row["value"] for row in single} == {round(math.log(2), 5)}


def test_the_interval_of_a_mean_is_that_of_a_sample() -> None:
    """Of 0 and 2 the spread is the root of 2, and that of their mean 1."""
    found = text_losses._mean(np.array([0.0, 2.0]))
    assert [found[key] for key in ("value", "low", "high", "n")] == pytest.approx([1.0, -0.96, 2.96, 2])
    assert found["spread"] == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(("p", "label"), [(0.25, "pass"), (0.001, "fail")])
def test_a_run_is_fitted_if_it_is_right_more_often_than_bigrams(p: float, label: str) -> None:
    """With a quarter the right byte is the likeliest one, with a thousandth it is the least likely."""
    rows = {row["quantity"]: row for row in last_byte_rows(knowing(lambda length: p), 8, 100)}
    assert rows["fitted"]["label"] == label
    assert rows["accuracy of the last byte"]["value"] == (1.0 if label == "pass" else 0.0)
    assert 0.3 < rows["accuracy of bigrams"]["value"] < 0.8


def test_the_shorter_context_is_the_end_of_the_text_and_asks_for_the_same_byte() -> None:
    whole = whole_texts(knowing(lambda length: 0.5), 8, 5)
    end = ending_of(whole, 8)
    assert end.tokens.shape == (5, 9)
    assert (end.tokens[:, 0] == 0).all()
    assert (end.tokens[:, 1:] == whole.tokens[:, 9:]).all()
    assert (end.targets[:, -1] == whole.targets[:, -1]).all()
    assert (end.targets[:, 1:-1] == end.tokens[:, 2:] - 1).all()
    assert not end.mask[:, 0].any()
    assert end.mask[:, 1:].all()
    assert end.index(end.length) == 8


def planted_run(model: Any) -> TrainedRun:
    """A run whose answer is one number far back, or within the last half."""
    return TrainedRun(SimpleNamespace(trained_length=32, config={}), model, SOURCE)  # type: ignore[arg-type]


def test_one_planted_token_regains_all_and_random_ones_what_they_hit() -> None:
    rows = list(few_token_rows(planted_run(adder(SOURCE)), 32, 60))
    long, short, sparse, random = (
        np.array([row["value"] for row in rows if row["quantity"] == f"loss, {kind}"])
        for kind in ("long", "short", "sparse", "random")
    )
    assert len(long) == 60
    gain = short - long
    assert 15 < (gain > 0.4).sum() < 45
    assert np.corrcoef(gain, short - sparse)[0, 1] == pytest.approx(1.0, abs=1e-9)
    assert np.polyfit(gain, short - sparse, 1)[0] == pytest.approx(1.0, abs=1e-6)
    far = gain > 0.4
    hit = np.isclose(random, long, atol=1e-4)
    assert (hit | np.isclose(random, short, atol=1e-4)).all()
    assert np.mean(hit[far]) < 0.3


def test_losses_of_two_models_with_the_tokens_that_the_other_one_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_losses, "trained_otherwise", lambda run, other: replace(run, model=without_numbers()))
    rows = list(few_token_rows(planted_run(adder(SOURCE)), 32, 40, {"model": {}}))

    def values(kind: str, of: str) -> np.ndarray:
        wanted = [r["value"] for r in rows if r["quantity"] == f"loss, {kind}" and r.get("setting", "").startswith(of)]
        return np.array(wanted)

    assert values("long", "own tokens") == pytest.approx(values("long", "the other model's tokens"))
    # The blind model takes the first five places; the reader's number stands there in some texts, in most elsewhere.
    blind, short = values("sparse", "the other model's tokens"), values("short", "the other model's tokens")
    gains = short - values("long", "own tokens") > 0.4
    assert 0 < np.isclose(blind, short, atol=1e-4)[gains].mean() < 1
    assert values("sparse", "other model, this one's tokens") == pytest.approx(math.log(32), abs=1e-4)
    over = {row["quantity"]: row for row in rows if row["quantity"].startswith("overlap")}
    assert over["overlap over chance"]["n"] == 40


def test_overlaps_over_chance() -> None:
    one = np.array([[1, 2], [3, 4], [5, 6]])
    rows = {row["quantity"]: row["value"] for row in overlap_rows(one, one, 8)}
    assert rows["overlap over chance"] == pytest.approx(2 / (4 / 8))
    assert rows["overlap with another text's over chance"] == 0.0


def test_the_other_of_two_runs_is_one_of_pose_on_seeds_of_its_own() -> None:
    own = LONG.config(2)
    found = config_otherwise(own.as_json(), own.task, OF_TWO.settings["other"])
    assert found == replace(POSE, seeds=(1002,)).config(1002)
    assert own.training.trained_length == 128
    assert found.training.trained_length == 64


def test_the_runs_differ_in_what_the_claims_compare() -> None:
    pose, rope, late = (one.config(0) for one in (POSE, ROPE, LATE))
    assert pose.model.ids.name == late.model.ids.name == "pose"
    assert rope.model.ids.name == "arange"
    assert late.training.id_schedule is not None
    assert late.training.id_schedule.over == 0.7 * late.training.steps
    assert pose.model.n_ctx == rope.model.n_ctx == LONG.config(0).model.n_ctx
    assert [one.training["batch_size"] * one.longest for one in (POSE, ROPE, LATE, LONG)] == [1024] * 4


# ---- verdicts --------------------------------------------------------------------------------------
def verdict(claim: Claim, value: Any, **more: Any) -> tuple[str, str]:
    claim = with_seeds(claim)
    said = judge(claim, *reduce_runs(claim, table_for(claim, value, **more))[::2])
    return said.verdict, said.cause


def regaining(share: float, by_chance: float = 0.0, noise: float = 0.0) -> Any:
    """Losses of texts that gain 0, 1, 2, .. nats of far context, of which shares are regained."""

    def value(one: TrainedCell, seed: int, told: str) -> float:
        kind, place = told.split(", ")[1], int(told.rpartition(" ")[2])
        parts = {"long": 1.0, "short": 0.0, "sparse": share, "random": by_chance}
        odd = noise * (-1) ** (place // 2) if kind == "sparse" else 0.0
        return 50.0 - place * parts[kind] + odd

    return value


@pytest.mark.parametrize("number", ["TX04", "TX05"])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        (regaining(1.0), "holds"),
        (regaining(0.7, 0.1), "holds"),
        (regaining(0.4), "does not hold at this scale"),
        (regaining(1.0, 0.5), "does not hold at this scale"),
        (regaining(1.0, 0.0, 300.0), "does not hold at this scale"),
    ],
)
def test_few_tokens_must_regain_half_and_random_ones_little(number: str, value: Any, says: str) -> None:
    claim = CLAIMS[number]

    def with_overlap(one: TrainedCell, seed: int, told: str) -> float:
        return 0.0 if ", text " not in told else value(one, seed, told) if told.startswith("loss, ") else 0.0

    assert verdict(claim, with_overlap)[0] == says
    assert verdict(claim, with_overlap, fitted=lambda one, seed: False) == ("undecided", "fit")


def test_slopes_and_correlations_are_numpys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, 30))
    assert slopes(x, y) == pytest.approx([np.polyfit(a, b, 1)[0] for a, b in zip(x, y, strict=True)])
    assert correlations(x, y) == pytest.approx([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])
    assert slopes(np.ones((1, 4)), np.ones((1, 4))) == correlations(np.ones((1, 4)), np.ones((1, 4))) == 0


@pytest.mark.parametrize(
    ("number", "difference", "says"),
    [
        ("TX01", -0.2, "holds"),
        ("TX01", 0.2, "does not hold at this scale"),
        ("TX02", 0.2, "holds"),
        ("TX02", -0.2, "does not hold at this scale"),
    ],
)
def test_the_sign_of_what_twice_the_context_does(number: str, difference: float, says: str) -> None:
    assert verdict(CLAIMS[number], lambda one, seed, told: difference)[0] == says


@pytest.mark.parametrize(
    ("worse", "says"),
    [(0.1, ("holds", "")), (-0.1, ("does not hold at this scale", "")), (0.0, ("undecided", "threshold"))],
)
def test_pose_from_scratch_against_late_pose_is_paired_by_text(worse: float, says: tuple[str, str]) -> None:
    """Texts differ by far more than the two models do: paired, that is nothing."""

    def value(one: TrainedCell, seed: int, told: str) -> float:
        place = int(told.rpartition(" ")[2]) if ", text " in told else 0
        own = one.name == POSE.name
        return 3.0 * place + (worse if own else 0.0) + 0.01 * ((place + own) % 2)

    assert verdict(CLAIMS["TX03"], value) == says


@pytest.mark.parametrize(("times", "says"), [(4.0, "holds"), (2.0, "does not hold at this scale")])
def test_both_models_must_choose_the_same_tokens(times: float, says: str) -> None:
    assert verdict(CLAIMS["TX06"], lambda one, seed, told: times)[0] == says


def test_texts_keep_their_order_and_what_was_not_measured_is_told() -> None:
    claim = CLAIMS["TX03"]
    table = table_for(claim, lambda one, seed, told: float(told.rpartition(" ")[2]) if ", text " in told else 0.0)
    run = runs_of(POSE, table)[0]
    assert by_text(run, "loss with 128 bytes of a text").tolist() == list(range(40))
    with pytest.raises(ClaimError, match="seed 0"):
        by_text(run, "loss, odd")


def test_pages_of_trained_suites_say_what_models_of_the_papers_have_and_ours_have_not() -> None:
    sentence = "parallel attention and MLP blocks, dropout, and the parametrization muP. Our models have none of these."
    for suite in SUITES.values():
        trained = any(claim.trained for claim in suite.claims)
        assert (sentence in suite_page(suite, {})) == trained
    assert sentence in suite_page(SUITES.find("text"), {})
    assert sentence not in suite_page(SUITES.find("crasp-exact"), {})


def test_slopes_and_correlations_of_draws_are_0_where_nothing_varies() -> None:
    x, y = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]), np.array([[2.0, 6.0, 4.0]] * 2 + [[1.0] * 3])
    assert slopes(x, y).tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert correlations(x, y).tolist() == pytest.approx([0.5, 0.0, 0.0])


@pytest.mark.parametrize(
    ("better", "worse", "fitted"), [(6, 0, True), (5, 0, False), (0, 0, False), (0, 6, False), (20, 8, True), (20, 12, False)]
)  # fmt: skip
def test_a_model_of_text_beats_bigrams_by_more_than_chance(better: int, worse: int, fitted: bool) -> None:
    """Beside those on which they differ, two texts on which both are right and one on which none is."""
    model = torch.tensor([True] * better + [False] * worse + [True, True, False])
    bigram = torch.tensor([0.0] * better + [1.0] * worse + [1.0, 1.0, 0.0])
    run: Any = SimpleNamespace(
        right=lambda batch: (model, None), task=SimpleNamespace(shortcuts=lambda batch, k: {"bigram": bigram})
    )
    one, other, said = fit_by_bigrams(run, SimpleNamespace(length=8))  # type: ignore[arg-type]
    n = better + worse + 3
    assert (one["value"], other["value"]) == pytest.approx(((better + 2) / n, (worse + 2) / n))
    assert {(row["length"], row["n"]) for row in (one, other)} == {(8, n)}
    assert (said["quantity"], said["value"], said["label"]) == ("fitted", float(fitted), "pass" if fitted else "fail")
