"""The training batch of an update, as a pure function of the run's config and the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import torch

from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig
from workbench.training.errors import TrainingError
from workbench.training.length_groups import group_sizes
from workbench.training.string_pool import StringPool
from workbench.training.task_schedule import task_at


def training_batch(config: RunConfig, step: int, pool: StringPool | None = None) -> tuple[Batch, torch.Tensor]:
    """Return the batch of update ``step`` and its position ids. Both depend only on the data seed and the step.

    Args:
        config: the run.
        step: the update, counted from 0.
        pool: the run's fixed training sequences, if it has them (:func:`pool_of`). The batch is then sampled from them.
            Position ids are drawn each time.

    Raises:
        TrainingError: if batches are divided into groups of several lengths; use :func:`training_groups` then.
    """
    if (groups := config.training.lengths_per_batch) > 1:
        raise TrainingError(f"a batch of training.lengths_per_batch={groups} has no single length; read its groups")
    return training_groups(config, step, pool)[0]


def training_groups(config: RunConfig, step: int, pool: StringPool | None = None) -> list[tuple[Batch, torch.Tensor]]:
    """Return the batch of update ``step`` as the groups that ``training.lengths_per_batch`` states, with position ids.

    Each group draws a length of its own from the curriculum. Arguments: see :func:`training_batch`.
    """
    law = config.training
    g = data_generator(config, step)
    task = task_at(config.task, law.task_schedule, step)
    groups = []
    for size in group_sizes(law.batch_size, law.lengths_per_batch):
        length = law.curriculum.length(task, step, g)
        batch = pool.batch(size, length, g) if pool else task.sample(size, length, g, "training")
        groups.append((batch, position_ids(config, step, batch, g)))
    return groups


def training_batches(requests: Sequence[tuple[RunConfig, int]]) -> list[tuple[Batch, torch.Tensor]]:
    """Return :func:`training_batch` for several pairs of run and step, in less time than one after another.

    Batches of one length are labelled together. They contain no ``update_summary`` and no ``meta``.

    Args:
        requests: runs of one task and one batch size, for which :func:`drawn_together` holds, and their steps.
    """
    generators = [data_generator(config, step) for config, step in requests]
    by_length: dict[int, list[int]] = defaultdict(list)
    for i, (config, step) in enumerate(requests):
        by_length[config.training.curriculum.length(config.task, step, generators[i])].append(i)
    batches: dict[int, Batch] = {}
    for length, members in by_length.items():
        config = requests[members[0]][0]
        size = config.training.batch_size
        together = config.task.sample_blocks(size, length, [generators[i] for i in members], "training")
        together = replace(together, meta={}, position_ids=None)
        batches |= {i: together.rows(place * size, (place + 1) * size) for place, i in enumerate(members)}
    return [
        (batches[i], position_ids(config, step, batches[i], generators[i])) for i, (config, step) in enumerate(requests)
    ]


def drawn_together(config: RunConfig) -> bool:
    """Whether :func:`training_batches` can draw the batches of this run: those of one length, without pool, schedules
    and coupled ids.
    """
    law = config.training
    several = law.lengths_per_batch > 1
    return not (several or law.strings or law.task_schedule or law.id_schedule or config.model.ids.coupled)


def data_generator(config: RunConfig, step: int) -> torch.Generator:
    """Return the random generator of update ``step``. The length is drawn first, then sequences, then position ids."""
    return generator("data", config.seeds.data_at(step), step)


def position_ids(config: RunConfig, step: int, batch: Batch, g: torch.Generator) -> torch.Tensor:
    """Return the position ids of a training batch, from the id sampler of this step."""
    schedule, model = config.training.id_schedule, config.model
    sampler = schedule.sampler(model.ids, step) if schedule else model.ids
    return sampler.training(len(batch), batch.tokens.shape[1], model.n_ctx, g, batch.position_ids)


def pool_of(config: RunConfig) -> StringPool | None:
    """Return the pool of training sequences, or None if their number is not fixed."""
    law = config.training
    if not law.strings:
        return None
    return StringPool(config.task, law.curriculum.possible(config.task, law.steps), law.strings, config.seeds.data)
