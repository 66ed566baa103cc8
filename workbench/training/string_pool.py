"""A fixed number of training strings, drawn once: batches are drawn from these instead of anew."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator
from workbench.training.errors import TrainingError


class StringPool:
    """The strings of a run, a pure function of its task, lengths and data seed, so that nothing of it needs saving.

    They are shared out evenly over the lengths that updates can have; where that leaves a rest, the shortest lengths
    have one more each. They are drawn on the training law and independently, so that short ones may occur twice.

    Args:
        task: what is drawn.
        lengths: every length that an update can have, ascending.
        strings: how many there are, of all lengths together.
        seed: the data seed.

    Raises:
        TrainingError: where there are fewer strings than lengths.
    """

    def __init__(self, task: Task, lengths: Sequence[int], strings: int, seed: int) -> None:
        if strings < len(lengths):
            raise TrainingError(
                f"training.strings={strings} gives some of the {len(lengths)} training lengths no sequence; set it to "
                f"{len(lengths)} or more, or train on fewer lengths"
            )
        self._task, self._seed = task, seed
        each, rest = divmod(strings, len(lengths))
        self.counts = {length: each + (i < rest) for i, length in enumerate(lengths)}
        self._drawn: dict[int, Batch] = {}

    def of_length(self, length: int) -> Batch:
        """All strings of a length."""
        if length not in self._drawn:
            g = generator("string pool", self._seed, length)
            self._drawn[length] = self._task.sample(self.counts[length], length, g, "training")
        return self._drawn[length]

    def batch(self, size: int, length: int, drawn_by: torch.Generator) -> Batch:
        """So many strings of a length, each uniformly one of those there are."""
        strings = self.of_length(length)
        return strings.take(torch.randint(0, len(strings), (size,), generator=drawn_by))
