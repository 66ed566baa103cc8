"""What the dashboard keeps of every run's rows: enough for its line on the Runs page, in a few kilobytes.

A folder may hold millions of rows. They are read once per state of a run to make its :class:`Brief`, and again
only when the run is opened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.core.names import BEHAVIOUR, CHALLENGE
from workbench.core.reach import Reach
from workbench.core.verdicts import VERDICTS
from workbench.figures.panels.decodability import CONCEPTS
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.text.decodability_rows import at_longest
from workbench.figures.text.strata_clauses import each_stratum, kind_of, note_of
from workbench.table.last_verdict import verdict_rows
from workbench.table.reading import TableReading
from workbench.table.schema import FIELDS, SEPARATING, TEXTS
from workbench.table.stored_reach import QUANTITIES, VALUES, WHERE, reach_by_step
from workbench.table.wording import in_current_words

T = TypeVar("T")

UNREAD = ("run", "position", "head", "setting", "distinct", "reason")
"""Columns that no brief needs."""
READ = tuple(name for name in FIELDS if name not in UNREAD)
"""Columns that a brief is made of."""
NOT_SERIES = ("control", "site")
"""Text columns that distinguish lines but not series: controls are left out, and all locations of a model are one
series."""
SERIES = ("measurement", "quantity", *(name for name in TEXTS if name in SEPARATING and name not in NOT_SERIES))
"""Columns that distinguish the series of many runs."""
POINT = ("length", "value", "low", "high", "note", "n")
"""Columns of a point of the accuracy curve."""
SMALL = 1 << 20
SeriesLengths: TypeAlias = tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
"""Series with the lengths that each has rows at."""


@lru_cache(maxsize=1024)
def _shared(value: T) -> T:
    """One object for all equal ones: the runs of a study were measured alike, and there are thousands."""
    return value


@lru_cache(maxsize=256)
def _spec(text: str) -> dict[str, Any]:
    return in_current_words(json.loads(text))


class BehaviourNames(NamedTuple):
    """The name of the measurement of a model's behaviour, and the names of its quantities.

    Attributes:
        measurement: the measurement with these rows.
        verdict, accuracy, chance: quantities.
        failure: the quantity of the length from which it fails.
    """

    measurement: str
    verdict: str
    accuracy: str
    chance: str
    failure: str


@dataclass(frozen=True)
class Brief:
    """The essence of a run's rows.

    Attributes:
        rows: how many there are.
        quantities: (measurement, quantity) of everything measured.
        series: of everything measured that has a value, without controls: measurement, quantity, test set, target and
            mode, and the lengths that have rows.
        verdicts: step -> verdict.
        steps: steps with a verdict, or else with any rows, ascending.
        lengths: prefix lengths with an accuracy, or else with any rows, ascending.
        chance: the lowest chance level of the accuracies, 0 where it is not stated.
        accuracy: at the last verdict: length, value, low, high, note and n on the matched test set, by length.
        challenge: the same on the challenge test set; empty where a task has none.
        tokens: at the last verdict, where an answer is several tokens: length -> share of the tokens that are right.
        failure: at the last verdict: test set, value, low, length (the longest tested one) and status of
            each failure.
        reach: at the last verdict: the mean of skill beyond training; None without accuracies.
        ties: at the last verdict: ``label`` and ``note`` of what hard strata add to it, and their ``kind``: what the
            task calls them; empty where nothing is known.
        carries: at the last verdict: of ``summary`` and ``position`` value, low, high, layer, length and the highest
            ``control`` of the reading that the Run page shows too
            (:func:`workbench.figures.text.decodability_rows.at_longest`).
        specs: measurement -> its spec.
        problems: what is damaged and left out, a sentence each.
    """

    rows: int = 0
    quantities: frozenset[tuple[str, str]] = frozenset()
    series: SeriesLengths = ()
    verdicts: Mapping[int, str] = field(default_factory=dict)
    steps: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    chance: float = 0.0
    accuracy: tuple[Mapping[str, Any], ...] = ()
    challenge: tuple[Mapping[str, Any], ...] = ()
    tokens: Mapping[int, float] = field(default_factory=dict)
    failure: tuple[Mapping[str, Any], ...] = ()
    reach: Reach | None = None
    ties: Mapping[str, str] = field(default_factory=dict)
    carries: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    specs: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def measurement_names(self) -> frozenset[str]:
        """Names of the measurements there are rows of."""
        return frozenset(measurement for measurement, _ in self.quantities)

    @property
    def last(self) -> int | None:
        """The last step with a verdict, or None."""
        return max(self.verdicts, default=None)


def make_brief(reading: TableReading, rows: BriefRows, names: BehaviourNames, trained: int) -> Brief:
    """The brief of a run's rows.

    Args:
        reading: what counts of the run.
        rows: the same rows, as columns.
        names: which of them describe the model's behaviour.
        trained: N, the longest trained length.
    """
    specs = {measurement: _spec(text) for measurement, (_, text) in sorted(reading.specs.items())}
    problems = tuple(reading.problems)
    if not rows.table.num_rows:
        return Brief(specs=specs, problems=problems)
    verdicts = _verdicts(rows, names)
    applies = ~rows.where(status="not_applicable")  # such rows have no length: they say why there are no others
    accuracy = rows.where(quantity=names.accuracy) & applies
    last = max(verdicts, default=-1)
    at_last: dict[str, Any] = {"measurement": names.measurement, "step": last}
    here = rows.where(**at_last) & applies
    matched = here & rows.where(law="matched", mode="teacher_forced")
    main = here & rows.where(quantity=names.accuracy, mode="teacher_forced")
    main &= rows.where(law="matched") | rows.where(law=CHALLENGE)
    tokens = matched & rows.where(quantity="token_accuracy")
    chance = rows.table["value"].to_numpy()[rows.where(quantity=names.chance)]
    chance = chance[~np.isnan(chance)]
    # Rows are listed once for all, because listing takes longer than anything that is done with them.
    cells = rows.to_dicts(main | (matched & rows.reach_quantities), *POINT, "quantity", "step", "status", "law")
    on_challenge = _points(cell for cell in cells if cell["law"] == CHALLENGE)
    cells = [cell for cell in cells if cell["law"] != CHALLENGE]
    failed = here & rows.where(quantity=names.failure)
    failure = rows.to_dicts(failed, "law", "value", "low", "length", "status")
    reach = reach_by_step(cells, trained) if names.measurement == BEHAVIOUR else {}
    return Brief(
        rows=rows.table.num_rows,
        quantities=_shared(rows.pairs()),
        series=_shared(rows.series()),
        verdicts=verdicts,
        steps=_shared(tuple(sorted(verdicts)) or rows.distinct("step")),
        lengths=rows.distinct("length", accuracy if accuracy.any() else None),
        chance=float(chance.min()) if len(chance) else 0.0,
        accuracy=_points(cell for cell in cells if cell["quantity"] == names.accuracy),
        challenge=on_challenge,
        tokens={int(row["length"]): row["value"] for row in rows.to_dicts(tokens, "length", "value") if _is_point(row)},
        failure=tuple(failure),
        reach=reach.get(last),
        ties=_ties(rows, last),
        carries=_carries(rows, last),
        specs=specs,
        problems=problems,
    )


class BriefRows:
    """Result rows as numpy columns, with texts as integer codes, because thousands of rows repeat few texts.

    Args:
        table: rows as :data:`workbench.table.parquet.ENCODED`.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table.unify_dictionaries().combine_chunks()
        self._codes: dict[str, tuple[NDArray[Any], dict[str, int]]] = {}

    def where(self, **equals: str | int) -> NDArray[np.bool_]:
        """Return a mask of the rows whose columns equal the given values."""
        keep = np.ones(self.table.num_rows, dtype=bool)
        for column, value in equals.items():
            if isinstance(value, str):
                codes, known = self.codes_of(column)
                keep &= codes == known.get(value, -1)
            else:
                keep &= self.table[column].to_numpy() == value
        return keep

    def codes_of(self, column: str) -> tuple[NDArray[Any], dict[str, int]]:
        """A text column's codes, and the code of each text."""
        if column not in self._codes:
            chunk = self.table[column].chunk(0)
            known = {text: code for code, text in enumerate(chunk.dictionary.to_pylist())}
            self._codes[column] = chunk.indices.to_numpy(zero_copy_only=False), known
        return self._codes[column]

    @cached_property
    def reach_quantities(self) -> NDArray[np.bool_]:
        """A mask of the rows whose quantity enters reach."""
        codes, known = self.codes_of("quantity")
        required = np.zeros(len(known), dtype=bool)
        required[[known[name] for name in QUANTITIES if name in known]] = True
        mask: NDArray[np.bool_] = required[codes]
        return mask

    def reach_rows(self) -> list[dict[str, Any]]:
        """The rows that reach is computed from, at all steps."""
        return self.to_dicts(self.where(**WHERE) & self.reach_quantities, *VALUES)

    def to_dicts(self, keep: NDArray[np.bool_], *columns: str) -> list[dict[str, Any]]:
        """Some columns of the chosen rows, as plain values."""
        places = pa.array(np.flatnonzero(keep))
        if not len(places):
            return []
        values = [self._taken(column, places) for column in columns]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]

    def _taken(self, column: str, places: pa.Array) -> list[Any]:
        """Some values of a column. Texts are looked up by code, because Arrow would copy all different texts first."""
        chunk = self.table[column].chunk(0)
        if column not in TEXTS:
            values: list[Any] = chunk.take(places).to_pylist()
            return values
        texts = list(self.codes_of(column)[1])
        return [None if code is None else texts[code] for code in chunk.indices.take(places).to_pylist()]

    def distinct(self, column: str, keep: NDArray[np.bool_] | None = None) -> tuple[int, ...]:
        """The values of an integer column, ascending, without null."""
        values = self.table[column].to_numpy()
        values = np.unique(values if keep is None else values[keep])
        return tuple(int(value) for value in values if not np.isnan(value))

    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return every pair (measurement, quantity) that occurs."""
        first, measurements = self.codes_of("measurement")
        second, quantities = self.codes_of("quantity")
        here = _different(first.astype(np.int64) * len(quantities) + second)
        names, others = list(measurements), list(quantities)
        return frozenset((names[pair // len(others)], others[pair % len(others)]) for pair in here)

    def series(self) -> SeriesLengths:
        """Return every line that a figure can draw, without controls, with the lengths at which it has rows."""
        keep = np.flatnonzero(self.where(control="") & ~np.isnan(self.table["value"].to_numpy()))
        texts: list[list[str]] = []
        mixed = np.zeros(len(keep), dtype=np.int64)
        for column in SERIES:
            codes, known = self.codes_of(column)
            texts.append(list(known))
            mixed *= len(known)
            mixed += codes[keep]
        own = self.table["length"].fill_null(-1).to_numpy()[keep].astype(np.int64)
        lengths = np.array([value - 1 for value in _different(own + 1)], dtype=np.int64)
        indices_by_code: dict[int, list[int]] = {}
        for pair in _different(mixed * len(lengths) + np.searchsorted(lengths, own)):
            code, place = divmod(pair, len(lengths))
            indices_by_code.setdefault(code, []).append(int(lengths[place]))
        series_list = []
        for code, indices in indices_by_code.items():
            names = []
            for column_texts in reversed(texts):
                code, place = divmod(code, len(column_texts))
                names.append(column_texts[place])
            series_list.append((tuple(reversed(names)), tuple(n for n in indices if n >= 0)))
        return tuple(sorted(series_list))


def _different(values: NDArray[np.int64]) -> list[int]:
    """Every different value of some that are not negative, ascending; where they are small without sorting them."""
    if values.max(initial=0) >= SMALL:
        return [int(value) for value in np.unique(values)]
    there = np.zeros(int(values.max(initial=-1)) + 1, dtype=bool)
    there[values] = True
    return [int(value) for value in np.flatnonzero(there)]


def _is_point(row: Mapping[str, Any]) -> bool:
    """Whether a row is a point of a curve over prefix length."""
    return row["value"] is not None and math.isfinite(row["value"]) and (row["length"] or 0) >= 1


def _points(cells: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The points of an accuracy curve, by length."""
    points = ({name: cell[name] for name in POINT} for cell in cells if _is_point(cell))
    return tuple(sorted(points, key=lambda point: point["length"]))


