"""What each baseline sees of a model: a few named numbers from one tool of the project, at N and at n.

Every baseline sees sequences of both lengths with their correct answers. None of them applies an intervention of the
diagnosis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import score_inputs, scores_at
from circuits.connections.cut_connections import ConnectionCutter
from circuits.heads.contributions import direct_logits
from circuits.interventions.ablate_components import answers
from circuits.interventions.patch_activations import patch
from circuits.passes import pieces
from workbench.core.seeds import seed_of
from workbench.diagnosis.challenge.challenge_folder import ChallengeModel
from workbench.diagnosis.intervened_pass import asking, last_classes
from workbench.diagnosis.recovered_share import balanced_accuracy
from workbench.measure.study import forward
from workbench.models.base.graph import Component, Connection, connections_of
from workbench.models.base.hooked import Hooked
from workbench.tasks.base import Batch

MOST_STRINGS = 256
"""Sequences of each length that a baseline uses at most, also if its budget allows more."""
Evidence = dict[str, float]
ENDS = ("first", "last")
"""Models have one or two blocks. Evidence about the only block stands under both names."""


@dataclass(frozen=True)
class Subject:
    """A model under study, with sequences of both lengths.

    Attributes:
        model: the model.
        entry: its public facts.
        strings: number of sequences of each length.
    """

    model: Hooked
    entry: ChallengeModel
    strings: int

    def batches(self) -> Iterator[tuple[str, Batch]]:
        """Yield the sequences at N and at n, each with the name of its length."""
        for name, length in (("N", self.entry.trained), ("n", self.entry.length)):
            yield name, asking(self.entry.draw(length, self.strings))

    def layers(self) -> Iterator[tuple[str, int]]:
        """Yield the first and the last block, each with its name."""
        yield from zip(ENDS, (0, self.model.cfg.n_layers - 1), strict=True)

    def accuracy(self, outputs: Tensor, batch: Batch) -> float:
        """Return the class-balanced accuracy of the last answer."""
        return balanced_accuracy(answers(self.entry.task, outputs, batch).right, last_classes(batch))


def attention_maps(subject: Subject) -> Evidence:
    """Return statistics of the attention of the last query, and nothing about the model's answers."""
    found: Evidence = {}
    for at, batch in subject.batches():
        maps: list[list[Tensor]] = [[] for _ in ENDS]
        for piece in pieces(batch):
            inputs, query = score_inputs(subject.model, piece), [piece.tokens.shape[1] - 1]
            for end, (_, layer) in enumerate(subject.layers()):
                maps[end].append(inputs[layer].pattern(scores_at(inputs[layer], query))[:, :, 0])
        own = subject.entry.task.answer_index(batch)
        for name, parts in zip(ENDS, maps, strict=True):
            weights = torch.cat(parts).double().numpy(force=True)
            for what, value in _map_statistics(weights, own, subject.entry.trained).items():
                found[f"{name} {what} {at}"] = value
    return found


def _map_statistics(weights: NDArray[np.float64], own: Tensor | None, trained: int) -> Evidence:
    """Return statistics of maps ``[sequence, head, key]``; the head with the sharpest map counts."""
    sharpest = int(weights.max(-1).mean(0).argmax())
    rows = weights[:, sharpest]
    keys = rows.shape[1]
    entropy = -(rows * np.log(np.maximum(rows, 1e-12))).sum(1).mean() / np.log(keys)
    profile = rows.mean(0)
    found = {
        "largest weight": rows.max(1).mean(),
        "entropy": entropy,
        "weight beyond N": rows[:, trained + 1 :].sum(1).mean(),
        "spread over positions": profile.std() * keys,
        "weight on the answer": 0.0,
        "answer has the largest weight": 0.0,
    }
    if own is not None:
        index = own.numpy(force=True)
        found["weight on the answer"] = rows[np.arange(len(rows)), index].mean()
        found["answer has the largest weight"] = (rows.argmax(1) == index).mean()
    return {name: float(value) for name, value in found.items()}


PATCHED = ("attn.hook_q", "attn.hook_z", "hook_attn_out", "hook_mlp_out", "hook_resid_post")
"""Activations of a block that are patched at the last position."""


def activation_patching(subject: Subject) -> Evidence:
    """Return how much accuracy at n each activation recovers if it is taken from a sequence of length N with the same
    answer.
    """
    (_, inside), (_, batch) = subject.batches()
    outputs = {at: forward(subject.model, part, [])["logits"] for at, part in (("N", inside), ("n", batch))}
    clean = subject.accuracy(outputs["n"], batch)
    found = {"accuracy N": subject.accuracy(outputs["N"], inside), "accuracy n": clean}
    donor = inside.take(torch.as_tensor(_same_class(last_classes(batch), last_classes(inside))))
    hooks = {"embedding": "blocks.0.hook_resid_pre"}
    for name, layer in subject.layers():
        hooks |= {f"{name} {part}": f"blocks.{layer}.{part}" for part in PATCHED}
    known: dict[str, float] = {}
    for name, hook in hooks.items():
        if hook not in known:
            parts = zip(pieces(batch), _pieces_like(donor, batch), strict=True)
            patched = torch.cat([patch(subject.model, one, other, hook, -1, -1) for one, other in parts])
            known[hook] = subject.accuracy(patched, batch) - clean
        found[f"{name} gain"] = known[hook]
    return found


