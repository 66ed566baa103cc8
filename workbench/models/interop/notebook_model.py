"""A model in memory, for example from a notebook, in the form that measurements read: of TransformerLens, or any
module.

These models are accepted:

- TransformerLens's HookedTransformer and TransformerBridge;
- any module with its sizes in ``cfg`` and submodules named as in TransformerLens (``blocks.0.attn.hook_q``);
- any other module, if its task is known; only its answers are measured.

Each model is first tested on random tokens. It must be causal, each hook must fire, an edit of each hook must change
the model's answers, and queries and keys must give the pattern that the model reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from workbench.core.errors import LensError
from workbench.core.failures import log_failure
from workbench.core.limits import SIZE
from workbench.models.base.architecture import Architecture
from workbench.models.interop.hugging_face.adapter import PretrainedConfig
from workbench.models.interop.hugging_face.self_test import changes_logits, close
from workbench.models.positions.registry import ENCODINGS, make_encoding

STRINGS, POSITIONS, EDITED = 2, 12, 4
TOLERANCE = 1e-4
"""Largest difference between two computations of the same numbers, as a share of the largest of them (or of 1)."""
SIZES = ("n_layers", "n_heads", "d_model", "n_ctx", "d_vocab")
ASKED = (
    "a model in memory is read through `cfg` (n_layers, n_heads, d_model, n_ctx, d_vocab) and through submodules whose "
    "names are TransformerLens's (nn.Identity() at blocks.0.attn.hook_q and so on); docs/your_own_model.md shows it in "
    "twenty lines"
)


class NotebookModelError(LensError, ValueError):
    """Raised for a model that cannot be read, or whose hooks contradict its outputs."""


class NotebookConfig(PretrainedConfig):
    """The config of a model from a notebook; ``turned`` means that its hooks also read queries and keys after the
    rotation.
    """

    kind: ClassVar[str] = "notebook"
    title: ClassVar[str] = "model in memory"
    turned: bool = False

    def score_hooks(self, layer: int) -> list[str]:
        return [f"blocks.{layer}.attn.hook_{'rot_' if self.turned else ''}{part}" for part in "qk"]


@dataclass(frozen=True)
class HookName:
    """The hook object that a hook function receives: it has only a name."""

    name: str


class NotebookModel:
    """Such a model; see :class:`workbench.models.base.protocol.HookedModel`.

    Attributes:
        inner: the model as it was given.
        cfg: its config, with the fields that measurements need.
        hook_dict: name -> hooked module.
        refused: hooks that failed the self test -> the reason.
    """

    def __init__(self, inner: nn.Module, cfg: NotebookConfig, points: dict[str, nn.Module | None]) -> None:
        self.inner, self.cfg, self.refused = inner, cfg, dict[str, str]()
        self.hook_dict = points

    def __call__(
        self, tokens: Tensor, position_ids: Tensor | None = None, *, return_type: str | None = "logits"
    ) -> Any:
        """Outputs ``[batch, pos, out]``, or None for ``return_type=None``.

        Raises:
            NotebookModelError: for position ids other than 0, 1, 2, ..., because the model numbers its tokens itself.
        """
        usual = torch.arange(tokens.shape[1], device=tokens.device)
        if position_ids is not None and not bool((position_ids.to(tokens.device) == usual).all()):
            raise NotebookModelError("a model in memory has the position ids 0, 1, 2, ...; leave out position_ids")
        out = self.inner(tokens)
        logits = getattr(out, "logits", out)
        return None if return_type is None else logits

    @contextmanager
    def hooks(self, fwd_hooks: Sequence[tuple[str, Callable[..., Any]]] = (), **_: Any) -> Iterator[NotebookModel]:
        """Return a context in which functions of an activation and its hook are attached to the hooks with the given
        names.
        """
        functions = [(name, _named(name, act)) for name, act in fwd_hooks]
        if hasattr(self.inner, "hooks"):
            with self.inner.hooks(fwd_hooks=functions):  # type: ignore[operator]
                yield self
            return
        handles = [self.hook_dict[name].register_forward_hook(_of_module(act)) for name, act in functions]  # type: ignore[union-attr]
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    def run_with_hooks(self, *args: Any, fwd_hooks: Sequence[tuple[str, Callable[..., Any]]] = (), **given: Any) -> Any:
        """The outputs of a forward pass with hooks attached."""
        with self.hooks(fwd_hooks=fwd_hooks):
            return self(*args, **given)

    def run_with_cache(
        self, *args: Any, names_filter: Iterable[str] | Callable[[str], bool] | None = None, **given: Any
    ) -> tuple[Any, dict[str, Tensor]]:
        """Outputs, and activations by name: all of them, those named, or those for which a function returns True."""
        given.pop("return_cache_object", None)
        chosen_names = (
            [name for name in self.hook_dict if names_filter is None or names_filter(name)]
            if names_filter is None or callable(names_filter)
            else list(names_filter)
        )
        cache: dict[str, Tensor] = {}

        def keep(value: Tensor, hook: HookName) -> None:
            cache[hook.name] = value.detach()

        with torch.no_grad():
            return self.run_with_hooks(*args, fwd_hooks=[(name, keep) for name in chosen_names], **given), cache

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which the attention scores of a layer are computed."""
        return self.cfg.score_hooks(layer)


