"""Ablating single edges of attention, and through them only induction or only anti-induction.

An edge is one query reading one key in some heads. The query reads the key's K (which sets the attention) and V (the
value). Either can be replaced for that query only, so that the key is unchanged for all others. Every edge contains the
tokens at its two ends, and they are checked. An index that is one off would otherwise cut another edge unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuits.attention.target_keys import duplicate_token
from circuits.interventions.ablate_components import Answers, answers, counted_queries
from circuits.passes import Clean, Edit, clean_pass, edited_pass, evaluation_ids, pieces

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

SCORES = 1 << 24
"""Number of scores in memory at once, in a pass with explicit attention."""

Circuit = Literal["induction", "anti_induction"]
Rows = Float[Tensor, "edge head d_head"]
Given = Rows | Callable[[], Rows] | Literal["zero"] | None


@dataclass(frozen=True)
class Edges:
    """Edges of the attention pattern, each from a query to a key; one per entry of the arrays.

    Attributes:
        sequence, query, key: indices.
        query_token, key_token: the expected tokens there.
    """

    sequence: Int[Tensor, " edge"]
    query: Int[Tensor, " edge"]
    key: Int[Tensor, " edge"]
    query_token: Int[Tensor, " edge"]
    key_token: Int[Tensor, " edge"]

    def check(self, tokens: Int[Tensor, "batch pos"]) -> None:
        """Refuse edges between tokens other than the expected ones, and edges to later keys.

        Raises:
            ValueError: naming the first such edge.
        """
        for end, index, expected in (("query", self.query, self.query_token), ("key", self.key, self.key_token)):
            actual = tokens[self.sequence, index]
            wrong = torch.nonzero(actual != expected)
            if len(wrong):
                i = int(wrong[0, 0])
                raise ValueError(
                    f"the {end} of edge {i} should be token {int(expected[i])}, but position {int(index[i])} of "
                    f"sequence {int(self.sequence[i])} has token {int(actual[i])}"
                )
        later = torch.nonzero(self.key > self.query)
        if len(later):
            i = int(later[0, 0])
            raise ValueError(f"edge {i} goes from query {int(self.query[i])} to the later key {int(self.key[i])}")

    def __len__(self) -> int:
        return len(self.sequence)


def edges_between(tokens: Int[Tensor, "batch pos"], sequence: Tensor, query: Tensor, key: Tensor) -> Edges:
    """Return edges whose tokens are taken from the sequences, for edges that were found in them."""
    return Edges(sequence, query, key, tokens[sequence, query], tokens[sequence, key])


def edge_edits(
    model: HookedModel,
    layer: int,
    edges: Edges,
    *,
    heads: Sequence[int] | None = None,
    k: Given = None,
    v: Given = None,
) -> dict[str, Edit]:
    """Return edits that replace what each edge's query reads of its key in one layer, for :func:`edited_pass`.

    Args:
        model: the model; its attention must be by softmax.
        layer: index of the layer.
        edges: the edges; see :meth:`Edges.check`.
        heads: indices of the heads; None = all.
        k: the replacement of the key's K, as it enters the score (rotated, if the encoding rotates). It is given as
            rows, as a function that returns them during the pass, or as zeros; None = its own K.
        v: the replacement of its V.

    Raises:
        ValueError: for attention that is not by softmax, or nothing to replace.
    """
    if model.cfg.attention != "softmax":
        raise ValueError(
            f"cutting an edge needs softmax attention, but the attention of this model is {model.cfg.attention}"
        )
    if k is None and v is None:
        raise ValueError("state what of the edge is replaced: give k, v or both")
    at = f"blocks.{layer}.attn.hook_"
    names = model.cfg.score_hooks(layer)
    cached: dict[str, Tensor] = {}
    chosen = list(range(model.cfg.n_heads)) if heads is None else list(heads)
    rows = edges.sequence[:, None], edges.query[:, None], edges.key[:, None], torch.tensor(chosen)[None]

    def hold(name: str) -> Edit:
        def edit(value: Tensor) -> Tensor:
            cached[name] = value
            return value

        return edit

    def scores(value: Tensor) -> Tensor:
        b, q, key, h = rows
        queries, keys = cached[names[0]][b, q, h], cached[names[1]][b, key, h]
        change = (queries * (_new(k, keys, chosen) - keys)).sum(-1) / math.sqrt(keys.shape[-1])
        if f"{at}score_factor" in cached:
            change = change * cached[f"{at}score_factor"][b, q, h]
        value[b, h, q, key] += change
        return value

    def z(value: Tensor) -> Tensor:
        b, q, key, h = rows
        values = cached[f"{at}v"][b, key, h]
        change = cached[f"{at}pattern"][b, h, q, key][..., None] * (_new(v, values, chosen) - values)
        # Several edges of one query add up.
        return value.index_put(torch.broadcast_tensors(b, q, h), change, accumulate=True)

    edits: dict[str, Edit] = {}
    if k is not None:
        edits |= {name: hold(name) for name in names if "bias" not in name and "ids" not in name}
        edits[f"{at}attn_scores"] = scores
    if v is not None:
        edits |= {f"{at}v": hold(f"{at}v"), f"{at}pattern": hold(f"{at}pattern"), f"{at}z": z}
    return edits


def _new(given: Given, own: Tensor, heads: Sequence[int]) -> Tensor:
    rows = given() if callable(given) else given
    return torch.zeros_like(own) if isinstance(rows, str) or rows is None else rows[:, heads]


def cut(model: HookedModel, clean: Clean, layers: Sequence[int], edges: Edges, **parts: Any) -> Tensor:
    """Return outputs with the same edges replaced in several layers; ``parts`` as for :func:`edge_edits`.

    Raises:
        ValueError: if an edge is not between the tokens that it names.
    """
    edges.check(clean.tokens)
    edits: dict[str, Edit] = {}
    for layer in layers:
        edits |= edge_edits(model, layer, edges, **parts)
    return edited_pass(model, clean, edits)[0]


def without_circuit(model: HookedModel, task: Task, batch: Batch, circuit: Circuit) -> Answers:
    """Return answers without induction, or anti-induction, through previous-token edges, for every query that counts.

    This is the path patching of Jobanputra et al. 2025 (2505.21785). Let s be an earlier occurrence of the query's
    token. In the first pass, the edges from s + 1 to s and from s to s - 1 carry no V, for every s. The resulting K and
    V of the keys are kept.

    The second pass is clean except for the query. Without *induction*, the query sees the kept K of the keys s + 1,
    which no longer contain the token before them. Without *anti-induction*, it reads the kept V of the keys s, which no
    longer contain the token before them.

    If a sequence has several answers, every query, and every key of the first pass, is treated separately: what others
    read of it comes from the clean pass.
    """
    at_once = max(1, SCORES // (model.cfg.n_heads * batch.tokens.shape[1] ** 2))
    found = [_without(model, task, piece, circuit) for piece in pieces(batch, at_once * batch.tokens.shape[1])]
    return Answers(np.concatenate([a.right for a in found]), np.concatenate([a.loss for a in found]))


def _without(model: HookedModel, task: Task, batch: Batch, circuit: Circuit) -> Answers:
    tokens, layers = batch.tokens, range(model.cfg.n_layers)
    counted = counted_queries(batch)
    several = bool((counted.sum(1) > 1).any())
    names = [name for layer in layers for name in _key_and_value(model, layer)]
    clean = clean_pass(model, tokens, evaluation_ids(model, batch), names if several else ())
    reads = circuit_edges(batch, counted, circuit)
    if not len(reads):
        return answers(task, clean.outputs, batch)
    sequence, key = torch.stack([reads.sequence, reads.key]).unique(dim=1)
    before = edges_between(tokens, sequence, key, key - 1)
    kept = _changed_keys(model, clean, before, circuit, several)
    reads.check(tokens)
    edits: dict[str, Edit] = {}
    for layer in layers:
        part: dict[str, Any] = {"k" if circuit == "induction" else "v": kept[layer][reads.sequence, reads.key]}
        if several:
            edits |= _each_by_itself(model, clean, layer, reads, counted, {}, **part)
        else:
            edits |= edge_edits(model, layer, reads, **part)
    return answers(task, edited_pass(model, clean, edits)[0], batch)


def circuit_edges(batch: Batch, rows: Bool[Tensor, "batch pos"], circuit: Circuit) -> Edges:
    """Return edges from these queries to the keys after earlier occurrences of their tokens, or to the occurrences."""
    queries = torch.nonzero(rows.any(0))[:, 0]
    twins = duplicate_token(batch.tokens, queries) & rows[:, queries, None]
    sequence, index, place = torch.nonzero(twins, as_tuple=True)
    query = queries[index]
    inside = (place + 1 < query) if circuit == "induction" else (place - 1 >= int(batch.bos))
    key = place + 1 if circuit == "induction" else place
    return edges_between(batch.tokens, sequence[inside], query[inside], key[inside])


def _key_and_value(model: HookedModel, layer: int) -> tuple[str, str]:
    return model.cfg.score_hooks(layer)[1], f"blocks.{layer}.attn.hook_v"


def _changed_keys(
    model: HookedModel, clean: Clean, before: Edges, circuit: Circuit, several: bool
) -> Mapping[int, Tensor]:
    """Return, per layer, the K, or V, of all keys in a pass whose previous-token edges carry no V."""
    before.check(clean.tokens)
    layers = range(model.cfg.n_layers)
    names = {layer: _key_and_value(model, layer)[0 if circuit == "induction" else 1] for layer in layers}
    edits: dict[str, Edit] = {}
    if not several:
        for layer in layers:
            edits |= edge_edits(model, layer, before, v="zero")
        _, seen = edited_pass(model, clean, edits, list(names.values()))
        return {layer: seen[name] for layer, name in names.items()}
    recomputed: dict[str, Tensor] = {}
    cut_off = torch.zeros_like(clean.tokens, dtype=torch.bool)
    cut_off[before.sequence, before.query] = True
    for layer in layers:
        zeros = torch.zeros_like(clean.seen[_key_and_value(model, layer)[1]][before.sequence, before.key])
        edits |= _each_by_itself(model, clean, layer, before, cut_off, recomputed, v=zeros)
    edited_pass(model, clean, edits)
    return {layer: recomputed[name] for layer, name in names.items()}


def _each_by_itself(
    model: HookedModel,
    clean: Clean,
    layer: int,
    edges: Edges,
    rows: Bool[Tensor, "batch pos"],
    recomputed: dict[str, Tensor],
    *,
    k: Rows | None = None,
    v: Rows | None = None,
) -> dict[str, Edit]:
    """Return edits that replace what edges carry, as if each of the changed rows were the only one.

    Every key has its clean K and V for all queries except itself. What a row computes from its changed residual stream
    is visible to that row only, through the edge to itself.

    Args:
        clean: the clean pass, with the K and V of each layer.
        edges: the edges; their queries are among ``rows``.
        rows: rows that may change.
        recomputed: receives the K and V that this layer computes from the changed rows, by hook name.
        k, v: what edges carry, as for :func:`edge_edits`.
    """
    sequence, place = torch.nonzero(rows, as_tuple=True)
    self_edges = edges_between(clean.tokens, sequence, place, place)

    def carried(name: str, given: Rows | None) -> tuple[Edges, Callable[[], Rows]]:
        if given is None:
            return self_edges, lambda: recomputed[name][sequence, place]
        return _joined(edges, self_edges), lambda: torch.cat([given, recomputed[name][sequence, place]])

    def frozen(name: str, then: Edit) -> Edit:
        def edit(value: Tensor) -> Tensor:
            recomputed[name] = value
            return then(clean.seen[name])

        return edit

    names = _key_and_value(model, layer)
    (of_k, k_rows), (of_v, v_rows) = carried(names[0], k), carried(names[1], v)
    edits = edge_edits(model, layer, of_k, k=k_rows) | edge_edits(model, layer, of_v, v=v_rows)
    return edits | {name: frozen(name, edits[name]) for name in names}


def _joined(a: Edges, b: Edges) -> Edges:
    parts = ("sequence", "query", "key", "query_token", "key_token")
    return Edges(*(torch.cat([getattr(a, part), getattr(b, part)]) for part in parts))
