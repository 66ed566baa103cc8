"""What training computes is held: rates, lengths, steps, penalties and updates by step, and small runs from end to end.

Closed forms stand beside it where there are some: `test_optimizers.py`, `test_curricula.py`, `test_regularizers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from tests.support.held import Held, digest
from tests.support.tasks.task_facts import code
from workbench.core.errors import LensError
from workbench.models import HookedTransformer, ModelConfig
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import write_config
from workbench.runs.run import run_id
from workbench.tasks import make_task
from workbench.tasks.base import Task
from workbench.tasks.random_generator import generator
from workbench.training import trainer as training_loop
from workbench.training.checkpoint_steps import planned_steps
from workbench.training.compare_configs import config_differences, gives_way, refuse_another
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.curriculum import CURRICULA, curriculum
from workbench.training.early_stop import EarlyStop
from workbench.training.errors import TrainingError
from workbench.training.learning_rate_schedules import RATE_SCHEDULES
from workbench.training.optimizer import learning_rate, make_optimizer
from workbench.training.regularizers import REGULARIZERS, outputs_and_penalty
from workbench.training.resume import State, intervals, merge_intervals
from workbench.training.string_pool import StringPool
from workbench.training.task_schedule import TaskSchedule, task_at
from workbench.training.trainer import Trainer, require_memory

LAWS: Mapping[str, list[dict[str, Any]]] = {
    "uniform": [{"low": 3, "high": 12}],
    "fixed": [{"low": 3, "high": 12}],
    "growing": [
        {"low": 3, "high": 24, "start": 5, "over": 9},
        {"low": 2, "high": 32, "start": 4, "over": 6, "growth": "exponential"},
    ],
    "few_long": [{"low": 3, "high": 21, "short": 8}, {"low": 3, "high": 21, "short": 20, "share": 0.7}],
    "mixture": [
        {"low": 2, "high": 20, "weights": [1, 2.5], "components": [
            {"law": "growing", "start": 4, "over": 5}, {"law": "fixed", "low": 7, "high": 9},
        ]},
    ],
    "switched": [{"at": 7, "before": {"low": 2, "high": 9}, "after": {
        "law": "growing", "low": 4, "high": 16, "start": 6, "over": 9,
    }}],
}  # fmt: skip


# ---- pure functions of the step ------------------------------------------------------------------
@pytest.mark.parametrize("name", RATE_SCHEDULES)
def test_rates_by_step(name: str, held: Held) -> None:
    """Without warm-up, with some, with as much as there are steps and more; of one step too."""
    found = {}
    for steps, warmup in ((10, 0), (12, 2), (5, 5), (3, 6), (1, 0), (1, 1)):
        law = TrainingConfig(steps=steps, warmup=warmup, learning_rate=0.5, rate_law=name)
        found[f"{steps} steps, {warmup} of warm-up"] = [learning_rate(law, step) for step in range(steps)]
    held(found)


def test_checkpoint_steps(held: Held) -> None:
    every = [(1, 1, 1), (1, 0, 0), (2, 3, 1), (10, 1, 0), (10, 0, 1), (50, 7, 3), (1000, 12, 4), (997, 5, 7)]
    held([*(planned_steps(*one) for one in every), planned_steps(20, 3, 2, [7, 0, 20, 19])])


@pytest.mark.parametrize("name", CURRICULA)
def test_lengths_by_step(name: str, held: Held) -> None:
    """Of a task that has every length and of one that has even ones alone."""
    found: list[Any] = []
    for fields in LAWS[name]:
        law = curriculum({"law": name, **fields})
        for task in (make_task("parity"), make_task("reverse")):
            lengths = [law.length(task, step, generator("data", step)) for step in range(30)]
            found.append([lengths, *(law.possible(task, steps) for steps in (1, 4, 10, 11, 40))])
        found.append([law.constant_from(), law.describe()])
        if name == "growing":
            found.append([law.top(step) for step in range(12)])
    held(found)


def test_parameters_by_step(held: Held) -> None:
    """Switched and linear, whole and real; and the whole task of each step under two schedules."""
    schedules = {
        "switch": TaskSchedule(parameter="p", values=(2, 7), over=5),
        "linear": TaskSchedule(parameter="p", values=(2, 9), over=6, change="linear"),
        "falling": TaskSchedule(parameter="p", values=(9,), over=4, change="linear"),
        "real": TaskSchedule(parameter="tolerance", values=(0.4, 0.1), over=7, change="linear"),
        "one": TaskSchedule(parameter="p", values=(3,), over=1),
    }
    found: dict[str, Any] = {
        key: [one.value(0.05 if key == "real" else 5, step) for step in range(9)] for key, one in schedules.items()
    }
    task = make_task("mod_p_mean", p=5, k=1)
    two = (schedules["switch"], schedules["real"])
    found["tasks"] = [task_at(task, two, step).parameters for step in range(8)]
    found["same"] = [task_at(task, two, step) is task for step in range(9)]
    held(found)


@pytest.mark.parametrize("ids", [
    {"name": "arange"}, {"name": "random_offset"}, {"name": "pose"}, {"name": "pose", "chunks": 4},
    {"name": "random_subset"}, {"name": "coupled"}, {"name": "coupled", "offset": False}, {"name": "predicted"},
], ids=str)  # fmt: skip
def test_batches_by_step(ids: dict[str, Any], held: Held, tmp_path: Path) -> None:
    """Tokens and ids of each update, and which ids have been seen after some of them."""
    task = make_task("addition")
    trainer = Trainer(config(task, ids=ids, steps=4, high=20, n_ctx=40, seeds=Seeds(data=7)), tmp_path)
    found, state = [], State()
    for step in (0, 1, 3):
        batch, of = trainer.batch(step)
        state.see(of)
        found.append([list(of.shape), code(batch.tokens), code(of)])
    held([found, state.seen])


# ---- a step of an optimizer ----------------------------------------------------------------------
class Small(nn.Module):
    """A matrix, a bias and a gain, with gradients that are given."""

    def __init__(self) -> None:
        super().__init__()
        self.W_X = nn.Parameter(torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64))
        self.b_X = nn.Parameter(torch.tensor([1.0, -0.5], dtype=torch.float64))
        self.w = nn.Parameter(torch.tensor([1.5], dtype=torch.float64))


@pytest.mark.parametrize("law", [
    {}, {"weight_decay": 0.0}, {"weight_decay": 0.5, "betas": (0.5, 0.8)}, {"optimizer": "sgd"},
    {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.3}, {"optimizer": "sgd", "momentum": 0.5},
], ids=str)  # fmt: skip
def test_updates_of_an_optimizer(law: dict[str, Any], held: Held) -> None:
    model = Small()
    optimizer = make_optimizer(model, TrainingConfig(learning_rate=0.1, **law))
    found = []
    for step in range(3):
        for place, parameter in enumerate(model.parameters()):
            parameter.grad = torch.full_like(parameter, (step - 0.7) * (place + 0.3)) + 0.2 * parameter.detach()
        optimizer.step()
        found.append([parameter.flatten().tolist() for parameter in model.parameters()])
    held(found)


# ---- penalties -----------------------------------------------------------------------------------
def config(
    task: Task | None = None,
    steps: int = 5,
    high: int = 9,
    n_ctx: int = 24,
    ids: object = "arange",
    positions: str = "learned",
    seeds: Seeds | None = None,
    layers: int = 1,
    **training: Any,
) -> RunConfig:
    """A small run of some updates, every number of which is held."""
    task = make_task("majority") if task is None else task
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=layers, d_model=8, n_heads=2, n_ctx=n_ctx,
        positions=positions, ids=ids, initializer_range=0.4,
    )  # fmt: skip
    law = {
        "steps": steps, "batch_size": 4, "warmup": 2, "learning_rate": 0.02,
        "curriculum": {"law": "uniform", "low": 3, "high": high}, "checkpoints": {"log": 0, "linear": 2}, **training,
    }  # fmt: skip
    return RunConfig(task=task, model=model, training=TrainingConfig(**law), seeds=seeds or Seeds(init=1, data=2))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_penalties_of_a_model(positions: str, held: Held) -> None:
    """Each by itself, all together with their coefficients, and none; outputs are the same with all of them."""
    made = config(layers=2, positions=positions)
    model = HookedTransformer(made.model, seed=3).to(torch.float64 if positions == "learned" else torch.float32)
    batch = made.task.sample(3, 9, generator("penalties"))
    ids = torch.arange(batch.tokens.shape[1])[None]
    found: dict[str, Any] = {}
    for coefficients in ({}, *({name: 1.0} for name in REGULARIZERS), {"positional": 0.3, "attention_entropy": -2.0}):
        outputs, penalty = outputs_and_penalty(model, batch, ids, coefficients)
        found[str(coefficients)] = [
            None if penalty is None else float(penalty.detach()), digest(outputs[batch.mask].detach().numpy())
        ]  # fmt: skip
    held(found)


def test_penalty_of_predicted_ids(held: Held) -> None:
    task = make_task("addition")
    found = []
    for weight in (1.0, 0.25):
        made = config(task, ids={"name": "predicted", "weight": weight}, n_ctx=40, high=20)
        model = HookedTransformer(made.model, seed=3).double()
        batch = task.sample(3, 18, generator("penalties"))
        ids = made.model.ids.training(3, batch.tokens.shape[1], 40, generator("ids"), batch.position_ids)
        for coefficients in ({}, {"attention_entropy": 0.5}):
            _, penalty = outputs_and_penalty(model, batch, ids, coefficients)
            assert penalty is not None
            found.append(float(penalty.detach()))
    held(found)


# ---- small runs ----------------------------------------------------------------------------------
RUNS: Mapping[str, Any] = {
    "plain": {},
    "sgd without clipping": {"optimizer": "sgd", "clip": 0.0, "learning_rate": 0.3},
    "clipped": {"optimizer": "sgd", "clip": 0.05, "learning_rate": 0.3, "rate_law": "linear"},
    "penalties": {"regularizers": {"positional": 0.01, "attention_entropy": 0.1}, "optimizer": "sgd"},
    "several lengths in a batch": {"lengths_per_batch": 3, "regularizers": {"attention_entropy": 0.1}},
    "few strings": {"strings": 9, "checkpoints": {"log": 2, "linear": 0, "at": [3]}},
    "early stop": {"early_stop": {"accuracy": 0.01, "every": 2, "patience": 2, "sequences": 8}, "steps": 9},
    "early stop after growth": {
        "early_stop": {"accuracy": 0.01, "every": 1, "patience": 1, "sequences": 8}, "steps": 9,
        "curriculum": {"law": "growing", "low": 3, "high": 9, "start": 3, "over": 4},
    },
    "early stop at the last step": {
        "early_stop": {"accuracy": 0.01, "every": 2, "patience": 2, "sequences": 8}, "steps": 4,
    },
    "no early stop": {"early_stop": {"accuracy": 1.0, "every": 1, "patience": 1, "sequences": 8}, "steps": 3},
    "id schedule": {"ids": "pose", "id_schedule": {"values": ["arange"], "over": 2}},
    "predicted ids": {"task": make_task("addition"), "ids": "predicted", "n_ctx": 40, "high": 16},
    "without positions": {"positions": "none", "high": 12, "n_ctx": 13},
    "beyond positions": {"high": 12, "n_ctx": 14},
    "numbers": {"task": make_task("mod_p_mean", p=3, k=1), "task_schedule": [{"parameter": "p", "values": [2], "over": 3}]},
    "more steps than log lines": {"steps": 9, "checkpoints": {"log": 0, "linear": 1}, "optimizer": "sgd"},
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_small_run(name: str, held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id, log, checkpoints, ids seen, end, and what a watcher is told; of a log of few lines."""
    monkeypatch.setattr(training_loop, "LOG_LINES", 4)
    made = config(**RUNS[name])
    told: list[Any] = []
    trainer = Trainer(made, tmp_path / "run", lambda step, scores: told.append([step, *scores.values()]))
    run = trainer.run()
    tables = [pq.read_table(run.step_path(step) / "log.parquet").to_pydict() for step in run.steps]
    lines = [list(zip(*table.values(), strict=True)) for table in tables]
    held({
        "id": run_id(made.as_json()), "trained": run.trained_length, "settled": made.training.constant_from,
        "steps": run.steps, "ended": run.stop_reason, "seen": run.meta(run.steps[-1])["trained_ids"],
        "logged": [len(one) for one in lines], "log": lines[-1],
        "all logged": digest(_numbers(lines)), "told": told[-1], "all told": digest(_numbers(told)),
    })  # fmt: skip


