"""Curricula: which lengths each law can give, how often, and what N is; parameters of the task over time."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from workbench.models import ModelConfig
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.curriculum import CURRICULA, curriculum
from workbench.training.errors import TrainingError
from workbench.training.task_schedule import TaskSchedule, check_schedules, task_at
from workbench.training.trainer import Trainer

MAJORITY, MOD_P = make_task("majority"), make_task("mod_p_mean", p=5, k=0)
LAWS = {
    "uniform": {"law": "uniform", "low": 2, "high": 9},
    "fixed": {"law": "fixed", "low": 2, "high": 9},
    "growing": {"law": "growing", "low": 1, "high": 21, "start": 3, "over": 40},
    "few_long": {"law": "few_long", "low": 1, "high": 31, "short": 7, "share": 0.2},
    "mixture": {
        "law": "mixture", "low": 1, "high": 31, "weights": [3, 1],
        "components": [{"law": "uniform", "high": 5}, {"law": "growing", "low": 11, "start": 13, "over": 20}],
    },
    "switched": {
        "law": "switched", "at": 700, "before": {"low": 1, "high": 9},
        "after": {"law": "few_long", "low": 2, "high": 31, "short": 7, "share": 0.2},
    },
}  # fmt: skip


def drawn(law, task, steps: int, seed: int = 0) -> list[int]:
    return [law.length(task, step, generator("data", seed, step)) for step in range(steps)]


def run_config(task, **training) -> RunConfig:
    model = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=64)
    return RunConfig(task=task, model=model, training=TrainingConfig(batch_size=4, **training))


def test_every_law_is_tried_here() -> None:
    assert set(LAWS) == set(CURRICULA)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("task", [MAJORITY, make_task("parity")], ids=lambda t: t.name)
def test_lengths_drawn_are_exactly_those_said_to_be_possible(name: str, task) -> None:
    law = curriculum(LAWS[name])
    found = drawn(law, task, 1500)
    assert sorted(set(found)) == law.possible(task, 1500)
    assert all(task.admissible(n) and law.low <= n <= law.high for n in found)
    assert run_config(task, steps=1500, curriculum=LAWS[name]).training.trained_length == max(found)


@pytest.mark.parametrize("name", LAWS)
def test_a_length_is_a_pure_function_of_seed_and_step(name: str) -> None:
    law = curriculum(LAWS[name])
    assert drawn(law, MAJORITY, 60) == drawn(law, MAJORITY, 60)
    backwards = [law.length(MAJORITY, step, generator("data", 0, step)) for step in reversed(range(60))]
    assert backwards[::-1] == drawn(law, MAJORITY, 60)
    assert name == "fixed" or drawn(law, MAJORITY, 60, seed=1) != drawn(law, MAJORITY, 60)


@pytest.mark.parametrize("name", ["uniform", "fixed"])
def test_one_length_alone_is_a_law_of_lengths(name: str) -> None:
    law = curriculum({"law": name, "low": 7, "high": 7})
    assert drawn(law, MAJORITY, 20) == [7] * 20
    assert law.possible(MAJORITY, 20) == [7]


@pytest.mark.parametrize("name", LAWS)
def test_a_law_survives_its_json(name: str) -> None:
    law = curriculum(LAWS[name])
    assert curriculum(law.model_dump(mode="json")) == law
    config = TrainingConfig(curriculum=law)
    assert TrainingConfig(**config.model_dump(mode="json")) == config
    assert str(law.high) in law.describe()


@pytest.mark.parametrize(("growth", "tops"), [
    ("linear", {0: 4, 1: 4, 25: 19, 50: 34, 99: 63, 100: 64, 1000: 64}),
    ("exponential", {0: 4, 25: 8, 50: 16, 75: 32, 99: 62, 100: 64, 1000: 64}),
])  # fmt: skip
def test_the_top_grows_as_stated(growth: str, tops: dict[int, int]) -> None:
    law = curriculum({"law": "growing", "low": 1, "high": 64, "start": 4, "over": 100, "growth": growth})
    assert {step: law.top(step) for step in tops} == tops
    assert law.constant_from() == 100


def test_a_growing_law_that_training_ends_before_has_the_n_it_reached() -> None:
    law = {"law": "growing", "low": 1, "high": 41, "start": 1, "over": 100}
    parity = make_task("parity")
    assert run_config(parity, steps=51, curriculum=law).training.trained_length == 21
    assert run_config(parity, steps=101, curriculum=law).training.trained_length == 41


def test_a_start_that_admits_no_length_is_refused_before_training() -> None:
    law = {"law": "growing", "low": 1, "high": 20, "start": 4, "over": 10}
    with pytest.raises(ValueError, match="admissible"):
        run_config(MOD_P, steps=100, curriculum=law)


def test_few_long_gives_its_share_of_long_batches_and_says_what_n_is() -> None:
    law = curriculum(LAWS["few_long"])
    counts = Counter(drawn(law, MAJORITY, 5000))
    assert set(counts) == {1, 3, 5, 7, 31}
    assert counts[31] / 5000 == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / 5000))
    assert counts[1] / 5000 == pytest.approx(0.2, abs=0.03), "the short ones are uniform"
    assert "0.2 of the batches at 31, which is what N means here" in law.describe()


def test_a_mixture_draws_its_components_by_weight() -> None:
    law = curriculum(LAWS["mixture"])
    counts = Counter(drawn(law, MAJORITY, 4000))
    short = sum(counts[n] for n in (1, 3, 5))
    assert short / 4000 == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 4000))
    assert law.components[0].low == 1, "bounds left out are those of the mixture"
    assert law.constant_from() == 20


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"law": "unifrm"}, "'unifrm'.*uniform"),
    ({"law": "growing", "low": 1, "high": 9, "strat": 2}, "did you mean start"),
    ({"law": "growing", "low": 1, "high": 9, "over": 2}, "curriculum"),
    ({"law": "growing", "low": 3, "high": 9, "start": 2, "over": 2}, "start must be a training length, from 3 to 9, not 2"),
    ({"law": "few_long", "low": 1, "high": 9, "short": 9}, "short must be .* below the longest, 9, not 9"),
    ({"law": "few_long", "low": 1, "high": 9, "short": 4, "share": 0}, "few_long"),
    ({"law": "uniform", "low": 5, "high": 4}, "length 5"),
    ({"law": "mixture", "low": 1, "high": 9, "weights": [1], "components": []}, "components"),
    ({"law": "mixture", "low": 1, "high": 9, "weights": [1, 2], "components": [{"law": "fixed"}]}, "weights"),
    ({"law": "mixture", "low": 1, "high": 9, "weights": [0], "components": [{"law": "fixed"}]}, "weight"),
    ({"law": "mixture", "low": 1, "high": 9, "weights": [1], "components": [{"law": "fixed", "high": 10}]},
     "bounds"),
])  # fmt: skip
def test_what_does_not_fit_is_said_in_one_sentence(fields: dict, sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence) as refused:
        curriculum(fields)
    assert "\n" not in str(refused.value)


# ---- parameters of the task over time -------------------------------------------------------------
def test_a_switched_parameter_takes_its_values_in_equal_shares() -> None:
    schedule = TaskSchedule(parameter="p", values=(2, 3, 4), over=30)
    assert [schedule.value(5, step) for step in (0, 9, 10, 19, 20, 29, 30, 99)] == [2, 2, 3, 3, 4, 4, 5, 5]


def test_a_linear_parameter_is_interpolated_and_whole_numbers_stay_whole() -> None:
    real = TaskSchedule(parameter="tolerance", values=(0.2, 0.1), over=20, change="linear")
    assert [real.value(0.05, step) for step in (0, 5, 10, 15, 20)] == pytest.approx([0.2, 0.15, 0.1, 0.075, 0.05])
    whole = TaskSchedule(parameter="p", values=(2,), over=10, change="linear")
    assert [whole.value(6, step) for step in (0, 1, 2, 5, 9, 10)] == [2, 2, 3, 4, 6, 6]


def test_the_task_of_each_step_is_the_scheduled_one_and_ends_as_the_runs_own(tmp_path) -> None:
    task = make_task("mod_p_mean", p=4, k=1)
    law = {"task_schedule": [{"parameter": "p", "values": [2, 3], "over": 10}], "curriculum": LAWS["uniform"]}
    trainer = Trainer(run_config(task, steps=20, **law), tmp_path)
    assert [trainer.task_at(step).p for step in (0, 4, 5, 9, 10, 19)] == [2, 2, 3, 3, 4, 4]
    assert trainer.task_at(10) is trainer.task is not trainer.task_at(9)
    batch, _ = trainer.batch(3)
    again = make_task("mod_p_mean", p=2, k=1).label(batch.tokens[:, 1:])
    assert torch.equal(batch.targets, again.targets), "batches are labelled by the task of their step"
    assert trainer.config.training.constant_from == 10


@pytest.mark.parametrize(("schedule", "sentence"), [
    ({"parameter": "q", "values": [2], "over": 5}, "mod_p_mean"),
    ({"parameter": "p", "values": [100], "over": 5}, r"\b100\b"),
    ({"parameter": "p", "values": [9], "over": 5}, r"\b20\b"),
    ({"parameter": "p", "values": ["two"], "over": 5, "change": "linear"}, "linear"),
])  # fmt: skip
def test_a_schedule_that_cannot_be_had_is_refused(schedule: dict, sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        check_schedules(MOD_P, [TaskSchedule(**schedule)], 5, 20)


def test_interpolated_whole_numbers_are_checked_one_by_one() -> None:
    """From 7 down to 5 with k = 0: 6 and 7 admit no length 5."""
    task = make_task("mod_p_mean", p=5, k=0)
    with pytest.raises(TrainingError, match="p = 6"):
        check_schedules(task, [TaskSchedule(parameter="p", values=(7,), over=5, change="linear")], 5, 6)


def test_a_schedule_may_not_change_the_model() -> None:
    task = make_task("kgram_retrieval")
    size = next(name for name in type(task).model_fields if "alphabet" in name or "symbol" in name or name == "S")
    with pytest.raises(TrainingError, match="vocabulary"):
        check_schedules(task, [TaskSchedule(parameter=size, values=(getattr(task, size) + 1,), over=5)], 20, 30)


def test_scheduled_is_the_task_itself_without_schedules() -> None:
    assert task_at(MOD_P, (), 0) is MOD_P
