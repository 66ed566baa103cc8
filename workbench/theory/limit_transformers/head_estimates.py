"""Fits a trained first layer by a limit transformer: period, locality, local term, margins, and the residual.

The scores of a limit transformer's first layer are, up to one free constant per query,

    token x token + token x residue + residue x token + residue x residue + phi(lag), lag <= tau,

where the first factor is the query's. That form is fitted to measured scores by least squares, with one constant per
query. The share of variance that the fit leaves on other strings is reported. A small share means that the layer works
like a limit transformer; the fit does not assume it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr

from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.limit_heads import LimitHead, Margins, Scaling, margins

if TYPE_CHECKING:
    from workbench.models.transformer.model import HookedTransformer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PERIODS = range(1, 9)
LARGEST_LAG = 12
QUERIES = 8
"""Queries taken from the end of each string."""
LOCAL_SHARE = 0.01
"""Share of the squared local term that may be beyond the locality."""
NEGLIGIBLE = 1e-3
"""A local term below this part of the spread of the scores counts as none, and so does a gap below its thousandth."""
NO_PERIOD = 0.01
"""If period 1 leaves less than this share, no longer period is tried."""


@dataclass(frozen=True, eq=False)
class HeadEstimate:
    """One head of a first layer as the nearest limit transformer.

    Attributes:
        head: index of the head.
        period: Delta, the least period that explains nearly as much as the best of those tried.
        locality: tau, the lag after which the local term is negligible; None if it reaches beyond the largest lag that
            was fitted, so that the head is not local.
        limit: the fitted head; its tables are defined up to one constant per query.
        residual_share: variance of the scores within queries that the fit leaves, on strings that it was not fitted to;
            0 = exactly a limit transformer, 1 = nothing explained.
        residual_rms: the same as a root mean square, in nats (per log K if scores are log-scaled).
        margins: the margins of the fitted head; gaps up to ``residual_rms`` count as ties.
        shares: ``{period: residual share}`` of every period tried.
    """

    head: int
    period: int
    locality: int | None
    limit: LimitHead
    residual_share: float
    residual_rms: float
    margins: Margins
    shares: dict[int, float]


@dataclass(frozen=True, eq=False)
class Measured:
    """Scores of some queries of probe strings, one row per (string, query, key).

    Attributes:
        score: ``[row, head]`` as seen, divided by log K where the model multiplies the whole score by it.
        query, key: ``[row]`` token ids.
        query_id, key_id: ``[row]`` position ids.
        group: ``[row]`` index of the (string, query).
        local_factor: ``[row]`` what multiplies the local term (log K under scaling ``local``, else 1).
    """

    score: Floats
    query: Ints
    key: Ints
    query_id: Ints
    key_id: Ints
    group: Ints
    local_factor: Floats
    d_vocab: int

    def rows(self, chosen: NDArray[np.bool_]) -> Measured:
        """Return some of the rows, with the groups renumbered."""
        _, group = np.unique(self.group[chosen], return_inverse=True)
        return Measured(
            score=self.score[chosen],
            query=self.query[chosen],
            key=self.key[chosen],
            query_id=self.query_id[chosen],
            key_id=self.key_id[chosen],
            group=group.ravel(),
            local_factor=self.local_factor[chosen],
            d_vocab=self.d_vocab,
        )


def estimate_heads(model: HookedTransformer, tokens: Ints, bos: int | None) -> list[HeadEstimate]:
    """Fit every head of a model's first layer.

    Args:
        model: any model of LengthLens, with any positions.
        tokens: ``[string, position]`` probe strings, BOS included if the task has it. Every pair of tokens should
            occur. The fit uses half of the strings, and the residual is measured on the others.
        bos: the token that stands first and nowhere else, or None.

    Raises:
        TheoryError: for strings too few or too short, or for linear attention.
    """
    needed = LARGEST_LAG + max(PERIODS) + QUERIES
    if tokens.shape[0] < 2 or tokens.shape[1] <= needed:
        raise TheoryError(
            f"the estimate needs at least 2 sequences of more than {needed} tokens, not {list(tokens.shape)}"
        )
    measured = measure_scores(model, tokens)
    half = measured.group < (tokens.shape[0] // 2) * QUERIES
    fitted, other = measured.rows(half), measured.rows(~half)
    scaling: Scaling = "all" if model.cfg.log_scaling == "learned" else model.cfg.log_scaling
    return [_estimate(fitted, other, head, bos, scaling) for head in range(measured.score.shape[1])]


def _estimate(fitted: Measured, other: Measured, head: int, bos: int | None, scaling: Scaling) -> HeadEstimate:
    tried = {p: _fit(fitted, head, p, LARGEST_LAG) for p in PERIODS}
    shares = {p: _residual(other, limit, head)[0] for p, limit in tried.items()}
    period = _least_period(shares)
    spread = float(np.sqrt(np.mean(_within(other.score[:, head], other.group) ** 2)))
    locality = _locality(tried[period].phi, NEGLIGIBLE * spread)
    fit = tried[period] if locality is None else _fit(fitted, head, period, locality)
    limit = replace(fit, bos=bos, scaling=scaling)
    share, rms = _residual(other, limit, head)
    tie = rms + NEGLIGIBLE**2 * spread
    return HeadEstimate(head, period, locality, limit, share, rms, margins(limit, tie), shares)


def measure_scores(model: HookedTransformer, tokens: Ints) -> Measured:
    """Return scores of the last :data:`QUERIES` queries of every string.

    Raises:
        TheoryError: for linear attention, which has no scores.
    """
    import torch

    if model.cfg.attention == "linear":
        raise TheoryError("linear attention has no scores to fit")
    name = "blocks.0.attn.hook_attn_scores"
    with torch.no_grad():
        _, cache = model.run_with_cache(torch.as_tensor(tokens), names_filter=[name], return_cache_object=False)
    length = tokens.shape[1]
    string, query, key = np.meshgrid(
        np.arange(len(tokens)), np.arange(length - QUERIES, length), np.arange(length), indexing="ij"
    )
    visible = key <= query
    string, query, key = string[visible], query[visible], key[visible]
    scores = cache[name].double().numpy().transpose(0, 2, 3, 1)[string, query, key]
    log_keys = np.log(query + 1.0)
    scaling = model.cfg.log_scaling
    return Measured(
        score=scores / log_keys[:, None] if scaling in ("all", "learned") else scores,
        query=tokens[string, query],
        key=tokens[string, key],
        query_id=query,
        key_id=key,
        group=string * QUERIES + query - (length - QUERIES),
        local_factor=log_keys if scaling == "local" else np.ones(len(query)),
        d_vocab=model.cfg.d_vocab,
    )


def _fit(data: Measured, head: int, period: int, locality: int) -> LimitHead:
    """Return the least-squares limit head with this period and locality, of least norm if there are several."""
    v, p = data.d_vocab, period
    lag = data.query_id - data.key_id
    near = lag <= locality
    qr, kr = data.query_id % p, data.key_id % p
    row = np.arange(len(lag))
    # Columns: the four tables, then the local term, then one constant per query.
    starts = np.cumsum([0, v * v, v * p, p * v, p * p, locality + 1])
    positions = [data.query * v + data.key, data.query * p + kr, qr * v + data.key, qr * p + kr]
    columns = [start + position for start, position in zip(starts, positions, strict=False)]
    columns += [starts[4] + lag[near], starts[5] + data.group]
    rows = [row, row, row, row, row[near], row]
    values = np.concatenate([*[np.ones(len(row))] * 4, data.local_factor[near], np.ones(len(row))])
    shape = (len(row), int(starts[5]) + int(data.group.max()) + 1)
    design = csr_matrix((values, (np.concatenate(rows), np.concatenate(columns))), shape=shape)
    solved = lsqr(design, data.score[:, head], atol=1e-12, btol=1e-12, iter_lim=2000)[0]
    tt, tr, rt, rr, phi = (solved[a:b] for a, b in pairwise(starts))
    content = tt.reshape(v, 1, v, 1) + tr.reshape(v, 1, 1, p) + rt.reshape(1, p, v, 1) + rr.reshape(1, p, 1, p)
    return LimitHead(content, phi)


def _residual(data: Measured, limit: LimitHead, head: int) -> tuple[float, float]:
    """Return the share of the variance within queries that a fitted head leaves, and its root mean square."""
    p, lag = limit.period, data.query_id - data.key_id
    phi = np.where(lag <= limit.locality, limit.phi[np.minimum(lag, limit.locality)], 0.0)
    predicted = limit.content[data.query, data.query_id % p, data.key, data.key_id % p] + data.local_factor * phi
    residual, whole = _within(data.score[:, head] - predicted, data.group), _within(data.score[:, head], data.group)
    total = float(whole @ whole)
    share = float(residual @ residual) / total if total > 0 else 0.0
    return share, float(np.sqrt(residual @ residual / len(residual)))


def _within(values: Floats, group: Ints) -> Floats:
    """Return values minus the mean of their query."""
    return np.asarray(values - (np.bincount(group, values) / np.bincount(group))[group])


def _least_period(shares: dict[int, float]) -> int:
    """Return the smallest period within a tenth of the best gain over period 1."""
    first, best = shares[1], min(shares.values())
    if first < NO_PERIOD:
        return 1
    return min(p for p, share in shares.items() if share <= best + 0.1 * (first - best))


def _locality(phi: Floats, negligible: float) -> int | None:
    """Return the lag after which the local term is negligible, or None if it is not before the largest lag."""
    squares = phi**2
    beyond = squares.sum() - np.cumsum(squares)
    tau = int(np.argmax(beyond <= max(LOCAL_SHARE * squares.sum(), negligible**2)))
    return None if tau >= len(phi) - 1 else tau
