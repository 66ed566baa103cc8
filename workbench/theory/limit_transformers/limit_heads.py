"""The heads of a limit transformer as tables, and their margins by enumeration.

A limit transformer has periodic position vectors and translation-invariant local terms (Huang et al., arXiv
2410.02140; Izzo, Nichani, Lee, arXiv 2510.27015). In its first layer the score of a key then depends on
finitely many things: token and residue of the query, token and residue of the key, and the lag where that
is at most tau. So everything a head can ever see is enumerated once, whatever the length.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.models.positions.registry import those_with
from workbench.theory.errors import TheoryError

if TYPE_CHECKING:
    from workbench.models.transformer.model import HookedTransformer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scaling = Literal["none", "all", "local"]


@dataclass(frozen=True, eq=False)
class LimitHead:
    """One head of a first layer as lookup tables. A residue is that of the position id, which counts from 0.

    Attributes:
        content: ``[query token, query residue, key token, key residue]`` score without the local term.
        phi: ``[lag]`` local term at lags 0..tau.
        bos: token that stands at id 0 and nowhere else, or None.
        scaling: what log K multiplies: nothing, the whole score, or the local term.
    """

    content: Floats
    phi: Floats
    bos: int | None = None
    scaling: Scaling = "none"

    @property
    def tokens(self) -> list[int]:
        """All tokens that may be a query."""
        return [t for t in range(self.content.shape[0]) if t != self.bos]

    @property
    def period(self) -> int:
        return int(self.content.shape[1])

    @property
    def locality(self) -> int:
        return len(self.phi) - 1

    def observable(self, token: int, residue: int) -> Floats:
        """Return every value that the score of some key can have for a query with this token and residue, sorted.

        Far keys can be any token at any residue. At a lag t <= tau the residue is determined, and at lag 0
        the key is the query itself. BOS is at residue 0.
        """
        row = self.content[token, residue]
        tokens = self.tokens
        values = [row[tokens].ravel(), row[token, residue : residue + 1] + self.phi[0]]
        if self.bos is not None:
            values.append(row[self.bos, :1])
        for lag in range(1, self.locality + 1):
            near = (residue - lag) % self.period
            values.append(row[tokens, near] + self.phi[lag])
            if self.bos is not None and near == 0:
                values.append(row[self.bos, :1] + self.phi[lag])
        return np.sort(np.concatenate(values))

    def scores(self, tokens: Ints, keys: int | None = None) -> Floats:
        """``[key]`` scores of the last query of a string, BOS included, with ids 0, 1, 2, ...

        Args:
            tokens: ``[position]`` token ids.
            keys: the K whose log scales the scores; None = the number of tokens.
        """
        last = len(tokens) - 1
        ids = np.arange(len(tokens))
        content = self.content[tokens[last], last % self.period, tokens, ids % self.period]
        local = np.zeros(len(tokens))
        near = min(self.locality, last)
        local[last - near :] = self.phi[: near + 1][::-1]
        log_keys = math.log(len(tokens) if keys is None else keys)
        if self.scaling == "all":
            return np.asarray(log_keys * (content + local))
        return np.asarray(content + (log_keys if self.scaling == "local" else 1.0) * local)


@dataclass(frozen=True)
class Margins:
    """The gaps between scores that one query can see: the smallest over all queries of a head.

    Attributes:
        top: gamma_top, between the best score and the next one; infinite if all scores always tie.
        pair: gamma_pair, between any two scores. The best token may be missing from a string, and then
            this is the gap that counts; ``top`` is the definition of arXiv 2510.27015.
        top_query: (token, residue) at which ``top`` is attained, or None.
        pair_query: the same for ``pair``.
        tie: gaps up to this size count as ties.
    """

    top: float
    pair: float
    top_query: tuple[int, int] | None
    pair_query: tuple[int, int] | None
    tie: float


def margins(head: LimitHead, tie: float = 1e-9) -> Margins:
    """Compute the margins of a head by enumerating all queries and everything that they can see."""
    top, pair = math.inf, math.inf
    top_query: tuple[int, int] | None = None
    pair_query: tuple[int, int] | None = None
    for token in head.tokens:
        for residue in range(head.period):
            values = head.observable(token, residue)
            below = values[values < values[-1] - tie]
            gaps = np.diff(values)
            gaps = gaps[gaps > tie]
            if len(below) and values[-1] - below[-1] < top:
                top, top_query = float(values[-1] - below[-1]), (token, residue)
            if len(gaps) and gaps.min() < pair:
                pair, pair_query = float(gaps.min()), (token, residue)
    return Margins(top, pair, top_query, pair_query, tie)


def limit_heads(model: HookedTransformer, bos: int | None) -> list[LimitHead]:
    """Compute, from the weights, the lookup tables of the heads of a model's first layer.

    Exact for positions that are a limit transformer's (none, limit, relative) with softmax or hardmax attention,
    LayerNorm included: there it acts only on token and residue. A learned gain of log K is multiplied into the table,
    and what an encoding adds to every score of a query is part of the content.

    Raises:
        TheoryError: for any other attention or position scheme.
    """
    import torch

    cfg = model.cfg
    if cfg.attention == "linear":
        raise TheoryError("linear attention is no limit transformer: its weights are no exponentials of scores")
    terms = cfg.positions.limit_terms(model, 0)
    if terms is None:
        raise TheoryError(
            f"{cfg.positions.name} positions are no limit transformer's: these are {limit_positions()} "
            "(periodic and local)"
        )
    block: Any = model.blocks[0]
    weights = {name: weight.detach().double() for name, weight in block.attn.named_parameters()}
    with torch.no_grad():
        embedding = model.W_E.double()[:, None] + terms.vectors[None]
        seen = deepcopy(block.ln1).double()(embedding)
        q = torch.einsum("tpd,hde->htpe", seen, weights["W_Q"]) + weights["b_Q"][:, None, None]
        k = torch.einsum("tpd,hde->htpe", seen, weights["W_K"]) + weights["b_K"][:, None, None]
        content = torch.einsum("htpe,hsre->htpsr", q, k) / cfg.attn_scale + terms.far[:, None, None, None, None]
    gain = weights.get("log_gain", torch.ones(cfg.n_heads, dtype=torch.float64))
    phi = terms.phi * gain[:, None]
    scaling: Scaling = "all" if cfg.log_scaling == "learned" else cfg.log_scaling
    tables = (content * gain[:, None, None, None, None]).numpy(), phi.numpy()
    return [LimitHead(c, f, bos, scaling) for c, f in zip(*tables, strict=True)]


def limit_positions() -> str:
    """The encodings that are a limit transformer's, in words."""
    return those_with(lambda encoding: encoding.limit)
