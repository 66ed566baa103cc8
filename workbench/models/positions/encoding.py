"""What an encoding is: one frozen config that owns all it does to a model, and says what is true of it.

The model, its scores, and whatever reads or judges them ask this object; nobody asks which encoding it is. A new one is
a subclass in a file of its own and one line in :mod:`workbench.models.positions.registry`;
:func:`workbench.models.testing.check_encoding` tries it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn

from workbench.models.errors import PositionError
from workbench.models.positions.named_config import Scheme, refuse_negative

Queries = range | Sequence[int]
"""Indices on the position axis."""

Turn = tuple[Float[Tensor, "#batch #pos 1 half"], Float[Tensor, "#batch #pos 1 half"]]
"""Cosines and sines by which queries and keys are turned."""


@dataclass(frozen=True)
class Reach:
    """What a program may read of the positions of an encoding that a length generalization theorem covers.

    Attributes:
        period: it may read residues modulo this or a divisor; None = modulo anything.
        locality: it may look back so far and no farther; None = as far as it likes.
        ids: the id samplers that the theorem's training may have, the one it states first; () = any.
        step: what lies between the theorem's positions and these, in a clause; "" where they are the same.
    """

    period: int | None = None
    locality: int | None = None
    ids: tuple[str, ...] = ()
    step: str = ""


BY_ONE = ("arange", "random_offset")
"""Id samplers under which ids of neighbours differ by 1: what reads lags or residues alone sees the string as it is."""


@dataclass(frozen=True)
class LimitTerms:
    """An encoding in one layer of a model as the positions of a limit transformer (Huang et al. 2024, 2410.02140).

    Attributes:
        vectors: what is added to the embedding, by residue of the id.
        phi: what is added to the score at lags 0, 1, ... beside ``far``, up to the last lag where that is anything.
        far: what is added to every score; within a query a constant, which softmax does not see.
    """

    vectors: Float[Tensor, "residue d_model"]
    phi: Float[Tensor, "head lag"]
    far: Float[Tensor, " head"]


class Encoding(Scheme):
    """How position ids enter the model. What is not overridden here is nothing.

    It may add vectors to the embedding (``added``), turn queries and keys (``turns``), and add a bias by lag to the
    scores (``biased``), in any combination.
    """

    reads_ids: ClassVar[bool] = True
    """Whether ids have any effect."""
    absolute: ClassVar[bool] = False
    """Whether an id is read as itself, so that an id never seen in training means nothing."""
    table: ClassVar[bool] = False
    """Whether ids index a table of ``n_ctx`` rows, which bounds the readable length."""
    added: ClassVar[bool] = False
    """Whether a vector is added to the token embedding (``hook_pos_embed``)."""
    turns: ClassVar[bool] = False
    """Whether queries and keys are turned before they meet (``hook_rot_q``, ``hook_rot_k``)."""
    biased: ClassVar[bool] = False
    """Whether something is added to the attention scores that q and k do not hold."""
    between: ClassVar[bool] = False
    """Whether ids between whole ones mean something, so that ids can be interpolated without rounding."""
    bias_hook: ClassVar[str] = ""
    """Hook of each layer that sees the weights of its bias, ``[batch, pos, head, column]``; "" where they are fixed."""
    local: ClassVar[bool] = False
    """Whether the bias is exactly 0 beyond some lag, so that log scaling ``local`` may multiply it alone."""
    limit: ClassVar[bool] = False
    """Whether it is a limit transformer's, so that :meth:`limit_terms` gives its terms."""

    upstream: ClassVar[str] = ""
    """What TransformerLens's ``positional_embedding_type`` calls it; "" where that has no such encoding."""
    ignores_upstream_table: ClassVar[bool] = False
    """Whether TransformerLens keeps a ``W_pos`` beside this encoding that nothing reads."""

    @property
    def before_attention(self) -> bool:
        """Whether all it does is done before queries meet keys."""
        return not (self.turns or self.biased)

    @property
    def shift(self) -> int | None:
        """Outputs stay the same where all ids move by a multiple of this; None = where they do not move."""
        return None if self.absolute else 1

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        """A few of this kind that together use all it has, with small settings; for tests and benchmarks."""
        return (cls(),)  # type: ignore[call-arg]  # every encoding's name has a default

    # ---- what it needs ------------------------------------------------------------------------
    def rows(self, n_ctx: int) -> int | None:
        """Rows of the learned table ``W_pos``; None where there is none."""
        return None

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        """Learned weights that each layer's attention has for itself, as they are in a new model."""
        return {}

    def shared_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        """Learned weights that all layers share (``pos_bias``); those named ``W_...`` are drawn in a new model."""
        return {}

    def fit(self, d_model: int, d_head: int) -> None:
        """Refuse widths that the encoding cannot be had with.

        Raises:
            ValueError: naming the width.
        """

    def check(self, ids: Tensor, n_ctx: int) -> None:
        """Refuse ids that the scheme cannot read.

        Raises:
            PositionError: if an id is negative, lies outside the table, or between whole numbers that alone are read.
        """
        refuse_negative(ids)
        if ids.is_floating_point() and self.reads_ids and not self.between:
            raise PositionError(f"{self.name} positions read whole ids alone, not those between them; round them down")
        top = int(ids.max()) if ids.numel() else 0
        if self.table and top >= n_ctx:
            raise PositionError(
                f"{self.name} positions can read ids up to {n_ctx - 1} (n_ctx {n_ctx}), but id {top} was "
                f"asked for; train with n_ctx of at least {top + 1}, or with positions none or rotary"
            )

    # ---- what it computes ---------------------------------------------------------------------
    def vectors(
        self, ids: Real[Tensor, "#batch pos"], table: Tensor | None, d_model: int, dtype: torch.dtype
    ) -> Float[Tensor, "#batch pos d_model"]:
        """What is added to the embedding; for those with ``added``.

        Args:
            ids: position ids.
            table: ``W_pos``, where :meth:`rows` says that there is one.
            d_model: width of the residual stream.
            dtype: its type.
        """
        raise NotImplementedError(f"positions {self.name} add no vectors")

    def turn(self, ids: Real[Tensor, "#batch pos"], d_head: int, dtype: torch.dtype) -> Turn | None:
        """By what each id turns queries and keys, the same in all layers; None for those without ``turns``."""
        return None

    def turned(self, x: Float[Tensor, "batch pos head d_head"], by: Turn) -> Float[Tensor, "batch pos head d_head"]:
        """Queries or keys, turned; for those with ``turns``."""
        raise NotImplementedError(f"positions {self.name} turn nothing")

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head column"]:
        """What the bias of a layer is made of; for those with ``biased``.

        Args:
            attn: the layer's attention, which has ``cfg`` and :meth:`attention_parameters`.
            shared: :meth:`shared_parameters` of the model.
            like: has the dtype and device of the result.
        """
        raise NotImplementedError(f"positions {self.name} have no bias")

    def fixed_weights(self, n_heads: int, like: Tensor) -> Float[Tensor, "head column"]:
        """:meth:`bias_weights` of an encoding that learns none, and so has no ``bias_hook``."""
        raise NotImplementedError(f"positions {self.name} have no bias that is fixed")

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head column"], lags: Real[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        """The bias of the score of each query and key, from the weights of the query; for those with ``biased``.

        Args:
            weights: as :meth:`bias_weights` gives them, for each query where a hook has changed them.
            lags: id of the query less id of the key; below 0 only where ids fall.
        """
        raise NotImplementedError(f"positions {self.name} have no bias")

    # ---- what is true of it -------------------------------------------------------------------
    def bias_by_lag(self, model: Any, layer: int, size: int) -> Float[Tensor, "head lag"] | None:
        """What each head of a layer adds to its score at lags 0 .. size - 1, in float64; None without a bias."""
        if not self.biased:
            return None
        attn = layer_of(model, layer)
        weights = self.bias_weights(attn, shared_of(model), attn.W_Q.double()).detach().double()
        lags = torch.arange(size, device=weights.device)
        return self.bias_at(weights[None, None], lags[None, None])[0, :, 0]

    def limit_terms(self, model: Any, layer: int) -> LimitTerms | None:
        """Its terms as a limit transformer's in a layer of a model, in float64; None unless ``limit``."""
        return None

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach | None:
        """What theorems about length generalization let programs read of these positions; None: none covers them.

        Args:
            settings: those that are stated; of others the best is assumed.
        """
        return None

    # ---- TransformerLens ----------------------------------------------------------------------
    def upstream_fields(self, d_head: int) -> dict[str, Any]:
        """The fields of TransformerLens's config that say this encoding; for those with ``upstream``."""
        return {"positional_embedding_type": self.upstream}

    @classmethod
    def settings_of_upstream(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the encoding that a config of TransformerLens says; for those with ``upstream``.

        Raises:
            PositionError: naming what the encoding does not have.
        """
        return {"name": cls.model_fields["name"].default}

    def check_upstream_buffers(self, buffers: Mapping[str, Tensor], d_head: int) -> None:
        """Refuse tables of a TransformerLens state dict that this encoding would not have.

        Raises:
            PositionError: naming the table.
        """


def layer_of(model: Any, layer: int) -> Any:
    """The attention of a layer of a model."""
    return model.blocks[layer].attn


def shared_of(model: Any) -> Mapping[str, Tensor]:
    """The weights that all layers of a model share for their positions."""
    return dict(getattr(model, "pos_bias", {}))


def float64_device(device: torch.device) -> torch.device:
    """The device itself, or the processor where it has no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def angles(ids: Tensor, pairs: int, base: float, slower: float = 1.0) -> Float[Tensor, "#batch pos pair"]:
    """``id / slower * base^(-i / pairs)`` for each pair i, in float64, where that is."""
    # In float32 the product is off by 1e-3 radians for the fastest pair at id 10^4.
    ids = ids.to(float64_device(ids.device))
    speeds = base ** (-torch.arange(pairs, dtype=torch.float64, device=ids.device) / pairs)
    return (ids[..., None].double() / slower) * speeds
