"""The frozen config from which a state-space model is built."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.core.names import Gates
from workbench.models.base.architecture import Mixing, Size, Width, unvalidated_size
from workbench.models.base.without_attention import WithoutAttention


class SSMConfig(WithoutAttention):
    """A state-space model of the Mamba kind (Gu, Dao 2023, 2312.00752); see also :class:`WithoutAttention`.

    Attributes:
        d_inner: channels of a layer; 0 = ``2 * d_model``.
        d_state: states per channel.
        d_conv: tokens that the short causal convolution reads; 1 = only the token itself.
        dt_rank: rank of the map from channels to step sizes; 0 = ``d_model / 16``, rounded up, but at least 4. With a
            smaller rank small models would change all their gates together.
        gates: ``nonnegative``, in [0, 1], or ``signed``, in [-1, 1]: 2 a - 1 of the former (Grazzi et al. 2024,
            2411.12537). The choice decides what can be expressed (Sarrof, Veitsman, Hahn 2024, 2405.17394): nonnegative
            gates with finite precision cannot compute parity at all lengths.
        time_invariant: step sizes, B and C are the same for every token.
        dt_min, dt_max: initial step sizes are spread log-uniformly between these.
    """

    kind: ClassVar[str] = "ssm"
    title: ClassVar[str] = "state-space model"
    model: ClassVar[str] = "workbench.models.ssm.model:HookedSSM"
    mixes_by: ClassVar[Mixing] = "scan"

    architecture: Literal["ssm"] = "ssm"
    d_inner: Width = 0
    d_state: Size = 16
    d_conv: Size = 4
    dt_rank: Width = 0
    gates: Gates = "nonnegative"
    time_invariant: bool = False
    dt_min: float = Field(default=1e-3, gt=0)
    dt_max: float = Field(default=0.1, gt=0)

    # Stated for type checkers: fields are given by name or as plain dicts, and validated into their classes.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        data = dict(data)
        d_model = unvalidated_size(data, "d_model")
        data["d_inner"] = data.get("d_inner") or 2 * d_model
        data["dt_rank"] = data.get("dt_rank") or max(4, math.ceil(d_model / 16))
        return data

    @model_validator(mode="after")
    def _ordered(self) -> SSMConfig:
        if self.dt_min > self.dt_max:
            raise ValueError(f"dt_min {self.dt_min:g} exceeds dt_max {self.dt_max:g}")
        return self

    @property
    def variant(self) -> str:
        return f"{self.kind}-{self.gates}"

    def state_hooks(self) -> dict[str, int]:
        """Return the recurrent state of each layer, and the inputs that its short convolution reads again."""
        blocks = [f"blocks.{layer}" for layer in range(self.n_layers)]
        inputs = {f"{block}.hook_resid_pre": self.d_conv - 1 for block in blocks if self.d_conv > 1}
        return {f"{block}.mixer.hook_ssm_state": 1 for block in blocks} | inputs

    @property
    def least_numbers(self) -> int:
        states = self.d_state * (1 if self.time_invariant else 3)
        return super().least_numbers + self.n_layers * self.d_inner * (3 * self.d_model + states + self.d_conv)
