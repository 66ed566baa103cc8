"""The two independent choices about position: how a model reads ids, and which ids it is given.

*Encodings* are part of the architecture. *Id laws* say which ids training sees and which ids
evaluation uses. Both are frozen configs in a registry, so that a run states them by name.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor


class PositionError(Exception):
    """A position scheme that does not exist, or a length that the scheme cannot read.

    Not a ValueError: pydantic would wrap it, and the sentence would drown in a validation report.
    """


class Encoding(BaseModel):
    """How position ids enter the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    absolute: ClassVar[bool] = False
    """Whether an id is read as itself, so that an id never seen in training means nothing."""
    table: ClassVar[bool] = False
    """Whether ids index a table of ``n_ctx`` rows, which bounds the readable length."""

    def check(self, top: int, n_ctx: int) -> None:
        """Refuse ids that the scheme cannot read.

        Raises:
            PositionError: if ``top`` (the largest id) lies outside the table.
        """
        if self.table and top >= n_ctx:
            raise PositionError(
                f"{self.name} positions can read ids up to {n_ctx - 1} (n_ctx {n_ctx}), but id {top} was "
                f"asked for; train with n_ctx of at least {top + 1}, or with positions none or rotary"
            )


class NoPositions(Encoding):
    """No encoding (NoPE): only causality tells positions apart."""

    name: Literal["none"] = "none"


class Learned(Encoding):
    """A learned table ``W_pos [n_ctx, d_model]``, added to the embedding."""

    name: Literal["learned"] = "learned"
    absolute: ClassVar[bool] = True
    table: ClassVar[bool] = True


class Rotary(Encoding):
    """Queries and keys rotated by angles proportional to their ids (RoPE, Su et al. 2021, 2104.09864).

    Pairs are (i, i + d_head/2), as in TransformerLens and GPT-NeoX; pair i turns by
    ``base ** (-2 i / d_head)`` radians per id, so scores depend on differences of ids only.
    """

    name: Literal["rotary"] = "rotary"
    base: float = Field(default=10_000.0, gt=1.0)


ENCODINGS: dict[str, type[Encoding]] = {"none": NoPositions, "learned": Learned, "rotary": Rotary}


class IdLaw(BaseModel):
    """Which ids training and evaluation use: ``[batch, pos]``, or ``[1, pos]`` where all rows agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    consistent: ClassVar[bool] = True
    """Whether evaluation gives a prefix the same ids alone as inside a longer sequence."""

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        """Ids of one training batch; ``coupled`` are those its task couples, for the laws that use them."""
        raise NotImplementedError

    def evaluation(
        self, pos: int, n_ctx: int, coupled: Int[Tensor, "batch pos"] | None = None
    ) -> Int[Tensor, "#batch pos"]:
        """The stated evaluation rule: offset 0, consecutive, unless the law says otherwise."""
        return torch.arange(pos)[None]

    def check(self, pos: int, n_ctx: int) -> None:
        """Refuse lengths the law cannot give ids to (see subclasses)."""


class Arange(IdLaw):
    """0, 1, 2, ... in training and in evaluation."""

    name: Literal["arange"] = "arange"

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        return torch.arange(pos)[None]


class RandomOffset(IdLaw):
    """Consecutive ids from an offset drawn uniformly per sequence, so that all of 0..n_ctx-1 are trained.

    As in Huang et al. (2410.02140): training ids are arange + offset with the offset uniform over all
    that fit the context; evaluation starts at 0.
    """

    name: Literal["random_offset"] = "random_offset"

    def check(self, pos: int, n_ctx: int) -> None:
        if pos > n_ctx:
            raise PositionError(f"random_offset needs n_ctx of at least {pos}, but it is {n_ctx}")

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        self.check(pos, n_ctx)
        offset = torch.randint(0, n_ctx - pos + 1, (batch, 1), generator=generator)
        return torch.arange(pos)[None] + offset


ID_LAWS: dict[str, type[IdLaw]] = {"arange": Arange, "random_offset": RandomOffset}


def _named(kind: str, registry: dict[str, Any], value: Any) -> Any:
    """An entry of ``registry`` from its name, from ``{"name": ..., **parameters}``, or as it is."""
    if isinstance(value, BaseModel):
        return value
    fields = {"name": value} if isinstance(value, str) else dict(value)
    name = str(fields.get("name"))
    if name not in registry:
        near = get_close_matches(name, registry, n=2, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise PositionError(f"unknown {kind} {name!r}; {hint}known: {', '.join(registry)}")
    return registry[name](**fields)


def encoding(value: str | dict[str, Any] | Encoding) -> Encoding:
    """The encoding of that name (with parameters, if a dict).

    Raises:
        PositionError: for an unknown name, with the nearest ones.
    """
    made: Encoding = _named("position scheme", ENCODINGS, value)
    return made


def id_law(value: str | dict[str, Any] | IdLaw) -> IdLaw:
    """The id law of that name (with parameters, if a dict).

    Raises:
        PositionError: for an unknown name, with the nearest ones.
    """
    made: IdLaw = _named("id law", ID_LAWS, value)
    return made


Turn = tuple[Float[Tensor, "#batch pos 1 half"], Float[Tensor, "#batch pos 1 half"]]
"""Cosines and sines by which rotary positions turn queries and keys."""


def turn(ids: Int[Tensor, "#batch pos"], d_head: int, base: float, dtype: torch.dtype) -> Turn:
    """The rotation of each id (see :class:`Rotary`), shared by all layers of a forward pass."""
    half = d_head // 2
    # Angles in float64: at id 10^4 a float32 product is off by 1e-3 radians for the fastest pair.
    speeds = base ** (-torch.arange(half, dtype=torch.float64, device=ids.device) / half)
    angles = (ids[..., None].double() * speeds)[:, :, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Float[Tensor, "batch pos head d_head"], by: Turn) -> Float[Tensor, "batch pos head d_head"]:
    """Rotate queries or keys (see :class:`Rotary`)."""
    cos, sin = by
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
