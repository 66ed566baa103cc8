"""``circuits.hardmax``: has attention become a hardmax, which kind, and how does that change with length?

Values are per layer, head and prefix length, from the supervised queries in (n - window, n]. The definitions are in
:mod:`circuits.attention.row_statistics`, :mod:`circuits.hardmax.critical_lengths` and :mod:`circuits.hardmax.verdict`.
The measurement of runs and the function for notebooks share all code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import PrivateAttr

from circuits.attention.attention_scores import score_hooks
from circuits.attention.score_observer import EveryLayer
from circuits.hardmax.reduction import (
    CARRIED,
    LengthRecord,
    RowReducer,
    TieSet,
    by_length,
    length_record,
    stack_layers,
    window_queries,
)
from circuits.hardmax.rows import LOG_SCALED, NOT_LOG_SCALED, HardmaxRows, not_applicable, nothing_supervised
from workbench.core.thresholds import HARD
from workbench.measure.measurement import Measurement, Observer, Quantity, show
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, LargerPart, NotNegative, Real
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.tie_sets import Floats, Ints
from workbench.table.schema import Row
from workbench.tasks.base import Batch, Task

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel

NAME = "circuits.hardmax"

QUANTITIES = (
    Quantity(
        "hardmax_distance",
        "Total variation between a query's attention and the nearest uniform distribution on a set of keys: "
        "min over k of 1 - sum_(j<=k) min(p_(j), 1/k). There is one value per head and length, the mean over "
        "the last queries. 0 is exactly hard attention; higher values are further from it.",
        "share",
        0.0,
        1.0,
        formula="min_{k} [1 − Σ_{j ≤ k} min(p_{(j)}, 1/k)]",
    ),
    Quantity(
        "tie_size",
        "Number of keys k* in the tie set: geometric mean over queries. The tie set is the set of keys whose uniform "
        "distribution is nearest to the attention. 1 means one key; a value near K means that attention is nearly "
        "uniform.",
        "keys",
        1.0,
        formula="k* = arg min_{k} [1 − Σ_{j ≤ k} min(p_{(j)}, 1/k)]",
        where="the smallest such k if there are several",
    ),
    Quantity(
        "argmax_mass",
        "Attention mass on the k* keys of the tie set. If the tie set contains all keys, the mass is 1 and the row "
        "has the label `all keys`. This happens for uniform attention, and for any head past its critical length K*.",
        "share",
        0.0,
        1.0,
        formula="P = Σ_{j ≤ k*} p_{(j)}",
    ),
    Quantity(
        "margin",
        "Effective margin log[(P/k*) / ((1-P)/(K-k*))]: log of the mean weight inside the tie set divided by the "
        "mean weight outside it. Higher means a clearer separation; it is undefined for k* = K.",
        "nats",
        formula="m = log [(P / k*) / ((1 − P) / (K − k*))]",
    ),
    Quantity(
        "margin_min",
        "Gap between the highest score and the next score that is more than delta below it. A larger gap keeps "
        "attention hard for more keys.",
        "nats",
        0.0,
        formula="s_{(1)} − max { s_{j} : s_{j} < s_{(1)} − δ }",
        where="s_{(1)}: highest score, δ: setting delta",
    ),
    Quantity(
        "tie_uniformity",
        "How evenly attention is spread within the tie set: entropy of the attention within the set, divided by log "
        "k*, for k* >= 2. 1 means exactly even.",
        "share",
        0.0,
        1.0,
        formula="H(p_{(1)}/P, …, p_{(k*)}/P) / log k*",
        where="H: entropy",
    ),
    Quantity(
        "effective_support",
        "Effective number of keys that a query attends to: exp of the mean entropy of attention over queries. "
        "It ranges from 1 for one key to K for uniform attention.",
        "keys",
        1.0,
        formula="exp ⟨H(p)⟩",
        where="H(p) = −Σ_{j} p_{j} log p_{j}, ⟨·⟩ also averages over queries",
    ),
    Quantity(
        "support_inf",
        "One divided by the largest attention weight: geometric mean over queries. It is a lower bound for "
        "the effective number of keys.",
        "keys",
        1.0,
        formula="exp ⟨log(1 / p_{(1)})⟩",
        where="⟨·⟩ also averages over queries",
    ),
    Quantity(
        "dispersion_exponent",
        "Slope beta of log(1/p_(1)) against log K, from the previous measured length to this one. Here p_(1) is the "
        "largest weight. 0 means that the focus stays; 1 means that attention spreads uniformly.",
        "exponent",
        formula="β = Δ log(1 / p_{(1)}) / Δ log K",
        where="Δ: change of the mean from the previous measured length",
    ),
    Quantity(
        "leak_exponent",
        "Slope of -log(mass) against log K, where mass is the attention on the tie set carried over from N. This set "
        "contains the top k*(N) keys, or the same share of all keys if the tie set grows in proportion to length. 0 "
        "means that no mass leaks; higher values mean that attention leaves the set.",
        "exponent",
        formula="−Δ log P_{S} / Δ log K",
        where="P_{S}: mass on the set S of keys carried from N",
    ),
    Quantity(
        "critical_length",
        "Number of keys K* = k (1 + e^margin) = k + (K-k) P/(1-P) at which the tie set has half of the mass. "
        "If k* < K at the longest trained length, the tie set of that length is used. With more than K* keys, "
        "most of the attention lies outside the tie set.",
        "keys",
        1.0,
        formula="K* = k* (1 + e^{m}) = k* + (K − k*) P / (1 − P)",
        where="m: margin, P: mass on the tie set, k*: its size",
    ),
    Quantity(
        "p_bit_length",
        "Number of keys up to which p bits of precision suffice: 2^(p/gamma), with gamma = margin_min/log K. It is "
        "defined only if attention scores are multiplied by log K.",
        "keys",
        1.0,
        formula="2^{p/γ}",
        where="γ = margin_min / log K, p: bits of precision",
    ),
    Quantity(
        "hardmax_length",
        "Smallest number of keys at and above which the tie set has at least the mass 1 - epsilon. It is defined "
        "only if attention scores are multiplied by log K.",
        "keys",
        1.0,
        formula="((1 − ε) / (k* ε))^{1/(γ − 1)}, where tie sets grow ((1 − ρ)(1 − ε) / (ρ ε))^{1/γ}",
        where="γ = margin_min / log K, above 1 in the first; ρ: share of all keys in the tie set",
    ),
    Quantity(
        "hardmax_verdict",
        "Whether a head's attention is hard: `hardmax`, `soft`, `mixed` or undecided. An exact test over sequences "
        "decides whether `hardmax_distance` is at most epsilon in more than the required share of the sequences.",
        "label",
    ),
    Quantity(
        "hardmax_kind",
        "Kind of a hard attention pattern: `sink` (first key), `uniform`, `point` (one key), `class` (a share "
        "of all keys), or `growing` (more keys with length, but fewer than a share).",
        "label",
    ),
)


class Hardmax(Measurement):
    """Measure how close attention is to a hardmax, and its critical lengths.

    Lengths are observed in ascending order, because the tie sets of shorter lengths are used at longer ones.

    Args:
        window: queries with prefix length in (n - window, n] are used.
        epsilon: largest hardmax_distance that counts as a hardmax.
        share: share of sequences that must be hardmax.
        delta: keys within ``delta`` of the top score do not count for margin_min.
        bits: precision p of p_bit_length.
        resamples: number of bootstrap resamples of sequences.
    """

    name = NAME
    version = 3
    title = "Hardmax attention"
    quantities = QUANTITIES
    sequences = 128
    needs = "attention"
    any_law = True
    unlabelled = True
    presented = "also"

    window: Count = 16
    epsilon: Real = 0.1
    share: LargerPart = HARD
    delta: NotNegative = 1.0
    bits: Count = 8
    resamples: Count = 400

    _records: dict[str, list[LengthRecord]] = PrivateAttr(default_factory=dict)
    _empty: list[tuple[str, int]] = PrivateAttr(default_factory=list)
    _seen: dict[str, int] = PrivateAttr(default_factory=dict)
    _cfg: Architecture | None = PrivateAttr(default=None)

    def hooks(self, cfg: Architecture) -> list[str]:
        self._cfg = cfg
        return score_hooks(cfg) if cfg.attention == "softmax" else []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Reduce one batch.

        Raises:
            ValueError: if lengths do not come in ascending order, or the batch has another length.
        """
        self._refuse(law, length, batch)
        show(self._observer(self._config, law, length, batch, None), cache)

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        self._cfg = study.cfg
        self._refuse(law, length, batch)
        return self._observer(study.cfg, law, length, batch, study.grid.trained or None)

    def _refuse(self, law: str, length: int, batch: Batch) -> None:
        if batch.length != length:
            raise ValueError(f"{NAME} observes length {length}, but its sequences have length {batch.length}")
        if length <= self._seen.get(law, 0):
            raise ValueError(
                f"{NAME} carries tie sets from shorter to longer lengths: observe them in ascending order, "
                f"not {length} after {self._seen[law]}"
            )

    def _observer(self, cfg: Architecture, law: str, length: int, batch: Batch, trained: int | None) -> Observer:
        self._seen[law] = length
        queries = window_queries(batch, self.window)
        if cfg.attention != "softmax" or not len(queries):
            self._empty.append((law, length))
            return _Nothing(batch)
        return _LengthRows(cfg, batch, queries, self.delta, self._records.setdefault(law, []), trained)

    def finish(self, study: Study) -> list[Row]:
        return self.rows(study.grid.trained or None, study.rng(NAME))

    def rows(self, trained: int | None, rng: np.random.Generator) -> list[Row]:
        """Return rows of all observed lengths; ``trained`` is N, or None if unknown."""
        if not self._seen:
            return []
        heads = (self._config.n_layers, self._config.n_heads)
        if self._config.attention != "softmax":
            why = f"defined for attention by softmax; this model's is {self._config.attention}"
            names = [q.name for q in QUANTITIES]
            return [row for law in self._seen for row in not_applicable(law, *heads, names, why)]
        new_rows: list[Row] = []
        scaled = isinstance(self._config, ModelConfig) and self._config.log_scaling in ("all", "learned")
        for law in self._seen:
            report = HardmaxRows(
                self._records.get(law, []), trained=trained, law=law, rng=rng, resamples=self.resamples,
                epsilon=self.epsilon, share=self.share, bits=self.bits if scaled else None,
            )  # fmt: skip
            new_rows += report.rows()
            if not scaled:
                new_rows += not_applicable(law, *heads, LOG_SCALED, NOT_LOG_SCALED)
        named = [q.name for q in QUANTITIES if scaled or q.name not in LOG_SCALED]
        for law, length in self._empty:
            new_rows += nothing_supervised(length, law, *heads, self.window, named)
        return new_rows

    @property
    def _config(self) -> Architecture:
        """The configuration of the observed model, known after :meth:`hooks` or :meth:`observer`."""
        if self._cfg is None:
            raise ValueError(f"{NAME}: call hooks(cfg) before the forward pass")
        return self._cfg


