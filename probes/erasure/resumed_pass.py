"""Passes over the same sequences with one edit of the residual stream each. Blocks before the edit run only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from probes.fitting.probe_rows import layer_of
from workbench.measure.study import chunks, forward
from workbench.models.base.protocol import HookedModel
from workbench.tasks.base import Batch


class ResumedPasses:
    """Passes of a model over a batch, with edits of the residual stream from the first site to the last.

    The residual stream is stored at one site only. A model that is not a plain stack of blocks makes whole passes.

    Args:
        model: the model.
        batch: the sequences.
    """

    def __init__(self, model: HookedModel, batch: Batch) -> None:
        self.model: Any = model
        self.batch = batch
        self._stack = all(hasattr(model, part) for part in ("places", "blocks", "ln_final", "unembed"))
        self._next_block = 0
        self._chunks: list[tuple[Tensor, Tensor]] = []
        """The residual stream before the next block, and position ids, some sequences at a time."""

    def clean(self) -> Float[Tensor, "batch pos out"]:
        """Return the outputs without edits."""
        return forward(self.model, self.batch, [])["logits"]

    def edited_outputs(self, site: str, change: Callable[..., Tensor]) -> Float[Tensor, "batch pos out"]:
        """Return the outputs with an edit of the residual stream.

        Args:
            site: the embedding, or the end of a block that is no earlier than that of the call before.
            change: maps activations of some sequences, and their hook, to what replaces them.
        """
        if not self._stack:
            return forward(self.model, self.batch, [], [(site, change)])["logits"]
        with torch.no_grad():
            self._run_to(layer_of(site) + 1)
            return torch.cat([self._finish(change(x, self.model.hook_dict[site]), ids) for x, ids in self._chunks])

    def _run_to(self, block: int) -> None:
        """Run the unchanged stream up to a block."""
        if not self._chunks:
            every = chunks(self.model, self.batch)
            self._chunks = [(self.model(tokens, ids, stop_at_layer=0), ids) for tokens, ids in every]
        for place in range(self._next_block, block):
            self._chunks = [(self._block(place, x, ids), ids) for x, ids in self._chunks]
        self._next_block = max(self._next_block, block)

    def _block(self, place: int, x: Tensor, ids: Tensor) -> Tensor:
        after: Tensor = self.model.blocks[place](x, self.model.places(ids, x.dtype))
        return after

    def _finish(self, x: Tensor, ids: Tensor) -> Tensor:
        """Return the outputs of a stream before the next block."""
        at = self.model.places(ids, x.dtype)
        for block in self.model.blocks[self._next_block :]:
            x = block(x, at)
        outputs: Tensor = self.model.unembed(self.model.ln_final(x))
        return outputs
