"""Cosines of codes that are equal, turned or absent, over lengths and over training."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from probes.codes.drift import Cosine, first_settled_step
from probes.residual_stream import TARGET
from tests.support.probes.drift import between, turned
from workbench.models import HookedTransformer
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority


@pytest.mark.parametrize("degrees", [0, 45, 90, 180])
def test_the_angle_between_two_codes(degrees: float) -> None:
    found = between(turned(0.3, 0.3, 1), turned(0.3 + math.radians(degrees), 0.3, 2, scale=2, offset=5))
    assert found.value == pytest.approx(math.cos(math.radians(degrees)), abs=0.03)
    assert found.low <= found.value <= found.high


def test_noise_lowers_no_cosine() -> None:
    """Means of 200 rows in noise of 24 x 2^2: without halves the cosine of equal codes would be .8."""
    a, b = turned(0, 2.0, 1), turned(0, 2.0, 2)
    means = [torch.stack([r.x[0][r.labels[TARGET] == c].mean(0) for c in (0, 1)]) for r in (a, b)]
    codes = [(m - m.mean(0)).flatten() for m in means]
    naive = float(codes[0] @ codes[1] / (codes[0].norm() * codes[1].norm()))
    found = [between(turned(0, 2.0, seed), turned(0, 2.0, 100 + seed)).value for seed in range(20)]
    assert naive < 0.9
    assert np.mean(found) == pytest.approx(1, abs=0.05)


def test_no_code_has_no_angle() -> None:
    found = between(turned(0, 0.3, 1), turned(0, 0.3, 2, scale=0))
    assert found.problem == "the code is not above its sampling noise"
    assert math.isnan(found.value)
    broken = turned(0, 0.3, 1)
    broken.x[0, 3, 3] = torch.inf
    assert between(broken, turned(0, 0.3, 2)).problem == "activations are not finite"


def test_when_a_code_settled() -> None:
    away, close, lost = Cosine(0.5), Cosine(0.95), Cosine(problem="no code")
    assert first_settled_step([1, 2, 4, 8], [close, away, close, close], 16) == 4
    assert first_settled_step([1, 2, 4, 8], [close, close, close, close], 16) == 1
    assert first_settled_step([1, 2, 4, 8], [close, close, close, away], 16) == 16
    assert first_settled_step([1, 2, 4, 8], [close, close, lost, close], 16) == 8
    assert first_settled_step([], [], 16) == 16


def rotated(model: Any, degrees: float) -> Any:
    """The same function of the tokens, in a residual stream turned by an angle in the planes of neighbouring axes."""
    made, angle = copy.deepcopy(model), math.radians(degrees)
    d = made.cfg.d_model
    turn = torch.block_diag(
        *[torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])] * (d // 2)
    )
    with torch.no_grad():
        for name, weight in made.named_parameters():
            part, turned = name.rpartition(".")[2], turn.to(weight)
            if part in ("W_E", "W_O", "W_out", "b_O", "b_out"):  # what is written
                weight.copy_(weight @ turned)
            elif part in ("W_Q", "W_K", "W_V", "W_in", "W_U"):  # what is read
                weight.copy_(turned.T @ weight)
    return made


@pytest.mark.asserts("drift", "settled_step")
def test_rows_of_a_run_over_lengths_and_steps(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    model = majority(gain_length=400)
    before = {0: rotated(model, 60), 50: rotated(model, 20)}
    run = make_run(model, Majority(), 25, steps=(0, 50, 100), earlier=before)
    rows = measured(run, 100, "probes.drift", lengths=[51, 101], resamples=50)
    last = [r for r in rows if r["site"] == "blocks.1.hook_resid_post" and not r["control"]]
    lengths = {(r["length"], r["target"]) for r in last if r["mode"] == "length"}
    assert lengths == {(a, str(b)) for a in (7, 13, 25, 51, 101) for b in (13, 25, 51, 101) if a < b}
    assert {r["site"] for r in rows if r["site"]} == {
        "blocks.0.hook_resid_pre",
        "blocks.0.hook_resid_post",
        "blocks.1.hook_resid_post",
    }
    for site in {r["site"] for r in rows if r["site"]}:
        steps = {r["target"]: r["value"] for r in rows if r["mode"] == "step" and r["site"] == site}
        expected = {str(step): math.cos(math.radians(angle)) for step, angle in ((0, 60), (50, 20))}
        assert steps == pytest.approx(expected, abs=1e-3), site
        (when,) = [r for r in rows if r["quantity"] == "settled_step" and r["site"] == site]
        assert (when["value"], when["status"]) == (50, "ok")  # cos 20 = .94, cos 60 = .5: settled from 50 on
    (first,) = [
        r
        for r in measured(run, 0, "probes.drift", lengths=[51], resamples=50)
        if r["quantity"] == "settled_step" and r["site"] == "blocks.1.hook_resid_post"
    ]
    assert (first["value"], first["status"]) == (0, "censored")


def test_controls_of_cosines_over_lengths(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    model = majority(gain_length=400)
    random = HookedTransformer(model.cfg.model_copy(update={"initializer_range": 1.0}), seed=1)
    run = make_run(model, Majority(), 25, steps=(0, 100), earlier={0: random})
    rows = measured(run, 100, "probes.drift", lengths=[51, 101], sequences=256, resamples=50)
    last = [r for r in rows if r["site"] == "blocks.1.hook_resid_post" and r["mode"] == "length" and r["length"] == 25]
    at = {(r["control"], r["target"]): r for r in last}
    names = {"", "shuffled_labels", "hashed_labels", "untrained", "token_only", "last_8_tokens"}
    assert set(at) == {(name, m) for name in names for m in ("51", "101")}
    before = measured(run, 0, "probes.drift", lengths=[51, 101], sequences=256, resamples=50)
    (own,) = [
        r
        for r in before
        if (r["site"], r["mode"], r["length"], r["target"], r["control"])
        == ("blocks.1.hook_resid_post", "length", 25, "101", "")
    ]
    assert at["untrained", "101"]["value"] == own["value"]
    for label in ("shuffled_labels", "hashed_labels"):
        assert at[label, "101"]["status"] == "undefined" or at[label, "101"]["value"] < 0.9
    assert {r["site"] for r in rows if r["control"]} == {"blocks.1.hook_resid_post"}


def test_a_damaged_checkpoint_is_named_and_the_others_are_compared(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    run = make_run(majority(gain_length=400), Majority(), 9, steps=(0, 50, 100))
    (run.path / "steps" / "00000050" / "model.safetensors").write_bytes(b"broken")
    rows = measured(run, 100, "probes.drift", lengths=[19], resamples=20, layers=[1])
    status = {r["target"]: (r["status"], "50" in r["note"]) for r in rows if r["mode"] == "step"}
    assert status == {"0": ("ok", False), "50": ("undefined", True)}


def test_classes_that_are_missing_somewhere_are_named(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    run = make_run(majority(gain_length=400), Majority(), 9)
    rows = measured(run, 100, "probes.drift", lengths=[19], sequences=8, resamples=20)
    assert {r["status"] for r in rows} == {"undefined"}
    assert all("sequences per half" in r["note"] for r in rows)
