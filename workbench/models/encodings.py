"""Position encodings: how the ids of tokens enter the model. An encoding is part of the architecture."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.models.schemes import PositionError, Scheme, named, refuse_negative


class Encoding(Scheme):
    """How position ids enter the model."""

    absolute: ClassVar[bool] = False
    """Whether an id is read as itself, so that an id never seen in training means nothing."""
    table: ClassVar[bool] = False
    """Whether ids index a table of ``n_ctx`` rows, which bounds the readable length."""
    added: ClassVar[bool] = False
    """Whether a vector is added to the token embedding (``hook_pos_embed``)."""
    biased: ClassVar[bool] = False
    """Whether something is added to the attention scores that q and k do not hold."""
    before_attention: ClassVar[bool] = True
    """Whether all it does is done before queries meet keys."""

    def rows(self, n_ctx: int) -> int | None:
        """Rows of the learned table ``W_pos``; None where there is none."""
        return None

    def fit(self, d_model: int, d_head: int) -> None:
        """Refuse widths that the encoding cannot be had with.

        Raises:
            ValueError: naming the width.
        """

    def check(self, ids: Tensor, n_ctx: int) -> None:
        """Refuse ids that the scheme cannot read.

        Raises:
            PositionError: if an id is negative, or lies outside the table.
        """
        refuse_negative(ids)
        top = int(ids.max()) if ids.numel() else 0
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
    added: ClassVar[bool] = True

    def rows(self, n_ctx: int) -> int:
        return n_ctx


class Sinusoidal(Encoding):
    """Sines and cosines of the id, added to the embedding (Vaswani et al. 2017, 1706.03762, section 3.5).

    Component 2i is ``scale * sin(id / base^(2i / d_model))``, component 2i + 1 the cosine. Any id can be
    read; one that training never showed is still a vector never seen.

    Attributes:
        base: the slowest pair turns once in 2 pi ``base`` ids.
        scale: amplitude. At 1 it outweighs a freshly drawn token embedding, whose components are of the
            size ``initializer_range``.
    """

    name: Literal["sinusoidal"] = "sinusoidal"
    base: float = Field(default=10_000.0, gt=1.0)
    scale: float = Field(default=1.0, gt=0.0)
    absolute: ClassVar[bool] = True
    added: ClassVar[bool] = True

    def fit(self, d_model: int, d_head: int) -> None:
        if d_model % 2:
            raise ValueError(f"sinusoidal positions need an even d_model, not {d_model}")


class Rotary(Encoding):
    """Queries and keys rotated by angles proportional to their ids (RoPE, Su et al. 2021, 2104.09864).

    Pairs are (i, i + d_head/2), as in TransformerLens and GPT-NeoX; pair i turns by
    ``base ** (-2 i / d_head)`` radians per id, so scores depend on differences of ids only.

    Attributes:
        base: sets the slowest pair.
        scaling: ``linear`` divides ids by ``factor`` (position interpolation, Chen et al. 2023, 2306.15595);
            ``ntk`` multiplies the base by ``factor ** (d_head / (d_head - 2))``, which leaves the fastest
            pair as it is and slows the slowest by ``factor`` (NTK-aware scaling, bloc97 2023; section 3.1 of
            Peng et al., YaRN, 2309.00071).
        factor: by how much the readable length is stretched; 1 without scaling.
    """

    name: Literal["rotary"] = "rotary"
    base: float = Field(default=10_000.0, gt=1.0)
    scaling: Literal["none", "linear", "ntk"] = "none"
    factor: float = Field(default=1.0, ge=1.0)
    before_attention: ClassVar[bool] = False

    @model_validator(mode="after")
    def _together(self) -> Rotary:
        if (self.scaling == "none") != (self.factor == 1.0):
            raise ValueError(
                "scaling linear or ntk goes with a factor above 1, and a factor with one of them; "
                f"here scaling is {self.scaling} and factor {self.factor:g}"
            )
        return self

    def fit(self, d_model: int, d_head: int) -> None:
        if d_head % 2:
            raise ValueError(f"rotary positions need an even d_head, not {d_head}")
        if self.scaling == "ntk" and d_head < 4:
            raise ValueError(
                f"ntk scaling slows all pairs but the fastest: it needs a d_head of 4 or more, not {d_head}"
            )


class Alibi(Encoding):
    """Scores lowered in proportion to distance (ALiBi, Press et al. 2021, 2108.12409).

    Head h of H (counted from 1) adds ``-2^(-8 h / H) |id_query - id_key|`` to the score q . k / sqrt(d_head).
    The sign of the distance does not count, for coupled ids may fall.
    TransformerLens uses these slopes for every number of heads; the authors' code and Hugging Face
    transformers use the same where H is a power of two, and interpolated ones elsewhere.
    """

    name: Literal["alibi"] = "alibi"
    biased: ClassVar[bool] = True
    before_attention: ClassVar[bool] = False


class Limit(Encoding):
    """Periodic vectors and a local bias: positions of a limit transformer (Huang et al. 2024, 2410.02140).

    The vector of residue ``id mod period`` is added to the embedding (``W_pos [period, d_model]``), and each
    head adds ``phi[t]`` to the score q . k / sqrt(d_head) at lag ``t = id_query - id_key``, 0 <= t <= locality
    (``phi [n_heads, locality + 1]`` per block, 0 in a new model). Both are the same at every length.

    Attributes:
        period: Delta, the number of residues told apart.
        locality: tau, the largest lag that a head may prefer by itself.
    """

    name: Literal["limit"] = "limit"
    period: int = Field(default=2, ge=1)
    locality: int = Field(default=1, ge=0)
    added: ClassVar[bool] = True
    biased: ClassVar[bool] = True
    before_attention: ClassVar[bool] = False

    def rows(self, n_ctx: int) -> int:
        return self.period


ENCODINGS: dict[str, type[Encoding]] = {
    "none": NoPositions,
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "limit": Limit,
}


def encoding(value: str | dict[str, Any] | Encoding) -> Encoding:
    """The encoding of that name (with parameters, if a dict).

    Raises:
        PositionError: for an unknown name, with the nearest ones, or a parameter that does not fit.
    """
    return named("position scheme", ENCODINGS, value)


# ---- what the encodings compute ---------------------------------------------------------------------
def sinusoids(
    ids: Int[Tensor, "#batch pos"], d_model: int, scheme: Sinusoidal, dtype: torch.dtype
) -> Float[Tensor, "#batch pos d_model"]:
    """The vectors of :class:`Sinusoidal`."""
    angles = _angles(ids, d_model // 2, scheme.base)
    return scheme.scale * torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).to(dtype)


Turn = tuple[Float[Tensor, "#batch pos 1 half"], Float[Tensor, "#batch pos 1 half"]]
"""Cosines and sines by which rotary positions turn queries and keys."""


def turn(ids: Int[Tensor, "#batch pos"], d_head: int, scheme: Rotary, dtype: torch.dtype) -> Turn:
    """The rotation of each id (see :class:`Rotary`), shared by all layers of a forward pass."""
    base, slower = scheme.base, 1.0
    if scheme.scaling == "ntk":
        base *= scheme.factor ** (d_head / (d_head - 2))
    elif scheme.scaling == "linear":
        slower = scheme.factor
    angles = _angles(ids, d_head // 2, base, slower)[:, :, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Float[Tensor, "batch pos head d_head"], by: Turn) -> Float[Tensor, "batch pos head d_head"]:
    """Rotate queries or keys (see :class:`Rotary`)."""
    cos, sin = by
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _angles(ids: Tensor, pairs: int, base: float, slower: float = 1.0) -> Float[Tensor, "#batch pos pair"]:
    """``id / slower * base^(-i / pairs)`` for each pair i."""
    # In float64: at id 10^4 a float32 product is off by 1e-3 radians for the fastest pair.
    speeds = base ** (-torch.arange(pairs, dtype=torch.float64, device=ids.device) / pairs)
    return (ids[..., None].double() / slower) * speeds


def alibi_slopes(heads: int, like: Tensor) -> Float[Tensor, " head"]:
    """The slopes of :class:`Alibi`, with the dtype and device of ``like``."""
    order = torch.arange(1, heads + 1, dtype=torch.float64, device=like.device)
    return (2.0 ** (-8.0 * order / heads)).to(like.dtype)
