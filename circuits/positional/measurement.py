"""``circuits.positional``: how attention scores depend on the positions of tokens, averaged over the tokens.

Two modes exist. *activations* works for every encoding. P[i, j] is the mean over sequences of the score of query i and
key j, among the last positions of each length, from two halves of the sequences. *weights* works where the encoding
adds vectors or biases. It uses the score of position i's vector with position j's, through the head's own matrices.
Both tables are analysed by :mod:`circuits.positional.translation_fit`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import torch
from pydantic import AfterValidator
from torch import Tensor

from circuits.attention.score_observer import ScoreObserver
from circuits.head_rows import head_rows
from circuits.positional.position_tables import PositionTables, TableSums
from circuits.positional.translation_fit import Floats, Gauge, gauge, locality, translation_variances
from workbench.core.names import MATCHED
from workbench.measure.intervals import jackknife
from workbench.measure.measurement import Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import missing_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Share
from workbench.table.schema import Row, row
from workbench.theory.limit_transformers.norm_regularizer import positional_penalty

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NAME = "circuits.positional"
ROUNDING = 1e-12
"""Half widths of intervals below this are rounding."""
LAW = MATCHED

QUANTITIES = (
    Quantity(
        "translation_variance",
        "How much of the variation of a head's mean scores a function of the lag leaves unexplained. Scores are "
        "fitted with one constant per query, once with and once without a function of the lag. The value is the "
        "residual variance with this function divided by that without it, each per degree of freedom. Only the last "
        "positions count (setting `span`). 0 means that scores depend only on the lag; about 1 means that the lag "
        "explains nothing. If the target names a period, the function is fitted separately for each residue of the "
        "query's position modulo this period.",
        "share",
        formula="V_{Δ} = [SS(r_{i} + f(i − j, i mod Δ)) / dof] / [SS(r_{i}) / dof′]",
        where="SS: squares that the fit to mean scores of query i and key j leaves, dof: their degrees of freedom",
    ),
    Quantity(
        "period",
        "Smallest period that explains nearly all of the translation variance that any period explains.",
        "tokens",
        2,
        formula="min { Δ : V_{Δ} ≤ V_{best} + 0.1 (V_{1} − V_{best}) }",
        where="V_{Δ}: translation variance at period Δ",
        interval=False,
    ),
    Quantity(
        "period_strength",
        "Share of the translation variance at period 1 that this period removes. 1 means a fully periodic head.",
        "share",
        formula="1 − V_{Δ} / V_{1}",
        where="Δ: the period",
        interval=False,
    ),
    Quantity(
        "locality",
        "Smallest lag beyond which at most the share eps of the sum of squares of phi(lag) - phi(far) lies. Here phi "
        "is the score as a function of the lag, and phi(far) is its median over the far half of the lags. If phi "
        "still slopes at the longest lag, the status is `censored`.",
        "tokens",
        0,
        formula="min { τ : Σ_{l > τ} (φ(l) − φ_{∞})^{2} ≤ ε Σ_{l} (φ(l) − φ_{∞})^{2} }",
        where="φ: bias by lag l, φ_{∞}: its median over the far half of lags",
        interval=False,
    ),
    Quantity(
        "positional_share",
        "Share of the within-query variance of scores that position explains. Only the last positions count (setting "
        "`span`). 1 means that the tokens do not matter. It is undefined if all scores of each query are equal.",
        "share",
        formula="Σ_{i,j} (P_{i,j} − P_{i})^{2} / ⟨Σ_{i,j} (s_{i,j} − s_{i})^{2}⟩",
        where="P_{i,j} = ⟨s_{i,j}⟩; P_{i}, s_{i}: means over the keys of query i",
    ),
    Quantity(
        "attention_locality",
        "Smallest lag within which the share 1 - eps of the last query's attention lies. It depends on n; small "
        "values mean local attention.",
        "tokens",
        0,
        formula="⟨min { τ : Σ_{t − j ≤ τ} p_{j} ≥ 1 − ε }⟩",
        where="t: the last query",
    ),
    Quantity(
        "positional_regularizer",
        "Squared scores between position vectors, summed over queries and averaged over keys, for each head. "
        "The form is that of the experiments of Huang et al. 2024 (2410.02140).",
        "score",
        0,
        formula="(1/m) Σ_{j ≤ i} (e_{i} W_{Q} · e_{j} W_{K})^{2}",
        where="e_{i}: vector of position i, m: how many there are",
        interval=False,
    ),
)

FROM_GAUGE = ("translation_variance", "period", "period_strength", "locality")
NO_TABLE = "positions are not added as vectors"
ALL_EQUAL = "the scores of each query are equal among the last positions: there is no variance to explain"
UNREAD = "weights of an opened model are not read by name"
"""Note for models that show only their activations, not their weights."""


def _at_least_four(span: int) -> int:
    if span < 4:
        raise ValueError(f"must be at least 4 positions, not {span}")
    return span


class Positional(ScoreObserver[PositionTables]):
    """Measure how attention scores depend on position: on the lag only, with a period, and how locally.

    Args:
        span: number of positions at the end of each length whose scores are compared, at most the width of an attention
            window; BOS never counts.
        eps: share in the definitions of both localities.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 4
    title = "Positions in attention"
    quantities = QUANTITIES
    sequences = 128
    unlabelled = True
    not_presented = (
        "in a prompt the template stands at the same places of every string, so that scores by place would be of the "
        "template; positional_statistics(model, tokens) asks a model of random tokens in a notebook"
    )

    span: Annotated[Count, AfterValidator(_at_least_four)] = 32
    eps: Share = 0.05
    resamples: Count = 400

    def reducer(self, batch: Batch) -> TableSums:
        return TableSums(batch, self.span, self.eps)

    def finish(self, study: Study) -> list[Row]:
        rows = []
        for n, layers in self._seen.items():
            for layer, seen in enumerate(layers):
                place = {"law": LAW, "length": n, "layer": layer, "mode": "activations"}
                rows += self._activations(study, seen, place)
        return rows + self._weights(study)

    def _activations(self, study: Study, tables: PositionTables, place: dict[str, Any]) -> list[Row]:
        rng = study.rng(NAME, *place.values())
        none = "no sequence"
        rows = head_rows({"attention_locality": tables.reach}, rng, self.resamples, none, **place)
        count = len(tables.reach)
        for head in range(tables.heads):
            columns = {**place, "head": head, "n": count}
            if tables.size < 4 or count < 2:
                why = "needs two sequences and 4 positions behind BOS"
                rows += [
                    missing_row("undefined", why, quantity=q, **columns) for q in (*FROM_GAUGE, "positional_share")
                ]
                continue
            found = gauge(*tables.halves(head))
            without = [tables.halves(head, leave=group) for group in tables.groups]
            rows += self._gauge_rows(found, columns, [translation_variances(*pair) for pair in without])
            share = tables.share(head)
            if share is None:
                rows.append(missing_row("undefined", ALL_EQUAL, quantity="positional_share", **columns))
                continue
            ends = _ends(share, [tables.share(head, leave=group) for group in tables.groups])
            rows.append(row(quantity="positional_share", value=share, **ends, **columns))
        return rows

    def _gauge_rows(self, fit: Gauge, columns: dict[str, Any], without: Sequence[Floats] = ()) -> list[Row]:
        if fit.equal or not fit.above_noise:
            noise = "mean scores by position are not above the noise between two halves of the sequences"
            why = ALL_EQUAL if fit.equal else noise
            return [missing_row("undefined", why, quantity=q, **columns) for q in FROM_GAUGE]

        def variance(period: int) -> Row:
            value = float(fit.variance[period - 1])
            ends = _ends(value, [float(of_group[period - 1]) for of_group in without])
            return row(quantity="translation_variance", target=f"period {period}", value=value, **ends, **columns)

        rows = [variance(1)]
        if fit.period is None:
            why = "scores depend on the lag alone" if fit.variance[0] < 0.01 else "no period explains half of it"
            rows += [missing_row("undefined", why, quantity=q, **columns) for q in ("period", "period_strength")]
        else:
            rows.append(variance(fit.period))
            rows.append(row(quantity="period", value=float(fit.period), **columns))
            rows.append(row(quantity="period_strength", value=fit.strength, **columns))
        reach = locality(fit.local_bias, self.eps)
        if reach is None:
            lags = float(len(fit.local_bias) - 1)
            why = "unbounded: phi still slopes at the largest lags"
            rows.append(missing_row("censored", why, quantity="locality", low=lags, **columns))
        else:
            rows.append(row(quantity="locality", value=float(reach), **columns))
        return rows

    def _weights(self, study: Study) -> list[Row]:
        rows: list[Row] = []
        for layer in range(study.cfg.n_layers):
            place: dict[str, Any] = {"layer": layer, "mode": "weights"}
            read = _weights_are_read(study.model)
            tables = weight_tables(study.model, layer, self.span) if read else None
            if tables is None:
                nothing = f"positions {study.cfg.positions.name} say nothing without content"
                why = nothing if read else UNREAD
                rows += [missing_row("not_applicable", why, quantity=q, **place) for q in FROM_GAUGE]
            else:
                for head, table in enumerate(tables):
                    rows += self._gauge_rows(gauge(table), {**place, "head": head})
            rows += regularizer_rows(study.model, layer, place)
        return rows


