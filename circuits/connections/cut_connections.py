"""Cutting connections: a receiver reads the sender's mean output instead of its output on this sequence.

One or several connections are cut at a time. Every other component reads its usual inputs. LayerNorm stays and is
recomputed from what the receiver reads. So cutting every connection out of a component equals ablating it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from circuits.interventions.ablate_components import Answers, answers
from circuits.passes import TOKENS, Clean, clean_pass, evaluation_ids, pieces
from workbench.models.base.graph import Component, Connection, connections_of

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

Part = Literal["q", "k", "v"]
PARTS: tuple[Part, ...] = get_args(Part)
"""The inputs of a head: its queries, keys and values."""
ROTATIONS = 8
"""Number of random rotations, which the sequences share."""

Residual = Float[Tensor, "#batch pos d_model"]
Cuts = Mapping[Component, Sequence[Component]]
"""Receiver -> senders whose contributions it lacks."""


NOT_CUT = (
    "connections are cut in transformers that are a plain stack of blocks without a norm after attention, which this "
    "model is not"
)


def cuttable(model: HookedModel) -> bool:
    """Return whether the model is a stack of blocks in which the inputs of each head can be changed separately.

    With a norm after attention it is not: what one head writes then depends on all heads of its layer.
    """
    blocks = getattr(model, "blocks", ())
    return hasattr(model, "places") and all(
        hasattr(block, "attn") and hasattr(block.attn, "project") and getattr(block, "ln1_post", None) is None
        for block in blocks
    )


class ConnectionCutter:
    """Cuts connections of a model on one batch. The clean pass is made once, and reused up to the first receiver.

    Args:
        model: a transformer of :mod:`workbench.models.transformer`.
        batch: sequences of one length; means are over its sequences, at each position.
        task: the task.
        rng: draws the rotations of the control.

    Raises:
        ValueError: for a model of another kind.
    """

    def __init__(self, model: HookedModel, batch: Batch, task: Task, rng: np.random.Generator) -> None:
        if not cuttable(model):
            raise ValueError(NOT_CUT)
        self.model, self.task = model, task
        cfg = model.cfg
        self.connections = connections_of(cfg.n_layers, cfg.n_heads, not cfg.attn_only)
        self._end = f"blocks.{cfg.n_layers - 1}.hook_resid_post"
        names = [f"blocks.{layer}.attn.hook_z" for layer in range(cfg.n_layers)]
        names += [] if cfg.attn_only else [f"blocks.{layer}.hook_mlp_out" for layer in range(cfg.n_layers)]
        self._pieces = list(pieces(batch, TOKENS))
        self._clean = [clean_pass(model, p.tokens, evaluation_ids(model, p), [*names, self._end]) for p in self._pieces]
        self._means = {name: self._mean([clean.seen[name] for clean in self._clean]) for name in names}
        self._embedded = self._mean([clean.residuals[0] for clean in self._clean])
        drawn = np.linalg.qr(rng.standard_normal((ROTATIONS, cfg.d_model, cfg.d_model)))[0]
        self._rotations = torch.as_tensor(drawn).to(self._embedded)

    def clean(self) -> Answers:
        """Return the answers of the whole model."""
        return self._answers([clean.outputs for clean in self._clean])

    def without(self, cut: Sequence[Connection], parts: Sequence[Part] = PARTS, turned: bool = False) -> Answers:
        """Return the answers without some connections.

        Args:
            cut: the connections.
            parts: which inputs of a receiving head lose the sender.
            turned: the control. The receiver's input changes by as much at every token, but in random directions (the
                same change under a random rotation).

        Raises:
            ValueError: for a connection that the model does not have, or none.
        """
        if not cut:
            raise ValueError("name at least one connection to cut")
        for connection in cut:
            if connection not in self.connections:
                raise ValueError(f"this model has no connection {connection.name}")
        by_receiver: dict[Component, list[Component]] = {}
        for connection in cut:
            by_receiver.setdefault(connection.receiver, []).append(connection.sender)
        return self._answers([self._outputs(clean, by_receiver, parts, turned) for clean in self._clean])

    def _outputs(self, clean: Clean, cut: Cuts, parts: Sequence[Part], turned: bool) -> Float[Tensor, "batch pos out"]:
        """Return the outputs if each receiver reads the means of its senders; starts at the first receiver's layer."""
        model: Any = self.model
        depth = model.cfg.n_layers
        start = min(depth if receiver.layer is None else receiver.layer for receiver in cut)
        all_senders = {sender for senders in cut.values() for sender in senders}
        wrote = {
            component: self._contribution(component, clean.residuals[0], clean.seen)
            for component in all_senders
            if component.depth < (start, 0)
        }

        def read(receiver: Component, residual: Residual) -> Residual:
            for sender in cut.get(receiver, ()):
                change = self._contribution(sender, self._embedded, self._means) - wrote[sender]
                residual = residual + (self._turned(change) if turned else change)
            return residual

        with torch.no_grad():
            x = clean.residuals[start] if start < depth else clean.seen[self._end]
            at = model.places(clean.ids, x.dtype)
            for layer in range(start, depth):
                block, seen = model.blocks[layer], dict[str, Tensor]()
                x = x + self._attended(
                    layer, x, at, {component for component in cut if component.layer == layer}, parts, read, seen
                )
                wrote |= {
                    component: self._contribution(component, clean.residuals[0], seen)
                    for component in all_senders
                    if component.depth == (layer, 0)
                }
                if model.cfg.attn_only:
                    continue
                own = Component("MLP", layer)
                wrote[own] = block.mlp(block.ln2(read(own, x)))
                x = x + wrote[own]
            outputs: Tensor = model.unembed(model.ln_final(read(Component("unembedding"), x)))
        return outputs

    def _attended(
        self,
        layer: int,
        x: Residual,
        at: Any,
        cut: set[Component],
        parts: Sequence[Part],
        read: Callable[[Component, Residual], Residual],
        seen: dict[str, Tensor],
    ) -> Residual:
        """Return what attention of a layer writes if some heads read changed inputs; store the heads' outputs."""
        model: Any = self.model
        block, name = model.blocks[layer], f"blocks.{layer}.attn.hook_z"
        projected = block.attn.project(block.ln1(x))
        for receiver in cut:
            if receiver.head is not None:
                changed = block.attn.project(block.ln1(read(receiver, x)))
                for part in parts:  # queries of all heads come first, then keys, then values
                    first = (PARTS.index(part) * model.cfg.n_heads + receiver.head) * model.cfg.d_head
                    own = slice(first, first + model.cfg.d_head)
                    projected[..., own] = changed[..., own]

        def keep(value: Tensor, hook: Any) -> None:
            seen[name] = value

        with model.hooks(fwd_hooks=[(name, keep)]):
            written: Tensor = block.attn(projected, at)
        return written

    def _contribution(self, sender: Component, embedded: Tensor, seen: Mapping[str, Tensor]) -> Residual:
        """Return what a component writes to the residual stream, without constants: its output times W_O."""
        if sender.kind == "embedding":
            return embedded
        if sender.kind == "MLP":
            return seen[f"blocks.{sender.layer}.hook_mlp_out"]
        block: Any = self.model.blocks[sender.layer]  # type: ignore[attr-defined]
        gathered = seen[f"blocks.{sender.layer}.attn.hook_z"][:, :, sender.head]
        made: Tensor = gathered @ block.attn.W_O[sender.head]
        return made

    def _mean(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the mean over the sequences of all pieces, at each position."""
        total = torch.stack([part.sum(0) for part in parts]).sum(0)
        return (total / sum(len(part) for part in parts))[None]

    def _turned(self, change: Residual) -> Residual:
        made = torch.empty_like(change)
        for i, rotation in enumerate(self._rotations):
            made[i::ROTATIONS] = change[i::ROTATIONS] @ rotation
        return made

    def _answers(self, outputs: Sequence[Tensor]) -> Answers:
        found = [answers(self.task, out, piece) for out, piece in zip(outputs, self._pieces, strict=True)]
        return Answers(np.concatenate([a.right for a in found]), np.concatenate([a.loss for a in found]))
