"""The frozen config from which a state-space model is built."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from workbench.core.errors import LensError
from workbench.core.names import Gates
from workbench.models.base.architecture import Architecture, Size, Width, unvalidated_size
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.id_samplers import Arange, IdSampler
from workbench.models.positions.none import NoPositions


class NoHeadsError(LensError, TypeError):
    """Code tried to loop over the heads of a model without heads."""


class NoHeads:
    """The number of heads of a model without any: equals 0, but raises an error in ``range``.

    A loop over no heads would end with an empty result, as if heads had been analysed. ``transformer_lens.patching``
    has such loops.
    """

    def __index__(self) -> int:
        raise NoHeadsError(
            "a state-space model has no attention heads to look at or to patch; its layers have hook_mixer_out"
        )

    def __int__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other == 0

    def __hash__(self) -> int:
        return hash(0)

    def __repr__(self) -> str:
        return "0"


class SSMConfig(Architecture):
    """A state-space model of the Mamba kind (Gu, Dao 2023, 2312.00752); see also :class:`Architecture`.

    It reads no positions and has no heads; these fields are fixed. ``n_heads`` is 0 in its JSON; see :class:`NoHeads`.

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

    model_config = ConfigDict(serialize_by_alias=True)

    kind: ClassVar[str] = "ssm"
    title: ClassVar[str] = "state-space model"
    model: ClassVar[str] = "workbench.models.ssm.model:HookedSSM"

    architecture: Literal["ssm"] = "ssm"
    no_heads: Literal[0] = Field(default=0, alias="n_heads")
    attention: Literal["none"] = "none"
    positions: Encoding = NoPositions()
    ids: IdSampler = Arange()
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

    @field_validator("positions", "ids")
    @classmethod
    def _no_positions(cls, value: Encoding | IdSampler) -> Encoding | IdSampler:
        if value.name not in ("none", "arange"):
            raise ValueError(
                f"a state-space model has no position encoding, so {value.name} has no effect; leave it out, or choose "
                "architecture transformer"
            )
        return value

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

    @property
    def n_heads(self) -> Any:
        """0, as an object that raises an error in a loop over heads (:class:`NoHeads`)."""
        return NoHeads()
