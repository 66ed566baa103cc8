"""Runs whose weights come from elsewhere: trained by another program, or made without training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.runs.adoption.being_written import being_written
from workbench.runs.checkpoints import write_checkpoint
from workbench.runs.run import FORMAT, Run, run_id
from workbench.runs.weights import weights_bytes
from workbench.tasks.base import Task
from workbench.tasks.registry import stored_task


@dataclass(frozen=True)
class Checkpoint:
    """The weights of one training step.

    Attributes:
        step: the step under which they are stored.
        model: returns the model; called only if the step does not exist yet.
        facts: further entries of ``meta.json``.
    """

    step: int
    model: Callable[[], HookedTransformer]
    facts: Mapping[str, Any] = field(default_factory=dict)


def store(
    out: Path,
    config: Mapping[str, Any],
    checkpoints: Iterable[Checkpoint],
    trained_ids: Sequence[Sequence[int]] | None,
) -> Run:
    """Write a run folder with these checkpoints; existing ones are kept.

    Raises:
        RunError: if the folder contains another run.
    """
    with being_written(out, config) as run:
        for one in checkpoints:
            if one.step not in run.steps:
                write_checkpoint(run, one.step, weights_bytes(one.model()), trained_ids, None, **one.facts)
    return run


def config_of(
    task: Task,
    cfg: ModelConfig,
    lengths: tuple[int, int],
    training: Mapping[str, Any],
    stated: str,
) -> dict[str, Any]:
    """The content of ``run.json``. Unknown facts about training are left out, not filled with defaults.

    Args:
        task: the task.
        cfg: the model.
        lengths: shortest and longest prefix length that count as trained.
        training: known facts about the origin of the weights; at least ``steps``.
        stated: where the lengths come from, as the end of a sentence.
    """
    low, high = lengths
    parts: dict[str, Any] = {
        "task": stored_task(task),
        "model": cfg.model_dump(mode="json"),
        "training": {
            **training,
            "curriculum": {"low": low, "high": high},
            "trained_length": max(task.lengths(low, high)),
        },
        "seeds": {"evaluation": 0, "probe": 0},
    }
    facts = {"question": task.question, "kind": task.kind, "summary": task.summary}
    return {
        "format": FORMAT,
        "id": run_id(parts),
        **parts,
        "facts": {**facts, "lengths": f"lengths from {low} to {high}, {stated}"},
        "versions": {name: version(name) for name in ("lengthlens", "torch")},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
