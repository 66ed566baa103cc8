"""The frozen config from which a transformer is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_serializer, model_validator

from workbench.models.base.architecture import Architecture, Size, Width, unvalidated_size
from workbench.models.positions.registry import those_with

if TYPE_CHECKING:
    from workbench.models.transformer.scores import ScoreInputs


LATER = ("norm_after_attention", "tied")
"""Settings that were added later, and are False in runs that do not state them."""


class ModelConfig(Architecture):
    """The settings of a transformer; see :class:`Architecture` for the fields that all architectures share.

    Attributes:
        n_heads: attention heads per block.
        d_head: width of a head; None = ``d_model // n_heads``.
        d_mlp: width of the MLP; None = ``4 * d_model``; an int per block is allowed.
        log_scaling: which part of the scores is multiplied by log K_i in row i. K_i is the number of keys that query i
            sees. ``none``: no part. ``all``: the whole score. ``local``: only the bias of positions with a local one.
            ``learned``: the whole score, with a learned gain per head (scalable softmax, Nakanishi 2025, 2501.19399). A
            row with one key is multiplied by log 1 = 0, so that its weight stays 1.
        attention: ``softmax``; ``hardmax``, uniform over the keys with exactly the highest score; or ``linear``,
            weights phi(q) . phi(k) with phi(x) = elu(x) + 1.
        act_fn: activation of the MLP ("gelu" is the exact one, "gelu_new" its approximation by tanh).
        attn_only: no MLPs.
        norm_after_attention: a LayerNorm ``ln1_post`` of what attention writes, after ``W_O`` and ``b_O`` and before it
            is added to the residual stream. It normalizes the sum over heads. ``hook_attn_out`` is its output, as in
            TransformerLens. The norm before attention (``normalization_type``) stays.
        tied: ``W_U`` is the transpose of ``W_E``, of all tokens or, if there are fewer outputs, of those after BOS.
    """

    kind: ClassVar[str] = "transformer"
    title: ClassVar[str] = "transformer"
    model: ClassVar[str] = "workbench.models.transformer.model:HookedTransformer"

    n_heads: Size
    log_scaling: Literal["none", "all", "local", "learned"] = "none"
    attention: Literal["softmax", "hardmax", "linear"] = "softmax"
    d_head: Width = 0
    d_mlp: Width | tuple[Width, ...] = 0
    act_fn: Literal["gelu", "gelu_new", "relu", "silu"] = "gelu"
    attn_only: bool = False
    norm_after_attention: bool = False
    tied: bool = False

    # Stated for type checkers: fields are given by name or as plain dicts, and validated into their classes.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        data = dict(data)
        d_model, n_heads = unvalidated_size(data, "d_model"), unvalidated_size(data, "n_heads")
        if not data.get("d_head") and d_model and n_heads:
            if d_model % n_heads:
                raise ValueError(f"d_model {d_model} is not a multiple of n_heads {n_heads}; state d_head")
            data["d_head"] = d_model // n_heads
        data["d_mlp"] = data.get("d_mlp") or 4 * d_model
        return data

    @model_validator(mode="after")
    def _fits(self) -> ModelConfig:
        self.positions.fit(self.d_model, self.d_head)
        if self.log_scaling == "local" and not self.positions.local:
            local = those_with(lambda encoding: encoding.local)
            raise ValueError(
                f"log_scaling local scales the bias of {local} positions, but positions are {self.positions.name}"
            )
        if self.attention == "linear" and self.log_scaling != "none":
            raise ValueError("linear attention has no scores to scale; choose log_scaling none")
        if self.attention == "linear" and not self.positions.before_attention:
            before = those_with(lambda encoding: not (encoding.turns or encoding.biased))
            raise ValueError(
                f"linear attention takes positions {before}, not {self.positions.name}, which acts on scores"
            )
        if isinstance(self.d_mlp, tuple) and len(self.d_mlp) != self.n_layers:
            raise ValueError(f"d_mlp names {len(self.d_mlp)} widths for {self.n_layers} layers; give one per layer")
        if self.tied and self.d_vocab_out > self.d_vocab:
            raise ValueError(
                f"tied embeddings give each of the {self.d_vocab_out} outputs the embedding of a token, and there are "
                f"{self.d_vocab}; leave out tied"
            )
        return self

    @model_serializer(mode="wrap")
    def _later_fields_if_set(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The config without those of :data:`LATER` that are False, so that the ids of older runs stay the same."""
        fields: dict[str, Any] = dump(self)
        return {name: value for name, value in fields.items() if value or name not in LATER}

    @property
    def tied_rows(self) -> slice:
        """The rows of ``W_E`` that tied outputs use: all rows, or those after BOS if there are fewer outputs than
        tokens.
        """
        first = int(self.d_vocab_out < self.d_vocab)
        return slice(first, first + self.d_vocab_out)

    @property
    def variant(self) -> str:
        return str(self.positions.name)

    @property
    def least_numbers(self) -> int:
        mlps = 0 if self.attn_only else sum(map(self.mlp_width, range(self.n_layers)))
        shared = self.d_vocab_out if self.tied else 0
        blocks = 4 * self.n_layers * self.n_heads * self.d_head + 2 * mlps
        return super().least_numbers + self.d_model * (blocks - shared)

    @property
    def resid_mid(self) -> bool:
        return not self.attn_only

    def mlp_width(self, layer: int) -> int:
        return self.d_mlp[layer] if isinstance(self.d_mlp, tuple) else self.d_mlp

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which the scores of a layer are computed; q and k come first.

        score = q . k / sqrt(d_head), with both rotated if the encoding rotates them. The further hooks contain biases
        and factors. :func:`workbench.models.transformer.scores.cached_score_inputs` combines all of them.
        """
        at = f"blocks.{layer}.attn.hook_"
        turned = "rot_" if self.positions.turns else ""
        names = [f"{at}{turned}q", f"{at}{turned}k"]
        if self.positions.bias_hook:
            names.append(f"blocks.{layer}.attn.{self.positions.bias_hook}")
        if self.log_scaling in ("all", "learned"):
            names.append(f"{at}score_factor")
        if self.positions.biased:
            names.append("hook_position_ids")
        return names

    def score_inputs(self, layer: int, cache: Any) -> ScoreInputs:
        from workbench.models.transformer.scores import cached_score_inputs

        return cached_score_inputs(self, layer, cache)

    @property
    def attn_scale(self) -> float:
        """The number by which attention scores are divided."""
        return float(self.d_head**0.5)
