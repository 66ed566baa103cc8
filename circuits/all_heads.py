"""The attention of all heads on one sequence, pooled to small maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from circuits.attention.attention_scores import pool_attention
from workbench.measure.edits.one_sequence import Progress, one_sequence, quiet
from workbench.measure.edits.reading import HeadMaps
from workbench.tasks.base import TaskError

CELLS = ((16, 64), (64, 48), (192, 32))
"""(number of heads, cells along a side of a map) up to that number; models with more heads use :data:`FEWEST`."""
FEWEST = 24
MOST_SCORES = 1 << 30
"""Maximum number of scores per call, half a minute on one core."""


def all_heads(
    run_path: str, step: int, sequence: Mapping[str, Any], cells: int | None = None, progress: Progress = quiet
) -> HeadMaps:
    """Return the attention of every head on one sequence.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        sequence: typed or drawn, see :func:`workbench.measure.edits.one_sequence.one_sequence`.
        cells: largest side of a map; None = a default that depends on the number of heads.
        progress: called with the number of finished layers.

    Raises:
        RunError: as :func:`workbench.measure.edits.one_sequence.one_sequence`.
        TaskError: likewise, and for a sequence with too many scores.
        ValueError: for a model without attention heads.
    """
    sample = one_sequence(run_path, step, sequence)
    layers, heads = sample.model.cfg.n_layers, int(sample.model.cfg.n_heads)
    if not heads:
        raise ValueError("this model has no attention heads")
    count = len(sample.tokens)
    most = int((MOST_SCORES / (layers * heads)) ** 0.5)
    if count > most:
        raise TaskError(
            f"all {layers * heads} heads are shown together only for sequences of at most {most:,} positions, and this "
            f"one has {count:,}; choose a shorter length, or one head"
        )
    side = min(cells or next((side for upto, side in CELLS if layers * heads <= upto), FEWEST), count)
    pool = -(-count // side)
    maps = np.full((layers, heads, -(-count // pool), -(-count // pool)), np.nan, np.float32)
    attending = [i for i in range(layers) if f"blocks.{i}.attn.hook_pattern" in sample.model.hook_dict]
    progress(0, layers, "one forward pass")
    cache = sample.forward((), [name for layer in attending for name in sample.model.score_hooks(layer)])
    for layer in attending:
        progress(layer, layers, "attention of every head")
        inputs = sample.model.cfg.score_inputs(layer, cache)
        for head in range(heads):
            alone = inputs.select(slice(None), slice(head, head + 1))
            maps[layer, head] = pool_attention(alone, side)["pattern_max"]
    return HeadMaps(maps, list(sample.tokens), bool(sample.batch.bos), sample.batch.length, pool, step)