def _same_class(wanted: NDArray[np.int64], offered: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each wanted class, the index of an offered sequence of that class; they are used in turn."""
    by_class = {int(c): np.flatnonzero(offered == c) for c in np.unique(offered)}
    every = np.arange(len(offered))
    return np.array([by_class.get(int(c), every)[i % len(by_class.get(int(c), every))] for i, c in enumerate(wanted)])


def _pieces_like(donor: Batch, batch: Batch) -> Iterator[Batch]:
    """Yield the sequences of ``donor`` in the parts in which ``batch`` is run."""
    start = 0
    for piece in pieces(batch):
        yield donor.rows(start, start + len(piece))
        start += len(piece)


def logit_attribution(subject: Subject) -> Evidence:
    """Return what the embedding, attention and MLPs add directly to the right answer's logit."""
    model: Any = subject.model
    end = f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"
    hooks = {"embedding": "blocks.0.hook_resid_pre"}
    for name, layer in subject.layers():
        hooks |= {f"{name} attention": f"blocks.{layer}.hook_attn_out", f"{name} MLP": f"blocks.{layer}.hook_mlp_out"}
    found: Evidence = {}
    for at, batch in subject.batches():
        seen = forward(model, batch, sorted({*hooks.values(), end}))
        written = torch.stack([seen[hook][:, -1] for hook in hooks.values()], 1).double()
        scale = (seen[end][:, -1].double().var(-1, correction=0) + model.cfg.eps).sqrt()
        logits = direct_logits(model, written, scale, batch.targets[:, -1])
        found[f"accuracy {at}"] = subject.accuracy(seen["logits"], batch)
        for i, name in enumerate(hooks):
            found[f"{name} mean {at}"] = float(logits[:, i].mean())
            found[f"{name} deviation {at}"] = float(logits[:, i].std())
    return found


KEPT_DROP = 0.02
"""Largest drop of accuracy at which a connection is pruned."""


def edge_pruning(subject: Subject) -> Evidence:
    """Return which connections remain at N and at n if every one is cut that accuracy does not need.

    Connections are tried in turn from the output to the input. A connection stays cut if accuracy drops by at most
    0.02.
    """
    found: Evidence = {}
    rng = np.random.default_rng(seed_of("challenge", "edge pruning", subject.entry.name))
    for at, batch in subject.batches():
        cutter = ConnectionCutter(subject.model, batch, subject.entry.task, rng)
        classes = last_classes(batch)
        clean = now = balanced_accuracy(cutter.clean().right, classes)
        cut: list[Connection] = []
        for connection in reversed(cutter.connections):
            accuracy = balanced_accuracy(cutter.without([*cut, connection]).right, classes)
            remains = now - accuracy > KEPT_DROP
            for name in _edge_names(connection, subject.model.cfg.n_layers):
                found[f"{name} remains {at}"] = float(remains)
                found[f"{name} effect {at}"] = now - accuracy
            if not remains:
                cut.append(connection)
                now = accuracy
        found |= {f"accuracy {at}": clean, f"pruned accuracy {at}": now}
    return found


def _edge_names(connection: Connection, layers: int) -> list[str]:
    """Return the names of a connection that models of one and of two blocks share."""

    def names(part: Component) -> list[str]:
        if part.layer is None:
            return [part.kind]
        return [f"{end} {part.kind}" for end, layer in zip(ENDS, (0, layers - 1), strict=True) if layer == part.layer]

    return [f"{sender} to {receiver}" for sender in names(connection.sender) for receiver in names(connection.receiver)]


@dataclass(frozen=True)
class Tool:
    """A tool that a baseline uses.

    Attributes:
        about: the tool, in a clause.
        see: returns its evidence.
        passes: number of forward passes that it makes for each pair of sequences, one of each length.
    """

    about: str
    see: Callable[[Subject], Evidence]
    passes: Callable[[int], int]

    def strings(self, layers: int, budget: int) -> int:
        """Return the number of sequences of each length that the budget allows, at most ``MOST_STRINGS``."""
        return min(MOST_STRINGS, budget // self.passes(layers))


TOOLS: Mapping[str, Tool] = {
    "attention maps": Tool("statistics of the attention of the last query", attention_maps, lambda layers: 2),
    "activation patching": Tool(
        "activations at the last position, replaced by those of a sequence of length N with the same answer",
        activation_patching,
        lambda layers: 2 + 3 * (1 + len(PATCHED) * layers),
    ),
    "logit attribution": Tool(
        "direct contributions of attention and MLPs to the right answer's logit", logit_attribution, lambda layers: 2
    ),
    "edge pruning": Tool(
        "the connections that remain if all others are cut, at N and at n",
        edge_pruning,
        lambda layers: 2 * (1 + len(connections_of(layers, 1, True))),
    ),
}
"""Name of a baseline -> its tool. Models of the challenge have one head per block."""
