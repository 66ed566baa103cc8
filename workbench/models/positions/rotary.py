"""RoPE: queries and keys rotated by angles proportional to their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Real
from pydantic import Field, model_validator
from torch import Tensor

from workbench.models.errors import PositionError
from workbench.models.positions.encoding import Encoding, Turn, angles


class Rotary(Encoding):
    """The encoding that rotates queries and keys by angles proportional to their ids (RoPE, Su et al. 2021,
    2104.09864).

    Pairs are (i, i + d_head/2), as in TransformerLens and GPT-NeoX. Pair i rotates by ``base ** (-2 i / d_head)``
    radians per id, so scores depend only on differences of ids.

    Attributes:
        base: sets the angle of the slowest pair.
        scaling: ``linear`` divides ids by ``factor`` (position interpolation, Chen et al. 2023, 2306.15595). ``ntk``
            multiplies the base by ``factor ** (d_head / (d_head - 2))``. This leaves the fastest pair unchanged and
            slows the slowest by ``factor`` (NTK-aware scaling, bloc97 2023; section 3.1 of Peng et al., YaRN,
            2309.00071).
        factor: by how much the readable length is stretched; 1 without scaling.
    """

    name: Literal["rotary"] = "rotary"
    base: float = Field(default=10_000.0, gt=1.0)
    scaling: Literal["none", "linear", "ntk"] = "none"
    factor: float = Field(default=1.0, ge=1.0)
    turns: ClassVar[bool] = True
    between: ClassVar[bool] = True
    upstream: ClassVar[str] = "rotary"

    @model_validator(mode="after")
    def _together(self) -> Rotary:
        if (self.scaling == "none") != (self.factor == 1.0):
            raise ValueError(
                "scaling linear or ntk needs a factor above 1, and a factor above 1 needs one of these scalings; here "
                "scaling is {self.scaling} and factor {self.factor:g}"
            )
        return self

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        return cls(), cls(scaling="linear", factor=4.0), cls(scaling="ntk", factor=4.0, base=100.0)

    def fit(self, d_model: int, d_head: int) -> None:
        if d_head % 2:
            raise ValueError(f"rotary positions need an even d_head, not {d_head}")
        if self.scaling == "ntk" and d_head < 4:
            raise ValueError(
                f"ntk scaling slows all pairs except the fastest: it needs a d_head of 4 or more, not {d_head}"
            )

    def stretched_base(self, d_head: int) -> float:
        """The base with ntk scaling included."""
        return self.base * (self.factor ** (d_head / (d_head - 2)) if self.scaling == "ntk" else 1.0)

    @property
    def slower(self) -> float:
        """The number by which ids are divided."""
        return self.factor if self.scaling == "linear" else 1.0

    def turn(self, ids: Real[Tensor, "#batch pos"], d_head: int, dtype: torch.dtype) -> Turn:
        by = angles(ids, d_head // 2, self.stretched_base(d_head), self.slower)[:, :, None]
        cos, sin = by.cos().to(dtype).to(ids.device), by.sin().to(dtype).to(ids.device)
        return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)

    def rotate(self, x: Float[Tensor, "batch pos head d_head"], by: Turn) -> Float[Tensor, "batch pos head d_head"]:
        # Products over the whole head take 0.6 times as long as four products over halves of it.
        cos, signed_sin = by
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([b, a], -1) * signed_sin

    def upstream_fields(self, d_head: int) -> dict[str, Any]:
        fields = super().upstream_fields(d_head)
        fields |= {"rotary_dim": d_head, "rotary_base": self.stretched_base(d_head)}
        return fields | {"rotary_scaling_factor": self.slower}

    @classmethod
    def settings_of_upstream(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        if config.get("rotary_dim") not in (None, config.get("d_head")):
            raise PositionError(
                f"it rotates {config['rotary_dim']} of {config.get('d_head')} dimensions of a head, not all"
            )
        factor = float(config.get("rotary_scaling_factor", 1.0))
        scaling = {} if factor == 1.0 else {"scaling": "linear", "factor": factor}
        return {"name": "rotary", "base": float(config.get("rotary_base", 10_000.0)), **scaling}

    def check_upstream_buffers(self, buffers: Mapping[str, Tensor], d_head: int) -> None:
        for name, table in buffers.items():
            if not name.endswith(("rotary_cos", "rotary_sin")):
                continue
            cos, signed_sin = self.turn(torch.arange(len(table))[None], d_head, torch.float64)
            sin = signed_sin[..., d_head // 2 :].repeat(1, 1, 1, 2)
            own = (sin if name.endswith("sin") else cos)[0, :, 0]
            # Float32 angles are off by 1e-7 of themselves.
            tolerance = 1e-5 + 4e-7 * torch.arange(len(table), dtype=torch.float64)[:, None]
            if table.shape != own.shape or bool(((table.double() - own).abs() > tolerance).any()):
                raise PositionError(f"its table {name} is not that of rotary positions with base {self.base:g}")
