"""The methods of TransformerLens's models besides the forward pass, with the same names and the same results.

``ActivationCache``, ``FactoredMatrix``, ``detect_head`` and ``transformer_lens.patching`` call them. A call for a
feature that our model does not have raises an error that explains the alternative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from workbench.core.errors import LensError
from workbench.models.base.lens_parts import FactoredMatrix, composition_scores


class LensUseError(LensError, ValueError):
    """A call from TransformerLens's interface that this model does not support; the message explains why and what to
    do.
    """


@runtime_checkable
class Tokenizer(Protocol):
    """Converts text to token ids and back; a run's model has the tokenizer of its task."""

    @property
    def names(self) -> Sequence[str]:
        """Return the text of every token, in the order of the ids."""
        ...

    @property
    def bos(self) -> bool:
        """Whether token 0 is a BOS that comes before every sequence."""
        ...

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, BOS excluded."""
        ...


SWITCHES = {
    "use_attn_result": "hook_result is not kept: cache.compute_head_results() makes it from hook_z and W_O",
    "use_split_qkv_input": "queries, keys and values are projected together: edit hook_q, hook_k or hook_v",
    "use_hook_mlp_in": "the input of an MLP is hook_resid_mid: edit that",
    "use_attn_in": "the input of all heads is hook_resid_pre: edit that, or hook_q, hook_k and hook_v of one head",
    "ungroup_grouped_query_attention": "every head has keys and values of its own",
}
"""Switches of TransformerLens's config that are always off here -> what to do instead."""


class WithTokens:
    """Texts and tokens of a model. Its ``tokenizer`` is that of its task if the model comes from a run, else None."""

    cfg: Any
    tokenizer: Tokenizer | None = None

    def to_tokens(
        self, text: str | Sequence[str] | Tensor, prepend_bos: bool | None = None, **options: Any
    ) -> Int[Tensor, "batch pos"]:
        """Token ids ``[batch, pos]`` of a text or several texts of equal length; tensors of ids are returned unchanged.

        ``prepend_bos``: None = if the task has a BOS. ``move_to_device`` and further options of TransformerLens are
        accepted and have no effect.

        Raises:
            LensUseError: for text without a tokenizer, or texts of unequal length.
        """
        if isinstance(text, Tensor):
            return text if text.ndim == 2 else text[None]
        known = self._known()
        front = [0] if known.bos and prepend_bos in (None, True) else []
        rows = [front + known.encode(one) for one in ([text] if isinstance(text, str) else text)]
        if len({len(row) for row in rows}) > 1:
            raise LensUseError(
                f"the texts have different numbers of tokens, {sorted({len(row) for row in rows})}, and texts are "
                "not padded: give texts with the same number of tokens"
            )
        return torch.tensor(rows)

    def to_str_tokens(
        self, text: str | Sequence[str] | Tensor, prepend_bos: bool | None = None, **options: Any
    ) -> list[str] | list[list[str]]:
        """The text of every token, as a list; for several texts, a list of lists."""
        names = self._known().names
        if isinstance(text, Sequence) and not isinstance(text, str):
            return [cast("list[str]", self.to_str_tokens(one, prepend_bos)) for one in text]
        ids = self.to_tokens(text, prepend_bos)
        if len(ids) != 1:
            return [[names[i] for i in row] for row in ids.tolist()]
        return [names[i] for i in ids[0].tolist()]

    def to_single_token(self, text: str) -> int:
        """Return the id of a text that is one token.

        Raises:
            LensUseError: for a text with another number of tokens.
        """
        ids = self._known().encode(text)
        if len(ids) != 1:
            raise LensUseError(f"{text!r} has {len(ids)} tokens; give a text of one token")
        return ids[0]

    def to_single_str_token(self, token: int) -> str:
        """Return the text of one token id."""
        return self._known().names[token]

    def to_string(self, tokens: Tensor | Sequence[int]) -> str:
        """Token ids as text, with spaces between."""
        names = self._known().names
        return " ".join(names[int(i)] for i in tokens)

    def _known(self) -> Tokenizer:
        if self.tokenizer is None:
            raise LensUseError(
                "this model has no names of its tokens; load it with run.load(step), or set "
                "model.tokenizer = TaskTokenizer.of(task) from workbench.tasks.tokens"
            )
        return self.tokenizer

    def set_use_attn_result(self, use_attn_result: bool) -> None:
        """Accept ``False``, which is the only setting here; refuse ``True`` with a message about the alternative."""
        self._switch("use_attn_result", use_attn_result)

    def set_use_split_qkv_input(self, use_split_qkv_input: bool) -> None:
        """Accept ``False``, the only setting here, and refuse ``True`` as :meth:`set_use_attn_result` does."""
        self._switch("use_split_qkv_input", use_split_qkv_input)

    def set_use_hook_mlp_in(self, use_hook_mlp_in: bool) -> None:
        """Accept ``False``, the only setting here, and refuse ``True`` as :meth:`set_use_attn_result` does."""
        self._switch("use_hook_mlp_in", use_hook_mlp_in)

    def set_use_attn_in(self, use_attn_in: bool) -> None:
        """Accept ``False``, the only setting here, and refuse ``True`` as :meth:`set_use_attn_result` does."""
        self._switch("use_attn_in", use_attn_in)

    def set_ungroup_grouped_query_attention(self, ungroup_grouped_query_attention: bool) -> None:
        """Accept either setting, because our models have no grouped heads."""

    @staticmethod
    def _switch(name: str, on: bool) -> None:
        if on:
            raise LensUseError(f"{name} cannot be switched on: {SWITCHES[name]}")


