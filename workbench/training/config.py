"""Frozen configs that describe a training run, and the ``run.json`` that they make."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    field_validator,
    model_serializer,
    model_validator,
)

from workbench.core.former_names import FormerName
from workbench.core.limits import COUNT, DRAWN, LONGEST
from workbench.models.architectures import make_config
from workbench.models.base.architecture import Architecture
from workbench.models.transformer.config import ModelConfig
from workbench.runs.evaluation_ids import check_training_ids
from workbench.runs.run import FORMAT, run_id
from workbench.tasks.base import Task
from workbench.tasks.registry import stored_task
from workbench.training.carried_states import CarriedStates, check_carried
from workbench.training.carried_states import in_words as carried_in_words
from workbench.training.checkpoint_steps import planned_steps
from workbench.training.curriculum import Curriculum, Uniform, curriculum
from workbench.training.early_stop import EarlyStop
from workbench.training.errors import TrainingError
from workbench.training.id_schedule import IdSchedule, check_id_schedule
from workbench.training.learning_rate_schedules import RATE_SCHEDULES
from workbench.training.length_groups import check_several, in_words
from workbench.training.regularizers import check_regularizers
from workbench.training.starting_weights import Start
from workbench.training.string_pool import StringPool
from workbench.training.task_schedule import TaskSchedule, check_schedules


class Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Seed = Annotated[int, Field(ge=0, lt=1 << 63)]


class Seeds(Config):
    """Four separate seeds, so that one source of randomness can be varied at a time.

    Attributes:
        init: of the initial weights.
        data: of the training lengths, sequences and position ids.
        evaluation: of the test sequences.
        probe: of the probes.
        data_from: pairs (step, seed), ascending: from each step on, the data seed is this one. The updates before the
            first pair are bit-identical to those of the same run without pairs.
    """

    init: Seed = 0
    data: Seed = 0
    evaluation: Seed = 0
    probe: Seed = 0
    data_from: Annotated[tuple[tuple[Annotated[int, Field(ge=1, le=COUNT)], Seed], ...], Field(max_length=DRAWN)] = ()

    @field_validator("data_from")
    @classmethod
    def _ascending(cls, pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        steps = [step for step, _ in pairs]
        if steps != sorted(set(steps)):
            raise ValueError(f"data_from takes pairs [step, seed] with ascending steps, not the steps {steps}")
        return pairs

    @model_serializer(mode="wrap")
    def _data_from_if_set(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The seeds without ``data_from`` if it is empty, so that the ids of older runs stay the same."""
        fields: dict[str, Any] = dump(self)
        return fields if self.data_from else {name: seed for name, seed in fields.items() if name != "data_from"}

    def data_at(self, step: int) -> int:
        """The data seed of update ``step``."""
        return next((seed for start, seed in reversed(self.data_from) if start <= step), self.data)


