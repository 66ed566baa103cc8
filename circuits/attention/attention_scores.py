"""Exact attention scores from queries and keys, for chosen queries or for all of them in blocks.

No stored pattern is read. Scores are recomputed from cached activations by the model's own definition
(:class:`workbench.models.transformer.scores.ScoreInputs`). So memory is O(queries x keys), and the model keeps its
fused attention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from workbench.measure.study import forward
from workbench.models.positions.encoding import Queries
from workbench.models.transformer.scores import ScoreInputs

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

#: Largest number of heatmap cells along one side that :func:`attention_sample` returns.
CELLS = 512


def score_hooks(cfg: Architecture) -> list[str]:
    """Return the names of the activations from which the scores of all layers are computed."""
    return list(dict.fromkeys(name for layer in range(cfg.n_layers) for name in cfg.score_hooks(layer)))


def cached_inputs(cfg: Architecture, cache: Any) -> list[ScoreInputs]:
    """Return, per layer, the inputs of its scores, from a cache with the activations of :func:`score_hooks`.

    Args:
        cfg: the model's configuration.
        cache: a dict of tensors by hook name, or TransformerLens's ``ActivationCache``.

    Raises:
        KeyError: if the cache lacks one of them.
        TypeError: for an architecture without attention.
    """
    return [layer_inputs(cfg, layer, cache) for layer in range(cfg.n_layers)]


def layer_inputs(cfg: Architecture, layer: int, cache: Any) -> ScoreInputs:
    """Return the inputs of one layer's scores, from a cache with the activations ``cfg.score_hooks(layer)``.

    Raises:
        KeyError, TypeError: as :func:`cached_inputs`.
    """
    missing = [name for name in cfg.score_hooks(layer) if name not in cache]
    if missing:
        raise KeyError(f"the cache contains no {missing[0]}; request the names that score_hooks(cfg) gives")
    inputs: ScoreInputs = cfg.score_inputs(layer, cache)
    return inputs


def score_inputs(model: HookedModel, batch: Batch) -> list[ScoreInputs]:
    """Make a forward pass over ``batch``; return the inputs of each layer's scores (see :func:`scores_at`)."""
    return cached_inputs(model.cfg, forward(model, batch, score_hooks(model.cfg)))


def scores_at(inputs: ScoreInputs, queries: Queries) -> Float[Tensor, "batch head query key"]:
    """Return attention scores of the chosen queries over all keys, -inf at keys after the query.

    Args:
        inputs: inputs of one layer, see :func:`score_inputs`.
        queries: indices on the position axis.
    """
    return inputs.scores(queries)


def stream_scores(
    inputs: ScoreInputs, block: int = 256
) -> Iterator[tuple[range, Float[Tensor, "batch head query key"]]]:
    """Yield scores of all queries, ``block`` queries at a time.

    Yields:
        the indices of the block's queries, and their scores over the keys up to the last of them. Later keys are
        invisible to the whole block and are left out.
    """
    if block < 1:
        raise ValueError(f"a block holds at least one query; got {block}")
    size = inputs.q.shape[1]
    for start in range(0, size, block):
        queries = range(start, min(start + block, size))
        yield queries, inputs.scores(queries, queries.stop)


def attention_sample(
    run_path: str, step: int, law: str, length: int, layer: int, head: int, seed: int, cells: int = CELLS
) -> dict[str, Any]:
    """Return the attention of one head on one drawn sequence, pooled to at most ``cells`` x ``cells``.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        law: distribution of the sequence: ``training``, ``matched`` or ``challenge``.
        length: task tokens of the sequence; must be a length that the task has.
        layer, head: indices of the head.
        seed: seed of the sequence.
        cells: largest side of the returned arrays.

    Returns:
        plain values and float32 arrays ``[query cell, key cell]``, NaN where no key is visible:

        - ``pattern``, ``scores``: mean over the visible entries of each cell (the entries themselves if ``pool`` is 1);
        - ``pattern_max``, ``scores_max``: their maximum;
        - ``last_pattern``: ``[pos]`` float32, the last query's weights, not pooled;
        - ``row_keys``: mean number of visible keys K of each query cell;
        - ``cell_starts``: index of the first position of each cell; ``pool``: positions per cell;
        - ``tokens``: names of all tokens;
        - ``labels``: one per cell (the token, or "first-last" prefix indices where pooled);
        - ``targets``, ``correct``: per position, None at positions without a query;
        - ``length``, ``trained`` (longest training length), ``positions``, ``step``, ``law``, ``layer``, ``head``,
          ``seed``.

    Raises:
        ValueError: for a layer or head that the model does not have.
    """
    from workbench.runs import Run

    run = Run.open(run_path)
    task, model = run.task, run.load(step)
    _check_head(model.cfg, layer, head)
    generator = torch.Generator().manual_seed(seed)
    batch = task.sample(1, length, generator, law=law, window=run.trained_length)  # type: ignore[arg-type]
    cache = forward(model, batch, model.cfg.score_hooks(layer))
    inputs = model.cfg.score_inputs(layer, cache).select(slice(None), slice(head, head + 1))
    query_mask = batch.mask[0].tolist()
    correct = task.correct(cache["logits"], batch)[0].tolist()
    tokens = [task.tokens_names[t] for t in batch.tokens[0].tolist()]
    pooled = pool_attention(inputs, cells)
    return {
        **pooled,
        "tokens": tokens,
        "labels": _labels(tokens, pooled["cell_starts"], pooled["pool"]),
        "targets": [t if a else None for t, a in zip(_target_names(task, batch), query_mask, strict=True)],
        "correct": [c if a else None for c, a in zip(correct, query_mask, strict=True)],
        "length": length,
        "trained": run.trained_length,
        "positions": model.cfg.positions.name,
        "step": step,
        "law": law,
        "layer": layer,
        "head": head,
        "seed": seed,
    }


