"""The attention of all heads on one sequence, pooled to small maps, for a look at a whole model at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from circuits.attention.attention_scores import pool_attention
from workbench.measure.edits.one_sequence import Progress, one_sequence, quiet
from workbench.measure.edits.reading import HeadMaps
from workbench.tasks.base import TaskError

CELLS = ((16, 64), (64, 48), (192, 32))
"""Heads of a model, and the cells along a side of its maps up to so many; of more heads :data:`FEWEST`."""
FEWEST = 24
MOST_SCORES = 1 << 30
"""Scores that are made for one look, half a minute on one core."""


def all_heads(
    run_path: str, step: int, sequence: Mapping[str, Any], cells: int | None = None, progress: Progress = quiet
) -> HeadMaps:
    """The attention of every head on one sequence, as the checkpoint is.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        sequence: typed or drawn, see :func:`workbench.measure.edits.one_sequence.one_sequence`.
        cells: largest side of a map; None = what that many heads have room for.
        progress: told how many layers are done.

    Raises:
        RunError: as :func:`workbench.measure.edits.one_sequence.one_sequence`.
        TaskError: likewise, and for a sequence whose scores are too many.
        ValueError: for a model without attention heads.
    """
    one = one_sequence(run_path, step, sequence)
    layers, heads = one.model.cfg.n_layers, int(one.model.cfg.n_heads)
    if not heads:
        raise ValueError("this model has no attention heads")
    count = len(one.tokens)
    most = int((MOST_SCORES / (layers * heads)) ** 0.5)
    if count > most:
        raise TaskError(
            f"all {layers * heads} heads are looked at on at most {most:,} positions, and this sequence has {count:,}; "
            "choose a shorter length, or look at one head"
        )
    side = min(cells or next((side for upto, side in CELLS if layers * heads <= upto), FEWEST), count)
    pool = -(-count // side)
    maps = np.full((layers, heads, -(-count // pool), -(-count // pool)), np.nan, np.float32)
    attending = [i for i in range(layers) if f"blocks.{i}.attn.hook_pattern" in one.model.hook_dict]
    progress(0, layers, "one forward pass")
    cache = one.forward((), [name for layer in attending for name in one.model.score_hooks(layer)])
    for layer in attending:
        progress(layer, layers, "attention of every head")
        inputs = one.model.cfg.score_inputs(layer, cache)
        for head in range(heads):
            alone = inputs.select(slice(None), slice(head, head + 1))
            maps[layer, head] = pool_attention(alone, side)["pattern_max"]
    return HeadMaps(maps, list(one.tokens), bool(one.batch.bos), one.batch.length, pool, step)
