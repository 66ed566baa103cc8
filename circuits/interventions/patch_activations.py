"""Activation patching: an activation of one batch replaces that of another during the forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from circuits.passes import clean_pass, edited_pass, evaluation_ids

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch


def patch(
    model: HookedModel, batch: Batch, donor: Batch, hook: str, into: int | None = None, source: int | None = None
) -> Float[Tensor, "batch pos out"]:
    """Return outputs on ``batch`` with one activation replaced by its value on ``donor``.

    Args:
        model: any model with TransformerLens's hook names.
        batch: the sequences that the model answers.
        donor: as many sequences, from which the activation is taken.
        hook: the activation, e.g. ``blocks.0.hook_resid_post``, ``[batch, pos, ...]``.
        into: index of the position axis that is replaced; negative counts from the end. None = all positions, for which
            both batches have one length.
        source: index in the donor; None = the same as ``into``.

    Returns:
        logits, or real outputs.

    Raises:
        ValueError: for batches of different sizes, different lengths without ``into``, or an index outside.
        DeadHookError: for a hook that the model does not have.
    """
    if len(batch) != len(donor):
        raise ValueError(
            f"{len(batch)} sequences need activations of {len(batch)} other sequences, not of {len(donor)}"
        )
    source = into if source is None else source
    lengths = batch.tokens.shape[1], donor.tokens.shape[1]
    if into is None or source is None:
        if lengths[0] != lengths[1]:
            raise ValueError(
                f"sequences of {lengths[0]} and {lengths[1]} tokens differ in length: give the position in each "
                "sequence with into= and source="
            )
    else:
        for name, index, size in (("into", into, lengths[0]), ("source", source, lengths[1])):
            if not -size <= index < size:
                raise ValueError(f"{name}={index} is outside the {size} positions of the sequences")
    activation = clean_pass(model, donor.tokens, evaluation_ids(model, donor), [hook]).seen[hook]

    def replace(value: Tensor) -> Tensor:
        if into is None or source is None:
            return activation.to(value)
        patched = value.clone()
        patched[:, into] = activation[:, source].to(value)
        return patched

    with torch.no_grad():
        clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
        return edited_pass(model, clean, {hook: replace})[0]
