"""Our transformer as a module whose parts have the form that TransformerLens's bridge wraps, and the adapter for it.

Only TransformerLens 4 has bridges. This module imports TransformerLens as a whole, so only
:mod:`workbench.models.interop.bridge` and the entry point ``transformer_lens.architectures`` import it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import torch
from einops import rearrange
from jaxtyping import Float, Int, Real
from torch import Tensor, nn
from transformer_lens.model_bridge.supported_architectures.native import NativeArchitectureAdapter

from workbench.models.positions.encoding import shared_of
from workbench.models.transformer.attention import Attention, Places, places
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import ACTIVATIONS, MLP, Block, HookedTransformer, PosEmbed

SPLIT = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O", "hook_q", "hook_k", "hook_v", "hook_z")
"""Parts of our attention that are linear maps of their own here, with hooks of the bridge."""


class LengthLensAdapter(NativeArchitectureAdapter):  # type: ignore[misc]
    """Names the parts of a :class:`BridgeModule` for TransformerLens's bridge.

    Only the positions differ from TransformerLens's own small models: there is ``pos_embed`` only if the encoding adds
    vectors to the embeddings.
    """

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        if cfg.positional_embedding_type != "standard":
            self.component_mapping.pop("pos_embed", None)


class BridgeAttention(nn.Module):
    """Our attention with one linear map each for queries, keys, values and outputs."""

    accepts_pattern_fn = True
    """The bridge passes its ``hook_pattern`` to :meth:`forward`, so that an edit of the pattern changes the output."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.q, self.k, self.v = (
            linear(rearrange(weight, "h d e -> d (h e)"), bias.flatten())
            for weight, bias in (
                (attention.W_Q, attention.b_Q),
                (attention.W_K, attention.b_K),
                (attention.W_V, attention.b_V),
            )
        )
        self.o = linear(rearrange(attention.W_O, "h e d -> (h e) d"), attention.b_O)
        # What computes the scores, with the weights of the encoding, but without the four maps above.
        self.scores = copy.deepcopy(attention)
        for name in SPLIT:
            delattr(self.scores, name)

    def forward(
        self,
        hidden_states: Float[Tensor, "batch pos d_model"],
        at: Places,
        pattern_fn: Callable[[Tensor], Tensor] | None = None,
        **_: Any,
    ) -> tuple[Float[Tensor, "batch pos d_model"], Float[Tensor, "batch head query key"]]:
        """The output and the attention weights."""
        heads, positions = self.scores.cfg.n_heads, self.scores.cfg.positions
        q, k, v = (rearrange(part(hidden_states), "b p (h e) -> b p h e", h=heads) for part in (self.q, self.k, self.v))
        if at.turn is not None:
            q, k = positions.rotate(q, at.turn), positions.rotate(k, at.turn)
        inputs = self.scores.score_inputs(q, k, at)
        pattern = inputs.pattern(inputs.scores(range(v.shape[1])))
        if pattern_fn is not None:
            pattern = pattern_fn(pattern)
        z = torch.einsum("bhqk,bkhe->bqhe", pattern, v)
        return self.o(rearrange(z, "b p h e -> b p (h e)")), pattern


class BridgeMLP(nn.Module):
    """Our MLP with two linear maps."""

    def __init__(self, mlp: MLP, act_fn: str) -> None:
        super().__init__()
        self.fc_in, self.fc_out = linear(mlp.W_in, mlp.b_in), linear(mlp.W_out, mlp.b_out)
        self.act = ACTIVATIONS[act_fn]

    def forward(self, hidden_states: Float[Tensor, "batch pos d_model"], **_: Any) -> Float[Tensor, "batch pos d"]:
        output: Tensor = self.fc_out(self.act(self.fc_in(hidden_states)))
        return output


class BridgeBlock(nn.Module):
    """Our block."""

    def __init__(self, block: Block, cfg: ModelConfig) -> None:
        super().__init__()
        self.attn_only = cfg.attn_only
        self.ln1, self.attn = norm(block.ln1), BridgeAttention(block.attn)
        if not cfg.attn_only:
            self.ln2, self.mlp = norm(block.ln2), BridgeMLP(block.mlp, cfg.act_fn)

    def forward(self, hidden_states: Float[Tensor, "batch pos d_model"], at: Places, **_: Any) -> tuple[Tensor]:
        """The residual stream after the block, in a tuple as the bridge expects it."""
        hidden_states = hidden_states + self.attn(self.ln1(hidden_states), at=at)[0]
        if not self.attn_only:
            hidden_states = hidden_states + self.mlp(self.ln2(hidden_states))
        return (hidden_states,)


