"""Tests that the hooks of a pretrained model read and edit what it computes; runs whenever such a model is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
TOGETHER = 32
"""Hooks that are edited in one pass."""
STRENGTHS = (1.0, 8.0)
"""Strength of the noise that an edit adds, in units of 1 + the activation; the second is used if the first has too
little effect.
"""
ABOVE, ABOVE_COARSE = 1000, 4
"""Smallest change of some logit by an edit, in units of the rounding error of the largest logit (or of 1). The second
number is for dtypes with 8 bits of precision or fewer.
"""
TOLERANCE = 1e-4
"""Largest difference from plain attention, as a share of the largest logit (or of 1), in float32."""
COARSE = 0.05
"""The same share for dtypes with 8 bits of precision or fewer."""


def self_test(model: PretrainedModel) -> None:
    """Compare a model on random tokens with plain attention of transformers, and test every hook.

    A hook is removed from ``hook_dict`` and listed in ``model.refused`` if it never fires, if its value is wrong, or if
    editing it changes no logit.

    Raises:
        PretrainedError: if the logits differ from those of plain attention.
    """
    generator = torch.Generator().manual_seed(0)
    length = min(POSITIONS, model.cfg.n_ctx) if model.cfg.positions.table else POSITIONS
    tokens = torch.randint(0, model.cfg.d_vocab, (STRINGS, length), generator=generator)
    module: Any = model.module
    tokens = tokens.to(module.device)
    with torch.no_grad():
        logits, patterns = _plain_outputs(model, tokens)
        own = model(tokens)
        if not bool(logits.isfinite().all()):
            raise PretrainedError("the logits of the model are not finite: its weights are damaged, or they overflow")
        tolerance = TOLERANCE if own.dtype in (torch.float32, torch.float64) else COARSE
        if not close(own, logits, tolerance):
            worst = float((own - logits).abs().max())
            raise PretrainedError(
                f"the model's logits are not those of transformers' plain attention (off by {worst:.2g}): "
                "its activations cannot be read reliably"
            )
        if length > 1:
            _test_position_ids(model, tokens, tolerance)
        for name, why in list(_problems(model, tokens, own, patterns, tolerance)):
            refuse(model, name, why)


def _test_position_ids(model: PretrainedModel, tokens: Tensor, tolerance: float) -> None:
    """Compare fused and observed passes with plain attention, on position ids with a gap, a repeat and fractions.

    Raises:
        PretrainedError: if a pass differs, naming the ids.
    """
    length = tokens.shape[1] // 2
    for kind, ids in uneven_ids(length, model.cfg.positions.between).items():
        ids = ids[None].to(tokens.device)
        logits, _ = _plain_outputs(model, tokens[:, :length], ids)
        observers = [(name, lambda value, hook: None) for name in model.hook_dict if name.endswith("hook_pattern")]
        fused = model(tokens[:, :length], ids)
        observed = model.run_with_hooks(tokens[:, :length], ids, fwd_hooks=observers)
        for way, own in (("", fused), (" while its attention pattern is read", observed)):
            if not close(own, logits, tolerance):
                raise PretrainedError(
                    f"on position ids with {kind}, the model's logits{way} differ from those of transformers' plain "
                    f"attention by {float((own - logits).abs().max()):.2g}"
                )


def uneven_ids(length: int, fractions: bool) -> dict[str, Tensor]:
    """Return position ids ``[length]`` that differ from 0, 1, 2, ..., by the name of their irregularity; all are below
    ``2 * length``.
    """
    counted, half = torch.arange(length), length // 2
    ids = {
        "a gap": torch.cat([counted[:half], counted[half:] + length]),
        "a repeat": torch.cat([counted[: half + 1], counted[half:-1]]),
    }
    return ids | ({"fractions": counted / 2} if fractions else {})


def refuse(model: PretrainedModel, name: str, why: str) -> None:
    """Remove a hook from those of a model that can be read and edited, and record the reason."""
    model.refused.setdefault(name, why)
    model.hook_dict.pop(name, None)
    model.mod_dict.pop(name, None)


def _plain_outputs(model: PretrainedModel, tokens: Tensor, ids: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
    """Logits and patterns ``[batch, head, query, key]`` by transformers' own plain attention; ids ``[1, pos]``."""
    with _plain_attention(model):
        out = model.module(
            input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False, output_attentions=True,
            position_ids=None if ids is None else ids.expand_as(tokens),
        )  # fmt: skip
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
    model: PretrainedModel, tokens: Tensor, logits: Tensor, patterns: list[Tensor], tolerance: float
) -> Iterator[tuple[str, str]]:
    """Names of hooks, and the problem of each."""
    names = list(model.hook_dict)
    activations: dict[str, Tensor] = {}

    def see(value: Tensor, hook: Any) -> None:
        activations[hook.name] = value

    with model.hooks(fwd_hooks=[(name, see) for name in names]):
        watched = model(tokens)
    if not close(watched, logits, tolerance):
        yield from ((name, "watching it changes what the model computes") for name in names)
        return
    for layer, pattern in enumerate(patterns):
        name = f"blocks.{layer}.attn.hook_pattern"
        rows = activations.get(name)
        if rows is not None and not close(rows, pattern.to(rows.dtype), tolerance):
            yield name, "it does not hold the weights that transformers gives"
    few = tokens[:1, :EDITED]
    for name in names:
        if name not in activations:
            yield name, "it never fires"
    fired = [name for name in names if name in activations]
    exact = logits.dtype in (torch.float32, torch.float64)
    still = (
        hooks_without_effect(model, few, fired)
        if exact
        else [n for n in fired if not changes_logits(model, few.expand(2, -1), n)]
    )
    yield from ((name, "an edit of it moves no logit") for name in still)