def _numbers(nested: Any) -> list[float | None]:
    if isinstance(nested, list | tuple):
        return [number for one in nested for number in _numbers(one)]
    return [nested]


@pytest.mark.parametrize(("every", "saves"), [(-1.0, [0, 1, 2, 3, 4, 5]), (1e9, [0, 2, 5])])
def test_what_continues_a_run_is_saved_at_checkpoints_and_after_so_many_seconds(
    every: float, saves: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(training_loop, "RESUME_EVERY_S", every)
    monkeypatch.setattr(training_loop, "save_state", lambda *given: saved.append(given[4].step))
    Trainer(config(), tmp_path / "run").run()
    assert saved == saves


def test_a_loss_that_is_not_finite_ends_training_at_its_step(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="step 1"):
        Trainer(config(optimizer="sgd", clip=0.0, warmup=0, learning_rate=1e30), tmp_path / "run").run()


def test_room_for_what_is_left(tmp_path: Path) -> None:
    """Bytes of weights and of what lies beside them per checkpoint, and two resume files of three times the weights."""
    made = config()
    trainer = Trainer(made, tmp_path / "run")
    run = trainer.run()
    weights = sum(tensor.numel() * 4 for tensor in trainer.model.state_dict().values())
    assert trainer._room(run) == 6 * weights
    (tmp_path / "less").mkdir()
    again = Trainer(config(checkpoints={"log": 0, "linear": 4}), tmp_path / "less")
    again.model = trainer.model
    assert len(again.schedule) - len(run.steps) == 2
    assert again._room(run) == 2 * (weights + (1 << 14)) + 6 * weights


def test_memory_of_a_run_is_refused_at_its_very_size(monkeypatch: pytest.MonkeyPatch) -> None:
    made = config(batch_size=50)
    weights = 16 * made.model.least_numbers
    stream = 50 * 10 * (8 + 4 * (8 + made.model.d_vocab_out))
    assert stream > weights / 4
    for free, refused in ((max(weights, stream), False), (max(weights, stream) - 1, True)):
        monkeypatch.setattr(training_loop, "available_memory", lambda free=free: free)
        if refused:
            with pytest.raises(TrainingError, match="would take at least"):
                require_memory(made)
        else:
            require_memory(made)


# ---- what is kept of ids -------------------------------------------------------------------------
@pytest.mark.parametrize(("parts", "expected"), [
    ([], []),
    ([[3, 3]], [[3, 3]]),
    ([[3, 4], [0, 1]], [[0, 1], [3, 4]]),
    ([[0, 1], [2, 4]], [[0, 4]]),
    ([[0, 9], [2, 4]], [[0, 9]]),
    ([[0, 4], [4, 6], [8, 9]], [[0, 6], [8, 9]]),
])  # fmt: skip
def test_intervals_that_touch_become_one(parts: list[list[int]], expected: list[list[int]]) -> None:
    assert merge_intervals(parts) == expected


def test_ids_as_intervals() -> None:
    assert intervals(torch.tensor([[5, 2, 3], [9, 2, 10]])) == [[2, 3], [5, 5], [9, 10]]
    assert intervals(torch.tensor([[7]])) == [[7, 7]]
    state = State(seen=[[0, 4], [8, 9]])
    for ids, expected in (([0, 4], [[0, 4], [8, 9]]), ([8, 10], [[0, 4], [8, 10]]), ([5], [[0, 5], [8, 10]])):
        state.see(torch.tensor([ids]))
        assert state.seen == expected
    state.see(torch.tensor([[4, 8]]))
    assert state.seen == [[0, 5], [8, 10]]
    assert State().step == 0


# ---- ends and pools ------------------------------------------------------------------------------
@pytest.mark.parametrize(("step", "settled", "due"), [
    (0, 0, False), (4, 0, True), (5, 0, False), (8, 8, True), (8, 9, False), (12, 9, True),
])  # fmt: skip
def test_checks_are_due(step: int, settled: int, due: bool) -> None:
    assert EarlyStop(every=4).due(step, settled) == due


def test_a_streak_at_its_very_accuracy_and_patience() -> None:
    stop = EarlyStop(accuracy=0.75, every=5, patience=2)
    assert stop.streak([], 5, 0.75) == [5]
    assert stop.streak([5], 10, math.nextafter(0.75, 0)) == []
    assert stop.streak([5, 10], 10, 0.8) == [5, 10]
    assert stop.streak([5, 10, 15], 10, 0.8) == [5, 10], "what came after the same check is forgotten"
    assert [stop.ends(streak) for streak in ([], [5], [5, 10], [5, 10, 15])] == [False, False, True, True]
    assert (
        stop.reason([9], [5])
        == "accuracy was at least 0.75 at length 9 in 1 check in a row, 5 steps apart, up to step 5"
    )
    assert stop.reason([8, 9], [5, 1000]).endswith(
        "at lengths 8, 9 in 2 checks in a row, 5 steps apart, up to step 1,000"
    )


@pytest.mark.parametrize(("strings", "counts"), [(3, [1, 1, 1]), (4, [2, 1, 1]), (8, [3, 3, 2]), (9, [3, 3, 3])])
def test_strings_are_shared_out_over_lengths(strings: int, counts: list[int], held: Held) -> None:
    pool = StringPool(make_task("parity"), [4, 6, 9], strings, 5)
    assert list(pool.counts.values()) == counts
    batches = [pool.batch(4, length, generator("drawn", length)) for length in (9, 4, 6)]
    assert [len(pool.of_length(length)) for length in (4, 6, 9)] == counts
    held([batch.tokens.tolist() for batch in batches])


def test_as_many_strings_as_lengths_are_needed() -> None:
    with pytest.raises(TrainingError, match="strings=2"):
        StringPool(make_task("parity"), [4, 6, 9], 2, 5)


# ---- what is refused, and what two runs differ in ------------------------------------------------
@pytest.mark.parametrize("fields", [
    {"learning_rate": 0.0}, {"steps": 0}, {"batch_size": 0}, {"clip": -0.1}, {"momentum": 1.0}, {"warmup": -1},
    {"weight_decay": -0.1}, {"threads": 0}, {"strings": -1}, {"rate_law": "cosin"}, {"optimizer": "adam"},
    {"checkpoints": {"log": -1}}, {"checkpoints": {"at": [6]}}, {"early_stop": {"accuracy": 0.0}},
    {"early_stop": {"accuracy": 1.1}}, {"early_stop": {"every": 0}}, {"early_stop": {"patience": 0}},
    {"regularizers": {"positional": -0.1}}, {"strings": 3}, {"high": 25}, {"high": 2}, {"lengths_per_batch": 5},
    {"lengths_per_batch": 0}, {"lengths_per_batch": 2, "curriculum": {"law": "fixed", "low": 3, "high": 9}},
    {"strings": 9, "task": make_task("mod_p_mean"), "task_schedule": [{"parameter": "p", "values": [2], "over": 3}]},
], ids=str)  # fmt: skip
def test_settings_that_are_refused(fields: dict[str, Any], held: Held) -> None:
    """By the field that is wrong, or in a sentence of our own."""
    with pytest.raises((LensError, ValidationError)) as caught:
        config(**fields)
    error = caught.value
    held([[*one["loc"], one["type"]] for one in error.errors()] if isinstance(error, ValidationError) else str(error))


@pytest.mark.parametrize("fields", [
    {"clip": 0.0}, {"momentum": 0.0}, {"warmup": 0}, {"weight_decay": 0.0}, {"strings": 4}, {"high": 23}, {"high": 3},
    {"checkpoints": {"log": 0, "linear": 0, "at": [0, 5]}}, {"early_stop": {"accuracy": 1.0}}, {"steps": 1},
    {"batch_size": 1}, {"lengths_per_batch": 4}, {"lengths_per_batch": 1}, {"regularizers": {"positional": 0.0}}, {"device": "cuda"}, {"dtype": "bfloat16"},
], ids=str)  # fmt: skip
def test_settings_at_their_bounds(fields: dict[str, Any], held: Held) -> None:
    """They are taken, and what is as usual is not written down."""
    made = config(**fields)
    written = made.as_json()["training"]
    held([made.training.trained_length, sorted(written), written["regularizers"], run_id(made.as_json())])


def test_what_two_runs_differ_in(held: Held, tmp_path: Path) -> None:
    """The parts, and the first setting with both its values; of what one alone states too."""
    content = config().as_json()
    write_config(tmp_path, content)
    run, found = Run.open(tmp_path), []
    others = [
        config(batch_size=5), config(positions="rotary"), config(seeds=Seeds(init=1, data=3)), config(strings=9),
        config(task=make_task("parity")), config(task=make_task("majority", queries="last")), config(batch_size=5, layers=2),
    ]  # fmt: skip
    for other in others:
        found.append(config_differences(content, other.as_json()))
        with pytest.raises(RunError) as caught:
            refuse_another(run, other)
        found.append(str(caught.value).replace(str(tmp_path), "RUN"))
        assert gives_way(run, other), "nothing is lost with a run that has no checkpoint"
    assert not gives_way(run, config())
    refuse_another(run, config())
    (tmp_path / "table.parquet").write_bytes(b"rows")
    assert not gives_way(run, others[0])
    held(found)
