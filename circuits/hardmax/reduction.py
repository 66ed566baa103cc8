"""From the q and k of one prefix length to numbers per sequence; all rows of the measurement come from here.

Rows are processed in chunks of sequences. Each is sorted once, reduced, and averaged over the queries of its sequence.
So memory does not grow with the number of sequences times the length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.row_statistics import entropy, log_mass, margin, margin_min, tie_uniformity
from circuits.attention.score_observer import LayerReducer
from circuits.hardmax.critical_lengths import log_critical_length
from workbench.models.transformer.scores import ScoreInputs
from workbench.models.transformer.tie_sets import Floats, Ints, SortedRows, nearest_hardmax, sort_rows
from workbench.tasks.base import Batch

#: Scores in memory at once; with the float64 sums this is about 100 bytes each.
CHUNK = 1 << 18
#: Scores reduced at once: about a dozen arrays of this size fit into a CPU cache, and need no new memory.
BLOCK = 1 << 16

CARRIED = ("leak_fixed", "leak_share", "log_critical")
"""Names of the results of :func:`carried_values`."""


@dataclass(frozen=True)
class TieSet:
    """The typical size of each head's tie set (the keys with the maximal score) at one length, for use at longer
    lengths.

    Attributes:
        size: ``[layer, head]`` median k* over the queries whose tie set is not all keys; NaN if these are fewer than
            half.
        keys: mean number of visible keys K at that length.
    """

    size: Floats
    keys: float


@dataclass(frozen=True)
class LengthRecord:
    """The statistics that are stored for one prefix length.

    Attributes:
        length: prefix length n.
        keys: number of keys K that the query at exactly n sees.
        log_keys: log K, averaged over the queries used.
        queries: ``[sequence]`` number of supervised queries used.
        values: name -> ``[sequence, layer, head]``, means over the sequence's queries; NaN where undefined.
        carried: earlier length -> name -> ``[sequence, layer, head]``: the same under a tie set carried from that
            length, of its size (``fixed``) or of its share of all keys (``share``).
        tie_set: the tie sets for longer lengths.
    """

    length: int
    keys: int
    log_keys: float
    queries: Ints
    values: dict[str, Floats]
    carried: dict[int, dict[str, Floats]]
    tie_set: TieSet

    @cached_property
    def sequence_count(self) -> int:
        """The number of sequences that contain at least one query."""
        return int((self.queries > 0).sum())


def window_queries(batch: Batch, window: int) -> Ints:
    """Return indices of the queries with prefix lengths in (n - window, n] that any sequence supervises."""
    first = max(1, batch.length - window + 1)
    index = np.arange(batch.index(first), batch.index(batch.length) + 1)
    kept: Ints = index[batch.mask[:, index].any(0).numpy(force=True)]
    return kept


class RowReducer(LayerReducer[dict[str, Floats]]):
    """Computes name -> ``[sequence, head]`` (and ``sizes``: ``[sequence, head, query]``) of one layer at one length.

    ``sizes`` contains k*, 0 where the query is not used or its tie set is all keys.

    Args:
        layer: index of the layer.
        queries: indices of the queries to use, see :func:`window_queries`.
        delta: setting of ``margin_min``.
        tie_sets: tie sets of shorter lengths, by length.
        carried_only: whether only the values under these tie sets are computed.
    """

    def __init__(
        self, layer: int, queries: Ints, delta: float, tie_sets: Mapping[int, TieSet], carried_only: bool = False
    ) -> None:
        self._layer, self._queries, self._delta = layer, queries, delta
        self._tie_sets, self._carried_only = tie_sets, carried_only
        self._parts: list[dict[str, Floats]] = []

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        used = part.mask[:, self._queries].numpy(force=True)
        keys, heads = inputs.k.shape[1], inputs.q.shape[2]
        step = max(1, CHUNK // max(heads * len(self._queries) * keys, 1))
        for start in range(0, len(part), step):
            chunk, blocks = inputs.select(slice(start, start + step)), []
            shape = (chunk.k.shape[0], heads, len(self._queries))
            for scores, rows, sizes in self._blocks(chunk, shape):
                values: dict[str, Floats] = {}
                if not self._carried_only:
                    values = row_values(rows, self._delta)
                    # A sink is a single key. BOS at the top of a nearly uniform row or of a larger tie set is not.
                    sink = (values["size"] == 1) & (scores.argmax(1) == 0) & part.led
                    values["sink"] = sink.astype(np.float64)
                for (length, tie_set), size in zip(self._tie_sets.items(), sizes, strict=True):
                    for name, value in carried_values(rows, size, size / tie_set.keys).items():
                        values[f"{name}@{length}"] = value
                blocks.append(values)
            self._parts.append(self._averaged(_concatenate(blocks, axis=0), shape, used[start : start + step]))

    def result(self) -> dict[str, Floats]:
        return _concatenate(self._parts, axis=0)

    def _blocks(
        self, inputs: ScoreInputs, shape: tuple[int, int, int]
    ) -> Iterator[tuple[NDArray[Any], SortedRows, list[Floats]]]:
        """Yield some rows at a time: their scores, the sorted rows, and the sizes of the carried tie sets by row."""
        keys = inputs.k.shape[1]
        first = np.maximum(self._queries + 1 - (inputs.window or keys), 0)
        scores = scores_at(inputs, self._queries.tolist()).numpy(force=True).reshape(-1, keys)
        first, key_counts = (np.broadcast_to(of, shape).reshape(-1) for of in (first, self._queries + 1 - first))
        carried = [tie_set.size[self._layer][None, :, None] for tie_set in self._tie_sets.values()]
        sizes = [np.broadcast_to(size, shape).reshape(-1) for size in carried]
        block = max(1, BLOCK // keys)
        for start in range(0, max(1, len(scores)), block):
            at = slice(start, start + block)
            yield (
                scores[at],
                sort_rows(_from_first(scores[at], first[at]), key_counts[at]),
                [size[at] for size in sizes],
            )

    def _averaged(
        self, values: dict[str, Floats], shape: tuple[int, int, int], used: NDArray[np.bool_]
    ) -> dict[str, Floats]:
        """Return means over the used queries, from values by row; ``shape`` is (sequence, head, query)."""
        size, weight = values.pop("size", np.zeros(0)), used[:, None, :]
        found = {name: _query_mean(value.reshape(shape), weight) for name, value in values.items()}
        if not self._carried_only:
            found["sizes"] = np.where(weight & (values["partial"] > 0).reshape(shape), size.reshape(shape), 0)
        return found


def _from_first(scores: NDArray[Any], first: Ints) -> NDArray[Any]:
    """Return rows of scores from the first visible key on; entries after the last key are meaningless."""
    if not first.any():
        return scores
    index = np.minimum(first[:, None] + np.arange(scores.shape[1]), scores.shape[1] - 1)
    return np.take_along_axis(scores, index, axis=1)


def length_record(layers: Sequence[Mapping[str, Floats]], batch: Batch, queries: Ints) -> LengthRecord:
    """Return the record of one length from the result of :class:`RowReducer` for each layer."""
    stacked = stack_layers(layers)
    sizes = stacked.pop("sizes").astype(np.int64)
    queries_used = batch.mask[:, queries].numpy(force=True).sum(1)
    keys = queries + 1.0
    size = np.full(sizes.shape[1:3], np.nan)
    for at in np.ndindex(*size.shape):
        partial = sizes[:, at[0], at[1]]
        partial = partial[partial > 0]
        if len(partial) and 2 * len(partial) >= queries_used.sum():
            size[at] = np.median(partial)
    return LengthRecord(
        length=batch.length,
        keys=batch.index(batch.length) + 1,
        log_keys=float(np.log(keys).mean()),
        queries=queries_used,
        values={name: value for name, value in stacked.items() if "@" not in name},
        carried=by_length(stacked),
        tie_set=TieSet(size, float(keys.mean())),
    )


def stack_layers(layers: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Return ``[sequence, layer, ...]``, the values of all layers."""
    return {name: np.stack([layer[name] for layer in layers], axis=1) for name in layers[0]}