class _Nothing(Observer):
    """An observer that needs no pass."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.groups = batch, {}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        """Do nothing; never called."""


class _LengthRows(EveryLayer[dict[str, Floats]]):
    """The rows of one length.

    The tie sets of a shorter length are computed from all its sequences. If one pass serves that length too, they are
    known only at its end. What is carried then takes a second pass, over the sequences of this measurement.

    Args:
        cfg: the model's configuration.
        batch: the sequences.
        queries: see :func:`circuits.hardmax.reduction.window_queries`.
        delta: setting of ``margin_min``.
        records: records of shorter lengths; the record of this one is added.
        trained: N. If known, tie sets of lengths beyond N are not carried.
    """

    def __init__(
        self,
        cfg: Architecture,
        batch: Batch,
        queries: Ints,
        delta: float,
        records: list[LengthRecord],
        trained: int | None,
    ) -> None:
        self._queries, self._delta, self._records, self._trained = queries, delta, records, trained
        known = self._tie_sets()
        reducers = [RowReducer(layer, queries, delta, known) for layer in range(cfg.n_layers)]
        super().__init__(cfg, batch, reducers, self._add)

    def _tie_sets(self) -> dict[int, TieSet]:
        """Return the tie sets of shorter lengths that are known so far."""
        most = math.inf if self._trained is None else self._trained
        return {record.length: record.tie_set for record in self._records if record.length <= most}

    def _add(self, layers: list[dict[str, Floats]]) -> None:
        self._records.append(length_record(layers, self.batch, self._queries))

    def close(self) -> Observer | None:
        super().close()
        record = self._records[-1]
        late = {n: tie_set for n, tie_set in self._tie_sets().items() if n < record.length and n not in record.carried}
        if not late:
            return None
        if all(np.isnan(tie_set.size).all() for tie_set in late.values()):  # there is nothing to carry
            nothing = np.full((len(self.batch), *record.tie_set.size.shape), np.nan)
            record.carried.update({n: dict.fromkeys(CARRIED, nothing) for n in late})
            return None

        def add(layers: list[dict[str, Floats]]) -> None:
            record.carried.update(by_length(stack_layers(layers)))

        layers = range(self._cfg.n_layers)
        reducers = [RowReducer(layer, self._queries, self._delta, late, carried_only=True) for layer in layers]
        return EveryLayer(self._cfg, self.batch, reducers, add)


@dataclass(frozen=True)
class HardmaxResult(Result):
    """Hardmax statistics of one model."""

    figure_address: ClassVar[str] = "workbench.figures.heads.head_curves:head_over_length"

    def figure(  # type: ignore[override]  # one head stands in front here, whichever rows there are
        self,
        quantity: str | None = "hardmax_distance",
        layer: int | None = None,
        head: int | None = None,
        **style: Any,
    ) -> go.Figure:
        """Draw the quantity over prefix length, with one head in front of all others.

        Args:
            quantity: a numeric quantity of this measurement.
            layer, head: the head in the foreground; None = the first one.
            style: ``theme``, ``size`` and whatever else :func:`workbench.figures.heads.head_curves.head_over_length`
                takes.
        """
        longest = int(self.frame()["length"].max())
        return self._draw(
            quantity=quantity or "hardmax_distance",
            step=int(self.rows[0]["step"]),
            layer=0 if layer is None else layer,
            head=0 if head is None else head,
            trained=longest if self.trained is None else self.trained,
            **style,
        )


def hardmax_statistics(
    model: HookedModel,
    data: Data,
    labels: Tensor | Sequence[Tensor] | None = None,
    *,
    task: Task | None = None,
    trained: int | None = None,
    lengths: Sequence[int] | None = None,
    sequences: int | None = None,
    seed: int = 0,
    step: int | None = None,
    **settings: Any,
) -> HardmaxResult:
    """Return every quantity of ``circuits.hardmax`` for one model, without a run.

    Args:
        model: any model with TransformerLens's hook names.
        data: token ids ``[batch, pos]``, a batch, one per length (and test set), or a task; see
            :func:`workbench.measure.run`.
        labels, task: for plain tokens; not needed.
        lengths, sequences: for a task: lengths and number of its sequences.
        trained: N, the longest training length. leak_exponent uses its set of keys from N, and critical_length uses
            lengths up to N. None = unknown: leak_exponent is then undefined, and critical_length at each length uses
            the lengths up to it.
        step: the step in the rows; None = that of the checkpoint that the model was loaded from, else 0.
        seed: seed of the bootstrap.
        settings: see :class:`Hardmax`.

    Raises:
        MeasurementError: for no batch, two batches of one test set and length, or an invalid setting.
    """
    found = run(
        Hardmax(**settings), model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences,
        seed=seed, step=step,
    )  # fmt: skip
    return HardmaxResult(found.measurement, found.rows, found.trained)