def pool_attention(
    inputs: ScoreInputs, cells: int = CELLS, queries: range | None = None, keys: range | None = None
) -> dict[str, Any]:
    """Return pattern and scores of one head on one sequence, or on a rectangle of it, pooled; memory O(block x pos).

    Args:
        inputs: score inputs of one sequence and one head.
        cells: largest side of the pooled arrays.
        queries: indices of the rectangle's queries, ascending by 1; None = all.
        keys: indices of its keys. Weights are still those of the softmax over every visible key.

    Returns:
        the arrays ``pattern``, ``pattern_max``, ``scores``, ``scores_max`` and ``last_pattern`` of
        :func:`attention_sample`, its lists ``row_keys`` and ``cell_starts`` (of the queries), and its integer ``pool``.
        In addition ``row_top``, ``[query cell]`` float32: the highest score of a cell's queries over all keys.
    """
    size = inputs.q.shape[1]
    queries, keys = queries or range(size), keys or range(size)
    pool = math.ceil(max(len(queries), len(keys)) / cells)
    height, width = math.ceil(len(queries) / pool), math.ceil(len(keys) / pool)
    pooled = {
        name: np.full((height, width), np.nan, np.float32)
        for name in ("pattern", "pattern_max", "scores", "scores_max")
    }
    row_top = np.empty(height, np.float32)
    step = pool * math.ceil(256 / pool)
    for start in range(queries.start, queries.stop, step):
        block = range(start, min(start + step, queries.stop))
        scores = inputs.scores(block, block.stop)
        rows = slice((start - queries.start) // pool, math.ceil((block.stop - queries.start) / pool))
        visible = _visible(block, keys, width * pool)
        for name, values in (("scores", scores), ("pattern", inputs.pattern(scores))):
            mean, top = _pool(values[0, 0, :, keys.start : keys.stop].numpy(force=True), visible, pool)
            pooled[name][rows], pooled[f"{name}_max"][rows] = mean, top
        highest = scores[0, 0].amax(-1).numpy(force=True)
        row_top[rows] = np.maximum.reduceat(highest, np.arange(0, len(block), pool))
    starts = np.arange(queries.start, queries.stop, pool)
    last = np.minimum(starts + pool, queries.stop)
    return {
        **pooled,
        "row_top": row_top,
        "last_pattern": inputs.pattern(scores_at(inputs, [size - 1]))[0, 0, 0].numpy(force=True),
        "row_keys": ((starts + 1 + last) / 2).tolist(),
        "cell_starts": starts.tolist(),
        "pool": pool,
    }


def _visible(queries: range, keys: range, width: int) -> NDArray[np.bool_]:
    """Return ``[query, width]``: which keys a query sees; positions past the keys pad their last cell."""
    places = keys.start + np.arange(width)
    return (places <= np.array(queries)[:, None]) & (places < keys.stop)


def _pool(values: NDArray[np.float32], visible: NDArray[np.bool_], pool: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return mean and maximum over the visible entries of cells of ``pool`` x ``pool``; NaN where there are none."""
    rows, width = visible.shape
    height = math.ceil(rows / pool)

    def tiles(x: NDArray[Any], fill: Any) -> NDArray[Any]:
        padded = np.full((height * pool, width), fill, dtype=x.dtype)
        padded[: x.shape[0], : x.shape[1]] = x
        return padded.reshape(height, pool, width // pool, pool)

    seen = tiles(visible, False)
    cells = tiles(values, 0.0)
    count = seen.sum((1, 3))
    total = np.where(seen, cells, 0.0).sum((1, 3), dtype=np.float64)
    top = np.where(seen, cells, -np.inf).max((1, 3))
    empty = count == 0
    return np.where(empty, np.nan, total / np.maximum(count, 1)), np.where(empty, np.nan, top)


def _labels(tokens: list[str], starts: list[int], pool: int) -> list[str]:
    if pool == 1:
        return tokens
    return [f"{start}-{min(start + pool, len(tokens)) - 1}" for start in starts]


def _target_names(task: Task, batch: Batch) -> list[Any]:
    if task.real:
        values = batch.targets[0].reshape(batch.tokens.shape[1], -1).tolist()
        return [v[0] if len(v) == 1 else v for v in values]
    names = task.output_names or ()
    return [names[t] for t in batch.targets[0].tolist()]


def _check_head(cfg: Any, layer: int, head: int) -> None:
    if not 0 <= layer < cfg.n_layers:
        raise ValueError(f"there is no layer {layer}; this model has layers 0 to {cfg.n_layers - 1}")
    if not 0 <= head < cfg.n_heads:
        raise ValueError(f"there is no head {head}; each layer has heads 0 to {cfg.n_heads - 1}")
