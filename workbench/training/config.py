"""What a training run is: frozen configs, and the ``run.json`` they make."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from workbench.models.config import ModelConfig
from workbench.runs.folder import FORMAT, run_id
from workbench.tasks.base import Task
from workbench.training.curriculum import Curriculum, Uniform, curriculum


class Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Seeds(Config):
    """Four separate seeds, so that one source of chance can be varied alone."""

    init: int = Field(default=0, ge=0)
    data: int = Field(default=0, ge=0)
    evaluation: int = Field(default=0, ge=0)
    probe: int = Field(default=0, ge=0)


class Schedule(Config):
    """When checkpoints are written: step 0, log-spaced and evenly spaced ones, and the last step."""

    log: int = Field(default=12, ge=0)
    linear: int = Field(default=4, ge=0)


class TrainingConfig(Config):
    """How a model is trained.

    Attributes:
        steps: optimizer steps.
        batch_size: sequences per step.
        learning_rate: peak learning rate.
        rate_law: constant, linear decay to 0, or cosine decay to 0, after ``warmup`` steps.
        warmup: steps of linear warm-up.
        weight_decay: AdamW's, on matrices only (not on biases and LayerNorm).
        betas: AdamW's.
        clip: largest gradient norm; 0 = no clipping.
        curriculum: the law of lengths at each step.
        checkpoints: the checkpoint schedule.
        threads: torch threads; recorded because the bits of a sum depend on it.
        trained_length: N, the longest admissible length of the curriculum; filled in by the run.
    """

    steps: int = Field(default=2000, ge=1)
    batch_size: int = Field(default=64, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    rate_law: Literal["constant", "linear", "cosine"] = "cosine"
    warmup: int = Field(default=50, ge=0)
    weight_decay: float = Field(default=0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.99)
    clip: float = Field(default=1.0, ge=0)
    curriculum: SerializeAsAny[Curriculum] = Uniform(low=1, high=50)
    checkpoints: Schedule = Schedule()
    threads: int = Field(default=1, ge=1)
    trained_length: int = Field(default=0, ge=0)

    @field_validator("curriculum", mode="before")
    @classmethod
    def _curriculum(cls, value: Any) -> Any:
        return curriculum(value)


class RunConfig(Config):
    """Task, model, training and seeds: everything that makes a run the run it is."""

    task: SerializeAsAny[Task]
    task_source: str = ""
    """``file.py:Class`` for an unpackaged task; "" for one known by name."""
    model: ModelConfig
    training: TrainingConfig
    seeds: Seeds = Seeds()

    @model_validator(mode="after")
    def _complete(self) -> RunConfig:
        law = self.training.curriculum
        longest = max(self.task.lengths(law.low, law.high))
        positions = longest + self.task.bos
        self.model.ids.check(positions, self.model.n_ctx)
        self.model.positions.check(positions - 1, self.model.n_ctx)
        # Frozen: the one field that follows from the others is set here and nowhere else.
        object.__setattr__(self, "training", self.training.model_copy(update={"trained_length": longest}))
        return self

    def as_json(self) -> dict[str, Any]:
        """The content of ``run.json``; the id covers task, model, training and seeds."""
        parts: dict[str, Any] = {
            "task": {"name": self.task_source or self.task.name, "parameters": self.task.parameters},
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "seeds": self.seeds.model_dump(mode="json"),
        }
        facts = {
            "question": self.task.question,
            "kind": self.task.kind,
            "summary": self.task.summary,
        }
        return {
            "format": FORMAT,
            "id": run_id(parts),
            **parts,
            "facts": facts,
            "versions": versions(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def versions() -> dict[str, str]:
    """Versions that a number may depend on."""
    found = {name: version(name) for name in ("lengthlens", "torch", "transformer-lens")}
    return {**found, "python": platform.python_version()}
