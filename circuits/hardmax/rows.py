"""Rows of ``circuits.hardmax`` from the records of all lengths: means, exponents, lengths, verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from circuits.hardmax.critical_lengths import (
    BOUNDED,
    PROPORTIONAL,
    growth_exponent,
    hardmax_length,
    p_bit_length,
    scaling_exponent,
)
from circuits.hardmax.estimates import At, MeanEstimate, MeanEstimates
from circuits.hardmax.reduction import LengthRecord
from circuits.hardmax.verdict import hardmax_kind, hardmax_verdict, least_hardmax_count
from workbench.core.names import ALL_KEYS as ALL_KEYS
from workbench.measure.intervals import interval
from workbench.table.schema import Row, row

#: Beyond this many keys a critical length is reported as infinite.
LARGEST = 1e15

"""Label of an argmax_mass that says nothing: of most queries the tie set is all keys."""
EVERYTHING = "the tie set of every query is all its keys"
NOTHING_WITHIN = "no length within training was measured"
UNKNOWN_TRAINED = "the training length is not known"
UNKNOWN_GROWTH = "how the tie set grows is not known: no measured length of at most a quarter"
#: quantity -> (name in the record, whether it is exp of a mean of logs, why it may be undefined)
MEANS: dict[str, tuple[str, bool, str]] = {
    "hardmax_distance": ("distance", False, ""),
    "tie_size": ("log_size", True, ""),
    "argmax_mass": ("mass", False, ""),
    "margin": ("margin", False, f"{EVERYTHING}, or the others have no weight"),
    "margin_min": ("margin_min", False, "no key lies more than delta below the top score"),
    "tie_uniformity": ("tie_uniformity", False, "the tie set of every query is a single key"),
    "effective_support": ("entropy", True, ""),
    "support_inf": ("log_support", True, ""),
}
#: Quantities that only scores multiplied by log K define.
LOG_SCALED = ("p_bit_length", "hardmax_length")
NOT_LOG_SCALED = "defined only for scores multiplied by log K, which this model's are not"


class HardmaxRows:
    """Makes the rows of one checkpoint on one test set.

    Args:
        records: one per length that has supervised queries.
        trained: N, the longest training length; None = unknown.
        law: name of the test set.
        rng: the source of the bootstrap.
        resamples: number of bootstrap resamples.
        epsilon: largest hardmax_distance that counts as a hardmax.
        share: share of sequences that must be hardmax.
        bits: precision p of p_bit_length; None = scores are not multiplied by log K, so that quantities which need this
            do not apply.
    """

    def __init__(
        self,
        records: Sequence[LengthRecord],
        *,
        trained: int | None,
        law: str,
        rng: np.random.Generator,
        resamples: int,
        epsilon: float,
        share: float,
        bits: int | None = None,
    ) -> None:
        self.records = sorted(records, key=lambda record: record.length)
        self.trained, self.law, self.epsilon, self.share, self.bits = trained, law, epsilon, share, bits
        self._estimates = {r.length: MeanEstimates(r, rng, resamples) for r in self.records}

    def rows(self) -> list[Row]:
        """Return all rows, by length, layer and head."""
        made = []
        for record in self.records:
            for layer, head in np.ndindex(*record.tie_set.size.shape):
                made += self._head(record, (layer, head))
        return made

    def _head(self, record: LengthRecord, at: At) -> list[Row]:
        all_fields = [self._mean(record, quantity, at) for quantity in MEANS]
        all_fields += [self._dispersion(record, at), self._leak(record, at), self._critical(record, at)]
        all_fields += self._verdict(record, at)
        if self.bits is not None:
            all_fields += [self._p_bit(record, at, self.bits), self._hardmax_length(record, at)]
        place = {"law": self.law, "length": record.length, "layer": at[0], "head": at[1]}
        return [row(**place, **{"n": record.sequence_count} | fields) for fields in all_fields]

    # ---- means ---------------------------------------------------------------------------------
    def _mean(self, record: LengthRecord, quantity: str, at: At) -> Row:
        name, logs, why = MEANS[quantity]
        estimate = self._estimates[record.length](name, at)
        if estimate is None:
            return _undefined(quantity, why)
        left_out = record.sequence_count - estimate.n
        note = f"undefined in {left_out} more sequences: {why}" if left_out else ""
        if quantity != "argmax_mass":
            return _measured(quantity, estimate, logs, note)
        # Where the tie set is all keys, its mass is always 1, for example past K* of a point head.
        used = record.queries > 0
        whole = 1.0 - float(np.average(record.values["partial"][(used, *at)], weights=record.queries[used]))
        note = f"the tie set is all keys for {whole:.0%} of queries, whose mass is 1 by definition" if whole else note
        return {**_measured(quantity, estimate, logs, note), "label": ALL_KEYS if whole > 0.5 else ""}

    # ---- exponents between adjacent lengths ----------------------------------------------------
    def _dispersion(self, record: LengthRecord, at: At) -> Row:
        before = self._before(record)
        if before is None:
            return _undefined("dispersion_exponent", "no shorter length was measured")
        return self._slope("dispersion_exponent", before, record, ("log_support", "log_support"), at, "")

    def _leak(self, record: LengthRecord, at: At) -> Row:
        quantity, before, home = "leak_exponent", self._before(record), self._home()
        if home is None:
            return _undefined(quantity, NOTHING_WITHIN if self.trained else UNKNOWN_TRAINED)
        if before is None or before.length < home.length:
            return _undefined(quantity, f"its set is carried from prefix length {home.length} to longer ones")
        size, origin = home.tie_set.size[at], f"as at prefix length {home.length}"
        if np.isnan(size):
            return {"quantity": quantity, "value": 0.0, "note": f"0 by definition; set: all keys, {origin}"}
        growth = self._growth(home, at)
        scaled = growth is not None and growth > PROPORTIONAL
        carried = f"{'leak_share' if scaled else 'leak_fixed'}@{home.length}"
        names = ("leak" if before is home else carried, carried)
        kept = f"top {size / home.tie_set.keys:.3g} of all keys" if scaled else f"top {size:g} keys"
        return self._slope(quantity, before, record, names, at, f"set: {kept}, {origin}")

    def _slope(
        self,
        quantity: str,
        before: LengthRecord,
        record: LengthRecord,
        names: tuple[str, str],
        at: At,
        note: str,
    ) -> Row:
        """Return the slope of a mean on log K between two lengths.

        The lengths are resampled independently. If their sequences share a prefix, the interval is conservative.
        """
        ends = self._estimates[before.length], self._estimates[record.length]
        first, second = (e(name, at) for e, name in zip(ends, names, strict=True))
        if first is None or second is None:
            return _undefined(quantity, f"undefined at prefix length {before.length} or {record.length}")
        run = record.log_keys - before.log_keys
        value = (second.mean - first.mean) / run
        estimate = MeanEstimate(value, None, None, second.n, first.equal and second.equal)
        if not estimate.equal:
            rise = ends[1].resampled_means(names[1], at) - ends[0].resampled_means(names[0], at)
            low, high = (float(end) for end in interval(rise / run))
            estimate = MeanEstimate(value, low, high, second.n, False)
        return _measured(quantity, estimate, False, _joined(f"from prefix length {before.length}", note))

    # ---- critical length -----------------------------------------------------------------------
    def _critical(self, record: LengthRecord, at: At) -> Row:
        quantity, within = "critical_length", self._within(record)
        if not within:
            return _undefined(quantity, NOTHING_WITHIN)
        source = max((r for r in within if not np.isnan(r.tie_set.size[at])), key=_length, default=None)
        if source is None:
            return self._infinite(quantity, "the tie set is all keys for most queries at every length within training")
        growth = self._growth(source, at)
        if growth is not None and growth > PROPORTIONAL:
            return self._infinite(quantity, _grows(growth))
        within_source = record.length <= source.length
        name = "log_critical" if within_source else f"log_critical@{source.length}"
        estimate = self._estimates[record.length](name, at)
        if estimate is None:
            return _undefined(quantity, f"{EVERYTHING}, or the others have no weight")
        if estimate.mean > math.log(LARGEST):
            return self._infinite(quantity, f"beyond {LARGEST:g} keys")
        carried = f"the top {source.tie_set.size[at]:g} keys, as at prefix length {source.length}"
        note = f"in keys, under {'the tie sets of this length' if within_source else carried}"
        note = _joined(note, UNKNOWN_GROWTH if growth is None else "")
        return _measured(quantity, estimate, True, note)

    def _infinite(self, quantity: str, why: str) -> Row:
        known = {"quantity": quantity, "status": "censored", "low": float(self.records[-1].keys)}
        return {**known, "note": f"infinite: {why}"}

    # ---- lengths of log-scaled scores ----------------------------------------------------------
    def _p_bit(self, record: LengthRecord, at: At, bits: int) -> Row:
        return self._from_gamma("p_bit_length", record, at, lambda gamma: p_bit_length(bits, gamma), f"p = {bits}")

    def _hardmax_length(self, record: LengthRecord, at: At) -> Row:
        quantity, growth = "hardmax_length", self._growth(record, at)
        tie = self._estimates[record.length]("log_size", at)
        assert tie is not None
        keys, size = math.exp(record.log_keys), math.exp(tie.mean)
        if growth is None:
            return _undefined(quantity, UNKNOWN_GROWTH)
        if BOUNDED <= growth <= PROPORTIONAL:
            return _undefined(quantity, f"{_grows(growth)}: neither bounded nor in proportion to length")
        if growth < BOUNDED:
            note = f"for a tie set of {size:.3g} keys at every length"
            return self._from_gamma(quantity, record, at, lambda g: hardmax_length(g, self.epsilon, size=size), note)
        if size >= keys:
            return _undefined(quantity, EVERYTHING)
        note = f"for a tie set of {size / keys:.3g} of all keys"
        return self._from_gamma(
            quantity, record, at, lambda g: hardmax_length(g, self.epsilon, share=size / keys), note
        )

    def _from_gamma(
        self, quantity: str, record: LengthRecord, at: At, length: Callable[[float], float], note: str
    ) -> Row:
        """Return a length that follows from gamma = margin_min / log K."""
        estimate = self._estimates[record.length]("margin_min", at)
        if estimate is None:
            return _undefined(quantity, MEANS["margin_min"][2])
        keys = math.exp(record.log_keys)

        def reached(gap: float) -> float:
            return min(max(length(scaling_exponent(gap, keys)), 1.0), LARGEST)

        value = reached(estimate.mean)
        note = f"gamma = {scaling_exponent(estimate.mean, keys):.3g}; {note}"
        if value >= LARGEST:
            return self._infinite(quantity, f"beyond {LARGEST:g} keys; {note}")
        ends = sorted(reached(gap) for gap in (estimate.low, estimate.high) if gap is not None)
        low, high = ends or (None, None)
        return _measured(quantity, MeanEstimate(value, low, high, estimate.n, estimate.equal), False, note)

    # ---- verdict and kind ----------------------------------------------------------------------
    def _verdict(self, record: LengthRecord, at: At) -> list[Row]:
        distances = self._estimates[record.length].values("distance", at)
        verdict = hardmax_verdict(distances, self.epsilon, self.share)
        note = f"value: share of sequences with hardmax_distance <= {self.epsilon:g}"
        if verdict.label == "undecided" and least_hardmax_count(verdict.n, self.share) is None:
            note = _joined(note, f"{verdict.n} sequences are too few to show a hardmax")
        fields = {"quantity": "hardmax_verdict", "label": verdict.label, "value": verdict.share}
        return [
            {**fields, "low": verdict.low, "high": verdict.high, "n": verdict.n, "note": note},
            self._kind(record, at, verdict.label),
        ]

    def _kind(self, record: LengthRecord, at: At, label: str) -> Row:
        quantity = "hardmax_kind"
        if label != "hardmax":
            why = f"only a hardmax has a kind; the verdict is {label}"
            return {"quantity": quantity, "status": "not_applicable", "note": why}
        used = record.queries > 0
        sink = float(np.average(record.values["sink"][(used, *at)], weights=record.queries[used]))
        to_all = float(np.median(self._estimates[record.length].values("distance_to_all", at)))
        growth = self._growth(record, at)
        kind = hardmax_kind(sink, to_all, growth, self.epsilon)
        if kind is None:
            needs = f"a measured length of at most {record.length / 4:g}"
            return _undefined(quantity, f"point, class and growing are told apart by {needs}")
        note = UNKNOWN_GROWTH if growth is None else _grows(growth)
        return {"quantity": quantity, "label": kind, "note": note}

    # ---- other lengths -------------------------------------------------------------------------
    def _before(self, record: LengthRecord) -> LengthRecord | None:
        return max((r for r in self.records if r.length < record.length), key=_length, default=None)

    def _home(self) -> LengthRecord | None:
        """Return the largest measured length within training."""
        trained = -1 if self.trained is None else self.trained
        return max((r for r in self.records if r.length <= trained), key=_length, default=None)

    def _within(self, record: LengthRecord) -> list[LengthRecord]:
        """Return lengths within training, or up to this one if the training length is unknown."""
        limit = record.length if self.trained is None else self.trained
        return [r for r in self.records if r.length <= limit]

    def _growth(self, record: LengthRecord, at: At) -> float | None:
        """Return kappa against n/4, or against the nearest measured length below it; None if there is none.

        Both k* and K are geometric means over the same queries, so that kappa is 1 for uniform attention.
        """
        quarter = max((r for r in self.records if 4 * r.length <= record.length), key=_length, default=None)
        if quarter is None:
            return None
        now, then = (self._estimates[r.length]("log_size", at) for r in (record, quarter))
        assert now is not None
        assert then is not None
        keys = math.exp(record.log_keys), math.exp(quarter.log_keys)
        return growth_exponent(math.exp(now.mean), math.exp(then.mean), *keys)


def nothing_supervised(length: int, law: str, layers: int, heads: int, window: int, names: Sequence[str]) -> list[Row]:
    """Return the rows of a length at which no query of the window is supervised."""
    note = f"no query among the last {window} prefix lengths is supervised"
    return [
        row(law=law, length=length, layer=layer, head=head, quantity=name, status="undefined", n=0, note=note)
        for layer, head in np.ndindex(layers, heads)
        for name in names
    ]


def not_applicable(law: str, layers: int, heads: int, names: Sequence[str], why: str) -> list[Row]:
    """Return rows, one per head, of quantities that this model does not define."""
    return [
        row(law=law, layer=layer, head=head, quantity=name, status="not_applicable", note=why)
        for layer, head in np.ndindex(layers, heads)
        for name in names
    ]


def _measured(quantity: str, estimate: MeanEstimate, logs: bool, note: str) -> Row:
    value, low, high = (
        math.exp(x) if logs and x is not None else x for x in (estimate.mean, estimate.low, estimate.high)
    )  # exp is monotone, so it may act on the ends
    if estimate.equal:
        note = _joined(note, f"all {estimate.n} equal")
    return {"quantity": quantity, "value": value, "low": low, "high": high, "n": estimate.n, "note": note}


def _undefined(quantity: str, why: str) -> Row:
    return {"quantity": quantity, "status": "undefined", "note": why}


def _grows(growth: float) -> str:
    return f"the tie set grows like K to the power {growth:.2f}"


def _length(record: LengthRecord) -> int:
    return record.length


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
