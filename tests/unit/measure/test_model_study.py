"""Any measurement on a model in memory, of a task or of given batches, through one door."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import probes
from circuits import hardmax_statistics
from circuits.hardmax.hardmax import Hardmax
from circuits.heads.head_scores import Heads
from circuits.interventions.attention_swaps import Swaps
from probes.summary import Summary
from tests.support.measure.measuring import Counting
from workbench import measure
from workbench.measure import Result, run
from workbench.measure.behaviour.behaviour import Behaviour
from workbench.measure.model_study import _NoTask
from workbench.measure.settings import MeasurementError
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig
from workbench.models.handmade.transformers import majority
from workbench.table.schema import FIELDS
from workbench.tasks import make_task

TASK = make_task("majority")


def small(seed: int = 0) -> HookedTransformer:
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=128, positions="none")
    return HookedTransformer(cfg, seed=seed).eval()


def batches(*lengths: int, law: str = "matched", count: int = 64):
    return [TASK.sample(count, n, torch.Generator().manual_seed(n), law) for n in lengths]


def test_the_names_of_the_package_are_loaded_on_first_use() -> None:
    assert all(getattr(measure, name) is not None for name in measure.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        measure.nothing  # noqa: B018


def test_a_task_is_measured_on_the_grid_of_a_run() -> None:
    found = run(Behaviour(resamples=10), majority(), TASK, trained=9, sequences=64, step=7)
    assert found.value("accuracy", law="challenge", length=73, mode="teacher_forced") == 1.0
    assert {row["step"] for row in found.rows} == {7}
    assert {row["run"] for row in found.rows} == {""}
    assert list(found.frame().columns) == list(FIELDS)
    assert "<table" in found._repr_html_()
    assert len(found.figure("accuracy").data) > 0


def test_given_batches_are_what_is_shown_lengths_ascending() -> None:
    counting = Counting(asked=("matched",))
    given = batches(21, 5, 13)
    run(counting, small(), given)
    assert [(law, n) for law, n, *_ in counting.shown] == [("matched", 5), ("matched", 13), ("matched", 21)]
    for _, n, batch, _, logits in counting.shown:
        (own,) = [one for one in given if one.length == n]
        assert batch is own
        assert torch.allclose(logits, small()(own.tokens), atol=1e-6)


def test_what_notebooks_call_is_the_same_measurement() -> None:
    model, given = small(), batches(5, 9, 19)
    settings = {"resamples": 20}
    own = run(Hardmax(**settings), model, given, trained=9, seed=3)
    assert hardmax_statistics(model, given, trained=9, seed=3, **settings).rows == own.rows
    summary = run(Summary(**settings), model, given, trained=9, inside=[5, 9], untrained=small(1), seed=3)
    found = probes.probe(model, given, inside=[5, 9], untrained=small(1), seed=3, **settings)
    assert found.rows == summary.rows
    assert isinstance(found, Result)
    assert found.direction().shape == (16, 1)
    assert np.linalg.norm(found.direction()) == pytest.approx(1)


def test_another_seed_gives_other_intervals_and_other_strings() -> None:
    first, again, other = (
        run(Heads(resamples=20), small(), TASK, trained=9, lengths=[9], sequences=32, seed=seed).rows
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_the_task_may_stand_beside_the_batches() -> None:
    found = run(Swaps(factors=[1]), majority(), batches(9, count=32), task=TASK, trained=9)
    assert found.value("hardmax_swap_drop", target="all heads", length=9) == 0.0
    with pytest.raises(MeasurementError, match=r"needs the task .* give it beside them: .*task=task"):
        run(Swaps(factors=[1]), majority(), batches(9, count=32), trained=9)


@pytest.mark.parametrize(("given", "options", "said"), [
    ([], {}, "at least one batch"),
    (batches(5) + batches(5), {}, "one batch per law and length"),
    (batches(5, law="challenge"), {}, "reads strings of the law matched, not of challenge"),
    (TASK, {}, "say trained=N"),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused(given, options, said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        run(Heads(), small(), given, **options)


def test_a_model_without_what_is_needed_says_so_in_rows() -> None:
    found = run(
        Heads(),
        HookedSSM(SSMConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_ctx=128)),
        TASK,
        trained=9,
        sequences=2,
    )
    assert {row["status"] for row in found.rows} == {"not_applicable"}
    with pytest.raises(ValueError, match="found no value to draw: it is about attention"):
        found.figure()


def test_of_a_task_that_is_not_given_nothing_is_supposed() -> None:
    """Neither that a prefix of its strings is one of its strings, nor that some lengths are beyond a window."""
    nobody = _NoTask()
    assert [nobody.prefix_closed(law) for law in ("training", "matched", "challenge")] == [False] * 3
    assert not nobody.beyond_window(10**9)
    assert not nobody.presented
