"""Measuring handmade models end to end: known verdicts, shards as done markers, damage named."""

from __future__ import annotations

import re

import pytest
import torch

from tests.support.measure.measuring import Counting, measured
from workbench.measure.request import MeasureRequest
from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all
from workbench.measure.running.plan import execute, plan
from workbench.measure.settings import MeasurementError
from workbench.measure.study import CheckpointStudy, Evaluation, forward
from workbench.models.handmade.transformers import majority
from workbench.table import Table
from workbench.table.shards import seconds_of
from workbench.tasks import make_task

TASK = make_task("majority")


def label(table: Table) -> str:
    return table.frame(quantity="verdict")["label"].item()


def test_the_exact_counter_is_scale_robust(make_run) -> None:
    table, problems = measured(make_run(majority(), TASK, trained=9), sequences=512)
    assert problems == []
    assert label(table) == "scale-robust"
    accuracy = table.frame(quantity="accuracy")
    assert (accuracy["value"] == 1).all()
    assert set(accuracy["law"]) == {"matched", "challenge"}
    assert accuracy["length"].max() == 73
    assert (table.frame(quantity="failure_length")["status"] == "censored").all()


def test_the_window_twin_is_length_coupled_and_fails_at_the_first_length(make_run) -> None:
    table, _ = measured(make_run(majority(window=19), TASK, trained=19, top_id=4095))
    assert label(table) == "length-coupled"
    failures = table.frame(quantity="failure_length").set_index("law")
    assert failures.loc["challenge", "low"] == 19
    assert failures.loc["challenge", "value"] == 57, "the first length from 8N/3 on"
    challenge = table.frame(quantity="accuracy", law="challenge").set_index("length")["value"]
    # Sorted with a uniform count: the window tells the order of the symbols but not where it turns.
    assert challenge[153] == pytest.approx(0.5 + 19 / (2 * 154), abs=0.08)
    assert (challenge[[5, 11, 19]] == 1).all()


def test_ids_outside_the_trained_ones_are_said_to_be_that(make_run) -> None:
    table, _ = measured(make_run(majority(window=19), TASK, trained=19))
    assert label(table) == "unseen position"
    accuracy = table.frame(quantity="accuracy")
    assert set(accuracy[accuracy["length"] > 19]["status"]) == {"unseen_position"}
    assert set(accuracy[accuracy["length"] <= 19]["status"]) == {"ok"}


def test_a_blurred_threshold_errs_on_near_ties_only(make_run) -> None:
    """Gain for length 9, read at 153: errs exactly where the lead is 1 (40 (d - 1/2) / 154 <= 1/2)."""
    table, _ = measured(make_run(majority(gain_length=9), TASK, trained=19), sequences=4096, lengths=[153])
    strata = table.frame(quantity="stratum_accuracy", length=153, law="challenge").set_index("target")
    # With a lead of +1 it answers 0, with -1 it answers 0 as well: right half the time.
    assert strata.loc["lead 1", "value"] == pytest.approx(0.5, abs=0.15)
    assert strata.loc["lead 3 to 5", ["value", "low", "high"]].tolist() == [1, pytest.approx(0.025 ** (1 / 128)), 1]
    assert strata["n"].tolist() == [128, 128]
    ties = table.frame(quantity="near_ties")
    assert ties["label"].tolist() == ["fail"]
    assert re.fullmatch(
        r"lead 1: 0\.[456]\d \[0\.\d\d, 0\.\d\d\] at 153 \((matched|challenge) law\), 1\.00 \[0\.97, 1\.00\] at 19; "
        r"right exactly where one constant answer would be \(128 of 128 sequences\); worst of 4 cells",
        ties["note"].item(),
    )
    accuracy = table.frame(quantity="accuracy", length=153, law="challenge")["value"].item()
    assert accuracy == pytest.approx(1 - 1 / 154, abs=0.004)


def test_lengths_beyond_the_table_are_left_out_with_a_notice(make_run) -> None:
    run = make_run(majority(window=19, n_ctx=64), TASK, trained=19)
    todo = plan(MeasureRequest([run.path], only=["behaviour"]))
    assert "lengths from 77 on are not measured" in todo.notices[0]
    assert max(todo.jobs[0].grid.lengths) == 57
    with pytest.raises(Exception, match="length 101"):
        plan(MeasureRequest([run.path], only=["behaviour"], lengths=[101]))


def test_a_constant_model_is_not_fitted(make_run) -> None:
    model = majority()
    with torch.no_grad():
        model.unembed.W_U.zero_()
    table, _ = measured(make_run(model, TASK, trained=19))
    assert label(table) == "not fitted"
    skill = table.frame(quantity="skill", law="matched")
    assert skill["value"].abs().max() < 0.2


def test_done_means_the_shard_exists(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))
    todo = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial"))
    assert [item.step for item in todo.jobs] == [0, 100]
    execute(todo)
    shards = {p: p.stat().st_mtime_ns for p in run.path.glob("measurements/*/*")}
    again = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial"))
    assert (again.jobs, again.present) == ([], 2)
    execute(again)
    assert {p: p.stat().st_mtime_ns for p in run.path.glob("measurements/*/*")} == shards
    assert len(plan(MeasureRequest([run.path], only=["behaviour"], sequences=33)).jobs) == 2
    assert len(plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, lengths=[101])).jobs) == 2


