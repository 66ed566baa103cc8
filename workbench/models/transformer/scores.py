"""Attention scores from their inputs: the one definition, for all queries or for some of them.

Explicit attention, attention in blocks of queries, and every analysis that recomputes scores from cached activations
call :meth:`ScoreInputs.scores`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Real
from torch import Tensor
from torch.nn import functional as F

from workbench.models.positions.encoding import Encoding, Queries

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture


@dataclass(frozen=True)
class ScoreInputs:
    """All inputs of the attention scores of one layer.

    ``score[b, h, i, j] = factor[b, i, h] * (q[b, i, h] . k[b, j, h] / sqrt(d_head) + bias[b, h, i, j])`` for j <= i,
    and -inf for later keys. The bias is zero, or the encoding computes it from ``bias_weights[b, i, h]`` at the lag
    ``id_i - id_j`` (:meth:`workbench.models.positions.encoding.Encoding.bias_at`).

    Pretrained models may have fewer heads in k than in q; several consecutive heads of q then share a head of k. They
    may have their own ``scale``, and a ``soft_cap`` c, which replaces s = q . k scale by c tanh(s / c). They may have a
    ``window``: the number of keys, its own among them, that a query sees.

    Under linear attention scores are ``log(phi(q) . phi(k))`` instead, with phi(x) = elu(x) + 1, so that the pattern is
    their softmax as well.

    Attributes:
        q, k: the factors of the product (rotated if the encoding rotates them).
        encoding: computes the bias from its weights; None = there is no bias.
        ids: position ids, if there is a bias.
        bias_weights: the bias weights of each query and head, if there is a bias.
        factor: the factor of each query's whole row (log scaling).
        attention: softmax, hardmax or linear.
        scale: replaces 1 / sqrt(d_head).
        soft_cap, window: as above; None = none.
        visible: keys that later queries see even if they are before the window.
        hidden: keys that no later query sees.
    """

    q: Float[Tensor, "batch pos head d_head"]
    k: Float[Tensor, "batch pos key_head d_head"]
    encoding: Encoding | None = None
    ids: Real[Tensor, "#batch pos"] | None = None
    bias_weights: Float[Tensor, "#batch #pos head column"] | None = None
    factor: Float[Tensor, "#batch pos #head"] | None = None
    attention: str = "softmax"
    scale: float | None = None
    soft_cap: float | None = None
    window: int | None = None
    visible: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether scores are only q . k of equally many heads, times a number, and -inf only after the query."""
        own = (self.scale, self.soft_cap, self.window, self.hidden)
        return not self.biased and own == (None, None, None, ()) and self.k.shape[2] == self.q.shape[2]

    @property
    def every_k(self) -> Float[Tensor, "batch pos head d_head"]:
        """Return one key per head of q, also if several heads share their keys."""
        times = self.q.shape[2] // self.k.shape[2]
        return self.k if times == 1 else self.k.repeat_interleave(times, dim=2)

    @property
    def biased(self) -> bool:
        """Whether a bias is added to q . k / sqrt(d_head)."""
        return self.encoding is not None

    def select(self, rows: slice, heads: slice = slice(None)) -> ScoreInputs:
        """Return the inputs for some sequences and heads only."""

        def of_batch(x: Tensor | None) -> Tensor | None:
            return x if x is None or x.shape[0] == 1 else x[rows]

        factor, weights = of_batch(self.factor), of_batch(self.bias_weights)
        return replace(
            self,
            q=self.q[rows, :, heads],
            k=(self.k if heads == slice(None) else self.every_k)[rows, :, heads],
            ids=of_batch(self.ids),
            bias_weights=None if weights is None else weights[:, :, heads],
            factor=factor if factor is None or factor.shape[2] == 1 else factor[:, :, heads],
        )

    def scores(self, queries: Queries, keys: int | None = None) -> Float[Tensor, "batch head query key"]:
        """Scores of the chosen queries, -inf at keys after the query.

        Args:
            queries: indices on the position axis.
            keys: use only this many first keys; None = all.
        """
        keys = self.k.shape[1] if keys is None else keys
        q, k = _at(self.q, queries), self.every_k[:, :keys]
        if self.attention == "linear":
            scores = _products(feature_map(q), feature_map(k)).log()
        elif self.attention == "hardmax":
            # Summed in float64 and rounded: in float32, equal keys can miss a tie by the shape of the matrices.
            scores = (_products(q.double(), k.double()) / math.sqrt(q.shape[-1])).to(q.dtype)
        else:
            products = _products(q, k)
            scores = products / math.sqrt(q.shape[-1]) if self.scale is None else products * self.scale
        if self.soft_cap is not None:
            scores = (scores / self.soft_cap).tanh() * self.soft_cap
        bias = self.bias(queries, keys)
        if bias is not None:
            scores = scores + bias
        if self.factor is not None:
            scores = scores * _by_row(_at(self.factor, queries))
        return scores.masked_fill_(self.later(queries, keys), -math.inf)

    def pattern(self, scores: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
        """Return the attention weights for given scores: their softmax, or with hardmax attention equal weights on the
        highest scores.
        """
        return hardmax(scores) if self.attention == "hardmax" else scores.softmax(-1)

    def bias(self, queries: Queries, keys: int) -> Float[Tensor, "#batch head query key"] | None:
        """The term added to q . k / sqrt(d_head) before the factor; None = no term."""
        if self.encoding is None:
            return None
        assert self.ids is not None
        assert self.bias_weights is not None
        lags = _at(self.ids, queries)[:, :, None] - self.ids[:, None, :keys]
        one = self.bias_weights.shape[1] == 1
        return self.encoding.bias_at(self.bias_weights if one else _at(self.bias_weights, queries), lags)

    def later(self, queries: Queries, keys: int) -> torch.Tensor:
        """Return a mask ``[query, key]`` of the keys that a query does not attend to, because they are later, before
        its window, or hidden.
        """
        index = torch.as_tensor(queries, device=self.k.device)[:, None]
        key = torch.arange(keys, device=self.k.device)
        mask = key > index
        if self.window is not None:
            mask |= (key <= index - self.window) & ~_one_of(key, self.visible)
        if self.hidden:
            mask |= (key < index) & _one_of(key, self.hidden)
        return mask


def cached_score_inputs(cfg: Architecture, layer: int, cache: Any) -> ScoreInputs:
    """The inputs of a layer's scores from a cache that contains ``cfg.score_hooks(layer)``.

    Args:
        cfg: the model's configuration.
        layer: the layer's number.
        cache: a dict of tensors by hook name, or TransformerLens's ``ActivationCache``.

    Raises:
        KeyError: naming the activation that the cache lacks.
    """
    names = cfg.score_hooks(layer)
    by_name = {name.rpartition(".")[2]: cache[name] for name in names}
    q, k = (cache[name] for name in names[:2])
    factor, positions = by_name.get("hook_score_factor"), cfg.positions
    if not positions.biased:
        return ScoreInputs(q, k, factor=factor, attention=cfg.attention)
    weights = (
        by_name[positions.bias_hook] if positions.bias_hook else positions.fixed_weights(cfg.n_heads, q)[None, None]
    )
    return ScoreInputs(q, k, positions, by_name["hook_position_ids"], weights, factor, cfg.attention)


def feature_map(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """phi(x) = elu(x) + 1 > 0, the features of linear attention (Katharopoulos et al. 2020, 2006.16236)."""
    return F.elu(x) + 1.0


def hardmax(scores: Float[Tensor, "*row key"]) -> Float[Tensor, "*row key"]:
    """Return attention weights that are uniform over the keys with exactly the highest score (tolerance 0).

    The derivative of this function is 0 almost everywhere, so the gradient of the softmax is used instead
    (straight-through, Bengio et al. 2013, 1308.3432). The value is exact also while gradients are recorded.
    """
    made: Tensor = _Hardmax.apply(scores)  # type: ignore[no-untyped-call]
    return made


class _Hardmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        ctx.save_for_backward(scores)
        top = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
        return top / top.sum(-1, keepdim=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (scores,) = ctx.saved_tensors
        soft = scores.softmax(-1)
        gradient: Tensor = soft * (gradients[0] - (gradients[0] * soft).sum(-1, keepdim=True))
        return gradient


def _products(q: Tensor, k: Tensor) -> Float[Tensor, "batch head query key"]:
    return torch.einsum("bqhe,bkhe->bhqk", q, k)


def _at(x: Tensor, queries: Queries) -> Tensor:
    """Chosen indices of the position axis; a range of step 1 is a view."""
    if isinstance(queries, range) and queries.step == 1:
        return x[:, queries.start : queries.stop]
    return x[:, torch.as_tensor(queries, dtype=torch.long, device=x.device)]


def _one_of(key: Tensor, chosen: tuple[int, ...]) -> Tensor:
    return torch.isin(key, torch.tensor(chosen, dtype=key.dtype, device=key.device))


def _by_row(factor: Float[Tensor, "#batch query #head"]) -> Float[Tensor, "#batch #head query 1"]:
    return factor.transpose(1, 2)[..., None]