class BridgeModule(nn.Module):
    """A copy of one of our transformers, with the names of parts that :class:`LengthLensAdapter` expects.

    The position encodings, log scaling and kinds of attention are ours, so that every transformer has such a copy.
    """

    def __init__(self, model: HookedTransformer) -> None:
        super().__init__()
        cfg = self.cfg = model.cfg
        self.tok_embed = nn.Embedding.from_pretrained(model.W_E.detach().clone(), freeze=False)
        if cfg.positions.added:
            self.pos = AddedPositions(model.pos_embed)
        if shared := shared_of(model):
            self.pos_bias = nn.ParameterDict({name: nn.Parameter(w.detach().clone()) for name, w in shared.items()})
        self.layers = nn.ModuleList(BridgeBlock(cast(Block, block), cfg) for block in model.blocks)
        self.ln_out = norm(model.ln_final)
        self.head = linear(model.W_U, model.unembed.b_U)

    def forward(
        self,
        input_ids: Int[Tensor, "batch pos"],
        attention_mask: Tensor | None = None,
        position_ids: Real[Tensor, "#batch pos"] | None = None,
        **_: Any,
    ) -> Float[Tensor, "batch pos out"]:
        """Logits at every position.

        Raises:
            ValueError: for a mask that hides tokens: our models have no padding.
            PositionError: for ids that the encoding cannot read.
        """
        if attention_mask is not None and not bool(attention_mask.all()):
            raise ValueError("models of LengthLens take no padding: pass sequences of one length, without a mask")
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        self.cfg.positions.check(position_ids, self.cfg.n_ctx)
        x: Tensor = self.tok_embed(input_ids)
        if self.cfg.positions.added:
            x = x + self.pos(position_ids)
        at = places(self.cfg, position_ids, x.dtype, shared_of(self))
        for block in self.layers:
            (x,) = block(x, at=at)
        logits: Tensor = self.head(self.ln_out(x))
        return logits


class AddedPositions(nn.Module):
    """The vectors that positions add to the embedding.

    ``weight [row, d_model]`` is the table of a learned encoding. For a computed encoding it is a buffer with the
    vectors of the first ``n_ctx`` ids, which only the bridge's ``W_pos`` reads.
    """

    def __init__(self, pos_embed: PosEmbed) -> None:
        super().__init__()
        self.cfg = pos_embed.cfg
        table = getattr(pos_embed, "W_pos", None)
        self.learned = table is not None
        if table is not None:
            self.weight = nn.Parameter(table.detach().clone())
        else:
            ids = torch.arange(self.cfg.n_ctx)[None]
            vectors = self.cfg.positions.vectors(ids, None, self.cfg.d_model, torch.float32)
            self.register_buffer("weight", vectors[0], persistent=False)

    def forward(self, ids: Real[Tensor, "#batch pos"]) -> Float[Tensor, "#batch pos d_model"]:
        """The vectors of these ids."""
        table = self.weight if self.learned else None
        return self.cfg.positions.vectors(ids, table, self.cfg.d_model, self.weight.dtype)


def linear(weight: Float[Tensor, "rows columns"], bias: Float[Tensor, " columns"]) -> nn.Linear:
    """A linear map ``x weight + bias`` with a copy of both."""
    layer = nn.Linear(*weight.shape)
    layer.weight = nn.Parameter(weight.detach().T.clone())
    layer.bias = nn.Parameter(bias.detach().clone())
    return layer


def norm(layer: nn.Module) -> nn.Module:
    """PyTorch's LayerNorm with the weights of ours; an identity stays one."""
    if isinstance(layer, nn.Identity):
        return nn.Identity()
    ours: Any = layer
    theirs = nn.LayerNorm(len(ours.w), eps=ours.eps)
    theirs.weight, theirs.bias = nn.Parameter(ours.w.detach().clone()), nn.Parameter(ours.b.detach().clone())
    return theirs
