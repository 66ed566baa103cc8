"""Lengths that a caller names are measured, or refused with the reason: by every measurement, and on the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from circuits import ablation_statistics, interchange_statistics
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.grid import make_grid, named_lengths
from workbench.measure.model_study import run
from workbench.measure.registry import make_measurement
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.measure.settings import MeasurementError
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.table import Table
from workbench.tasks import make_task
from workbench.tasks.base import TaskError

TASK = make_task("kgram_retrieval", symbols=4)
CFG = ModelConfig(d_vocab=TASK.d_vocab, d_vocab_out=TASK.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=80)
MODEL = HookedTransformer(CFG, seed=0).eval()
NAMED = [16, 24, 32, 64]
SHORT: dict[str, Any] = {"circuits.head_effect": {"replicates": 2, "resamples": 2}}
AT_MULTIPLES = ("probes.description_length", "probes.erasure")


def lengths_of(found: Any) -> list[int]:
    return sorted({row["length"] for row in found.rows if row["length"] is not None and row["value"] is not None})


@pytest.mark.parametrize("name", [
    "circuits.ablation", "circuits.head_effect", "circuits.connections", "circuits.swaps", "circuits.function", "circuits.hardmax",
    "circuits.heads", "circuits.positional", "behaviour", "probes.conditional", "probes.description_length",
    "probes.erasure", "probes.length_coupling", "probes.summary", "dynamics",
])  # fmt: skip
def test_every_named_length_is_measured(name: str) -> None:
    made = make_measurement(name, SHORT.get(name, {}))
    few = 64 if name.startswith("probes.") else 8
    assert lengths_of(run(made, MODEL, TASK, trained=32, lengths=NAMED, sequences=few)) == NAMED


@pytest.mark.parametrize("name", AT_MULTIPLES)
def test_without_named_lengths_a_probe_of_multiples_measures_these_only(name: str) -> None:
    from workbench.measure.grid import exact_multiples

    factors = make_measurement(name).settings["factors"]
    usual = make_grid(TASK, 32)
    assert exact_multiples(usual, TASK, factors) == [32 * round(factor) for factor in factors]
    named = make_grid(TASK, 32, [24, 40])
    assert exact_multiples(named, TASK, factors) == [24, 32, 40], "the multiple of N that was not named is not drawn"


def test_given_batches_are_all_measured_with_and_without_a_trained_length() -> None:
    batches = [TASK.sample(8, n, torch.Generator().manual_seed(n), "matched") for n in (8, 12, 16)]
    for trained in (8, None):
        found = ablation_statistics(MODEL, batches, task=TASK, trained=trained, modes=["mean"])
        assert lengths_of(found) == [8, 12, 16]


def test_an_interchange_measures_all_longer_lengths_and_refuses_shorter_ones() -> None:
    found = interchange_statistics(MODEL, TASK, trained=16, lengths=[16, 20, 32, 64], sequences=8)
    assert {row["mode"] for row in found.rows if row["mode"]} >= {"from 16", "from 20", "from 32", "from 64"}
    with pytest.raises(MeasurementError) as refused:
        interchange_statistics(MODEL, TASK, trained=32, lengths=NAMED)
    assert str(refused.value) == (
        "circuits.interchange pairs the longest length within training with longer ones, so it measures no length below "
        "32; leave out 16, 24"
    )


@pytest.mark.parametrize("wrong", [0, -5, 16.5, True, float("nan")])
def test_lengths_that_no_sequence_has_are_refused(wrong: Any) -> None:
    by_measurements = (
        lambda: make_grid(TASK, 32, [wrong]),
        lambda: run(Behaviour(), MODEL, TASK, trained=32, lengths=[16, wrong]),
        lambda: ablation_statistics(MODEL, TASK, trained=32, lengths=[wrong]),
    )
    # The annotations, which tests check, let no fraction come so far.
    for refuse in (lambda: named_lengths(TASK, [16, wrong]), *(by_measurements if isinstance(wrong, int) else ())):
        with pytest.raises(TaskError, match="prefix"):
            refuse()


def test_whole_numbers_of_any_kind_are_taken_once_each() -> None:
    assert named_lengths(TASK, [64, 16.0, np.int64(16), 32]) == [16, 32, 64]


def test_a_run_is_measured_at_all_lengths_that_the_command_line_names(make_run: Any) -> None:
    folder = make_run(majority(), make_task("majority"), 9, name="runs/a", steps=(3,)).path
    for name in ("circuits.ablation", "circuits.interchange"):
        asked = plan(MeasureRequest([folder], only=[name], lengths=[9, 11, 13, 21], executor="serial"))
        execute(asked)
    rows = Table.load(folder).frame()
    for name, lengths in (("circuits.ablation", {9, 11, 13, 21}), ("circuits.interchange", {9, 11, 13, 21})):
        assert set(rows[(rows["measurement"] == name) & rows["value"].notna()]["length"]) == lengths
    usual = plan(MeasureRequest([folder], only=["circuits.ablation"]))
    assert len(usual.jobs) == 1, "the usual lengths are other rows"
    with pytest.raises(MeasurementError, match=r"circuits\.interchange"):
        plan(MeasureRequest([folder], only=["circuits.interchange"], lengths=[5, 21]))
    assert any("circuits.interchange pairs" in said for said in plan(MeasureRequest([folder], lengths=[5, 21])).notices)
    with pytest.raises(TaskError, match="prefix"):
        plan(MeasureRequest([folder], only=["behaviour"], lengths=[0]))
