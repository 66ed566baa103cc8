"""Forward passes with edited activations. Each edit is checked to take effect, and clean parts of a pass are reused.

A hook that changes nothing is the worst failure of this field, because it looks like "no effect". Here a pass whose
edit was never called is an error. :func:`canary` checks beforehand that what a hook returns is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from workbench.core.errors import LensError

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch

Edit = Callable[[Tensor], Tensor]
"""Maps an activation to its replacement, of the same shape."""

TOKENS = 1 << 15
"""Tokens per forward pass. It bounds the memory of one pass."""

CANARY_TOKENS = 8
"""Tokens of the sequence on which hooks are checked."""


class DeadHookError(LensError, RuntimeError):
    """Raised for an edit that cannot change, or did not change, what the model computes."""


@dataclass(frozen=True)
class Clean:
    """The stored activations of a forward pass without edits, so that edited passes need not repeat the blocks before
    the edit.

    Attributes:
        tokens: ``[batch, pos]``.
        ids: position ids ``[batch or 1, pos]``.
        residuals: ``[batch, pos, d_model]`` entering each block; empty where the model cannot be resumed.
        seen: the requested activations, by hook name.
        outputs: logits, or real outputs, ``[batch, pos, out]``.
    """

    tokens: Tensor
    ids: Tensor
    residuals: tuple[Tensor, ...]
    seen: Mapping[str, Tensor]
    outputs: Tensor


def pieces(batch: Batch, tokens: int = TOKENS) -> Iterator[Batch]:
    """Yield the sequences of a batch in parts of at most ``tokens`` tokens, at least one sequence each."""
    step = max(1, tokens // batch.tokens.shape[1])
    for start in range(0, len(batch), step):
        yield batch.rows(start, start + step)


def evaluation_ids(model: HookedModel, batch: Batch) -> Tensor:
    """Return the position ids at which this model is evaluated on these sequences."""
    ids: Tensor = model.cfg.ids.evaluation(batch.tokens.shape[1], model.cfg.n_ctx, batch.position_ids)
    return ids


def layer_of(name: str) -> int:
    """Return the block of a hook; -1 for hooks before the blocks, and for those after them.

    >>> layer_of("blocks.3.attn.hook_z")
    3
    """
    found = re.match(r"blocks\.(\d+)\.", name)
    return int(found[1]) if found else -1


def resumable(model: HookedModel) -> bool:
    """Return whether a forward pass can be resumed at a block: the model is a plain stack of blocks."""
    return all(hasattr(model, part) for part in ("places", "blocks", "ln_final", "unembed"))


def clean_pass(model: HookedModel, tokens: Tensor, ids: Tensor, reads: Sequence[str] = ()) -> Clean:
    """Make one clean pass over ``tokens``.

    Raises:
        DeadHookError: for a name in ``reads`` that the model does not have.
    """
    starts = [f"blocks.{layer}.hook_resid_pre" for layer in range(model.cfg.n_layers)] if resumable(model) else []
    require(model, reads)
    names = list(dict.fromkeys([*starts, *reads]))
    with torch.no_grad():
        outputs, cache = model.run_with_cache(tokens, ids, names_filter=names, return_cache_object=False)
    return Clean(tokens, ids, tuple(cache[name] for name in starts), {name: cache[name] for name in reads}, outputs)


def edited_pass(
    model: HookedModel, clean: Clean, edits: Mapping[str, Edit], reads: Sequence[str] = ()
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the outputs under edits, and further activations under them.

    Blocks before the first edit are not run again if the model can be resumed.

    Args:
        model: the model that made ``clean``.
        clean: the clean pass over the same tokens.
        edits: by hook name.
        reads: names of activations to return, in the edited blocks or after them.

    Raises:
        DeadHookError: if the model lacks a hook, an edit was never called, or changed a shape.
    """
    require(model, [*edits, *reads])
    ran: set[str] = set()
    recorded: dict[str, Tensor] = {}

    def apply(value: Tensor, hook: Any) -> Tensor:
        ran.add(hook.name)
        new_value = edits[hook.name](value) if hook.name in edits else value
        if new_value.shape != value.shape:
            raise DeadHookError(
                f"the edit at {hook.name} changed the shape {tuple(value.shape)} to {tuple(new_value.shape)}"
            )
        if hook.name in reads:
            recorded[hook.name] = new_value
        return new_value

    names = list(dict.fromkeys([*edits, *reads]))
    start = min((layer_of(name) for name in names), default=0)
    with torch.no_grad(), model.hooks(fwd_hooks=[(name, apply) for name in names]):  # type: ignore[attr-defined]
        if clean.residuals and start >= 0:
            outputs = _from_block(model, clean.residuals[start], clean.ids, start)
        else:
            outputs = model(clean.tokens, clean.ids)
    _refuse_uncalled(names, ran)
    return outputs, recorded


@contextmanager
def edits_in_place(model: HookedModel, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Apply edits, by hook name, to all passes inside the context; at the end each must have been called.

    Raises:
        DeadHookError: if the model lacks a hook, or an edit was never called.
    """
    require(model, [*edits])
    ran: set[str] = set()

    def apply(value: Tensor, hook: Any) -> Tensor:
        ran.add(hook.name)
        return edits[hook.name](value)

    with model.hooks(fwd_hooks=[(name, apply) for name in edits]):
        yield
    _refuse_uncalled(edits, ran)


def _refuse_uncalled(names: Iterable[str], ran: set[str]) -> None:
    if never := [name for name in names if name not in ran]:
        raise DeadHookError(f"{never[0]} was never called in this forward pass, so nothing was edited there")


def _from_block(model: Any, residual: Tensor, ids: Tensor, start: int) -> Tensor:
    at = model.places(ids, residual.dtype)
    for block in model.blocks[start:]:
        residual = block(residual, at)
    outputs: Tensor = model.unembed(model.ln_final(residual))
    return outputs


def require(model: HookedModel, names: Sequence[str]) -> None:
    """Refuse hooks that the model does not have.

    Raises:
        DeadHookError: naming the first.
    """
    for name in names:
        if name not in model.hook_dict:
            raise DeadHookError(f"the model has no hook {name!r}, so an edit there would do nothing")


def canary(model: HookedModel, batch: Batch, names: Sequence[str]) -> None:
    """Check that what these hooks return is used: NaN returned by each must reach the outputs.

    NaN propagates through weights that are 0, so that the hook of a head without effect passes.

    Raises:
        DeadHookError: naming a hook whose value the model computes but does not use.
    """
    tokens = batch.tokens[:1, :CANARY_TOKENS]
    ids = evaluation_ids(model, batch)[:1, :CANARY_TOKENS]
    clean = clean_pass(model, tokens, ids)
    for name in names:
        outputs, _ = edited_pass(model, clean, {name: lambda value: torch.full_like(value, math.nan)})
        if bool(outputs.isfinite().all()):
            raise DeadHookError(
                f"the value that {name} returns does not reach the output of the model, so edits there have no effect"
            )
