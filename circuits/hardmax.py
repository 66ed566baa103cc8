"""``circuits.hardmax``: has attention become a hardmax, of which kind, and how does that change with length?

Per layer, head and prefix length, from the supervised queries in (n - window, n]. The definitions are
those of :mod:`circuits.statistics`, :mod:`circuits.lengths` and :mod:`circuits.verdict`; the
measurement of runs and the function for notebooks go through one path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from circuits.reduction import LengthRecord, join, reduce_part, window_queries
from circuits.report import LOG_SCALED, NOT_LOG_SCALED, Report, not_applicable, nothing_supervised
from circuits.scores import cached_inputs, score_hooks, score_inputs
from workbench.core.canonical import canonical
from workbench.measure.measurement import Quantity, Spec
from workbench.models.config import ModelConfig
from workbench.table.schema import FIELDS, Row
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.config import Architecture
    from workbench.models.protocol import HookedModel
    from workbench.models.scores import ScoreInputs

NAME = "circuits.hardmax"
#: Tokens per forward pass of :func:`hardmax_statistics`.
TOKENS = 1 << 16

QUANTITIES = (
    Quantity(
        "hardmax_distance",
        "total variation from the attention row p to the nearest uniform distribution on a set of keys: "
        "min over k of 1 - sum_{j<=k} min(p_(j), 1/k)",
        "share", 0.0, 1.0,
    ),
    Quantity("tie_size", "k*: number of keys of that nearest set; geometric mean over queries", "keys", 1.0),
    Quantity(
        "argmax_mass",
        "attention mass on the k* keys of the tie set; 1 by definition, and labelled all keys, where that set is "
        "everything: of uniform attention, and of any head past its critical length K*",
        "share", 0.0, 1.0,
    ),
    Quantity(
        "margin",
        "effective margin log[(P/k*) / ((1-P)/(K-k*))]: log of the mean weight inside the tie set over "
        "outside; undefined where k* = K",
        "nats",
    ),
    Quantity("margin_min", "top score minus the best score more than delta below it", "nats", 0.0),
    Quantity("tie_uniformity", "entropy within the tie set over log k*, for k* >= 2", "share", 0.0, 1.0),
    Quantity("effective_support", "exp of the mean entropy of attention over queries", "keys", 1.0),
    Quantity("support_inf", "1/p_(1), one over the largest weight; geometric mean over queries", "keys", 1.0),
    Quantity(
        "dispersion_exponent",
        "beta: slope of log(1/p_(1)) on log K from the previous measured length; 0 keeps its focus, "
        "1 is uniform",
        "exponent",
    ),
    Quantity(
        "leak_exponent",
        "slope of -log(mass) on log K for the tie set carried from N: the top k*(N) keys, or the same share "
        "of all keys where the tie set grows in proportion to length",
        "exponent",
    ),
    Quantity(
        "critical_length",
        "K* = k (1 + e^margin) = k + (K-k) P/(1-P): number of keys at which the tie set holds half of the "
        "mass; its set is that of the largest training length where k* < K",
        "keys", 1.0,
    ),
    Quantity("p_bit_length", "2^(p/gamma), gamma = margin_min/log K; only under log K scaling", "keys", 1.0),
    Quantity(
        "hardmax_length",
        "number of keys from which mass 1 - epsilon lies in the tie set; only under log K scaling",
        "keys", 1.0,
    ),
    Quantity(
        "hardmax_verdict",
        "exact test over sequences that hardmax_distance <= epsilon in more than the stated share of them: "
        "hardmax, soft, mixed or undecided",
        "label",
    ),
    Quantity("hardmax_kind", "kind of a hardmax: sink, uniform, point, class or growing", "label"),
)  # fmt: skip


class Hardmax:
    """The measurement.

    Lengths are observed in ascending order, because longer ones carry the tie sets of shorter ones.

    Args:
        window: queries with prefix length in (n - window, n] are used.
        epsilon: largest hardmax_distance that counts as a hardmax.
        share: share of sequences that must be hardmax.
        delta: keys within ``delta`` of the top score do not count for margin_min.
        bits: precision p of p_bit_length.
        resamples: number of bootstrap resamples of sequences.
    """

    def __init__(
        self,
        window: int = 16,
        epsilon: float = 0.1,
        share: float = 0.9,
        delta: float = 1.0,
        bits: int = 8,
        resamples: int = 400,
    ) -> None:
        if window < 1:
            raise ValueError(f"{NAME}: window must be at least 1; got {window}")
        if delta < 0:
            raise ValueError(f"{NAME}: delta must not be negative; got {delta}")
        self.window, self.epsilon, self.share = window, epsilon, share
        self.delta, self.bits, self.resamples = delta, bits, resamples
        self._records: dict[str, list[LengthRecord]] = {}
        self._empty: list[tuple[str, int]] = []
        self._seen: dict[str, int] = {}
        self._cfg: Architecture | None = None

    @property
    def spec(self) -> Spec:
        return Spec(
            name=NAME,
            version=3,
            title="Hardmax attention",
            settings={
                "window": self.window,
                "epsilon": self.epsilon,
                "share": self.share,
                "delta": self.delta,
                "bits": self.bits,
                "resamples": self.resamples,
            },
            quantities=QUANTITIES,
            laws=("matched",),
            sequences=128,
            needs="attention",
        )

    def hooks(self, cfg: Architecture) -> list[str]:
        self._cfg = cfg
        return score_hooks(cfg) if cfg.attention == "softmax" else []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Reduce one batch.

        Raises:
            ValueError: if lengths do not come in ascending order, or the batch has another length.
        """
        if batch.length != length:
            raise ValueError(f"{NAME} observes length {length}, but its strings have length {batch.length}")
        softmax = self._config.attention == "softmax"
        self._observe(law, batch, [(batch, cached_inputs(self._config, cache))] if softmax else [])

    def finish(self, study: Study) -> list[Row]:
        return self.rows(study.grid.trained, study.rng(NAME))

    def rows(self, trained: int | None, rng: np.random.Generator) -> list[Row]:
        """Rows of all observed lengths; ``trained`` is N, or None where it is not known."""
        if not self._seen:
            return []
        heads = (self._config.n_layers, self._config.n_heads)
        if self._config.attention != "softmax":
            why = f"defined for attention by softmax; this model's is {self._config.attention}"
            names = [q.name for q in QUANTITIES]
            return [row for law in self._seen for row in not_applicable(law, *heads, names, why)]
        made: list[Row] = []
        scaled = isinstance(self._config, ModelConfig) and self._config.log_scaling in ("all", "learned")
        for law in self._seen:
            report = Report(
                self._records.get(law, []), trained=trained, law=law, rng=rng, resamples=self.resamples,
                epsilon=self.epsilon, share=self.share, bits=self.bits if scaled else None,
            )  # fmt: skip
            made += report.rows()
            if not scaled:
                made += not_applicable(law, *heads, LOG_SCALED, NOT_LOG_SCALED)
        named = [q.name for q in QUANTITIES if scaled or q.name not in LOG_SCALED]
        for law, length in self._empty:
            made += nothing_supervised(length, law, *heads, self.window, named)
        return made

    @property
    def _config(self) -> Architecture:
        """The configuration of the model under observation, known since it was asked what to hook."""
        if self._cfg is None:
            raise ValueError(f"{NAME}: ask hooks(cfg) what to observe before observing it")
        return self._cfg

    def _observe(self, law: str, batch: Batch, pieces: Iterable[tuple[Batch, Sequence[ScoreInputs]]]) -> None:
        """Reduce the batch of one length, given as pieces of its sequences with what their scores are made of."""
        if batch.length <= self._seen.get(law, 0):
            raise ValueError(
                f"{NAME} carries tie sets from shorter to longer lengths: observe them in ascending order, "
                f"not {batch.length} after {self._seen[law]}"
            )
        self._seen[law] = batch.length
        earlier = self._records.setdefault(law, [])
        tie_sets = {record.length: record.tie_set for record in earlier}
        queries = window_queries(batch, self.window)
        parts = []
        for piece, inputs in pieces if len(queries) else ():
            parts.append(reduce_part(piece, inputs, queries, self.delta, tie_sets))
        if parts:
            earlier.append(join(parts, batch, queries))
        else:
            self._empty.append((law, batch.length))


