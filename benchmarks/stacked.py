"""Stacked training against the same runs trained one at a time.

python -m benchmarks.stacked
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from benchmarks.tools.table import Line, interleaved
from workbench.models import ModelConfig
from workbench.models.architectures import make_model
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.curriculum import Uniform
from workbench.training.optimizer import make_optimizer
from workbench.training.resume import State
from workbench.training.stacked import train_stacked
from workbench.training.trainer import Trainer

UPDATES = 24
ALONE = 2
"""Runs that are trained one at a time in each round, for the time of one run."""
WANTED = {8: 1.0, 24: 2.5}
"""Runs of a stack, and the bound of the ratio: 2.5 is what a pilot measured."""


def run_config(task: str, positions: str, seed: int) -> RunConfig:
    """A run of the size for which stacks are meant: N = 16, two layers, width 32, two heads, 32 sequences a batch."""
    made = make_task(task)
    model = ModelConfig(
        d_vocab=made.d_vocab,
        d_vocab_out=made.d_vocab_out,
        n_layers=2,
        d_model=32,
        n_heads=2,
        n_ctx=32,
        positions=positions,
    )
    training = TrainingConfig(steps=500, batch_size=32, learning_rate=3e-3, curriculum=Uniform(low=1, high=16))
    return RunConfig(task=made, model=model, training=training, seeds=Seeds(init=seed, data=seed))


def train_alone(configs: Sequence[RunConfig], folder: Path) -> None:
    """The updates of single training, run after run and without checkpoints."""
    for config in configs:
        trainer = Trainer(config, folder)
        trainer.model = make_model(config.model, seed=config.seeds.init)
        trainer._parameters = list(trainer.model.parameters())
        trainer.optimizer = make_optimizer(trainer.model, config.training)
        trainer.state = State()
        for step in range(UPDATES):
            trainer._update(step)


def ratios(task: str, positions: str, sizes: Mapping[int, float | None], rounds: int) -> list[Line]:
    """For each number of runs, the time of these runs trained one at a time divided by the time of their stack."""
    configs = [run_config(task, positions, seed) for seed in range(max(sizes))]
    with tempfile.TemporaryDirectory() as folder:
        work: dict[str, Callable[[], object]] = {
            f"{size}": partial(train_stacked, configs[:size], to_step=UPDATES) for size in sizes
        }
        work["alone"] = partial(train_alone, configs[:ALONE], Path(folder) / "run")
        times = interleaved(work, rounds, warm=1)
    alone = times.median("alone") / ALONE / UPDATES
    return [
        Line(
            f"stacked training of {size} runs, {task}, positions {positions}",
            "one at a time / stacked",
            times.ratio("alone", f"{size}") * size / ALONE,
            bound,
            f"{times.median(f'{size}') / size / UPDATES:.1f} ms for an update of a run, {alone:.1f} ms alone",
        )
        for size, bound in sizes.items()
    ]


def measure(rounds: int = 7) -> list[Line]:
    torch.set_num_threads(1)
    tasks = (("bounded_dyck", "none"), ("abd_bc", "rotary"))
    return [line for task, positions in tasks for line in ratios(task, positions, WANTED, rounds)]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
