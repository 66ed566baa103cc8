"""Ablating heads and MLPs: by zero, by their mean, or by their output on another sequence.

Zero removes the whole output, including constant parts. The mean over sequences at each position keeps the constant
parts. Resampling keeps the output's whole distribution, and removes only what depends on the sequence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.passes import TOKENS, Clean, Edit, clean_pass, edited_pass, evaluation_ids, pieces

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

Mode = Literal["zero", "mean", "resample"]
MODES: tuple[Mode, ...] = ("zero", "mean", "resample")

Head = tuple[int, int]
"""Layer and head."""


@dataclass(frozen=True)
class Answers:
    """How a model answers the sequences of a batch whose last position is a query.

    Attributes:
        right: ``[sequence]`` 0/1: the answer, or all tokens of it, are right.
        loss: ``[sequence]`` mean loss over the tokens of the answer.
    """

    right: NDArray[np.float64]
    loss: NDArray[np.float64]


def counted_queries(batch: Batch) -> Bool[Tensor, "batch pos"]:
    """Return which queries count: all of a prompt's, else the one at the end of the sequence."""
    counted = batch.mask.clone()
    if batch.prompt is None:
        counted[:, :-1] = False
    return counted


def answers(task: Task, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Answers:
    """Return whether each sequence with a query at its end is answered right, and its loss."""
    counted = counted_queries(batch)
    asked = counted.any(1)
    right = task.sequence_correct(task.correct(outputs, batch), batch)[asked]
    loss = torch.where(counted, task.losses(outputs, batch), 0.0).sum(1)[asked] / counted.sum(1)[asked]
    return Answers(right.double().numpy(force=True), loss.double().numpy(force=True))


class Ablator:
    """Ablates parts of a model on one batch. The clean pass is made once, and reused up to the first ablated block.

    Args:
        model: any model with TransformerLens's hook names.
        batch: sequences of one length; ``mean`` and ``resample`` are over its sequences.
        task: the task.
    """

    def __init__(self, model: HookedModel, batch: Batch, task: Task) -> None:
        self.model, self.task, self.batch = model, task, batch
        layers = range(model.cfg.n_layers)
        self.z = {layer: f"blocks.{layer}.attn.hook_z" for layer in layers}
        self.mlp = {layer: f"blocks.{layer}.hook_mlp_out" for layer in layers}
        self.z, self.mlp = (
            {layer: name for layer, name in names.items() if name in model.hook_dict} for names in (self.z, self.mlp)
        )
        names = [*self.z.values(), *self.mlp.values()]
        self._pieces = list(pieces(batch, TOKENS))
        self._clean = [clean_pass(model, p.tokens, evaluation_ids(model, p), names) for p in self._pieces]
        self._means = {
            name: torch.cat([clean.seen[name].sum(0, keepdim=True) for clean in self._clean]).sum(0, keepdim=True)
            / len(batch)
            for name in names
        }

    @property
    def heads(self) -> list[Head]:
        """All heads of the model; empty where it has no attention."""
        return [(layer, head) for layer in self.z for head in range(self.model.cfg.n_heads)]

    def clean(self) -> Answers:
        """Return the answers of the whole model."""
        return self._answers([clean.outputs for clean in self._clean])

    def without(
        self,
        heads: Sequence[Head] = (),
        mlps: Sequence[int] = (),
        mode: str = "mean",
        rng: np.random.Generator | None = None,
    ) -> Answers:
        """Return the answers without some heads and the MLPs of some layers.

        Args:
            heads: layer and head, any number.
            mlps: layers.
            mode: what replaces them.
            rng: chooses the other sequences of ``resample``.

        Raises:
            ValueError: for a head, a layer or a mode that does not exist, or nothing to ablate.
        """
        self._check(heads, mlps, mode)
        shift = 1 if rng is None else int(rng.integers(1, max(2, len(self._pieces[0]))))
        outputs = []
        for clean in self._clean:
            by_layer: dict[int, list[int]] = {}
            for layer, head in heads:
                by_layer.setdefault(layer, []).append(head)
            edits: dict[str, Edit] = {
                self.z[layer]: self._edit(self.z[layer], mode, clean, shift, chosen)
                for layer, chosen in by_layer.items()
            }
            edits |= {self.mlp[layer]: self._edit(self.mlp[layer], mode, clean, shift, None) for layer in mlps}
            outputs.append(edited_pass(self.model, clean, edits)[0])
        return self._answers(outputs)

    def _edit(self, name: str, mode: str, clean: Clean, shift: int, heads: Sequence[int] | None) -> Edit:
        def edit(value: Tensor) -> Tensor:
            if mode == "zero":
                new = torch.zeros_like(value)
            elif mode == "mean":
                new = self._means[name].expand_as(value)
            else:
                new = clean.seen[name].roll(shift, 0)
            if heads is None:
                return new.clone()
            made = value.clone()
            made[:, :, list(heads)] = new[:, :, list(heads)]
            return made

        return edit

    def _answers(self, outputs: Sequence[Tensor]) -> Answers:
        found = [answers(self.task, out, piece) for out, piece in zip(outputs, self._pieces, strict=True)]
        return Answers(np.concatenate([a.right for a in found]), np.concatenate([a.loss for a in found]))

    def _check(self, heads: Sequence[Head], mlps: Sequence[int], mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"there is no mode of ablation {mode!r}; choose from {', '.join(MODES)}")
        for head in heads:
            if head not in self.heads:
                raise ValueError(f"there is no head {head[1]} in layer {head[0]} of this model")
        for layer in mlps:
            if layer not in self.mlp:
                raise ValueError(f"layer {layer} of this model has no MLP")
        if not heads and not mlps:
            raise ValueError("nothing to ablate was named; give heads or mlps")


def ablate(
    model: HookedModel,
    batch: Batch,
    task: Task,
    heads: Sequence[Head | str] = (),
    mlps: Sequence[int] = (),
    mode: str = "mean",
    seed: int = 0,
) -> Answers:
    """Return the answers of a model on a batch without some heads and MLPs.

    Args:
        model: any model with TransformerLens's hook names.
        batch: sequences of one length, as :meth:`workbench.tasks.base.Task.batch` draws them.
        task: the task of these sequences.
        heads: ``"L0H1"``, or ``(0, 1)`` for layer 0, head 1.
        mlps: layers whose MLP is ablated.
        mode: ``zero``, ``mean`` (over the batch, at each position) or ``resample`` (from another sequence).
        seed: chooses the other sequences of ``resample``.

    Returns:
        per sequence, whether the answer is right and its loss; without heads and MLPs, those of the whole model.

    Raises:
        ValueError: for a head, a layer or a mode that does not exist.
    """
    ablator = Ablator(model, batch, task)
    if not heads and not mlps:
        return ablator.clean()
    pairs = [_layer_and_head(head) if isinstance(head, str) else head for head in heads]
    return ablator.without(pairs, mlps, mode, np.random.default_rng(seed))


def _layer_and_head(label: str) -> Head:
    """Return the layer and head of a label such as ``L0H1``."""
    match = re.fullmatch(r"L(\d{1,6})H(\d{1,6})", label)
    if match is None:
        raise ValueError(f"{label!r} names no head; write L0H1 for layer 0, head 1")
    return int(match[1]), int(match[2])


def roles(
    scores: Sequence[Mapping[str, NDArray[np.float64]]], matching: float, previous: float
) -> tuple[list[Head], list[Head]]:
    """Return the heads that read the answer's key, and the previous-token heads in layers below the last of them.

    Args:
        scores: per layer the scores of :func:`circuits.heads.head_scores`.
        matching: minimum mean ``answer_token`` of the former.
        previous: minimum mean ``previous_token`` of the latter.
    """

    def above(name: str, least: float) -> list[Head]:
        return [
            (layer, head)
            for layer, found in enumerate(scores)
            for head, value in enumerate(np.nanmean(found[name], 0))
            if value >= least
        ]

    matchers = above("answer_token", matching)
    last = max((layer for layer, _ in matchers), default=0)
    writers = [head for head in above("previous_token", previous) if head[0] < last and head not in matchers]
    return matchers, writers
