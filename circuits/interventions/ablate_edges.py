"""Ablating single edges of attention, and with them induction or anti-induction alone.

An edge is one query reading one key in some heads. What it reads is the key's K (how much attention it gets) and V
(what is read); either can be replaced for that query only, leaving the key as it is for all others. Every edge names
the two tokens it is between, and they are checked: an index that is one off would cut another edge unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuits.attention.target_keys import duplicate_token
from circuits.interventions.ablate_components import Answers, answers
from circuits.passes import Clean, Edit, clean_pass, edited_pass, evaluation_ids, pieces

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

SCORES = 1 << 24
"""Scores held at once by a pass with explicit attention."""

Circuit = Literal["induction", "anti_induction"]


@dataclass(frozen=True)
class Edges:
    """Edges from queries to keys, one per entry of the arrays.

    Attributes:
        sequence, query, key: indices.
        query_token, key_token: the tokens that are meant to stand there.
    """

    sequence: Int[Tensor, " edge"]
    query: Int[Tensor, " edge"]
    key: Int[Tensor, " edge"]
    query_token: Int[Tensor, " edge"]
    key_token: Int[Tensor, " edge"]

    def check(self, tokens: Int[Tensor, "batch pos"]) -> None:
        """Refuse edges between other tokens than those meant, and edges to later keys.

        Raises:
            ValueError: naming the first such edge.
        """
        for end, index, meant in (("query", self.query, self.query_token), ("key", self.key, self.key_token)):
            found = tokens[self.sequence, index]
            wrong = torch.nonzero(found != meant)
            if len(wrong):
                i = int(wrong[0, 0])
                raise ValueError(
                    f"the {end} of edge {i} is meant to be token {int(meant[i])}, but at position {int(index[i])} of "
                    f"sequence {int(self.sequence[i])} stands token {int(found[i])}"
                )
        later = torch.nonzero(self.key > self.query)
        if len(later):
            i = int(later[0, 0])
            raise ValueError(f"edge {i} goes from query {int(self.query[i])} to the later key {int(self.key[i])}")

    def __len__(self) -> int:
        return len(self.sequence)


def edges_between(tokens: Int[Tensor, "batch pos"], sequence: Tensor, query: Tensor, key: Tensor) -> Edges:
    """Edges whose tokens are read off the strings; for edges that were found in them."""
    return Edges(sequence, query, key, tokens[sequence, query], tokens[sequence, key])


def edge_edits(
    model: HookedModel,
    layer: int,
    edges: Edges,
    *,
    heads: Sequence[int] | None = None,
    k: Float[Tensor, "edge head d_head"] | Literal["zero"] | None = None,
    v: Float[Tensor, "edge head d_head"] | Literal["zero"] | None = None,
) -> dict[str, Edit]:
    """Edits that replace what each edge's query reads of its key in one layer, for :func:`edited_pass`.

    Args:
        model: the model; its attention must be by softmax.
        layer: which.
        edges: which; see :meth:`Edges.check`.
        heads: which; None = all.
        k: what stands in for the key's K, as it enters the score (rotated, where positions are): given rows, zeros,
            or None = its own.
        v: what stands in for its V.

    Raises:
        ValueError: for attention that is not by softmax, or nothing to replace.
    """
    if model.cfg.attention != "softmax":
        raise ValueError(f"edges are cut in attention by softmax; this model's is {model.cfg.attention}")
    if k is None and v is None:
        raise ValueError("say what of the edge is replaced: k, v or both")
    at = f"blocks.{layer}.attn.hook_"
    names = model.cfg.score_hooks(layer)
    held: dict[str, Tensor] = {}
    chosen = list(range(model.cfg.n_heads)) if heads is None else list(heads)
    rows = edges.sequence[:, None], edges.query[:, None], edges.key[:, None], torch.tensor(chosen)[None]

    def hold(name: str) -> Edit:
        def edit(value: Tensor) -> Tensor:
            held[name] = value
            return value

        return edit

    def scores(value: Tensor) -> Tensor:
        b, q, key, h = rows
        queries, keys = held[names[0]][b, q, h], held[names[1]][b, key, h]
        change = (queries * (_new(k, keys, chosen) - keys)).sum(-1) / math.sqrt(keys.shape[-1])
        if f"{at}score_factor" in held:
            change = change * held[f"{at}score_factor"][b, q, h]
        value[b, h, q, key] += change
        return value

    def z(value: Tensor) -> Tensor:
        b, q, key, h = rows
        values = held[f"{at}v"][b, key, h]
        change = held[f"{at}pattern"][b, h, q, key][..., None] * (_new(v, values, chosen) - values)
        # Several edges of one query add up.
        return value.index_put(torch.broadcast_tensors(b, q, h), change, accumulate=True)

    edits: dict[str, Edit] = {}
    if k is not None:
        edits |= {name: hold(name) for name in names if "bias" not in name and "ids" not in name}
        edits[f"{at}attn_scores"] = scores
    if v is not None:
        edits |= {f"{at}v": hold(f"{at}v"), f"{at}pattern": hold(f"{at}pattern"), f"{at}z": z}
    return edits


def _new(given: Tensor | str | None, own: Tensor, heads: Sequence[int]) -> Tensor:
    return torch.zeros_like(own) if isinstance(given, str) or given is None else given[:, heads]


def cut(model: HookedModel, clean: Clean, layers: Sequence[int], edges: Edges, **parts: Any) -> Tensor:
    """Outputs with the same edges replaced in several layers; ``parts`` as for :func:`edge_edits`.

    Raises:
        ValueError: if an edge is not between the tokens it names.
    """
    edges.check(clean.tokens)
    edits: dict[str, Edit] = {}
    for layer in layers:
        edits |= edge_edits(model, layer, edges, **parts)
    return edited_pass(model, clean, edits)[0]


def without_circuit(model: HookedModel, task: Task, batch: Batch, circuit: Circuit) -> Answers:
    """Answers when the last query's induction, or anti-induction, through previous-token edges is removed.

    The path patching of Jobanputra et al. 2025 (2505.21785). First pass: the edges from s + 1 to s and from s to s - 1,
    for every earlier occurrence s of the last token, carry no V; the K and V that the keys then have are kept.
    Second pass, clean but for the last query: without *induction* it sees the kept K of the keys s + 1, which no longer
    say what stood before them; without *anti-induction* it reads the kept V of the keys s, which no longer hold what
    stood before them.
    """
    at_once = max(1, SCORES // (model.cfg.n_heads * batch.tokens.shape[1] ** 2))
    found = [_without(model, task, piece, circuit) for piece in pieces(batch, at_once * batch.tokens.shape[1])]
    return Answers(np.concatenate([a.right for a in found]), np.concatenate([a.loss for a in found]))


def _without(model: HookedModel, task: Task, batch: Batch, circuit: Circuit) -> Answers:
    tokens, layers = batch.tokens, range(model.cfg.n_layers)
    clean = clean_pass(model, tokens, evaluation_ids(model, batch))
    last = tokens.shape[1] - 1
    twins = duplicate_token(tokens, torch.tensor([last]))[:, 0]
    sequence, place = torch.nonzero(twins, as_tuple=True)
    first = int(batch.bos)
    inside = (place + 1 < last) if circuit == "induction" else (place - 1 >= first)
    sequence, place = sequence[inside], place[inside]
    if not len(place):
        return answers(task, clean.outputs, batch)
    key = place + 1 if circuit == "induction" else place
    before = edges_between(tokens, sequence, key, key - 1)
    kept = _kept(model, clean, layers, before, circuit)
    reads = edges_between(tokens, sequence, torch.full_like(key, last), key)
    reads.check(tokens)
    edits: dict[str, Edit] = {}
    for layer in layers:
        part = kept[layer][sequence, key]
        edits |= edge_edits(
            model, layer, reads, k=part if circuit == "induction" else None, v=None if circuit == "induction" else part
        )
    return answers(task, edited_pass(model, clean, edits)[0], batch)


def _kept(model: HookedModel, clean: Clean, layers: range, before: Edges, circuit: Circuit) -> Mapping[int, Tensor]:
    """Per layer the K, or V, of all keys in a pass whose previous-token edges carry no V."""
    before.check(clean.tokens)
    names = {
        layer: model.cfg.score_hooks(layer)[1] if circuit == "induction" else f"blocks.{layer}.attn.hook_v"
        for layer in layers
    }
    edits: dict[str, Edit] = {}
    for layer in layers:
        edits |= edge_edits(model, layer, before, v="zero")
    _, seen = edited_pass(model, clean, edits, list(names.values()))
    return {layer: seen[name] for layer, name in names.items()}