def _named(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an activation that also receives the name of its hook."""
    return lambda value, hook=None: act(value, hook=HookName(name))


def _of_module(act: Callable[..., Any]) -> Callable[..., Any]:
    return lambda module, given, out: act(out)


class PlainConfig(NotebookConfig):
    """The config of a module without hooks. Only its numbers of tokens and outputs are known; other sizes are 1."""

    title: ClassVar[str] = "plain module"


def notebook_model(model: Any, sizes: tuple[int, int] | None = None) -> NotebookModel:
    """Wrap a model in memory for measurements, after testing that its hooks agree with its outputs.

    Args:
        model: a HookedTransformer or TransformerBridge of TransformerLens, or a module. A module without ``cfg`` or
            hooks needs ``sizes``, and has no activations that could be read or edited.
        sizes: numbers of tokens and outputs of its task; None = no task is known.

    Raises:
        NotebookModelError: for a model without hooks and sizes, one that is not causal, or one with other outputs than
            its task.
    """
    if not isinstance(model, nn.Module):
        raise NotebookModelError(f"{type(model).__name__} is not a torch.nn.Module: {ASKED}")
    if model.training:
        model.eval()
    stated = all(hasattr(getattr(model, "cfg", None), size) for size in SIZES)
    points = _points(model) if stated else {}
    if not points and sizes is None:
        lacks = "has no hooks" if stated else "says nothing of itself"
        raise NotebookModelError(f"{type(model).__name__} {lacks}, and no task is given: {ASKED}")
    if points:
        read = NotebookModel(model, _config(model.cfg, points), points)
        _self_test(read)
        return read
    assert sizes is not None
    read = NotebookModel(model, _plain_config(*sizes), {})
    try:
        _self_test(read)
    except NotebookModelError:
        raise
    except Exception as error:
        raise NotebookModelError(
            f"{type(model).__name__} cannot be called with tokens [batch, pos] from 0 to {sizes[0] - 1}: "
            f"{log_failure(error, 'calling a model', foreign=True)}"
        ) from error
    return read


def _plain_config(d_vocab: int, d_vocab_out: int) -> PlainConfig:
    return PlainConfig(
        model_type="notebook", d_vocab=d_vocab, d_vocab_out=d_vocab_out, n_layers=1, d_model=1, n_heads=1, d_head=1,
        n_key_heads=1, n_ctx=SIZE, scales=(1.0,), soft_caps=(None,), windows=(None,), normalization_type=None,
    )  # fmt: skip


def _points(model: nn.Module) -> dict[str, nn.Module | None]:
    """The hooked modules by name. TransformerLens's bridges accept more names than they list; those that fire count."""
    if hasattr(model, "run_with_cache") and hasattr(model, "hooks"):
        _, cache = model.run_with_cache(_tokens(model.cfg)[:1, :EDITED], return_type=None)  # type: ignore[operator]
        return dict.fromkeys(cache)
    return {name: part for name, part in model.named_modules() if name.rpartition(".")[2].startswith("hook_")}


def _config(cfg: Any, points: Iterable[str]) -> NotebookConfig:
    layers, heads = int(cfg.n_layers), int(cfg.n_heads)
    width = int(getattr(cfg, "d_head", 0) or cfg.d_model // heads)
    scale = float(getattr(cfg, "attn_scale", 0) or 0)
    scale = 1 / scale if scale > 0 else width**-0.5
    cap = getattr(cfg, "attn_scores_soft_cap", None)
    stated = str(getattr(cfg, "positional_embedding_type", None) or getattr(cfg, "positions", "none"))
    known = {cls.upstream: name for name, cls in ENCODINGS.items() if cls.upstream and cls.reads_ids}
    positions = known.get(stated, stated)
    norm = str(getattr(cfg, "normalization_type", "LN") or "").removesuffix("Pre")
    return NotebookConfig(
        model_type="notebook", d_vocab=cfg.d_vocab, n_layers=layers, d_model=cfg.d_model, n_ctx=cfg.n_ctx,
        n_heads=heads, d_vocab_out=max(0, int(getattr(cfg, "d_vocab_out", 0) or 0)), d_head=width,
        n_key_heads=getattr(cfg, "n_key_value_heads", None) or heads,
        positions=make_encoding(positions if positions in ENCODINGS else "none"),
        scales=(scale if getattr(cfg, "use_attn_scale", True) else 1.0,) * layers,
        soft_caps=(cap if cap and cap > 0 else None,) * layers, windows=(None,) * layers,
        turned="blocks.0.attn.hook_rot_q" in points,
        normalization_type="RMS" if norm == "RMS" else "LN" if norm else None,
    )  # fmt: skip


def _tokens(cfg: Architecture | Any) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, int(cfg.d_vocab), (STRINGS, min(POSITIONS, int(cfg.n_ctx))), generator=generator)


def _self_test(model: NotebookModel) -> None:
    """Test the model on random tokens; hooks with wrong values are removed and recorded.

    Raises:
        NotebookModelError: if its output is not ``[batch, pos, out]``, or it is not causal.
    """
    tokens = _tokens(model.cfg)
    tokens = tokens.to(next((part.device for part in model.inner.parameters()), tokens.device))
    with torch.no_grad():
        outputs = model(tokens)
        if not isinstance(outputs, Tensor) or outputs.shape[:2] != tokens.shape or outputs.ndim != 3:
            raise NotebookModelError("the outputs of the model need the shape [batch, pos, out]")
        if isinstance(model.cfg, PlainConfig) and outputs.shape[-1] != model.cfg.d_vocab_out:
            raise NotebookModelError(
                f"the model gives {outputs.shape[-1]:,} outputs for each token, but its task has "
                f"{model.cfg.d_vocab_out:,}"
            )
        half = tokens.shape[1] // 2
        if not close(model(tokens[:, :half]), outputs[:, :half], TOLERANCE):
            raise NotebookModelError(
                "the model is not causal: its output at a token depends on later tokens, so a prefix cannot be read in "
                "a longer sequence"
            )
        _, seen = model.run_with_cache(tokens)
        for name, why in [*_unmoving(model, tokens, seen), *_untrue(model, seen)]:
            model.refused.setdefault(name, why)
    for name in model.refused:
        model.hook_dict.pop(name, None)


def _unmoving(model: NotebookModel, tokens: Tensor, activations: dict[str, Tensor]) -> Iterator[tuple[str, str]]:
    few = tokens[:1, :EDITED].expand(2, -1)
    for name in list(model.hook_dict):
        if name not in activations:
            yield name, "it never fires"
        elif not activations[name].is_floating_point() or not changes_logits(model, few, name):
            yield name, "an edit of it moves no logit"


def _untrue(model: NotebookModel, activations: dict[str, Tensor]) -> Iterator[tuple[str, str]]:
    """Names of hooks for queries and keys that do not give the model's own pattern, each with the reason."""
    for layer in range(model.cfg.n_layers):
        names, pattern = model.score_hooks(layer), activations.get(f"blocks.{layer}.attn.hook_pattern")
        if not all(name in activations for name in names):
            continue
        if pattern is None:
            yield from ((name, "there is no hook_pattern to hold it against") for name in names)
            continue
        try:
            inputs = model.cfg.score_inputs(layer, activations)
            found = inputs.pattern(inputs.scores(range(inputs.q.shape[1])))
            true = close(found, pattern, TOLERANCE)
        except (RuntimeError, ValueError, IndexError):
            true = False
        if not true:
            yield from ((name, "the pattern that the model shows does not come out of it") for name in names)
