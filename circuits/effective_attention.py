"""``circuits.effective_attention``: where a state-space layer looks, in terms comparable with attention.

Values are per layer, channel (column ``head``) and prefix length n, from the supervised queries in (n - window, n].
They describe the rows of the linear map from inputs to outputs (:mod:`workbench.models.ssm.hidden_attention`), as
absolute weights with sum 1. So they compare with rows of attention; the sign of a weight is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from circuits.hardmax.reduction import window_queries
from circuits.head_rows import head_rows
from workbench.measure.measurement import Measurement, Observer, Quantity, Study, show
from workbench.measure.settings import Count, Share
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture

NAME = "circuits.effective_attention"
Floats = NDArray[np.float64]
Rng = Callable[..., np.random.Generator]
VALUES = ("scan_support", "scan_peak_support", "scan_locality")
DISPERSION = "scan_dispersion_exponent"
NO_WEIGHT = "all weights of this channel are 0"

QUANTITIES = (
    Quantity(
        "scan_support",
        "Effective number of inputs that a state-space channel reads at a query: exp of the entropy of its absolute "
        "effective weights. The value is a geometric mean over queries. It ranges from 1 for one input to K for equal "
        "weights on all inputs.",
        "keys",
        1.0,
        formula="exp ⟨H(w)⟩",
        where="w_{j}: absolute effective weights, which sum to 1, H: entropy",
    ),
    Quantity(
        "scan_peak_support",
        "One divided by the largest absolute weight of a query: geometric mean over queries. It is a lower bound for "
        "the effective number of inputs.",
        "keys",
        1.0,
        formula="exp ⟨log(1 / w_{(1)})⟩",
        where="w_{(1)}: the largest",
    ),
    Quantity(
        "scan_locality",
        "Smallest lag within which the share 1 - epsilon of a query's absolute weights lies: mean over queries. "
        "Small values mean that the channel looks only at recent tokens.",
        "tokens",
        0.0,
        formula="⟨min { τ : Σ_{t − j ≤ τ} w_{j} ≥ 1 − ε }⟩",
        where="t: the query",
    ),
    Quantity(
        DISPERSION,
        "Slope of log(1/p_(1)) against log K, from the previous measured length to this one. Here p_(1) is the "
        "largest weight. 0 means that the focus stays; 1 means that the weights spread uniformly.",
        "exponent",
        formula="Δ log(1 / w_{(1)}) / Δ log K",
        where="Δ: change from the previous measured length",
    ),
)


class EffectiveAttention(Measurement):
    """Measure support and locality of the effective attention of state-space layers.

    Args:
        window: queries with prefix length in (n - window, n] are used.
        epsilon: share of the absolute weights beyond ``scan_locality``.
        resamples: number of bootstrap resamples of sequences.
    """

    name = NAME
    version = 2
    title = "Effective attention"
    quantities = QUANTITIES
    sequences = 32
    needs = "scan"

    window: Count = 4
    epsilon: Share = 0.05
    resamples: Count = 400

    _seen: dict[int, ChannelValues] = PrivateAttr(default_factory=dict)
    _held: dict[int, tuple[Batch, dict[str, Tensor]]] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        from workbench.models.ssm.hidden_attention import effective_hooks

        return [name for layer in range(cfg.n_layers) for name in effective_hooks(layer)]

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        # The map also depends on the model's weights, which come with the study.
        self._held[length] = (batch, {name: cache[name].clone() for name in cache if "hook_ssm_" in name})

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        return self._observer(study.model, length, batch)

    def _observer(self, model: Any, length: int, batch: Batch) -> ChannelValues:
        self._seen[length] = ChannelValues(model, batch, self.window, self.epsilon)
        return self._seen[length]

    def finish(self, study: Study) -> list[Row]:
        return self.rows(study.model, study.rng)

    def rows(self, model: Any, rng: Rng) -> list[Row]:
        """Return rows of all observed lengths of a state-space model; ``rng`` makes generators by name."""
        for length, (batch, cache) in self._held.items():
            show(self._observer(model, length, batch), cache)
        new_rows: list[Row] = []
        before: tuple[int, Floats] | None = None
        for length in sorted(self._seen):
            queries = self._seen[length].queries
            if not queries:
                note = f"no supervised query in the last {self.window} of length {length}"
                new_rows += [self._missing(length, quantity.name, note) for quantity in QUANTITIES]
                continue
            found = self._seen[length].values()
            keys = queries[-1] + 1
            new_rows += [r for name in VALUES for r in self._rows(rng, length, name, found[name])]
            peak = np.log(found["scan_peak_support"])
            new_rows += self._dispersion(rng, length, keys, peak, before)
            before = keys, peak
        return new_rows

    def _rows(self, rng: Rng, length: int, name: str, values: Floats) -> list[Row]:
        drawn, made = rng(NAME, name, length), list[Row]()
        for layer in range(values.shape[1]):
            place: dict[str, Any] = {"law": "matched", "length": length, "layer": layer}
            made += head_rows({name: values[:, layer]}, drawn, self.resamples, NO_WEIGHT, **place)
        return made

    def _dispersion(
        self, rng: Rng, length: int, keys: int, peak: Floats, before: tuple[int, Floats] | None
    ) -> list[Row]:
        if before is None:
            return [self._missing(length, DISPERSION, "there is no shorter measured length")]
        # Two lengths have the same sequences where one is a prefix of the other, else as many independent ones.
        slopes = (peak - before[1]) / np.log(keys / before[0])
        return self._rows(rng, length, DISPERSION, slopes)

    def _missing(self, length: int, name: str, note: str) -> Row:
        return row(quantity=name, law="matched", length=length, status="undefined", note=note)


class ChannelValues(Observer):
    """Statistics of the effective attention of all layers at one length, by channel.

    Args:
        model: a state-space model.
        batch: the sequences.
        window, epsilon: see :class:`EffectiveAttention`.

    Attributes:
        queries: indices of the queries that are used.
    """

    def __init__(self, model: Any, batch: Batch, window: int, epsilon: float) -> None:
        from workbench.models.ssm.hidden_attention import effective_hooks

        self.batch, self.queries = batch, [int(query) for query in window_queries(batch, window)]
        self._model, self._epsilon = model, epsilon
        self._layers: dict[int, list[dict[str, Floats]]] = {layer: [] for layer in range(model.cfg.n_layers)}
        self.groups = {layer: effective_hooks(layer) for layer in self._layers} if self.queries else {}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        from workbench.models.ssm.hidden_attention import effective_inputs

        weights = effective_inputs(self._model, seen, key).weights(self.queries)
        self._layers[key].append(statistics(weights.double().numpy(), self.queries, self._epsilon))

    def values(self) -> dict[str, Floats]:
        """Return values ``[sequence, layer, channel]``; NaN where all weights of a channel are 0."""
        found = {name: [[part[name] for part in parts] for parts in self._layers.values()] for name in VALUES}
        return {name: np.stack([np.concatenate(parts) for parts in layers], 1) for name, layers in found.items()}


def statistics(weights: Floats, queries: list[int], epsilon: float) -> dict[str, Floats]:
    """Return support, peak support and locality, each ``[sequence, channel]``.

    Args:
        weights: ``[sequence, channel, query, key]``.
        queries: indices of the queries.
        epsilon: see :class:`EffectiveAttention`.
    """
    size = np.abs(weights)
    total = size.sum(-1, keepdims=True)
    p = np.divide(size, total, out=np.full_like(size, np.nan), where=total > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(p > 0, p * np.log(p), np.where(np.isnan(p), np.nan, 0.0)).sum(-1)
    lags = np.array(queries)[:, None] - np.arange(size.shape[-1])
    # Sum weights from the first key on. The answer is the lag of the first key with a sum above epsilon.
    inside = np.cumsum(p, -1) > epsilon
    far = np.where(np.isnan(p[..., 0]), np.nan, np.where(inside, lags, -1).max(-1))
    return {
        "scan_support": np.exp(_mean(entropy)),
        "scan_peak_support": np.exp(_mean(-np.log(p.max(-1)))),
        "scan_locality": _mean(far),
    }


def _mean(values: Floats) -> Floats:
    """Return the mean over the queries with a defined value; NaN where there is none."""
    defined = ~np.isnan(values)
    count = defined.sum(-1)
    total = np.where(defined, values, 0.0).sum(-1)
    mean: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean
