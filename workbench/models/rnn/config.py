"""The frozen config from which a recurrent network is built."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.core.names import Cell
from workbench.models.base.architecture import Mixing, Width, unvalidated_size
from workbench.models.base.without_attention import WithoutAttention


class RNNConfig(WithoutAttention):
    """A recurrent network: Elman networks (Elman 1990) or GRUs (Cho et al. 2014, 1406.1078) as blocks.

    See also :class:`WithoutAttention`. By default each block adds a linear map of its state to the residual stream, as
    blocks of the other architectures do. Probes, patches and interventions on the stream then mean the same for all
    architectures. The read-out can then also read the current token directly, without the state.

    With ``residual`` false the model is the plain network of the literature: the new state of a block replaces the
    stream, and only the state reaches the read-out. This needs ``d_hidden`` equal to ``d_model``. Papers on plain
    networks also use no LayerNorm (``normalization_type`` None).

    Attributes:
        cell: ``elman``, h = f(x W_in + h W_rec + b), or ``gru``, whose update and reset gates depend on x and h.
        nonlinearity: f of an Elman network. A GRU always uses tanh.
        d_hidden: numbers in the state of a block; 0 = ``d_model``.
        residual: whether a block adds its output to the residual stream.
        initial_state: the state before the first token: all zeros, all ones, or ``trained``, a weight that starts at 0.
        initial_gain: factor of the initial weights of the blocks. Their standard deviation is the gain times
            sqrt(2 / (inputs + outputs)) of a matrix (Glorot, Bengio 2010). Biases start at 0.
    """

    kind: ClassVar[str] = "rnn"
    title: ClassVar[str] = "recurrent network"
    model: ClassVar[str] = "workbench.models.rnn.model:HookedRNN"
    mixes_by: ClassVar[Mixing] = "recurrence"

    architecture: Literal["rnn"] = "rnn"
    cell: Cell = "gru"
    nonlinearity: Literal["tanh", "relu"] = "tanh"
    d_hidden: Width = 0
    residual: bool = True
    initial_state: Literal["zeros", "ones", "trained"] = "zeros"
    initial_gain: float = Field(default=1.0, gt=0)

    # Stated for type checkers: fields are given by name or as plain dicts, and validated into their classes.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        data = dict(data)
        data["d_hidden"] = data.get("d_hidden") or unvalidated_size(data, "d_model")
        return data

    @model_validator(mode="after")
    def _fits(self) -> RNNConfig:
        if self.cell == "gru" and self.nonlinearity != "tanh":
            raise ValueError(
                f"nonlinearity {self.nonlinearity} is for an Elman network, and cell is gru; leave nonlinearity out, "
                "or choose cell elman"
            )
        if not self.residual and self.d_hidden != self.d_model:
            raise ValueError(
                f"with residual false the state replaces the residual stream, but d_hidden is {self.d_hidden} and "
                f"d_model is {self.d_model}; leave d_hidden out, or choose residual true"
            )
        return self

    @property
    def variant(self) -> str:
        return f"{self.kind}-{self.cell}"

    def state_hooks(self) -> dict[str, int]:
        """Return the recurrent state of each block."""
        return {f"blocks.{layer}.mixer.hook_rnn_state": 1 for layer in range(self.n_layers)}

    @property
    def gates(self) -> int:
        """Number of maps from the input and the state: 1, or reset gate, update gate and candidate of a GRU."""
        return 3 if self.cell == "gru" else 1

    @property
    def least_numbers(self) -> int:
        read_out = self.d_model if self.residual else 0
        of_block = self.d_hidden * (self.gates * (self.d_model + self.d_hidden) + read_out)
        return super().least_numbers + self.n_layers * of_block
