"""Every measurement of the package on every kind of model: rows of the table, or rows that say why not; never a crash.

The rows themselves are held, in double precision: how statistics become rows, their places, intervals, counts and notes."""

from __future__ import annotations

import pytest
import torch

from tests.support.held import Held
from tests.support.measure.held_rows import held_rows
from workbench.measure.measurement import Grid, Measurement
from workbench.measure.model_study import run
from workbench.measure.registry import make_measurement, measurements
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.state_space import flip_flop
from workbench.table.schema import to_arrow
from workbench.tasks import make_task

NAMES = [
    name
    for name, made in measurements().items()
    if name.startswith("circuits.") and name != "circuits.hardmax" and made().spec.needs != "scan"
]
MODELS = {
    "rotary": {"positions": "rotary"},
    "relative": {"positions": {"name": "relative", "buckets": 8, "max_distance": 16}},
    "limit": {"positions": {"name": "limit", "period": 2, "locality": 2}, "log_scaling": "local"},
    "learned, scaled": {"positions": "learned", "log_scaling": "learned"},
    "hardmax": {"attention": "hardmax", "positions": "learned"},
    "linear": {"attention": "linear"},
    "attention alone": {"attn_only": True, "normalization_type": None},
}


def model_for(task: object, options: dict[str, object]) -> HookedTransformer:
    sizes = {"n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 64}
    vocabulary = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out}  # type: ignore[attr-defined]
    return HookedTransformer(ModelConfig(**vocabulary, **sizes, **options), seed=0).eval()


def few(name: str) -> Measurement:
    """The measurement, with few resamples where it has any."""
    most = {"resamples": 20, "replicates": 3}
    has = make_measurement(name).spec.settings
    return make_measurement(name, {setting: value for setting, value in most.items() if setting in has})


def lengths_for(made: Measurement, trained: int, lengths: list[int]) -> list[int]:
    """All of them; of a measurement that starts at N, those from N on."""
    grid = Grid(trained, (*lengths,), (trained,), (), (*lengths,))
    return [n for n in lengths if n >= trained] if made.why_not_measured(grid) else lengths


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", MODELS)
def test_rows_are_of_the_table_and_of_the_spec(name: str, kind: str, held: Held) -> None:
    task = make_task("kgram_retrieval", symbols=5)
    made = few(name)
    model = model_for(task, MODELS[kind]).double()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    found = run(made, model, task, trained=8, lengths=lengths_for(made, 8, [4, 8, 16]), sequences=6)
    assert found.rows
    to_arrow(found.rows)
    assert {r["quantity"] for r in found.rows} == {q.name for q in made.spec.quantities}
    bounds = {q.name: (q.low, q.high) for q in made.spec.quantities}
    for r in found.rows:
        if r["value"] is None:
            assert r["status"] != "ok" or r["label"]
            assert r["note"]
        else:
            low, high = bounds[r["quantity"]]
            assert low is None or r["value"] >= low - 1e-9
            assert high is None or r["value"] <= high + 1e-9
        assert r["low"] is None or r["value"] is None or r["low"] - 1e-9 <= r["value"] <= r["high"] + 1e-9
        assert r["low"] is None or r["high"] is None or r["low"] < r["high"], f"no width: {r}"
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert not any(point.fwd_hooks for point in model.hook_dict.values()), "a hook was left behind"
    held(held_rows(found.rows))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["majority", "mod_p_mean"])
def test_tasks_without_keys_or_classes_are_measured_as_far_as_they_go(name: str, task: str, held: Held) -> None:
    made_task = make_task(task)
    model = model_for(made_task, {"positions": "alibi"}).double()
    made = few(name)
    found = run(made, model, made_task, trained=9, lengths=lengths_for(made, 9, [5, 9, 17]), sequences=6)
    assert {r["status"] for r in found.rows} <= {"ok", "undefined", "not_applicable", "sampled", "censored"}
    to_arrow(found.rows)
    held(held_rows(found.rows))


@pytest.mark.parametrize("name", NAMES)
def test_of_a_model_without_attention_they_say_what_they_can(name: str, held: Held) -> None:
    made = few(name)
    found = run(made, flip_flop().double(), make_task("flip_flop"), trained=8, lengths=[8, 16], sequences=4)
    assert {r["quantity"] for r in found.rows} == {q.name for q in made.spec.quantities}
    if made.spec.needs == "attention" or made.presented == "only":
        assert {r["status"] for r in found.rows} == {"not_applicable"}
        about = "in their prompt" if made.presented == "only" else "attention"
        assert all(about in r["note"] for r in found.rows)
    else:
        assert "ok" in {r["status"] for r in found.rows}
        held(held_rows(found.rows))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_rows(name: str) -> None:
    task = make_task("majority")
    model = model_for(task, {"positions": "rotary"})
    options = {"trained": 9, "lengths": lengths_for(few(name), 9, [5, 9, 17]), "sequences": 6}
    once, again = (run(few(name), model, task, **options) for _ in range(2))  # type: ignore[arg-type]
    assert once.rows == again.rows
