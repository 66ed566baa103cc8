"""The frozen description from which a model is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from workbench.core.limits import LAYERS, SIZE
from workbench.models.id_laws import Arange, IdLaw, id_law
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.none import NoPositions
from workbench.models.positions.registry import make_encoding, those_with

Size = Annotated[int, Field(ge=1, le=SIZE)]
Width = Annotated[int, Field(ge=0, le=SIZE)]
"""A size, or 0 for one that follows from others."""


def whole(data: Mapping[str, Any], name: str) -> int:
    """A size that others follow from, before anything is validated: 0 where it is no size."""
    value = data.get(name)
    return value if isinstance(value, int) and 0 < value <= SIZE else 0


class Architecture(BaseModel):
    """What the config of every architecture states, in the vocabulary of TransformerLens where it has a word for it.

    Attributes:
        d_vocab: number of token ids, BOS included.
        d_vocab_out: number of outputs; 0 = ``d_vocab``.
        n_layers: number of blocks.
        d_model: width of the residual stream.
        n_ctx: number of position ids the model may be given in training; it bounds the readable
            length only where ids index a table (learned positions).
        positions: the encoding, by name or with parameters.
        ids: the id law, by name or with parameters.
        attention: its kind, or ``none``.
        normalization_type: pre-LayerNorm, or None.
        initializer_range: standard deviation of the initial weights; 0 = 0.8 / sqrt(d_model).
        eps: added to the variance in LayerNorm.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    kind: ClassVar[str]
    """The architecture's name: how a run and a command line call it."""
    title: ClassVar[str]
    """What sentences call it."""
    model: ClassVar[str]
    """Address of its models' class, ``package.module:Class``, which is called with a config and a seed."""

    d_vocab: Size
    d_vocab_out: Width = 0
    n_layers: int = Field(ge=1, le=LAYERS)
    d_model: Size
    n_ctx: Size
    if TYPE_CHECKING:  # a field of those that have heads

        @property
        def n_heads(self) -> int: ...

    positions: SerializeAsAny[Encoding] = NoPositions()
    ids: SerializeAsAny[IdLaw] = Arange()
    attention: str
    normalization_type: Literal["LN"] | None = "LN"
    initializer_range: float = Field(default=0.0, ge=0)
    eps: float = Field(default=1e-5, ge=0)

    @field_validator("positions", mode="before")
    @classmethod
    def _positions(cls, value: Any) -> Any:
        return make_encoding(value)

    @field_validator("ids", mode="before")
    @classmethod
    def _ids(cls, value: Any) -> Any:
        return id_law(value)

    @model_validator(mode="before")
    @classmethod
    def _fill_widths(cls, data: Any) -> Any:
        data = dict(data)
        d_model = whole(data, "d_model")
        data["d_vocab_out"] = data.get("d_vocab_out") or data.get("d_vocab")
        data["initializer_range"] = data.get("initializer_range") or (0.8 / d_model**0.5 if d_model else 0)
        return data

    @property
    def variant(self) -> str:
        """What tells models of one task apart first, in a word; default folders of runs are called by it."""
        return self.kind

    @property
    def least_numbers(self) -> int:
        """A lower bound of how many numbers a model's weights are, without making it."""
        return self.d_model * (self.d_vocab + self.d_vocab_out + (self.positions.rows(self.n_ctx) or 0))

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations that the attention scores of a layer are made of; none without attention."""
        return []

    @property
    def resid_mid(self) -> bool:
        """Whether blocks have a residual stream in their middle, ``hook_resid_mid``."""
        return False

    # Fields that TransformerLens's ActivationCache and its users expect of a config.
    @property
    def device(self) -> str | None:
        return None

    @property
    def dtype(self) -> Any:
        """Of new tensors; a model that was moved to another type keeps its own."""
        import torch

        return torch.float32

    @property
    def n_key_value_heads(self) -> None:
        """Every head has keys and values of its own."""
        return None

    @property
    def gated_mlp(self) -> bool:
        return False


class ModelConfig(Architecture):
    """A transformer; see :class:`Architecture` for what is not said here.

    Attributes:
        n_heads: attention heads per block.
        d_head: width of a head; None = ``d_model // n_heads``.
        d_mlp: width of the MLP; None = ``4 * d_model``; an int per block is allowed.
        log_scaling: what is multiplied by log K_i in row i of the scores, K_i the number of keys that query
            i sees: nothing, ``all`` of the score, only the bias of positions with a ``local`` one, or all
            times a ``learned`` gain per head (scalable softmax, Nakanishi 2025, 2501.19399). A row of one key
            is multiplied by log 1 = 0, which leaves its weight 1.
        attention: ``softmax``; ``hardmax``, uniform over the keys of exactly the highest score; or
            ``linear``, weights phi(q) . phi(k) with phi(x) = elu(x) + 1.
        act_fn: activation of the MLP ("gelu" is the exact one, "gelu_new" its approximation by tanh).
        attn_only: no MLPs.
    """

    kind: ClassVar[str] = "transformer"
    title: ClassVar[str] = "transformer"
    model: ClassVar[str] = "workbench.models.transformer:HookedTransformer"

    n_heads: Size
    log_scaling: Literal["none", "all", "local", "learned"] = "none"
    attention: Literal["softmax", "hardmax", "linear"] = "softmax"
    d_head: Width = 0
    d_mlp: Width | tuple[Width, ...] = 0
    act_fn: Literal["gelu", "gelu_new", "relu", "silu"] = "gelu"
    attn_only: bool = False

    # Stated for type checkers: fields are given by name or as plain dicts, and validated into their classes.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        data = dict(data)
        d_model, n_heads = whole(data, "d_model"), whole(data, "n_heads")
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
            raise ValueError(f"d_mlp names {len(self.d_mlp)} widths for {self.n_layers} layers")
        return self

    @property
    def variant(self) -> str:
        return str(self.positions.name)

    @property
    def least_numbers(self) -> int:
        mlps = 0 if self.attn_only else sum(map(self.mlp_width, range(self.n_layers)))
        return super().least_numbers + self.d_model * (4 * self.n_layers * self.n_heads * self.d_head + 2 * mlps)

    @property
    def resid_mid(self) -> bool:
        return not self.attn_only

    def mlp_width(self, layer: int) -> int:
        return self.d_mlp[layer] if isinstance(self.d_mlp, tuple) else self.d_mlp

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations that the scores of a layer are made of; q and k come first.

        score = q . k / sqrt(d_head) (both turned where the encoding turns them), but for the biases and
        factors that the further ones hold: :func:`workbench.models.scores.cached_score_inputs` puts them
        together.
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

    @property
    def attn_scale(self) -> float:
        """Scores are divided by this."""
        return float(self.d_head**0.5)
