"""The peers that our training step is measured against, set up fairly.

All have two layers, pre-norm, exact gelu, no dropout, learned positions, float32, and are trained by the
same fused AdamW with the same gradient clipping on the same batches, in one thread.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 2, 64, 4, 64, 16


class BareBlock(nn.Module):
    """A transformer block as one would write it in PyTorch without any wish to look inside."""

    def __init__(self) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, pos, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(batch, pos, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(z.transpose(1, 2).reshape(batch, pos, WIDTH))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Bare(nn.Module):
    """A bare PyTorch language model of the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(BareBlock() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def ours() -> nn.Module:
    from workbench.models import HookedTransformer, ModelConfig

    return HookedTransformer(
        ModelConfig(
            d_vocab=VOCABULARY, n_layers=LAYERS, d_model=WIDTH, n_heads=HEADS, n_ctx=CONTEXT, positions="learned"
        )
    )


def native() -> nn.Module:
    """The model that TransformerLens boots by itself."""
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge.sources import boot_native

    cfg = TransformerBridgeConfig(
        n_layers=LAYERS, d_model=WIDTH, n_heads=HEADS, d_head=WIDTH // HEADS, d_mlp=4 * WIDTH, n_ctx=CONTEXT,
        d_vocab=VOCABULARY, act_fn="gelu", normalization_type="LN", positional_embedding_type="standard", seed=0,
    )  # fmt: skip
    bridge: nn.Module = boot_native(cfg)
    return bridge


def gpt2() -> nn.Module:
    """Hugging Face's GPT-2 with dropout 0, exact gelu and its fused attention."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model: nn.Module = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu", use_cache=False,
            attn_implementation="sdpa", bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    return model


PEERS: dict[str, Callable[[], nn.Module]] = {
    "ours": ours,
    "TransformerLens boot_native": native,
    "bare PyTorch": Bare,
    "GPT2LMHeadModel": gpt2,
}