def positional_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 128, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.positional`` for one model, without a run; see :class:`Positional`."""
    made = Positional(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


def weight_tables(model: HookedModel, layer: int, size: int) -> Floats | None:
    """Return ``[head, n, n]``, scores of positions by one layer's weights; None where positions act on content only.

    Added vectors reach the scores through (p_i W_Q + b_Q) . (p_j W_K + b_K) / sqrt(d_head), without LayerNorm and
    without the layers between. Biases by lag are added. Entries above the diagonal are meaningless.
    """
    cfg, parts = model.cfg, list[Any]()
    positions = torch.arange(min(size, cfg.n_ctx if cfg.positions.table else size))
    with torch.no_grad():
        attn = model.blocks[layer].attn  # type: ignore[attr-defined]
        if cfg.positions.added:
            table = model.pos_embed(positions[None], attn.W_Q.dtype)[0].double()  # type: ignore[attr-defined]
            q = table @ attn.W_Q.double() + attn.b_Q.double()[:, None]
            k = table @ attn.W_K.double() + attn.b_K.double()[:, None]
            parts.append(q @ k.transpose(1, 2) / cfg.attn_scale)
        bias = cfg.positions.bias_by_lag(model, layer, len(positions))
        if bias is not None:
            parts.append(bias[:, (positions[:, None] - positions).abs()])
    if not parts:
        return None
    found: Floats = sum(parts).numpy(force=True)  # type: ignore[union-attr]
    return found


def _weights_are_read(model: HookedModel) -> bool:
    """Return whether a model's added position vectors can be read; an opened model shows only activations."""
    return not model.cfg.positions.added or hasattr(model, "pos_embed")


