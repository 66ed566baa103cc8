"""Whether what is seen and edited of a pretrained model is what it computes: tried whenever one is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from workbench.models.base.protocol import HookedModel
from workbench.models.interop.hugging_face.adapter import ATTENTION, PretrainedModel
from workbench.models.interop.hugging_face.families import PretrainedError

STRINGS, POSITIONS = 2, 16
EDITED = 4
"""Tokens on which each hook is edited."""
STRENGTHS = (1.0, 8.0)
"""Of the noise that an edit adds, in units of 1 + what is edited; the second where the first moves too little."""
ABOVE, ABOVE_COARSE = 1000, 4
"""How many times rounding, of the largest logit (or of 1), an edit has to move some logit; with 8 bits or fewer."""
TOLERANCE = 1e-4
"""Largest difference from plain attention, as a share of the largest logit (or of 1), in float32."""
COARSE = 0.05
"""The same where numbers have 8 bits or fewer behind the point."""


def self_test(model: PretrainedModel) -> None:
    """Compare a model on random tokens with plain attention of transformers, and try every hook.

    A hook that never fires, holds something else than it should, or whose edit moves no logit is taken out of
    ``hook_dict`` and named in ``model.refused``.

    Raises:
        PretrainedError: if the logits are not those of plain attention.
    """
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, model.cfg.d_vocab, (STRINGS, POSITIONS), generator=generator)
    module: Any = model.module
    tokens = tokens.to(module.device)
    with torch.no_grad():
        logits, patterns = plain(model, tokens)
        own = model(tokens)
        tolerance = TOLERANCE if own.dtype in (torch.float32, torch.float64) else COARSE
        if not close(own, logits, tolerance):
            worst = float((own - logits).abs().max())
            raise PretrainedError(
                f"the model's logits are not those of transformers' plain attention (off by {worst:.2g}): "
                "what would be seen of it is not what it computes"
            )
        for name, why in list(_problems(model, tokens, own, patterns, tolerance)):
            refuse(model, name, why)


def refuse(model: PretrainedModel, name: str, why: str) -> None:
    """Take a hook out of what is read and edited of a model, and say why."""
    model.refused.setdefault(name, why)
    model.hook_dict.pop(name, None)
    model.mod_dict.pop(name, None)


def plain(model: PretrainedModel, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Logits and patterns ``[batch, head, query, key]`` by transformers' own plain attention."""
    with _plain_attention(model):
        out = model.module(input_ids=tokens, use_cache=False, output_attentions=True)
    return out.logits, list(out.attentions)


@contextmanager
def _plain_attention(model: PretrainedModel) -> Iterator[None]:
    module: Any = model.module
    module.set_attn_implementation("eager")
    try:
        yield
    finally:
        module.set_attn_implementation(ATTENTION)


def _problems(
    model: PretrainedModel, tokens: Tensor, own: Tensor, patterns: list[Tensor], tolerance: float
) -> Iterator[tuple[str, str]]:
    """Names of hooks, and what is wrong with each."""
    names = list(model.hook_dict)
    seen: dict[str, Tensor] = {}

    def see(value: Tensor, hook: Any) -> None:
        seen[hook.name] = value

    with model.hooks(fwd_hooks=[(name, see) for name in names]):
        watched = model(tokens)
    if not close(watched, own, tolerance):
        yield from ((name, "watching it changes what the model computes") for name in names)
        return
    for layer, pattern in enumerate(patterns):
        name = f"blocks.{layer}.attn.hook_pattern"
        rows = seen.get(name)
        if rows is not None and not close(rows, pattern.to(rows.dtype), tolerance):
            yield name, "it does not hold the weights that transformers gives"
    few = tokens[:1, :EDITED].expand(2, -1)  # one pass for each hook: hundreds of a deep model
    for name in names:
        if name not in seen:
            yield name, "it never fires"
        elif not moved(model, few, name):
            yield name, "an edit of it moves no logit"


def moved(model: HookedModel, twice: Tensor, name: str) -> bool:
    """Whether an edit of what a hook holds moves logits by far more than rounding does.

    The edit is of the second of two equal strings in one pass, and the first is what it is compared with. So both are
    computed alike: fused where that hook alone leaves attention fused, explicit where it does not.

    Args:
        model: the model.
        twice: the same tokens in two rows, ``[2, pos]``.
        name: of the hook.
    """
    return any(_moved_by(strength, model, twice, name) for strength in STRENGTHS)


def _moved_by(strength: float, model: HookedModel, twice: Tensor, name: str) -> bool:
    def edit(value: Tensor, hook: Any) -> Tensor:
        size = 1 + value[1:].abs().nan_to_num(0, 0, 0)
        # Not a constant along keys, which a softmax does not see.
        noise = torch.randn(size.shape, generator=torch.Generator().manual_seed(1))
        return torch.cat([value[:1], value[1:] + (strength * noise.to(size.device) * size).to(value.dtype)])

    with model.hooks(fwd_hooks=[(name, edit)]):
        logits = model(twice)
    kept, edited = logits.double()
    rounding = torch.finfo(logits.dtype).eps * max(1.0, float(kept.abs().max()))
    above = ABOVE if logits.dtype in (torch.float32, torch.float64) else ABOVE_COARSE
    return bool(edited.isfinite().all()) and float((edited - kept).abs().max()) > above * rounding


def close(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Whether two tensors differ by no more than a share of the largest wanted value, or of 1."""
    scale = max(1.0, float(wanted.abs().max()))
    return bool(found.isfinite().all()) and float((found - wanted).abs().max()) <= tolerance * scale
