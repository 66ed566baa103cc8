"""The config fields that every architecture has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from workbench.core.limits import LAYERS, SIZE
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.id_samplers import Arange, IdSampler
from workbench.models.positions.none import NoPositions
from workbench.models.positions.registry import id_sampler, make_encoding

Size = Annotated[int, Field(ge=1, le=SIZE)]
Width = Annotated[int, Field(ge=0, le=SIZE)]
"""A size, or 0 for a size that follows from others."""

Mixing = Literal["attention", "scan", "recurrence"]
"""How a layer reads earlier tokens: by attention, by a linear recurrence over states (scan), or by a nonlinear one."""


def unvalidated_size(data: Mapping[str, Any], name: str) -> int:
    """Return the size ``name`` from config fields that are not validated yet; 0 if its value is not valid. Other sizes
    are computed from it.
    """
    value = data.get(name)
    return value if isinstance(value, int) and 0 < value <= SIZE else 0


class Architecture(BaseModel):
    """The config fields that all architectures share. Names are those of TransformerLens where it has the field.

    Attributes:
        d_vocab: number of token ids, BOS included.
        d_vocab_out: number of outputs; 0 = ``d_vocab``.
        n_layers: number of blocks.
        d_model: width of the residual stream.
        n_ctx: number of position ids that the model may be given in training. It limits the readable length only if ids
            index a table (learned positions).
        positions: the encoding, by name or with parameters.
        ids: the id sampler, by name or with parameters.
        attention: its kind, or ``none``.
        normalization_type: pre-LayerNorm, or None.
        initializer_range: standard deviation of the initial weights; 0 = 0.8 / sqrt(d_model).
        eps: added to the variance in LayerNorm.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    kind: ClassVar[str]
    """The architecture's name in runs and on the command line."""
    title: ClassVar[str]
    """The architecture's name in sentences."""
    model: ClassVar[str]
    """Address of its models' class, ``package.module:Class``, which is called with a config and a seed."""
    mixes_by: ClassVar[Mixing] = "attention"
    """How its layers read earlier tokens. Measurements that need attention or a scan apply only to models that have
    it.
    """

    d_vocab: Size
    d_vocab_out: Width = 0
    n_layers: int = Field(ge=1, le=LAYERS)
    d_model: Size
    n_ctx: Size
    if TYPE_CHECKING:  # a field of those that have heads

        @property
        def n_heads(self) -> int: ...

    positions: SerializeAsAny[Encoding] = NoPositions()
    ids: SerializeAsAny[IdSampler] = Arange()
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
        return id_sampler(value)

    @model_validator(mode="before")
    @classmethod
    def _fill_widths(cls, data: Any) -> Any:
        data = dict(data)
        d_model = unvalidated_size(data, "d_model")
        data["d_vocab_out"] = data.get("d_vocab_out") or data.get("d_vocab")
        data["initializer_range"] = data.get("initializer_range") or (0.8 / d_model**0.5 if d_model else 0)
        return data

    @property
    def variant(self) -> str:
        """Return one word for the most important difference from other models of the same task. Default names of run
        folders contain it.
        """
        return self.kind

    @property
    def least_numbers(self) -> int:
        """Return a lower bound of the number of the model's weights, without making the model."""
        return self.d_model * (self.d_vocab + self.d_vocab_out + (self.positions.rows(self.n_ctx) or 0))

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which the attention scores of a layer are computed; empty without attention."""
        return []

    def score_inputs(self, layer: int, cache: Any) -> Any:
        """The inputs of the attention scores of a layer, from a cache that contains :meth:`score_hooks`.

        Their type is :class:`workbench.models.transformer.scores.ScoreInputs`.

        Raises:
            TypeError: for an architecture without attention.
        """
        raise TypeError(f"a {self.title} has no attention, so that it has no scores")

    def state_hooks(self) -> Mapping[str, int]:
        """Return the activations that together are the state after a token, each with the number of its last positions
        that belong to the state.

        The state and the next token determine the next state. A model without a state of fixed size has none.
        """
        return {}

    @property
    def resid_mid(self) -> bool:
        """Whether blocks have a residual stream between attention and MLP, ``hook_resid_mid``."""
        return False

    # Fields that TransformerLens's ActivationCache and its users expect of a config.
    @property
    def device(self) -> str | None:
        return None

    @property
    def dtype(self) -> Any:
        """The dtype of new tensors. A model that was converted to another dtype keeps that dtype."""
        import torch

        return torch.float32

    @property
    def n_key_value_heads(self) -> None:
        """Always None, which means that every head has its own keys and values."""
        return None

    @property
    def gated_mlp(self) -> bool:
        return False