def regularizer_rows(model: HookedModel, layer: int, place: dict[str, Any]) -> list[Row]:
    """Return the value of the regularizer of learned position tables, per head."""
    if not model.cfg.positions.added or not _weights_are_read(model):
        why = UNREAD if model.cfg.positions.added else NO_TABLE
        return [missing_row("not_applicable", why, quantity="positional_regularizer", **place)]
    with torch.no_grad():
        attn = model.blocks[layer].attn  # type: ignore[attr-defined]
        table = model.pos_embed(torch.arange(model.cfg.n_ctx)[None], attn.W_Q.dtype)[0]  # type: ignore[attr-defined]
        values = [
            float(positional_penalty(table, attn.W_Q[head, None], attn.W_K[head, None]))
            for head in range(model.cfg.n_heads)
        ]
    return [
        row(quantity="positional_regularizer", head=head, value=value, **place) for head, value in enumerate(values)
    ]


def _ends(value: float, without: Sequence[float | None]) -> dict[str, float]:
    """Return the interval of a value that is not a mean, from the values without each group of sequences.

    There is none where the value is undefined (None or NaN) without one of the groups.
    """
    defined = [one for one in without if one is not None and not math.isnan(one)]
    if len(without) < 2 or len(defined) < len(without):
        return {}
    half = float(jackknife(defined))
    # If all groups agree exactly, as for a bias that is independent of sequences, the jackknife has no width.
    return {"low": value - half, "high": value + half} if half > ROUNDING * max(1.0, abs(value)) else {}
