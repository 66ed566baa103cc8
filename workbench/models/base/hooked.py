"""The base class of all our models: TransformerLens's root module, checked position ids, caches without a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor, nn

from workbench.core.former_names import FormerName
from workbench.models.base.layers import Embed, TiedUnembed, Unembed
from workbench.models.base.lens_interface import LensUseError, WithLogits
from workbench.models.base.lens_parts import ActivationCache, HookedRootModule, HookPoint, lm_cross_entropy_loss
from workbench.models.errors import PositionError

ReturnType = str | None
"""The output of a forward pass, in TransformerLens's words: logits, loss, both, or None."""


class Output(NamedTuple):
    """The output of a model for ``return_type="both"``."""

    logits: Tensor
    loss: Tensor


class Checkpoint(NamedTuple):
    """The run and the step that a model's weights come from."""

    run: str
    step: int


class Hooked(WithLogits, HookedRootModule):  # type: ignore[misc]  # the base ships no usable types
    """A causal model whose every activation has a hook; see :class:`workbench.models.base.protocol.HookedModel`.

    A subclass sets ``embed``, ``blocks``, ``ln_final`` and ``unembed``, and states :meth:`forward`.
    """

    cfg: Any
    """The config of its architecture."""
    loaded_from: Checkpoint | None = None
    """The checkpoint that :meth:`workbench.runs.Run.load` read; measurements write it into their rows."""
    hook_dict: dict[str, HookPoint]
    embed: Embed
    blocks: nn.ModuleList
    unembed: Unembed | TiedUnembed

    def _repr_html_(self) -> str:
        """Where the model is from, its sizes and how to go on, as notebooks show them."""
        from workbench.core.html_card import card

        cfg, origin = self.cfg, self.loaded_from
        facts = [
            ("run", "" if origin is None else origin.run),
            ("step", "" if origin is None else f"{origin.step:,}"),
            ("blocks", cfg.n_layers),
            ("heads per block", getattr(cfg, "n_heads", 0) or ""),
            ("d_model", cfg.d_model),
            ("parameters", f"{sum(parameter.numel() for parameter in self.parameters()):,}"),
            ("hooks", len(self.hook_dict)),
            (
                "next",
                "model(tokens), .run_with_cache(tokens), .generate(tokens, n); list(model.hook_dict) names the hooks",
            ),
        ]
        return card(type(self).__name__, facts)

    def checked_ids(self, tokens: Tensor, position_ids: Tensor | None) -> Real[Tensor, "#batch pos"]:
        """The given position ids, or 0, 1, 2, ...

        Raises:
            PositionError: for ids that do not fit the tokens, are negative, or cannot be read by the encoding.
        """
        if position_ids is None:
            position_ids = torch.arange(tokens.shape[1], device=tokens.device)[None]
        elif position_ids.shape not in (tokens.shape, (1, tokens.shape[1])):
            raise PositionError(
                f"position ids of shape {tuple(position_ids.shape)} do not fit tokens of shape {tuple(tokens.shape)}"
            )
        self.cfg.positions.check(position_ids, self.cfg.n_ctx)
        return position_ids.to(tokens.device)

    def supervised_outputs(
        self, tokens: Int[Tensor, "batch pos"], position_ids: Tensor, supervised: Bool[Tensor, "batch pos"]
    ) -> Float[Tensor, "batch pos out"]:
        """Outputs for training: correct at the positions in ``supervised``. Elsewhere they may have any value."""
        outputs: Tensor = self(tokens, position_ids)
        return outputs

    def select_output(self, logits: Tensor, tokens: Tensor, return_type: ReturnType) -> Any:
        """The outputs for ``return_type``. The loss is TransformerLens's: the mean cross-entropy of the next token.

        Raises:
            LensUseError: for the loss of a model whose outputs are not its tokens, or an unknown return type.
        """
        if return_type in ("logits", None):
            return logits if return_type else None
        if return_type not in ("loss", "both"):
            raise LensUseError(f"return_type is logits, loss, both or None, not {return_type!r}")
        if self.cfg.d_vocab_out != self.cfg.d_vocab:
            raise LensUseError(
                "the loss of the next token needs outputs that are its tokens; this model answers a task: "
                "task.losses(logits, batch) is its loss"
            )
        loss = lm_cross_entropy_loss(logits, tokens)
        return loss if return_type == "loss" else Output(logits, loss)

    returned = FormerName("select_output")

    def generate(self, tokens: Any, n: int) -> Int[Tensor, "batch pos"]:
        """The tokens and the ``n`` most likely ones after them, appended one at a time.

        Args:
            tokens: ids ``[batch, pos]`` or ``[pos]``, or a text where the model has a tokenizer.
            n: number of tokens to append, at least 1.

        Raises:
            LensUseError: for a model whose outputs are the answers of a task instead of tokens, or ``n`` below 1.
        """
        if self.cfg.d_vocab_out != self.cfg.d_vocab:
            raise LensUseError(
                "this model does not generate text, because its outputs are answers of a task and not tokens; "
                "model(tokens).argmax(-1) gives the answers"
            )
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise LensUseError(f"n must be a whole number of tokens from 1 on, not {n!r}")
        device = next(self.parameters()).device
        ids = self.to_tokens(tokens if isinstance(tokens, str) else torch.as_tensor(tokens, device=device))
        with torch.no_grad():
            for _ in range(n):
                ids = torch.cat([ids, self(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
        return ids

    def remove_all_hook_fns(
        self, direction: str = "both", including_permanent: bool = False, level: Any = None
    ) -> None:
        """Remove hooks as TransformerLens does, from only those points that have hooks."""
        for point in self.hook_points():
            if point.fwd_hooks or point.bwd_hooks:
                point.remove_hooks(direction, including_permanent=including_permanent, level=level)

    def run_with_cache(
        self, *args: Any, return_cache_object: bool = True, remove_batch_dim: bool = False, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Logits and an ``ActivationCache``, as in TransformerLens, without keeping a graph.

        Gradients are kept only with ``incl_bwd=True``.
        """
        with torch.set_grad_enabled(bool(kwargs.get("incl_bwd", False))):
            out, cache = super().run_with_cache(*args, **kwargs)
        if remove_batch_dim:  # here, not there: upstream takes position ids [batch, pos] for what has a third axis
            cache = {name: _only_row(name, value) for name, value in cache.items()}
        if return_cache_object:
            cache = ActivationCache(cache, self, has_batch_dim=not remove_batch_dim)
        return out, cache

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which the attention scores of a layer are computed."""
        names: list[str] = self.cfg.score_hooks(layer)
        return names

    @property
    def W_E(self) -> Float[Tensor, "d_vocab d_model"]:
        return self.embed.W_E

    @property
    def W_U(self) -> Float[Tensor, "d_model out"]:
        return self.unembed.W_U


def _only_row(name: str, value: Tensor) -> Tensor:
    """An activation of one sequence without its batch axis.

    Raises:
        LensUseError: for several sequences.
    """
    if len(value) != 1:
        raise LensUseError(f"remove_batch_dim needs one sequence; {name} has {len(value)}")
    return value[0]