def hooks_without_effect(model: HookedModel, tokens: Tensor, names: Sequence[str]) -> list[str]:
    """Return the hooks whose edits change no logit. It works like :func:`changes_logits`, with many
    hooks in each forward pass.

    A deep model has thousands of hooks. The batch contains copies of one sequence. The first copy is not edited, and
    each other copy is edited at one hook. Rows of a pass differ only by rounding, which in 32 bits or more is far below
    the required change.

    Args:
        model: the model.
        tokens: one sequence, ``[1, pos]``.
        names: the names of the hooks.
    """
    # Watching scores or pattern makes attention explicit: they share no pass with hooks that leave it fused.
    explicit = [name for name in names if name.endswith(("hook_attn_scores", "hook_pattern"))]
    still: list[str] = []
    for group in (explicit, [name for name in names if name not in {*explicit}]):
        for strength in STRENGTHS:
            group = [
                name
                for start in range(0, len(group), TOGETHER)
                for name in _unmoved_by(strength, model, tokens, group[start : start + TOGETHER])
            ]
        still += group
    return still


def _unmoved_by(strength: float, model: HookedModel, tokens: Tensor, names: Sequence[str]) -> list[str]:
    def edit_row(row: int) -> Callable[[Tensor, Any], Tensor]:
        def edit(value: Tensor, hook: Any) -> Tensor:
            return torch.cat([value[:row], _disturbed(value[row : row + 1], strength), value[row + 1 :]])

        return edit

    with model.hooks(fwd_hooks=[(name, edit_row(row)) for row, name in enumerate(names, start=1)]):
        logits = model(tokens.expand(len(names) + 1, -1))
    kept, *edited = logits.double()
    return [name for name, row in zip(names, edited, strict=True) if not _differs(row, kept, logits.dtype)]


def changes_logits(model: HookedModel, twice: Tensor, name: str) -> bool:
    """Whether an edit of a hook's value changes logits by far more than rounding does.

    The batch contains one sequence twice. The second copy is edited, and the first is the comparison. So both are
    computed in the same way: fused if attention stays fused with only that hook, explicit otherwise.

    Args:
        model: the model.
        twice: the same tokens in two rows, ``[2, pos]``.
        name: the name of the hook.
    """
    return any(_moved_by(strength, model, twice, name) for strength in STRENGTHS)


def _moved_by(strength: float, model: HookedModel, twice: Tensor, name: str) -> bool:
    def edit(value: Tensor, hook: Any) -> Tensor:
        return torch.cat([value[:1], _disturbed(value[1:], strength)])

    with model.hooks(fwd_hooks=[(name, edit)]):
        logits = model(twice)
    kept, edited = logits.double()
    return _differs(edited, kept, logits.dtype)


def _disturbed(value: Tensor, strength: float) -> Tensor:
    """An activation with noise added. The noise varies along keys, because a softmax ignores a constant."""
    size = 1 + value.abs().nan_to_num(0, 0, 0)
    noise = torch.randn(size.shape, generator=torch.Generator().manual_seed(1))
    return value + (strength * noise.to(size.device) * size).to(value.dtype)


def _differs(edited: Tensor, kept: Tensor, dtype: torch.dtype) -> bool:
    """Whether logits are finite, and some differ by far more than rounding."""
    rounding = torch.finfo(dtype).eps * max(1.0, float(kept.abs().max()))
    above = ABOVE if dtype in (torch.float32, torch.float64) else ABOVE_COARSE
    return bool(edited.isfinite().all()) and float((edited - kept).abs().max()) > above * rounding


def close(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Whether two tensors differ by at most a share of the largest expected value, or of 1."""
    scale = max(1.0, float(wanted.abs().max()))
    return bool(found.isfinite().all()) and float((found - wanted).abs().max()) <= tolerance * scale
