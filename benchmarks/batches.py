"""Making a batch against the training step that uses it, for every task.

python -m benchmarks.batches
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.peers.training_step import CONTEXT, ours
from benchmarks.step import BATCH, stepper
from benchmarks.tools.table import Line, interleaved


def sampler(name: str) -> Callable[[], object]:
    """Draw one training batch of about the step's size."""
    from workbench.tasks import make_task

    task = make_task(name)
    length = task.next_length(CONTEXT - task.bos)
    generator = torch.Generator().manual_seed(0)
    return lambda: task.sample(BATCH, length, generator, "training")


def measure(rounds: int = 9) -> list[Line]:
    from workbench.tasks import task_names

    torch.set_num_threads(1)
    work: dict[str, Callable[[], object]] = {name: sampler(name) for name in task_names()}
    times = interleaved({"step": stepper(ours()), **work}, rounds)
    return [
        Line(f"making a batch: {name}", "% of the step", 100 * times.ratio(name, "step"), 5.0,
             f"{times.median(name):.2f} ms", at_most=True)
        for name in work
    ]  # fmt: skip


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