MEASUREMENT = Hardmax


@dataclass(frozen=True)
class HardmaxResult:
    """Hardmax statistics of one model, as rows.

    Attributes:
        rows: rows of the table's format.
        trained: longest training length, or None where it was not given.
    """

    rows: list[Row]
    trained: int | None

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns of the table."""
        return pd.DataFrame(self.rows, columns=list(FIELDS))

    def figure(
        self,
        quantity: str = "hardmax_distance",
        layer: int | None = None,
        head: int | None = None,
        **style: Any,
    ) -> go.Figure:
        """The quantity over prefix length: one head in front of all others.

        Args:
            quantity: a numeric quantity of this measurement.
            layer, head: the head in the foreground; None = the first one.
            style: ``theme``, ``size`` and whatever else
                :func:`workbench.figures.mechanism.head_over_length` takes.
        """
        from workbench.figures.mechanism import head_over_length

        frame = self.frame()
        longest = int(frame["length"].max())
        return head_over_length(
            frame,
            quantity=quantity,
            step=int(frame["step"].iloc[0]),
            layer=0 if layer is None else layer,
            head=0 if head is None else head,
            trained=longest if self.trained is None else self.trained,
            **style,
        )


def hardmax_statistics(
    model: HookedModel,
    batches: Batch | Sequence[Batch],
    *,
    trained: int | None = None,
    step: int = 0,
    window: int = 16,
    epsilon: float = 0.1,
    share: float = 0.9,
    delta: float = 1.0,
    bits: int = 8,
    resamples: int = 400,
    seed: int = 0,
) -> HardmaxResult:
    """Every quantity of ``circuits.hardmax`` for one model, without a run.

    Args:
        model: any model with TransformerLens's hook names.
        batches: one batch, or one per length (and law).
        trained: N, the longest training length, from which leak_exponent carries its set of keys and up
            to which critical_length looks for one; None = not known: leak_exponent is then undefined and
            critical_length is read at each length from the lengths up to it.
        step: what the rows say as their step.
        window, epsilon, share, delta, bits, resamples: see :class:`Hardmax`.
        seed: seed of the bootstrap.

    Raises:
        ValueError: for no batch, or two batches of one law and length.
    """
    listed = sorted([batches] if isinstance(batches, Batch) else batches, key=lambda b: b.length)
    if not listed:
        raise ValueError("hardmax_statistics needs at least one batch")
    if len({(b.law, b.length) for b in listed}) < len(listed):
        raise ValueError("hardmax_statistics takes one batch per law and length; join those of equal length")
    measurement = Hardmax(window=window, epsilon=epsilon, share=share, delta=delta, bits=bits, resamples=resamples)
    softmax = bool(measurement.hooks(model.cfg))
    for batch in listed:
        measurement._observe(batch.law, batch, _pieces(model, batch) if softmax else [])
    made = measurement.rows(trained, np.random.default_rng(seed))
    filled = {"run": "", "step": step, "measurement": NAME, "setting": canonical(measurement.spec.settings)}
    return HardmaxResult([{**r, **filled} for r in made], trained)


def _pieces(model: HookedModel, batch: Batch) -> Iterator[tuple[Batch, Sequence[ScoreInputs]]]:
    """Forward passes over some sequences at a time, so that q and k of all never exist at once."""
    at_once = max(1, TOKENS // batch.tokens.shape[1])
    for start in range(0, len(batch), at_once):
        piece = batch.rows(start, start + at_once)
        yield piece, score_inputs(model, piece)
