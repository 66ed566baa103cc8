"""The training batch of an update, as a pure function of the run's config and the step."""

from __future__ import annotations

import torch

from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig
from workbench.training.string_pool import StringPool
from workbench.training.task_schedule import scheduled


def training_batch(config: RunConfig, step: int, pool: StringPool | None = None) -> tuple[Batch, torch.Tensor]:
    """Return the batch of update ``step`` and its position ids. Both depend only on the data seed and the step.

    Args:
        config: the run.
        step: the update, counted from 0.
        pool: the run's fixed training sequences, if it has them (:func:`pool_of`). The batch is then sampled from them.
            Position ids are drawn each time.
    """
    law, model = config.training, config.model
    g = generator("data", config.seeds.data, step)
    task = scheduled(config.task, law.task_schedule, step)
    length = law.curriculum.length(task, step, g)
    batch = pool.batch(law.batch_size, length, g) if pool else task.sample(law.batch_size, length, g, "training")
    sampler = law.id_schedule.sampler(model.ids, step) if law.id_schedule else model.ids
    ids = sampler.training(len(batch), batch.tokens.shape[1], model.n_ctx, g, batch.position_ids)
    return batch, ids


def pool_of(config: RunConfig) -> StringPool | None:
    """Return the pool of training sequences, or None if their number is not fixed."""
    law = config.training
    if not law.strings:
        return None
    return StringPool(config.task, law.curriculum.possible(config.task, law.steps), law.strings, config.seeds.data)