def _verdicts(rows: BriefRows, names: BehaviourNames) -> dict[int, str]:
    stored = verdict_rows(rows.table, (names.verdict,))
    return {
        row["step"]: row["label"]
        for row in stored
        if row["measurement"] == names.measurement and row["label"] in VERDICTS
    }


def _ties(rows: BriefRows, step: int) -> dict[str, str]:
    kinds = ("near_ties", "stratum_verdict")
    asked = [rows.where(measurement="behaviour", quantity=quantity, step=step) for quantity in kinds]
    if not asked[0].any():
        return {}
    frame = Frame.of(rows.table.take(np.flatnonzero(np.logical_or.reduce(asked))))
    known = next((row for row in frame.where(quantity="near_ties").rows() if row["label"]), None)
    if known is None:
        return {}
    return {"label": str(known["label"]), "note": note_of(known, each_stratum(frame, step)), "kind": kind_of(known)}


def _carries(rows: BriefRows, step: int) -> dict[str, dict[str, float]]:
    """What the Run page reads of the residual stream at a step, chosen by the same function."""
    probed = [
        rows.where(measurement=m, quantity=q, target=t, law="matched", step=step) for m, q, t, _ in CONCEPTS.values()
    ]
    places = np.flatnonzero(np.logical_or.reduce(probed))
    if not len(places):
        return {}
    chosen = rows.table.take(places)
    found = at_longest(Frame.of(chosen), step)
    readings_by_concept = {}
    for concept, one in found.items():
        kept = {name: one.row[name] for name in ("value", "low", "high", "layer", "length")}
        kept["control"] = one.control["value"] if one.control is not None else None
        readings_by_concept[concept] = {name: float(value) for name, value in kept.items() if not missing(value)}
    return readings_by_concept