def by_length(stacked: Mapping[str, Floats]) -> dict[int, dict[str, Floats]]:
    """Return the values under carried tie sets, by the length in their names."""
    values_by_length: dict[int, dict[str, Floats]] = {}
    for name, value in stacked.items():
        kind, at, length = name.partition("@")
        if at:
            values_by_length.setdefault(int(length), {})[kind] = value
    return values_by_length


def row_values(rows: SortedRows, delta: float) -> dict[str, Floats]:
    """Return every statistic of each row that does not depend on other lengths; NaN where undefined."""
    nearest = nearest_hardmax(rows)
    size = nearest.size
    mass = log_mass(rows, size)
    gap = margin(rows, size)
    gap[np.isinf(gap)] = np.nan
    return {
        "distance": nearest.distance,
        "distance_to_all": nearest.distance_to_all,
        "size": size.astype(np.float64),
        "log_size": np.log(size),
        "partial": (size < rows.keys).astype(np.float64),
        "mass": np.exp(mass),
        "leak": -mass,
        "margin": gap,
        "margin_min": margin_min(rows, delta),
        "tie_uniformity": tie_uniformity(rows, size),
        "entropy": entropy(rows),
        "log_support": np.log(rows.total),
        "log_critical": log_critical_length(size, gap),
    }


def carried_values(rows: SortedRows, size: Floats, share: Floats) -> dict[str, Floats]:
    """Return mass and critical length under a carried tie set.

    Args:
        rows: the sorted rows.
        size: ``[row]`` size of the tie set. Where it is NaN (the tie set was all keys), so are the results.
        share: ``[row]`` its share of all keys.
    """
    has_set = ~np.isnan(size)
    fixed = np.clip(np.where(has_set, np.rint(size), 1), 1, rows.keys).astype(np.int64)
    scaled = np.clip(np.where(has_set, np.rint(share * rows.keys), 1), 1, rows.keys).astype(np.int64)
    gap = margin(rows, fixed)
    gap[np.isinf(gap)] = np.nan
    values = {
        "leak_fixed": -log_mass(rows, fixed),
        "leak_share": -log_mass(rows, scaled),
        "log_critical": log_critical_length(fixed, gap),
    }
    return {name: np.where(has_set, value, np.nan) for name, value in values.items()}


def _query_mean(values: Floats, used: NDArray[np.bool_]) -> Floats:
    """Return the mean over the used queries with a defined value; NaN where there is none."""
    kept = used & ~np.isnan(values)
    count = kept.sum(-1)
    total = np.where(kept, values, 0.0).sum(-1)
    mean = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _concatenate(parts: Sequence[Mapping[str, Floats]], axis: int) -> dict[str, Floats]:
    return {name: np.concatenate([part[name] for part in parts], axis=axis) for name in parts[0]}
