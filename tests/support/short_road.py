"""The road of any task with any position scheme: a few steps, saved, loaded, measured. Nothing is listed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workbench.measure.behaviour import baselines
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.models import ModelConfig
from workbench.models.positions import ENCODINGS, ID_SAMPLERS
from workbench.table import Table
from workbench.tasks import Task, find_task
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import task_names
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.trainer import Trainer

MEASURED = {"behaviour", "probes.summary"}
STEPS, SEQUENCES = 3, 32


SMALL: dict[str, dict[str, Any]] = {"next_token": {"tokens": 512, "most": 1}}
"""Parameters of tasks whose defaults are large: the controls of a probe are one-hot, and cost what tokens cubed cost; the
text is put into tokens in every process."""


def defaults() -> dict[str, Task]:
    """Every known task that its defaults make, or nearly."""
    found = {name: find_task(name) for name in task_names()}
    known = {name: cls for name, cls in found.items() if not any(f.is_required() for f in cls.model_fields.values())}
    return {name: cls(**SMALL.get(name, {})) for name, cls in known.items()}


TASKS = defaults()
FAMILIES: dict[str, str] = {}
"""One task of each family: the first one listed."""
for _name, _task in TASKS.items():
    FAMILIES.setdefault(_task.family, _name)


def coupled(task: Task) -> bool:
    """Whether a task couples position ids."""
    return task.sample(1, task.next_length(1), generator("coupled")).position_ids is not None


def schemes(task: Task) -> list[tuple[str, str]]:
    """Every encoding with every id sampler that the task allows."""
    laws = [name for name, law in ID_SAMPLERS.items() if coupled(task) or not law.coupled]
    return [(encoding, law) for encoding in ENCODINGS for law in laws]


def few(task: Task) -> list[tuple[str, str]]:
    """Every encoding and every id sampler at least once."""
    return [(e, i) for e, i in schemes(task) if i == "arange" or e == "learned"]


@contextmanager
def small_floors() -> Iterator[None]:
    """Floors of one block of strings each, which are forgotten afterwards.

    Drawing the strings of floors takes longer than all else on a short road, and nothing asserted there rests on
    what they are; `tests/unit/measure/behaviour` and `tests/science` say what they must be.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(baselines, "STRINGS", baselines.BLOCK)
        patched.setattr(baselines, "_FLOORS", {})
        yield


def travel(folder: Path, name: str, positions: str, ids: str) -> None:
    """Train, save, load and measure; everything that holds whatever the task and the scheme are is asserted."""
    task = TASKS[name]
    low = task.next_length(1)
    lengths = task.lengths(low, task.next_length(max(9, low + 4)))
    longest = lengths[-1]
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=4 * longest + 4,
        positions=positions, ids=ids,
    )  # fmt: skip
    law = TrainingConfig(
        steps=STEPS, batch_size=8, curriculum={"law": "uniform", "low": low, "high": longest},
        checkpoints={"log": 0, "linear": 1},
    )  # fmt: skip
    run = Trainer(RunConfig(task=task, model=model, training=law), folder).run()
    assert run.steps == [0, STEPS]
    todo = plan(
        MeasureRequest([run.path], only=sorted(MEASURED), steps=[STEPS], sequences=SEQUENCES, executor="serial")
    )
    with small_floors():
        assert execute(todo) == []
    table = Table.load(run.path)
    assert table.problems == []
    assert set(table.frame()["measurement"]) == MEASURED
    check_accuracy(table, task, positions, ids, longest, readable=todo.jobs[0].grid.lengths[-1])
    odd = table.sql("select * from rows where status = 'ok' and value is null and label = ''")
    assert odd.empty, odd


def check_accuracy(table: Table, task: Task, positions: str, ids: str, longest: int, readable: int) -> None:
    accuracy = table.frame(quantity="accuracy")
    assert accuracy["value"].between(0, 1).all()
    assert set(accuracy["law"]) == {"matched", "challenge"}
    encoding = ENCODINGS[positions]
    if not encoding.table and ids in ("arange", "random_offset"):
        assert readable >= 8 * longest
    assert accuracy["length"].max() == readable >= longest
    statuses = set(accuracy[accuracy["length"] > longest]["status"])
    if not encoding.absolute:
        assert statuses <= {"ok"}
    elif ids == "arange":
        assert statuses <= {"unseen_position"}
    shown = task.prompt_of(longest) is not None
    assert set(accuracy["mode"]) == ({"teacher_forced", "free_running"} if shown else {"teacher_forced"})
