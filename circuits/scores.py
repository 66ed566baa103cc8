"""Attention scores, exactly, from queries and keys: for chosen queries, or for all of them in blocks.

Nothing here reads a stored pattern: scores are made again from the q and k that the model cached
(rotated ones where positions are rotary), so memory is O(queries x keys) and the model keeps its
fused attention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from workbench.measure.study import forward

if TYPE_CHECKING:
    from workbench.models.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

#: Encodings whose scores are q . k / sqrt(d_head) of the cached (where rotary: rotated) q and k.
KNOWN_POSITIONS = ("none", "learned", "rotary")
#: Largest number of heatmap cells along one side that :func:`attention_sample` returns.
CELLS = 512

Inputs = tuple[Float[Tensor, "batch pos head d_head"], Float[Tensor, "batch pos head d_head"]]


def score_scale(q: Float[Tensor, "batch pos head d_head"]) -> float:
    """Factor from q . k to the score: 1 / sqrt(d_head)."""
    return 1.0 / math.sqrt(q.shape[-1])


def score_hooks(cfg: Any) -> list[tuple[str, str]]:
    """Per layer, the names of the cached q and k whose scaled product is the score.

    Raises:
        ValueError: for an encoding that adds to the scores what q and k do not hold.
    """
    positions = cfg.positions.name
    if positions not in KNOWN_POSITIONS:
        raise ValueError(
            f"scores cannot be recomputed from q and k under {positions} positions; "
            f"they can under {', '.join(KNOWN_POSITIONS)}"
        )
    return [cfg.score_hooks(layer) for layer in range(cfg.n_layers)]


def cached_inputs(cache: Any) -> list[Inputs]:
    """Per layer, the q and k in a cache that holds the activations named by :func:`score_hooks`.

    Args:
        cache: a dict of tensors by hook name, or TransformerLens's ``ActivationCache``.

    Raises:
        KeyError: if the cache holds them for no layer.
    """
    found: list[Inputs] = []
    while True:
        at = f"blocks.{len(found)}.attn.hook_"
        turned = "rot_" if f"{at}rot_q" in cache else ""
        if f"{at}{turned}q" not in cache:
            break
        found.append((cache[f"{at}{turned}q"], cache[f"{at}{turned}k"]))
    if not found:
        raise KeyError("the cache holds no attention q and k; ask for the names that score_hooks(cfg) gives")
    return found


def score_inputs(model: HookedModel, batch: Batch) -> list[Inputs]:
    """One forward pass over ``batch``; per layer the q and k that make its scores (see :func:`scores_at`)."""
    names = [name for pair in score_hooks(model.cfg) for name in pair]
    return cached_inputs(forward(model, batch, names))


def scores_at(
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch key head d_head"],
    queries: Int[Tensor, " query"] | Sequence[int],
    scale: float | None = None,
) -> Float[Tensor, "batch head query key"]:
    """Attention scores of the chosen queries over all keys, -inf at keys after the query.

    Args:
        q: queries as they enter the product (rotated where rotary).
        k: keys, likewise.
        queries: indices on the position axis.
        scale: factor from q . k to the score; None = 1 / sqrt(d_head).
    """
    index = torch.as_tensor(queries, dtype=torch.long, device=q.device)
    products = torch.einsum("bqhe,bkhe->bhqk", q[:, index], k)
    scores = products * (score_scale(q) if scale is None else scale)
    later = torch.arange(k.shape[1], device=q.device) > index[:, None]
    return scores.masked_fill(later, float("-inf"))


def stream_scores(
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos head d_head"],
    scale: float | None = None,
    block: int = 256,
) -> Iterator[tuple[range, Float[Tensor, "batch head query key"]]]:
    """Scores of all queries, ``block`` queries at a time.

    Yields:
        the indices of the block's queries, and their scores over the keys up to the last of them
        (later keys are invisible to the whole block and left out).
    """
    if block < 1:
        raise ValueError(f"a block holds at least one query; got {block}")
    for start in range(0, q.shape[1], block):
        queries = range(start, min(start + block, q.shape[1]))
        yield queries, scores_at(q, k[:, : queries.stop], queries, scale)


def attention_sample(
    run_path: str, step: int, law: str, length: int, layer: int, head: int, seed: int, cells: int = CELLS
) -> dict[str, Any]:
    """The attention of one head on one drawn string, pooled to at most ``cells`` x ``cells``.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        law: law the string is drawn from (training, matched or challenge).
        length: task tokens of the string; must be admissible for the task.
        layer, head: which head.
        seed: seed of the string.
        cells: largest side of the returned arrays.

    Returns:
        plain values and float32 arrays ``[query cell, key cell]``, NaN where no key is visible:

        - ``pattern``, ``scores``: mean over the visible entries of each cell (the entries themselves
          where ``pool`` is 1); ``pattern_max``, ``scores_max``: their maximum;
        - ``last_pattern``: ``[pos]`` float32, the last query's weights, not pooled;
        - ``row_keys``: mean number of visible keys K of each query cell;
        - ``cell_starts``: index of the first position of each cell; ``pool``: positions per cell;
        - ``tokens``: names of all tokens; ``labels``: one per cell (the token, or "first-last" prefix
          indices where pooled);
        - ``targets``, ``correct``: per position, None where nothing is asked;
        - ``length``, ``trained`` (longest training length), ``positions``, ``step``, ``law``,
          ``layer``, ``head``, ``seed``.

    Raises:
        ValueError: for a layer or head the model does not have.
    """
    from workbench.runs import Run

    run = Run.open(run_path)
    task, model = run.task, run.load(step)
    _check_head(model.cfg, layer, head)
    generator = torch.Generator().manual_seed(seed)
    batch = task.sample(1, length, generator, law=law, window=run.trained_length)  # type: ignore[arg-type]
    names = list(score_hooks(model.cfg)[layer])
    cache = forward(model, batch, names)
    q, k = (cache[name][:, :, head : head + 1] for name in names)
    asked = batch.mask[0].tolist()
    correct = task.correct(cache["logits"], batch)[0].tolist()
    tokens = [task.tokens_names[t] for t in batch.tokens[0].tolist()]
    pooled = pool_attention(q, k, cells)
    return {
        **pooled,
        "tokens": tokens,
        "labels": _labels(tokens, pooled["cell_starts"], pooled["pool"]),
        "targets": [t if a else None for t, a in zip(_target_names(task, batch), asked, strict=True)],
        "correct": [c if a else None for c, a in zip(correct, asked, strict=True)],
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
    q: Float[Tensor, "1 pos 1 d_head"], k: Float[Tensor, "1 pos 1 d_head"], cells: int = CELLS
) -> dict[str, Any]:
    """Pattern and scores of one head on one sequence, pooled; memory O(block x pos).

    Returns the arrays ``pattern``, ``pattern_max``, ``scores``, ``scores_max``, ``last_pattern``, the
    lists ``row_keys`` and ``cell_starts`` and the integer ``pool`` of :func:`attention_sample`.
    """
    size = q.shape[1]
    pool = math.ceil(size / cells)
    side = math.ceil(size / pool)
    pooled = {
        name: np.full((side, side), np.nan, np.float32) for name in ("pattern", "pattern_max", "scores", "scores_max")
    }
    for queries, scores in stream_scores(q, k, block=pool * math.ceil(256 / pool)):
        rows = slice(queries.start // pool, math.ceil(queries.stop / pool))
        visible = _visible(queries, side * pool)
        for name, values in (("scores", scores), ("pattern", scores.softmax(-1))):
            mean, top = _pool(values[0, 0].numpy(force=True), visible, pool)
            pooled[name][rows], pooled[f"{name}_max"][rows] = mean, top
    starts = np.arange(0, size, pool)
    last = np.minimum(starts + pool, size)
    return {
        **pooled,
        "last_pattern": scores_at(q, k, [size - 1])[0, 0, 0].softmax(-1).numpy(force=True),
        "row_keys": ((starts + 1 + last) / 2).tolist(),
        "cell_starts": starts.tolist(),
        "pool": pool,
    }


def _visible(queries: range, width: int) -> NDArray[np.bool_]:
    return np.arange(width) <= np.array(queries)[:, None]


def _pool(values: NDArray[np.float32], visible: NDArray[np.bool_], pool: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean and maximum over the visible entries of cells of ``pool`` x ``pool``; NaN where there are none."""
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