class Schedule(Config):
    """The steps with checkpoints: step 0, log-spaced, evenly spaced and named steps, and the last step."""

    log: int = Field(default=12, ge=0, le=DRAWN)
    linear: int = Field(default=4, ge=0, le=DRAWN)
    at: Annotated[tuple[Annotated[int, Field(ge=0, le=COUNT)], ...], Field(max_length=DRAWN)] = ()

    @model_serializer(mode="wrap")
    def _named_where_given(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The config without ``at`` if it is empty, so that the ids of older runs stay the same."""
        found: dict[str, Any] = dump(self)
        return found if self.at else {name: value for name, value in found.items() if name != "at"}

    def steps(self, last: int) -> list[int]:
        """The checkpoint steps of a training that ends at step ``last``."""
        return planned_steps(last, self.log, self.linear, self.at)


USUAL = {
    "device": "cpu",
    "dtype": "float32",
    "strings": 0,
    "lengths_per_batch": 1,
    "id_schedule": None,
    "start": None,
    "fork": None,
    "keep_state_at": [],
    "average_weights": 0.0,
    "carried_states": "none",
}
"""Settings that were added later, and their values in runs that do not state them."""


class TrainingConfig(Config):
    """The settings of training: optimizer, lengths, batches and schedules.

    Attributes:
        steps: optimizer steps.
        batch_size: sequences per step.
        learning_rate: peak learning rate.
        rate_law: the learning-rate schedule after ``warmup`` steps, by name (:mod:`.learning_rate_schedules`).
        warmup: steps of linear warm-up.
        optimizer: adamw or sgd.
        weight_decay: on matrices only (not on biases, LayerNorm and scores by lag).
        betas: AdamW's.
        momentum: SGD's.
        clip: largest gradient norm; 0 = no clipping.
        regularizers: coefficient by name (see ``workbench.training.regularizers``); 0 is the same as none.
        curriculum: the length distribution at each step.
        task_schedule: parameters of the task that change over training.
        id_schedule: id samplers that training uses before the model's own; None = the model's own from the first step.
        start: the checkpoint of another run with the initial weights; None = random ones, from ``seeds.init``.
        fork: the checkpoint of the run that this run was split from. Up to its step both runs are bit-identical. None =
            not split from another run.
        keep_state_at: checkpoint steps at which the optimizer's state is stored too, so that forks from there need
            not repeat the steps before.
        ``strings``: number of training sequences, drawn once and divided evenly among the lengths. 0 = each batch
            draws new ones.
        lengths_per_batch: number of groups that a batch is divided into. Each group draws a length of its own. 1 = all
            sequences of a batch have one length (:mod:`.length_groups`).
        average_weights: share of the former average that each update keeps in an exponential moving average of the
            weights, which starts at the initial weights. 0 = no average. If it is above 0, checkpoints contain the
            average, and everything is measured on it: all measurements, early stopping and the accuracies of the log.
            Updates and the loss in the log use the weights themselves, which only the stored state contains.
        carried_states: the states with which the sequences of a recurrent model begin. ``none`` = those of an empty
            sequence. ``passed`` = those after the sequences of the batch before. ``random`` = normal numbers with the
            mean and standard deviation of these states (:mod:`.carried_states`). The model is measured without them.
        early_stop: the rule for ending before ``steps``; None = never.
        checkpoints: the checkpoint schedule.
        threads: torch threads; recorded because floating-point sums depend on their number.
        device: the type of device that computes updates; recorded for the same reason.
        dtype: bfloat16 = matrix products are computed in it; weights, their moments and checkpoints stay in float32.
        trained_length: N, the longest length that any update can have; filled in by the run.
    """

    steps: int = Field(default=2000, ge=1, le=COUNT)
    batch_size: int = Field(default=64, ge=1, le=DRAWN)
    learning_rate: float = Field(default=1e-3, gt=0)
    rate_law: str = "cosine"
    warmup: int = Field(default=50, ge=0, le=COUNT)
    optimizer: Literal["adamw", "sgd"] = "adamw"
    weight_decay: float = Field(default=0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.99)
    momentum: float = Field(default=0.9, ge=0, lt=1)
    clip: float = Field(default=1.0, ge=0)
    regularizers: dict[str, float] = Field(default_factory=dict)
    curriculum: SerializeAsAny[Curriculum] = Uniform(low=1, high=50)
    task_schedule: tuple[TaskSchedule, ...] = ()
    id_schedule: IdSchedule | None = None
    start: Start | None = None
    fork: Start | None = None
    keep_state_at: Annotated[tuple[Annotated[int, Field(ge=1, le=COUNT)], ...], Field(max_length=DRAWN)] = ()
    strings: int = Field(default=0, ge=0, le=DRAWN)
    lengths_per_batch: int = Field(default=1, ge=1, le=DRAWN)
    average_weights: float = Field(default=0.0, ge=0, lt=1)
    carried_states: CarriedStates = "none"
    early_stop: EarlyStop | None = None
    checkpoints: Schedule = Schedule()
    threads: int = Field(default=1, ge=1, le=1024)
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    dtype: Literal["float32", "bfloat16"] = "float32"
    trained_length: int = Field(default=0, ge=0, le=LONGEST)

    @field_validator("curriculum", mode="before")
    @classmethod
    def _curriculum(cls, value: Any) -> Any:
        return curriculum(value)

    @model_validator(mode="after")
    def _checkpoints_within(self) -> TrainingConfig:
        if late := [step for step in self.checkpoints.at if step > self.steps]:
            raise ValueError(f"checkpoints.at names step {late[0]}, but training has {self.steps} steps; leave it out")
        planned = set(self.planned_steps)
        if absent := [step for step in self.keep_state_at if step not in planned]:
            raise ValueError(
                f"keep_state_at names step {absent[0]}, which has no checkpoint; "
                f"add it with training.checkpoints.at=[{absent[0]}]"
            )
        if self.fork and self.fork.step >= self.steps:
            raise ValueError(f"fork names step {self.fork.step}, but training ends at step {self.steps}")
        return self

    @model_validator(mode="after")
    def _groups_within(self) -> TrainingConfig:
        if self.lengths_per_batch > self.batch_size:
            raise ValueError(
                f"lengths_per_batch={self.lengths_per_batch} is more than the {self.batch_size} sequences of a batch; "
                f"set it to {self.batch_size} or less, or raise batch_size"
            )
        return self

    @field_validator("rate_law")
    @classmethod
    def _known_schedule(cls, value: str) -> str:
        RATE_SCHEDULES.find(value)
        return value

    @field_validator("regularizers")
    @classmethod
    def _without_zeros(cls, value: dict[str, float]) -> dict[str, float]:
        return {name: coefficient for name, coefficient in value.items() if coefficient}

    @model_serializer(mode="wrap")
    def _named_where_unusual(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The config without settings that have their usual values, so that the ids of older runs stay the same."""
        found: dict[str, Any] = dump(self)
        return {name: value for name, value in found.items() if name not in USUAL or USUAL[name] != value}

    @property
    def planned_steps(self) -> list[int]:
        """The checkpoint steps. Those of a fork are step 0 and the steps from the fork on."""
        first = self.fork.step if self.fork else 0
        steps = self.checkpoints.steps(self.steps)
        return [step for step in steps if step == 0 or step >= first]

    @property
    def constant_from(self) -> int:
        """The first step from which the length distribution, the task and the id sampler no longer change."""
        ids = self.id_schedule.over if self.id_schedule else 0
        return max([self.curriculum.constant_from(), ids, *(s.over for s in self.task_schedule)])

    settled: ClassVar[FormerName] = FormerName("constant_from")


class RunConfig(Config):
    """Task, model, training and seeds: everything that identifies a run."""

    task: SerializeAsAny[Task]
    model: SerializeAsAny[Architecture]
    training: TrainingConfig
    seeds: Seeds = Seeds()

    @field_validator("model", mode="before")
    @classmethod
    def _architecture(cls, value: Any) -> Any:
        return make_config(value) if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _complete(self) -> RunConfig:
        law = self.training.curriculum
        lengths = law.possible(self.task, self.training.steps)
        longest = lengths[-1]
        if self.training.strings:
            if self.training.task_schedule:
                raise TrainingError(
                    "training.strings and training.task_schedule exclude each other; leave one of them out"
                )
            StringPool(self.task, lengths, self.training.strings, self.seeds.data)  # refuses too few
        check_several(self.training.lengths_per_batch, lengths)
        check_carried(self.training.carried_states, self.model)
        check_schedules(self.task, self.training.task_schedule, law.low, law.high)
        check_regularizers(self.training.regularizers, self.model)
        check_training_ids(self.task, self.model, longest)
        _check_tied(self.task, self.model)
        if self.training.id_schedule:
            check_id_schedule(self.task, self.model, self.training.id_schedule, longest)
        # Frozen: the one field that follows from the others is set here and nowhere else.
        object.__setattr__(self, "training", self.training.model_copy(update={"trained_length": longest}))
        return self

    def as_json(self) -> dict[str, Any]:
        """The content of ``run.json``; the id is a hash of task, model, training and seeds."""
        parts: dict[str, Any] = {
            "task": stored_task(self.task),
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "seeds": self.seeds.model_dump(mode="json"),
        }
        facts = {
            "question": self.task.question,
            "kind": self.task.kind,
            "summary": self.task.summary,
            "lengths": self.training.curriculum.describe()
            + in_words(self.training.lengths_per_batch)
            + carried_in_words(self.training.carried_states),
        }
        return {
            "format": FORMAT,
            "id": run_id(parts),
            **parts,
            "facts": facts,
            "versions": versions(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def _check_tied(task: Task, model: Architecture) -> None:
    """Refuse a model with tied embeddings if the task's answers are not its input tokens.

    Raises:
        TrainingError: naming the task.
    """
    if not isinstance(model, ModelConfig) or not model.tied:
        return
    if task.output_names is None or tuple(task.tokens_names[model.tied_rows]) != tuple(task.output_names):
        raise TrainingError(
            f"model.tied needs answers that are the tokens of the task in their order, unlike those of {task.name}; "
            "leave out model.tied, or choose a task such as text"
        )


def versions() -> dict[str, str]:
    """Versions of the software that numbers may depend on."""
    return {**_package_versions(), "python": platform.python_version()}


@cache
def _package_versions() -> dict[str, str]:
    """Versions of installed packages. Looking them up takes 25 ms, and each checkpoint states them."""
    return {name: version(name) for name in ("lengthlens", "torch", "transformer-lens")}