class WithHeads:
    """Weights of all layers at once, circuits of heads, and directions of logits; for transformers."""

    cfg: Any
    blocks: nn.ModuleList
    unembed: Any

    def _stacked(self, module: str, name: str) -> Tensor:
        return torch.stack([getattr(getattr(block, module), name) for block in self.blocks])

    @property
    def W_Q(self) -> Float[Tensor, "layer head d_model d_head"]:
        return self._stacked("attn", "W_Q")

    @property
    def W_K(self) -> Float[Tensor, "layer head d_model d_head"]:
        return self._stacked("attn", "W_K")

    @property
    def W_V(self) -> Float[Tensor, "layer head d_model d_head"]:
        return self._stacked("attn", "W_V")

    @property
    def W_O(self) -> Float[Tensor, "layer head d_head d_model"]:
        return self._stacked("attn", "W_O")

    @property
    def W_in(self) -> Float[Tensor, "layer d_model d_mlp"]:
        return self._stacked("mlp", "W_in")

    @property
    def W_out(self) -> Float[Tensor, "layer d_mlp d_model"]:
        return self._stacked("mlp", "W_out")

    @property
    def W_gate(self) -> None:
        """None: our models have no gated MLPs."""
        return None

    @property
    def b_Q(self) -> Float[Tensor, "layer head d_head"]:
        return self._stacked("attn", "b_Q")

    @property
    def b_K(self) -> Float[Tensor, "layer head d_head"]:
        return self._stacked("attn", "b_K")

    @property
    def b_V(self) -> Float[Tensor, "layer head d_head"]:
        return self._stacked("attn", "b_V")

    @property
    def b_O(self) -> Float[Tensor, "layer d_model"]:
        return self._stacked("attn", "b_O")

    @property
    def b_in(self) -> Float[Tensor, "layer d_mlp"]:
        return self._stacked("mlp", "b_in")

    @property
    def b_out(self) -> Float[Tensor, "layer d_model"]:
        return self._stacked("mlp", "b_out")

    @property
    def QK(self) -> FactoredMatrix:
        """W_Q W_K^T of every head, ``[layer, head, d_model, d_model]``, as its two factors."""
        return FactoredMatrix(self.W_Q, self.W_K.transpose(-2, -1))

    @property
    def OV(self) -> FactoredMatrix:
        """W_V W_O of every head, ``[layer, head, d_model, d_model]``, as its two factors."""
        return FactoredMatrix(self.W_V, self.W_O)

    def all_composition_scores(self, mode: str) -> Float[Tensor, "layer head layer head"]:
        """Return the composition score of every head with every later head; 0 for other pairs.

        ``mode``: Q, K or V. Norm of the product over the product of norms (Elhage et al. 2021, A Mathematical
        Framework for Transformer Circuits).

        Raises:
            LensUseError: for another mode.
        """
        rights = {"Q": self.QK, "K": self.QK.T, "V": self.OV}
        if mode not in rights:
            raise LensUseError(f"mode is Q, K or V, not {mode!r}")
        scores = composition_scores(self.OV, rights[mode], broadcast_dims=True)
        layers = torch.arange(self.cfg.n_layers, device=scores.device)
        later = layers[:, None, None, None] < layers[None, None, :, None]
        return torch.where(later, scores, torch.zeros_like(scores))

    def all_head_labels(self) -> list[str]:
        """``L0H0``, ``L0H1``, ... in the order of layers and heads."""
        return [f"L{layer}H{head}" for layer in range(self.cfg.n_layers) for head in range(self.cfg.n_heads)]

    def accumulated_bias(
        self, layer: int, mlp_input: bool = False, include_mlp_biases: bool = True
    ) -> Float[Tensor, " d_model"]:
        """Sum [d_model] of the biases ``b_O`` and ``b_out`` that are added to the residual stream before a layer.

        Args:
            layer: 0 = none, ``n_layers`` = all.
            mlp_input: whether that layer's ``b_O`` counts, too.
            include_mlp_biases: whether those of MLPs count.

        Raises:
            LensUseError: for a model with a norm after attention, which rescales ``b_O`` at each token.
        """
        if getattr(self.cfg, "norm_after_attention", False):
            raise LensUseError(
                "a norm after attention rescales b_O at each token, so biases have no sum; read hook_attn_out instead"
            )
        attention = self.b_O[: layer + mlp_input]
        total = attention.sum(0) if len(attention) else torch.zeros(self.cfg.d_model).to(self.b_O)
        if include_mlp_biases and not self.cfg.attn_only and layer:
            total = total + self.b_out[:layer].sum(0)
        return total


class WithLogits(WithTokens):
    """Directions of the residual stream from which logits are computed."""

    unembed: Any

    @property
    def b_U(self) -> Float[Tensor, " out"]:
        bias: Tensor = self.unembed.b_U
        return bias

    def tokens_to_residual_directions(self, tokens: str | int | Tensor) -> Float[Tensor, "*tokens d_model"]:
        """The column of ``W_U`` for each answer; its dot product with the residual stream is the answer's logit."""
        if isinstance(tokens, str):
            tokens = self.to_single_token(tokens)
        weights: Tensor = self.unembed.W_U
        if isinstance(tokens, Tensor) and tokens.numel() > 1:
            return rearrange(weights[:, tokens], "d_model ... -> ... d_model")
        return weights[:, int(tokens)]
