"""The frozen description from which a model is built."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from workbench.models.positions import Arange, Encoding, IdLaw, NoPositions, encoding, id_law


class ModelConfig(BaseModel):
    """Architecture, in the vocabulary of TransformerLens where it has a word for it.

    Attributes:
        d_vocab: number of token ids, BOS included.
        d_vocab_out: number of outputs; None = ``d_vocab``.
        n_layers: number of blocks (attention, then MLP unless ``attn_only``).
        d_model: width of the residual stream.
        n_heads: attention heads per block.
        d_head: width of a head; None = ``d_model // n_heads``.
        d_mlp: width of the MLP; None = ``4 * d_model``; an int per block is allowed.
        n_ctx: number of position ids the model may be given in training; it bounds the readable
            length only where ids index a table (learned positions).
        positions: the encoding, by name or with parameters.
        ids: the id law, by name or with parameters.
        act_fn: activation of the MLP ("gelu" is the exact one).
        normalization_type: pre-LayerNorm, or None.
        attn_only: no MLPs.
        initializer_range: standard deviation of the initial weights; None = 0.8 / sqrt(d_model).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    d_vocab: int = Field(ge=1)
    n_layers: int = Field(ge=1)
    d_model: int = Field(ge=1)
    n_heads: int = Field(ge=1)
    n_ctx: int = Field(ge=1)
    positions: SerializeAsAny[Encoding] = NoPositions()
    ids: SerializeAsAny[IdLaw] = Arange()
    d_vocab_out: int = Field(default=0, ge=0)
    d_head: int = Field(default=0, ge=0)
    d_mlp: int | tuple[int, ...] = 0
    act_fn: Literal["gelu", "relu"] = "gelu"
    normalization_type: Literal["LN"] | None = "LN"
    attn_only: bool = False
    initializer_range: float = Field(default=0.0, ge=0)
    eps: float = 1e-5

    # Stated for type checkers: fields are given by name or as plain dicts, and validated into their classes.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @field_validator("positions", mode="before")
    @classmethod
    def _positions(cls, value: Any) -> Any:
        return encoding(value)

    @field_validator("ids", mode="before")
    @classmethod
    def _ids(cls, value: Any) -> Any:
        return id_law(value)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        data = dict(data)
        d_model, n_heads = data.get("d_model") or 0, data.get("n_heads") or 0
        if not data.get("d_head") and d_model and n_heads:
            if d_model % n_heads:
                raise ValueError(f"d_model {d_model} is not a multiple of n_heads {n_heads}; state d_head")
            data["d_head"] = d_model // n_heads
        data["d_vocab_out"] = data.get("d_vocab_out") or data.get("d_vocab")
        data["d_mlp"] = data.get("d_mlp") or 4 * d_model
        data["initializer_range"] = data.get("initializer_range") or (0.8 / d_model**0.5 if d_model else 0)
        return data

    @model_validator(mode="after")
    def _fits(self) -> ModelConfig:
        if self.positions.name == "rotary" and self.d_head % 2:
            raise ValueError(f"rotary positions need an even d_head, not {self.d_head}")
        if isinstance(self.d_mlp, tuple) and len(self.d_mlp) != self.n_layers:
            raise ValueError(f"d_mlp names {len(self.d_mlp)} widths for {self.n_layers} layers")
        return self

    def mlp_width(self, layer: int) -> int:
        return self.d_mlp[layer] if isinstance(self.d_mlp, tuple) else self.d_mlp

    def score_hooks(self, layer: int) -> tuple[str, str]:
        """Names of the activations q and k with score = q . k / sqrt(d_head) (rotated where rotary)."""
        turned = "rot_" if self.positions.name == "rotary" else ""
        return f"blocks.{layer}.attn.hook_{turned}q", f"blocks.{layer}.attn.hook_{turned}k"

    # Fields that TransformerLens's ActivationCache and its users expect of a config.
    @property
    def device(self) -> str | None:
        return None

    @property
    def attn_scale(self) -> float:
        """Scores are divided by this."""
        return float(self.d_head**0.5)
