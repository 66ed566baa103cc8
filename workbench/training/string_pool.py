"""A fixed number of training sequences, drawn once. Batches are sampled from them instead of drawing new sequences."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator
from workbench.training.errors import TrainingError


class StringPool:
    """The fixed set of training sequences of a run. It depends only on task, lengths and data seed, so it is not saved.

    The sequences are divided evenly among the lengths that updates can have. If that leaves a remainder, the shortest
    lengths have one more each. They are drawn independently from the training distribution, so short ones may occur
    twice.

    Args:
        task: the task.
        lengths: every length that an update can have, ascending.
        count: the number of sequences of all lengths together.
        seed: the data seed.

    Raises:
        TrainingError: if there are fewer sequences than lengths.
    """

    def __init__(self, task: Task, lengths: Sequence[int], count: int, seed: int) -> None:
        if count < len(lengths):
            raise TrainingError(
                f"training.strings={count} gives some of the {len(lengths)} training lengths no sequence; set it to "
                f"{len(lengths)} or more, or train on fewer lengths"
            )
        self._task, self._seed = task, seed
        each, rest = divmod(count, len(lengths))
        self.counts = {length: each + (i < rest) for i, length in enumerate(lengths)}
        self._drawn: dict[int, Batch] = {}

    def of_length(self, length: int) -> Batch:
        """All sequences of a length."""
        if length not in self._drawn:
            g = generator("string pool", self._seed, length)
            self._drawn[length] = self._task.sample(self.counts[length], length, g, "training")
        return self._drawn[length]

    def batch(self, size: int, length: int, drawn_by: torch.Generator) -> Batch:
        """``size`` sequences of a length, sampled uniformly with replacement from the pool."""
        sequences = self.of_length(length)
        return sequences.take(torch.randint(0, len(sequences), (size,), generator=drawn_by))
