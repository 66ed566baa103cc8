"""The model: a decoder-only transformer based on TransformerLens's ``HookedRootModule``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.core.former_names import FormerName
from workbench.models.base.hooked import Hooked, ReturnType
from workbench.models.base.layers import Embed, LayerNorm, TiedUnembed, Unembed, affine, has_hooks
from workbench.models.base.lens_interface import WithHeads
from workbench.models.base.lens_parts import HookPoint
from workbench.models.positions.encoding import shared_of
from workbench.models.transformer.attention import Attention, Places, places
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.distinct_inputs import pairs
from workbench.models.transformer.supervised_positions import SupervisedPositions, supervised_positions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}


class PosEmbed(nn.Module):
    """The vectors that positions add to the embedding; has the table ``W_pos [row, d_model]`` if the encoding learns
    one.
    """

    def __init__(self, cfg: ModelConfig) -> None:
        super().__init__()
        self.cfg = cfg
        rows = cfg.positions.rows(cfg.n_ctx)
        if rows is not None:
            self.W_pos = nn.Parameter(torch.empty(rows, cfg.d_model))

    def forward(
        self, ids: Real[Tensor, "#batch pos"], dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "#batch pos d_model"]:
        return self.cfg.positions.vectors(ids, getattr(self, "W_pos", None), self.cfg.d_model, dtype)


class MLP(nn.Module):
    """Two-layer perceptron ``W_in [d_model, d_mlp]``, ``W_out [d_mlp, d_model]``."""

    def __init__(self, cfg: ModelConfig, width: int) -> None:
        super().__init__()
        self.W_in = nn.Parameter(torch.empty(cfg.d_model, width))
        self.b_in = nn.Parameter(torch.zeros(width))
        self.W_out = nn.Parameter(torch.empty(width, cfg.d_model))
        self.b_out = nn.Parameter(torch.zeros(cfg.d_model))
        self.act = ACTIVATIONS[cfg.act_fn]
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        post: Tensor = self.hook_post(self.act(self.hook_pre(affine(x, self.W_in, self.b_in))))
        return affine(post, self.W_out, self.b_out)


class Block(nn.Module):
    """Pre-norm attention, then pre-norm MLP, each added to the residual stream.

    With ``norm_after_attention``, ``ln1_post`` normalizes what attention writes. ``hook_attn_out`` is then its output.
    """

    def __init__(self, cfg: ModelConfig, layer: int) -> None:
        super().__init__()
        norm = (lambda: LayerNorm(cfg)) if cfg.normalization_type == "LN" else nn.Identity
        self.ln1 = norm()
        self.attn = Attention(cfg)
        self.hook_resid_pre, self.hook_attn_out, self.hook_resid_post = (HookPoint() for _ in range(3))
        self.ln1_post = LayerNorm(cfg) if cfg.norm_after_attention else None
        self.attn_only = cfg.attn_only
        if not cfg.attn_only:
            self.ln2 = norm()
            self.mlp = MLP(cfg, cfg.mlp_width(layer))
            self.hook_resid_mid, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        at: Places,
        projected: Float[Tensor, "batch pos qkv"] | None = None,
        only: SupervisedPositions | None = None,
    ) -> Float[Tensor, "rows places d_model"]:
        """The residual stream after the block.

        Args:
            x: the residual stream before it.
            at: position data of the forward pass.
            projected: its queries, keys and values if they are known already.
            only: the positions at which the result is needed; None = all.
        """
        x = self.hook_resid_pre(x)
        mixed = self.attn(self.attn.project(self.ln1(x)) if projected is None else projected, at, only)
        mixed = mixed if self.ln1_post is None else self.ln1_post(mixed)
        x = (x if only is None else only.pick(x)) + self.hook_attn_out(mixed)
        if not self.attn_only:
            x = self.hook_resid_mid(x)
            x = x + self.hook_mlp_out(self.mlp(self.ln2(x)))
        x = self.hook_resid_post(x)
        return x


class HookedTransformer(WithHeads, Hooked):
    """A causal transformer whose every activation has a hook with a TransformerLens name.

    A model that predicts position ids (id sampler ``predicted``) has a second read-out with the hooks
    ``hook_id_logits`` and ``hook_next_ids`` (:mod:`workbench.models.transformer.predicted_ids`). It is computed only
    while one of these hooks is in use.

    Args:
        cfg: the architecture.
        seed: seed of the initial weights, which are drawn without changing any global random state.
    """

    def __init__(self, cfg: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.cfg: ModelConfig = cfg
        self.embed = Embed(cfg)
        self.hook_embed = HookPoint()
        if cfg.positions.added:
            self.pos_embed = PosEmbed(cfg)
            self.hook_pos_embed = HookPoint()
        if cfg.positions.biased:
            self.hook_position_ids = HookPoint()
        shared = cfg.positions.shared_parameters(cfg.n_heads)
        if shared:
            self.pos_bias = nn.ParameterDict(shared)
        self.blocks = nn.ModuleList(Block(cfg, layer) for layer in range(cfg.n_layers))
        self.ln_final = LayerNorm(cfg) if cfg.normalization_type == "LN" else nn.Identity()
        self.unembed = TiedUnembed(self.embed, cfg.tied_rows) if cfg.tied else Unembed(cfg)
        if cfg.ids.predicted:
            self.unembed_ids = Unembed(cfg, cfg.n_ctx)
            self.hook_id_logits, self.hook_next_ids = HookPoint(), HookPoint()
        self.setup()
        self.initialize(seed)

    def initialize(self, seed: int) -> None:
        """Draw all weight matrices from N(0, initializer_range^2); biases 0, LayerNorm gains 1."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.rsplit(".", 1)[-1].startswith("W_"):
                    weight.normal_(0.0, self.cfg.initializer_range, generator=generator)

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        position_ids: Real[Tensor, "rows ids"] | None = None,
        supervised: Bool[Tensor, "batch pos"] | None = None,
        *,
        return_type: ReturnType = "logits",
        stop_at_layer: int | None = None,
    ) -> Any:
        """Logits (or real outputs) ``[batch, pos, out]`` at every position.

        In training (with gradients, not after ``eval()``) and while no hook is attached, unnecessary work is skipped.
        Values before attention are computed once per pair of token and id, and values after the last attention only at
        the positions in ``supervised``. The result is the same except for rounding. A measured model always
        computes all values, so its numbers do not depend on ``supervised``.

        Args:
            tokens: token ids, BOS included if the task has one.
            position_ids: ids per token, ``[batch, pos]`` or ``[1, pos]``; None = 0, 1, 2, ... They may be fractions if
                the encoding can read fractions.
            supervised: positions at which training needs outputs; other outputs may be 0. None = all positions.
            return_type: ``logits``; ``loss``, the mean cross-entropy of the next token, or ``both``; None = nothing.
            stop_at_layer: return the residual stream before that layer (counted from the end if negative) and compute
                no more; None = the whole model.

        Raises:
            PositionError: for an id that the encoding cannot read, or ids that do not fit the tokens.
        """
        ids = self.ids_for(tokens, position_ids)
        brief = self.training and torch.is_grad_enabled() and not has_hooks(*self.hook_dict.values())
        only = supervised_positions(supervised) if brief and supervised is not None else None
        at, last = self.places(ids, self.W_E.dtype), self.cfg.n_layers - 1
        x, projected = self.entrance(tokens, ids, brief)
        for layer, block in enumerate(self.blocks[:stop_at_layer]):
            x = block(x, at, projected if layer == 0 else None, only if layer == last else None)
        if stop_at_layer is not None:
            return x
        x = self.ln_final(x)
        if self.cfg.ids.predicted and has_hooks(self.hook_id_logits, self.hook_next_ids):
            self.hook_next_ids(self.hook_id_logits(self.unembed_ids(x)).argmax(-1))
        if return_type is None:
            return None
        logits: Tensor = self.unembed(x)
        return self.select_output(logits if only is None else only.put(logits), tokens, return_type)

    def entrance(
        self, tokens: Int[Tensor, "batch pos"], ids: Real[Tensor, "#batch pos"], brief: bool
    ) -> tuple[Float[Tensor, "batch pos d_model"], Float[Tensor, "batch pos qkv"] | None]:
        """Return the residual stream before block 0; with ``brief``, also its projection, if that is computed once for
        each pair of token and position id.
        """
        found = pairs(self.cfg, tokens, ids) if brief else None
        if found is None:
            return self.initial_residual(tokens, ids), None
        table, block = self.initial_residual(found.tokens, found.ids), cast(Block, self.blocks[0])
        return found.spread(table), found.spread(block.attn.project(block.ln1(table)))

    def initial_residual(
        self, tokens: Int[Tensor, "batch pos"], ids: Real[Tensor, "#batch pos"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the residual stream before block 0: embeddings, plus position vectors if the encoding adds them."""
        x: Tensor = self.hook_embed(self.embed(tokens))
        if self.cfg.positions.added:
            x = x + self.hook_pos_embed(self.pos_embed(ids, x.dtype).expand_as(x))
        return x

    embedded = FormerName("initial_residual")

    def supervised_outputs(
        self, tokens: Int[Tensor, "batch pos"], position_ids: Tensor, supervised: Bool[Tensor, "batch pos"]
    ) -> Float[Tensor, "batch pos out"]:
        outputs: Tensor = self(tokens, position_ids, supervised)
        return outputs

    def places(self, ids: Real[Tensor, "#batch pos"], dtype: torch.dtype) -> Places:
        """Return the position data that all layers share."""
        return places(self.cfg, ids, dtype, shared_of(self))

    def ids_for(self, tokens: Tensor, position_ids: Tensor | None) -> Real[Tensor, "#batch pos"]:
        """Return the position ids of this forward pass, after checking that the encoding can read them."""
        position_ids = self.checked_ids(tokens, position_ids)
        if self.cfg.positions.biased and has_hooks(self.hook_position_ids):
            position_ids = self.hook_position_ids(position_ids.expand_as(tokens).clone())
        return position_ids

    @property
    def attn_score_scale(self) -> float:
        """Return the factor by which q . k is multiplied to give the attention score."""
        return 1.0 / self.cfg.attn_scale

    @property
    def W_pos(self) -> Float[Tensor, "row d_model"]:
        return self.pos_embed.W_pos