def test_asking_again_for_older_settings_makes_them_count(make_run) -> None:
    run = make_run(majority(), TASK, trained=9)
    for sequences in (32, 48, 32):
        table, _ = measured(run, sequences=sequences)
        accuracy = table.frame(quantity="accuracy")
        drawn = accuracy["low"].notna()  # where few sequences exist, each is evaluated once
        assert set(accuracy.loc[drawn, "n"]) == {sequences}
        assert drawn.sum() > 4


def test_the_seconds_of_a_checkpoint_are_kept_with_its_shards(make_run) -> None:
    run = make_run(majority(), TASK, trained=9)
    execute(plan(MeasureRequest([run.path], only=["behaviour"], lengths=[9], sequences=16, executor="serial")))
    ((step, seconds),) = seconds_of(run.path).items()
    assert step == 100
    assert 0 < seconds < 600


def test_a_damaged_checkpoint_is_named_and_the_rest_goes_on(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 50, 100))
    weights = run.step_path(50) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    (run.step_path(0) / "meta.json").write_text("{}")
    table, problems = measured(run, sequences=32)
    assert sorted(table.frame(quantity="verdict")["step"]) == [100]
    assert any("step 50" in p and "sha256 differs" in p for p in problems)
    assert any("00000000" in p and "meta.json" in p for p in problems)


def test_a_step_that_does_not_exist_is_refused(make_run) -> None:
    with pytest.raises(ValueError, match="step 7"):
        plan(MeasureRequest([make_run(majority(), TASK, trained=9).path], only=["behaviour"], steps=[7]))


@pytest.mark.parametrize(("options", "sentence"), [
    ({"only": ["behavior"]}, "'behavior'.*behaviour"),
    ({"only": ["circuit.hardmax"]}, r"circuits\.hardmax"),
    ({"only": ["nothing."]}, "unknown measurement"),
    ({"settings": {"circuits.hardmax": {"windw": 3}}}, "window"),
])  # fmt: skip
def test_unknown_names_are_refused_with_the_nearest(make_run, options, sentence) -> None:
    run = make_run(majority(), TASK, trained=9)
    with pytest.raises(MeasurementError, match=sentence):
        plan(MeasureRequest([run.path], **options))


def test_one_forward_serves_all_prefixes_of_a_closed_law_and_gives_the_same(make_run) -> None:
    run = make_run(majority(), TASK, trained=9)
    item = plan(MeasureRequest([run.path], only=["behaviour"])).jobs[0]
    evaluation = Evaluation(TASK, item.grid, 0, 8)
    model = run.load(100)
    small, large = Counting(strings=5), Counting(asked=("matched",))
    watching = [
        ObservedMeasurement(m, CheckpointStudy(run, 100, model, evaluation, m.strings), f"counting {m.strings}")
        for m in (small, large)
    ]
    apart = Isolation()
    passes = observe_all(model, evaluation, watching, apart)
    assert apart.failures == {}
    assert passes == 1 + len(item.grid.lengths), "matched is prefix-closed; challenge is not"
    assert len(small.shown) == 2 * len(item.grid.lengths)
    for law, length, batch, shapes, logits in small.shown + large.shown:
        assert batch.length == length
        assert batch.law == law
        assert shapes["blocks.0.attn.hook_q"][:2] == batch.tokens.shape
        assert torch.allclose(logits, model(batch.tokens), atol=1e-5)
    assert len(small.shown[0][2]) == 5
    assert len(large.shown[0][2]) == 8
    study = CheckpointStudy(run, 100, model, evaluation, 5)
    for law, length, batch, _, _ in small.shown:
        assert torch.equal(study.batch(law, length).tokens, batch.tokens), "finish sees what observe saw"


def test_further_passes_are_counted_and_the_untrained_control_is_step_0(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))
    item = plan(MeasureRequest([run.path], only=["behaviour"])).jobs[0]
    study = CheckpointStudy(run, 100, run.load(100), Evaluation(TASK, item.grid, 0, 4), 4)
    name = "blocks.0.hook_resid_pre"
    own = study.cache("matched", 9, [name])
    other = study.cache("matched", 9, [name], untrained=True)
    assert study.passes == 2
    first = forward(run.load(0), study.batch("matched", 9), [name])
    assert torch.equal(other[name], first[name])
    assert not torch.equal(own[name], other[name])
    alone = make_run(majority(), TASK, trained=9, name="alone")
    study = CheckpointStudy(alone, 100, alone.load(100), Evaluation(TASK, item.grid, 0, 4), 4)
    assert study.cache("matched", 9, [name], untrained=True) is None


def test_chunked_forwards_equal_whole_ones(monkeypatch) -> None:
    batch = TASK.sample(16, 21, torch.Generator().manual_seed(0), "matched")
    whole = forward(majority(), batch, ["blocks.0.hook_resid_post"])
    monkeypatch.setattr("workbench.measure.study.CHUNK_TOKENS", 60)
    parts = forward(majority(), batch, ["blocks.0.hook_resid_post"])
    assert all(torch.allclose(whole[k], parts[k], atol=1e-6) for k in whole)
    with pytest.raises(KeyError, match=r"'blocks\.9\.hook'"):
        forward(majority(), batch, ["blocks.9.hook"])


def test_evaluation_is_a_pure_function_of_its_seed(make_run) -> None:
    grid = plan(MeasureRequest([make_run(majority(), TASK, trained=9).path], only=["behaviour"])).jobs[0].grid
    first, same, other = (Evaluation(TASK, grid, seed, 8).batch("challenge", 73).tokens for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
