"""The interface of an encoding: one frozen config that contains all of the encoding's behaviour and its properties.

The model, its scores and all analyses call this object; no other code depends on which encoding it is. A new encoding
is a subclass in a file of its own and one line in :mod:`workbench.models.positions.registry`.
:func:`workbench.models.testing.check_encoding` tests it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn

from workbench.core.former_names import FormerName
from workbench.models.errors import PositionError
from workbench.models.positions.named_config import Scheme, refuse_negative

Queries = range | Sequence[int]
"""Indices on the position axis."""

Turn = tuple[Float[Tensor, "#batch #pos 1 d_head"], Float[Tensor, "#batch #pos 1 d_head"]]
"""Cosines, and sines with the sign of their term, of the angles by which queries and keys are rotated."""


@dataclass(frozen=True)
class Reach:
    """Which positions a program may read with this encoding, according to the theorems on length generalization that
    cover it.

    Attributes:
        period: it may read residues modulo this or a divisor; None = modulo any number.
        locality: it may look back at most this far; None = without limit.
        ids: the id samplers that the theorem's training may have, the one it states first; () = any.
        step: in what the theorem's positions differ from these, in a clause; "" if they are the same.
    """

    period: int | None = None
    locality: int | None = None
    ids: tuple[str, ...] = ()
    step: str = ""


BY_ONE = ("arange", "random_offset")
"""Id samplers under which the ids of neighbours differ by 1, so that lags and residues are those of the sequence
itself.
"""


@dataclass(frozen=True)
class LimitTerms:
    """A position encoding in one layer, expressed as the positions of a limit transformer (Huang et al. 2024,
    2410.02140).

    Attributes:
        vectors: the vectors added to the embedding, by residue of the id.
        phi: the terms added to the score at lags 0, 1, ... in addition to ``far``, up to the last lag with such a term.
        far: the term added to every score. It is constant within a query, so softmax ignores it.
    """

    vectors: Float[Tensor, "residue d_model"]
    phi: Float[Tensor, "head lag"]
    far: Float[Tensor, " head"]


class Encoding(Scheme):
    """The base class of position encodings: how position ids enter the model. A method that is not overridden has no
    effect.

    It may add vectors to the embedding (``added``), rotate queries and keys (``turns``), and add a bias by lag to the
    scores (``biased``), in any combination.
    """

    reads_ids: ClassVar[bool] = True
    """Whether ids have any effect."""
    absolute: ClassVar[bool] = False
    """Whether the encoding reads the id itself, so that ids never seen in training have no trained meaning."""
    table: ClassVar[bool] = False
    """Whether ids index a table of ``n_ctx`` rows, which limits the readable length."""
    added: ClassVar[bool] = False
    """Whether a vector is added to the token embedding (``hook_pos_embed``)."""
    turns: ClassVar[bool] = False
    """Whether queries and keys are rotated before their product (``hook_rot_q``, ``hook_rot_k``)."""
    biased: ClassVar[bool] = False
    """Whether a bias that does not depend on q and k is added to the attention scores."""
    between: ClassVar[bool] = False
    """Whether fractional ids are meaningful, so that ids can be interpolated without rounding."""
    bias_hook: ClassVar[str] = ""
    """Hook of each layer for the weights of its bias, ``[batch, pos, head, column]``; "" if they are fixed."""
    local: ClassVar[bool] = False
    """Whether the bias is exactly 0 beyond some lag, so that log scaling ``local`` may multiply only the bias."""
    limit: ClassVar[bool] = False
    """Whether it is a limit transformer's encoding, so that :meth:`limit_terms` gives its terms."""

    upstream: ClassVar[str] = ""
    """Its name in TransformerLens's ``positional_embedding_type``; "" if TransformerLens has no such encoding."""
    ignores_upstream_table: ClassVar[bool] = False
    """Whether TransformerLens stores a ``W_pos`` with this encoding that nothing reads."""

    @property
    def before_attention(self) -> bool:
        """Whether the encoding acts only before queries and keys are multiplied."""
        return not (self.turns or self.biased)

    @property
    def shift(self) -> int | None:
        """Return the number by whose multiples all ids can move without changing the outputs; None if every move
        changes them.
        """
        return None if self.absolute else 1

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        """Return a few encodings of this class with small settings that together use all of its features; for tests and
        benchmarks.
        """
        return (cls(),)  # type: ignore[call-arg]  # every encoding's name has a default

    # ---- what it needs ------------------------------------------------------------------------
    def rows(self, n_ctx: int) -> int | None:
        """Return the number of rows of the learned table ``W_pos``; None if there is no such table."""
        return None

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        """Return the learned weights that the encoding adds to each layer's attention, with their initial values."""
        return {}

    def shared_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        """Return the learned weights of the encoding that all layers share (``pos_bias``). Those named ``W_...`` have
        random initial values.
        """
        return {}

    def fit(self, d_model: int, d_head: int) -> None:
        """Refuse widths that the encoding does not support.

        Raises:
            ValueError: naming the width.
        """

    def check(self, ids: Tensor, n_ctx: int) -> None:
        """Refuse ids that the encoding cannot read.

        Raises:
            PositionError: if an id is negative, outside the table, or a fraction although only integers can be read.
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
        """Return the vectors that are added to the embedding. Only encodings with ``added`` have this method.

        Args:
            ids: position ids.
            table: ``W_pos``, if :meth:`rows` is not None.
            d_model: width of the residual stream.
            dtype: its dtype.
        """
        raise NotImplementedError(f"positions {self.name} add no vectors")

    def turn(self, ids: Real[Tensor, "#batch pos"], d_head: int, dtype: torch.dtype) -> Turn | None:
        """Return the rotation of queries and keys for each id, which is the same in all layers; None for encodings
        without ``turns``.
        """
        return None

    def rotate(self, x: Float[Tensor, "batch pos head d_head"], by: Turn) -> Float[Tensor, "batch pos head d_head"]:
        """Return queries or keys after their rotation. Only encodings with ``turns`` have this method."""
        raise NotImplementedError(f"positions {self.name} do not rotate queries and keys")

    turned: ClassVar[FormerName] = FormerName("rotate")

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head column"]:
        """Return the weights from which the bias of a layer's scores is computed. Only encodings with ``biased`` have
        this method.

        Args:
            attn: the layer's attention, which has ``cfg`` and :meth:`attention_parameters`.
            shared: :meth:`shared_parameters` of the model.
            like: a tensor with the dtype and device of the result.
        """
        raise NotImplementedError(f"positions {self.name} have no bias")

    def fixed_weights(self, n_heads: int, like: Tensor) -> Float[Tensor, "head column"]:
        """Return :meth:`bias_weights` for an encoding without learned weights, which therefore has no ``bias_hook``."""
        raise NotImplementedError(f"positions {self.name} have no bias without learned weights")

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head column"], lags: Real[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        """Return the bias of the score of each query and key, from the difference of their ids.

        Args:
            weights: the result of :meth:`bias_weights`, for each query separately if a hook has changed them.
            lags: id of the query minus id of the key; negative only if ids decrease.
        """
        raise NotImplementedError(f"positions {self.name} have no bias")

    # ---- what is true of it -------------------------------------------------------------------
    def bias_by_lag(self, model: Any, layer: int, size: int) -> Float[Tensor, "head lag"] | None:
        """Return the bias of each head of a layer at distances 0 to ``size`` - 1, in float64; None for encodings
        without a bias.
        """
        if not self.biased:
            return None
        attn = attention_of_layer(model, layer)
        weights = self.bias_weights(attn, shared_of(model), attn.W_Q.double()).detach().double()
        lags = torch.arange(size, device=weights.device)
        return self.bias_at(weights[None, None], lags[None, None])[0, :, 0]

    def limit_terms(self, model: Any, layer: int) -> LimitTerms | None:
        """Return the encoding in a layer as terms of a limit transformer, in float64; None unless ``limit`` is set."""
        return None

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach | None:
        """Return which positions a program may read according to theorems on length generalization; None if no theorem
        covers the encoding.

        Args:
            settings: the stated settings; settings that are not stated have their most favourable values.
        """
        return None

    # ---- TransformerLens ----------------------------------------------------------------------
    def upstream_fields(self, d_head: int) -> dict[str, Any]:
        """Return the fields of TransformerLens's config for an encoding with ``upstream``."""
        return {"positional_embedding_type": self.upstream}

    @classmethod
    def settings_of_upstream(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of an encoding with ``upstream`` from a config of TransformerLens.

        Raises:
            PositionError: naming a setting that the encoding does not have.
        """
        return {"name": cls.model_fields["name"].default}

    def check_upstream_buffers(self, buffers: Mapping[str, Tensor], d_head: int) -> None:
        """Raise an error for tables in a TransformerLens state dict that differ from those of this encoding.

        Raises:
            PositionError: naming the table.
        """


def attention_of_layer(model: Any, layer: int) -> Any:
    """Return the attention module of a layer of a model."""
    return model.blocks[layer].attn


def shared_of(model: Any) -> Mapping[str, Tensor]:
    """Return the weights that all layers of a model share for their positions."""
    return dict(getattr(model, "pos_bias", {}))


def float64_device(device: torch.device) -> torch.device:
    """The device itself, or the CPU if the device has no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def angles(ids: Tensor, pairs: int, base: float, slower: float = 1.0) -> Float[Tensor, "#batch pos pair"]:
    """Return the angles ``id / slower * base^(-i / pairs)`` of each pair i, in float64, on a device that has it."""
    # In float32 the product is off by 1e-3 radians for the fastest pair at id 10^4.
    ids = ids.to(float64_device(ids.device))
    speeds = base ** (-torch.arange(pairs, dtype=torch.float64, device=ids.device) / pairs)
    return (ids[..., None].double() / slower) * speeds
