"""A trained run as claims use it: its model, its task, and sequences with the model's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from workbench.measure.behaviour.observed import right_queries
from workbench.measure.study import forward
from workbench.models.transformer.predicted_ids import next_id_hooks
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.runs.run import Run
    from workbench.tasks.base import Batch, Task


@dataclass(frozen=True)
class TrainedRun:
    """A trained run at its last step, with its model.

    Attributes:
        run: its folder.
        model: the model at the last step.
        task: the task that it is evaluated on: the run's own, or the same with other parameters.
    """

    run: Run
    model: Any
    task: Task

    @classmethod
    def of(cls, run: Run) -> TrainedRun:
        """Load the model of a run at its last step."""
        return cls(run, run.load(), run.task)

    @property
    def cfg(self) -> Architecture:
        """Return the model's config."""
        found: Architecture = self.model.cfg
        return found

    @property
    def longest(self) -> int:
        """Return N, the longest trained length."""
        return self.run.trained_length

    def with_parameters(self, parameters: Mapping[str, Any]) -> TrainedRun:
        """Return the same model on its task with other parameters, which must not change tokens or answers.

        Raises:
            TaskError: for parameters that the task cannot have.
            ValueError: if tokens or answers differ.
        """
        task = self.task.model_copy(update=parameters)
        if not task.speaks_as(self.task):
            raise ValueError(
                f"{task.name} with {dict(parameters)} has other tokens or answers than the task of the run; choose "
                "parameters that keep both"
            )
        return replace(self, task=task)

    def strings(self, count: int, length: int, law: str, *purpose: object) -> Batch:
        """Return sequences of a test set at a length, the same ones for every run."""
        g = generator("claims", *purpose, law, length)
        return self.task.sample(count, length, g, law, window=self.longest)

    def answers(self, batch: Batch) -> dict[str, Tensor]:
        """Return the outputs of the model on a batch, and the position ids that it predicts, if it predicts any."""
        return forward(self.model, batch, next_id_hooks(self.cfg))

    def right(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return whether the answer at the end is right ``[string]``, and whether every answer is."""
        with torch.no_grad():
            queries = right_queries(self, batch, self.answers(batch))[0]
        at_end = batch.mask[:, batch.index(batch.length)]
        every = (queries | ~batch.mask).all(1)
        return self.task.sequence_correct(queries, batch)[at_end], every[at_end]
