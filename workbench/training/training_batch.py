"""The training batch of an update, as a pure function of the run's config and the step."""

from __future__ import annotations

import torch

from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig
from workbench.training.errors import TrainingError
from workbench.training.length_groups import group_sizes
from workbench.training.string_pool import StringPool
from workbench.training.task_schedule import scheduled


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
    law, model = config.training, config.model
    g = generator("data", config.seeds.data, step)
    task = scheduled(config.task, law.task_schedule, step)
    sampler = law.id_schedule.sampler(model.ids, step) if law.id_schedule else model.ids
    groups = []
    for size in group_sizes(law.batch_size, law.lengths_per_batch):
        length = law.curriculum.length(task, step, g)
        batch = pool.batch(size, length, g) if pool else task.sample(size, length, g, "training")
        ids = sampler.training(len(batch), batch.tokens.shape[1], model.n_ctx, g, batch.position_ids)
        groups.append((batch, ids))
    return groups


def pool_of(config: RunConfig) -> StringPool | None:
    """Return the pool of training sequences, or None if their number is not fixed."""
    law = config.training
    if not law.strings:
        return None
    return StringPool(config.task, law.curriculum.possible(config.task, law.steps), law.strings, config.seeds.data)
