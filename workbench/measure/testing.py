"""The rules for measurements, as checks that an author runs: ``check_measurement(MyMeasurement)``.

Each check yields sentences that state what is wrong and how to correct it. The built-in measurements pass the same
checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.canonical import canonical
from workbench.core.errors import LensError
from workbench.measure.measurement import Grid, Measurement, Quantity
from workbench.measure.model_study import run
from workbench.measure.refuse_rows import RowsError
from workbench.measure.running.applicable import lacking
from workbench.measure.settings import MeasurementError
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig
from workbench.models.base.protocol import HookedModel
from workbench.table.schema import FIELDS, STATUSES, Row, to_arrow
from workbench.tasks.base import EVALUATION_LAWS, Task
from workbench.tasks.counting.majority import Majority
from workbench.tasks.retrieval.kgram import KGramRetrieval

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_ROUNDING = 1e-9
SEEDS = (0, 1)


class CheckError(LensError, AssertionError):
    """A measurement breaks rules for measurements; the message has a line for each problem."""


@dataclass(frozen=True)
class TrialSubject:
    """A model on which a measurement is tried.

    Attributes:
        model: the model.
        task: the task whose sequences it receives.
        trained: N, the longest trained length.
        lengths: prefix lengths, including N and some beyond N.
        untrained: the same architecture before training.
    """

    model: HookedModel
    task: Task
    trained: int = 8
    lengths: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    untrained: HookedModel | None = None

    @classmethod
    def of(cls, task: Task, architecture: str = "transformer", **options: Any) -> TrialSubject:
        """Return a small model with random weights for a task, at the nearest lengths that the task has."""
        made = [_small(task, architecture, seed, options) for seed in (1, 0)]
        trained = task.next_length(8)
        lengths = sorted({task.next_length(trained * factor) for factor in (0.25, 0.5, 1, 2, 4, 8)})
        return cls(made[0], task, trained, tuple(lengths), made[1])

    def lengths_for(self, measurement: Measurement) -> tuple[int, ...]:
        """Return the lengths that a measurement accepts: all of them, or those from N on."""
        past = tuple(n for n in self.lengths if n >= self.trained)
        grid = Grid(self.trained, self.lengths, (self.trained,), past[1:], self.lengths)
        return past if measurement.why_not_measured(grid) else self.lengths


def _small(task: Task, architecture: str, seed: int, options: Mapping[str, Any]) -> HookedModel:
    sizes: dict[str, Any] = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 2, "n_ctx": 128}
    if architecture == "ssm":
        scan: HookedModel = HookedSSM(SSMConfig(**{**sizes, "d_model": 8, **options}), seed=seed).eval()
        return scan
    wide = {"d_model": 16, "n_heads": 2, "positions": "learned", "initializer_range": 0.5}
    model: HookedModel = HookedTransformer(ModelConfig(**{**sizes, **wide, **options}), seed=seed).eval()
    return model


def subjects() -> list[TrialSubject]:
    """Return the default models for trials: transformers on retrieval and counting, a state-space model on counting."""
    retrieval, count = KGramRetrieval(k=1, symbols=3), Majority()
    return [TrialSubject.of(retrieval, log_scaling="all"), TrialSubject.of(count), TrialSubject.of(count, "ssm")]


@dataclass(frozen=True)
class Trial:
    """The rows of a measurement on one subject.

    Attributes:
        made: the measurement.
        subject: the model and task.
        rows: its rows with the first seed.
        again: its rows in a second run with the first seed.
        other: its rows with another seed; None if another subject has shown that the seed changes rows.
    """

    made: Measurement
    subject: TrialSubject
    rows: Sequence[Row]
    again: Sequence[Row]
    other: Sequence[Row] | None


def check_measurement(
    measurement: type[Measurement],
    settings: Mapping[str, Any] | None = None,
    on: Sequence[TrialSubject] | None = None,
    sequences: int = 160,
) -> None:
    """Run all checks on a measurement, on small models.

    Args:
        measurement: the class.
        settings: settings of the trials, e.g. few resamples. Default settings are checked without a model.
        on: the models; None = :func:`subjects`. If a quantity has rows only for some tasks, include such a task.
        sequences: sequences per test set and length.

    Example:

        >>> from workbench.measure.gradient_alignment import Dynamics
        >>> check_measurement(Dynamics, {"resamples": 20}, sequences=32)

    Raises:
        CheckError: with every failed check and how to correct it.
    """
    problems = [f"declaration: {problem}" for problem in declaration(measurement)]
    if not problems:
        problems = [f"settings: {problem}" for problem in round_trip(measurement, settings or {})]
    if not problems:
        try:
            trials, problems = _trials(measurement, settings or {}, subjects() if on is None else on, sequences)
        except RowsError as error:
            trials, problems = [], [f"rows: {error}"]
        problems += [f"{name}: {problem}" for name, check in CHECKS.items() for problem in check(trials)]
    if problems:
        raise CheckError("\n".join([f"{getattr(measurement, 'name', measurement.__name__)}:", *problems]))


def declaration(cls: type[Measurement]) -> Iterator[str]:
    """Yield what is missing or wrong in the class variables that the glossary needs."""
    for part in ("name", "title", "quantities"):
        if not getattr(cls, part, None):
            yield f"it does not say its {part}: set the class variable {part}"
            return
    if not _NAME.fullmatch(cls.name):
        yield f"the name {cls.name!r} should be lower-case words with dots between, e.g. mine.longest"
    if not isinstance(cls.version, int) or cls.version < 1:
        yield f"the version {cls.version!r} should be a whole number from 1"
    for law in cls.laws:
        if law not in EVALUATION_LAWS:
            yield f"there is no law {law!r}: laws are {' and '.join(EVALUATION_LAWS)}"
    names = [quantity.name for quantity in cls.quantities]
    yield from (f"the quantity {name} is declared twice" for name in sorted({n for n in names if names.count(n) > 1}))
    for quantity in cls.quantities:
        if not quantity.definition or not quantity.unit:
            yield f"{quantity.name} needs a definition and a unit, for the glossary"
        if quantity.low is not None and quantity.high is not None and quantity.low >= quantity.high:
            yield f"{quantity.name} lies between {quantity.low} and {quantity.high}: low must be below high"
        if quantity.where and not quantity.formula:
            yield f"{quantity.name} says what letters are (where) of no formula"


def round_trip(cls: type[Measurement], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence if settings change when stored and read back, or an error does not name an invalid one."""
    for settings in ({}, given):
        try:
            measurement = cls(**settings)
            stored = json.loads(canonical(measurement.spec.settings))
            again = cls(**stored)
        except (MeasurementError, TypeError, ValueError) as error:
            yield f"{dict(settings)} cannot be made, stored as JSON and made again: {error}"
            return
        if again.spec != measurement.spec or json.loads(canonical(again.spec.settings)) != stored:
            yield f"made again of its stored settings {stored} it has others: {dict(again.spec.settings)}"
    for field in (*cls.model_fields, "no_such_setting"):
        try:
            cls(**{field: object()})
        except MeasurementError as error:
            if field not in str(error):
                yield f"the refusal of {field} does not name it: {error}"
        else:
            yield f"{field} takes anything: give the field a type, e.g. one of workbench.measure.settings"


def _trials(
    cls: type[Measurement], settings: Mapping[str, Any], on: Sequence[TrialSubject], sequences: int
) -> tuple[list[Trial], list[str]]:
    whys = [lacking(cls(**settings), subject.model) for subject in on]
    able = [subject for subject, why in zip(on, whys, strict=True) if not why]
    if not able:
        return [], [f"trial: no model that it is tried on fits ({whys[0]}): give one that does, on=[TrialSubject(...)]"]
    trials: list[Trial] = []
    for subject in able:

        def rows(seed: int, subject: TrialSubject = subject) -> Sequence[Row]:
            made = cls(**settings)
            lengths = subject.lengths_for(made)
            options: dict[str, Any] = {"trained": subject.trained, "lengths": lengths, "untrained": subject.untrained}
            # The checks list all undeclared rows, not only the first.
            return run(made, subject.model, subject.task, sequences=sequences, seed=seed, refuse=False, **options).rows

        first, again = rows(SEEDS[0]), rows(SEEDS[0])
        # One subject is enough to show that the seed changes rows.
        other = None if any(_moves(trial) for trial in trials) else rows(SEEDS[1])
        trials.append(Trial(cls(**settings), subject, first, again, other))
    return trials, []


def _moves(trial: Trial) -> bool:
    """Return whether rows with intervals differ between the two seeds."""
    return (
        trial.other is not None
        and any(_wide(r) for r in trial.rows)
        and _but_settings(trial.rows) != _but_settings(trial.other)
    )


def _but_settings(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without the column that contains their seed."""
    return [{name: value for name, value in row.items() if name != "setting"} for row in rows]


def deterministic(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield a sentence if equal seeds give different rows, or different seeds give equal rows."""
    for trial in trials:
        if trial.rows != trial.again:
            yield (
                f"two runs with one seed differ on {trial.subject.task.name} ({_difference(trial.rows, trial.again)}): "
                "draw from study.rng(name, ...) alone, and keep nothing on the class"
            )
    if any(_wide(r) for trial in trials for r in trial.rows) and not any(_moves(trial) for trial in trials):
        yield "another seed gives the same rows, though they have intervals: are strings or draws taken from the study?"


def _wide(r: Row) -> bool:
    return r["low"] is not None and r["high"] is not None and r["low"] < r["high"]


def _difference(first: Sequence[Row], second: Sequence[Row]) -> str:
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} rows"
    return next(
        f"{a['quantity']}.{name} is {a[name]!r} and {b[name]!r}"
        for a, b in zip(first, second, strict=True)
        for name in FIELDS
        if a[name] != b[name]
    )


def complete(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield a sentence for each declared quantity without rows, and for each quantity of rows that is not declared."""
    if not trials:
        return
    declared = {quantity.name: quantity for quantity in trials[0].made.quantities}
    present = {r["quantity"] for trial in trials for r in trial.rows}
    for name in declared:
        if name not in present:
            yield (
                f"{name} is declared and has no row, not even one that says why: make one with a status and a note, "
                "or give a subject that has it, on=[TrialSubject(...)]"
            )
    yield from (f"rows hold {name}, which is not declared: add a Quantity" for name in sorted(present - {*declared}))
    beside = {(r["quantity"], r["control"]) for trial in trials for r in trial.rows}
    # A quantity that applies to no subject has no control either.
    fitting = {r["quantity"] for trial in trials for r in trial.rows if r["status"] != "not_applicable"}
    for quantity in declared.values():
        for control in quantity.controls:
            if quantity.name in fitting and (quantity.name, control) not in beside:
                yield f"{quantity.name} declares the control {control}, which has no row: make it, or declare it not"
    for name, control in sorted(beside):
        if control and name in declared and control not in declared[name].controls:
            yield f"rows of {name} hold the control {control!r}, which is not declared: add it to Quantity.controls"


def sound(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what is wrong with rows: a column of the table, a status, or a value outside its quantity's bounds."""
    for trial in trials:
        try:
            to_arrow(trial.rows)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            yield f"rows do not fit the table ({error}): make them with workbench.table.schema.row"
            return
        quantities = {quantity.name: quantity for quantity in trial.made.quantities}
        reported: set[str] = set()
        for r in trial.rows:
            quantity = quantities.get(r["quantity"])
            problem = "" if quantity is None else _problem(r, quantity, trial.subject)
            if problem and problem not in reported:
                reported.add(problem)
                yield f"{r['quantity']} on {trial.subject.task.name} {problem}"


def _problem(r: Row, quantity: Quantity, subject: TrialSubject) -> str:
    """Return what is wrong with a row and how to correct it, or ""."""
    value, low, high = r["value"], r["low"], r["high"]
    numbers = [x for x in (value, low, high) if x is not None]
    if any(x != x for x in numbers):
        return "is NaN: give the row a status that says why, and no value"
    if r["status"] not in STATUSES:
        return f"has the status {r['status']!r}; there are {', '.join(STATUSES)}"
    if value is None and not r["label"]:
        if r["status"] in ("ok", "sampled"):
            return f"has no value and the status {r['status']}: say undefined, censored or not_applicable"
        if not r["note"]:
            return "has no value and no note: say in one clause why"
    if quantity.unit == "label" and r["status"] == "ok" and not r["label"]:
        return "is a label and has none: put it into the column label"
    for x in (x for x in numbers if x is not low or r["status"] != "censored"):
        if quantity.low is not None and x < quantity.low - _ROUNDING:
            return f"is {x}, below {quantity.low}, which it declares as its lowest"
        if quantity.high is not None and x > quantity.high + _ROUNDING:
            return f"is {x}, above {quantity.high}, which it declares as its highest"
    if low is not None and high is not None:
        # The bootstrap interval of a statistic other than a mean may exclude it, but not by far.
        slack = high - low + _ROUNDING
        if low > high + _ROUNDING or (value is not None and not low - slack <= value <= high + slack):
            return f"is {value} and its interval goes from {low} to {high}"
    if value is not None and r["length"] is not None and r["length"] not in subject.lengths:
        return f"is at length {r['length']}, which was not asked for: lengths are those of study.grid"
    if r["layer"] is not None and not -1 <= r["layer"] < subject.model.cfg.n_layers:
        return f"is at layer {r['layer']}, which the model does not have"
    if r["n"] is not None and r["n"] < 0:
        return f"has n = {r['n']}: n counts sequences"
    return ""


def with_intervals(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield a sentence where values lack the intervals that their quantities declare.

    Values of weights, and values of a single sequence, need no interval.
    """
    quantities = {quantity.name: quantity for trial in trials for quantity in trial.made.quantities}
    for name, quantity in quantities.items():
        every = [r for trial in trials for r in trial.rows if r["quantity"] == name and r["value"] is not None]
        valued = [r for r in every if (r["law"] or r["n"] is not None) and r["n"] != 1]
        bare = [r for r in valued if r["low"] is None or r["high"] is None]
        if not quantity.interval:
            if any(_wide(r) for r in valued):
                yield f"{name} declares interval=False, and has intervals"
        elif any(not r["note"] for r in bare):
            yield (
                f"{name} has values without an interval: give low and high (workbench.measure.rows makes them), a note "
                "that says why there is none, or declare interval=False where the value is exact"
            )
        elif valued and len(bare) == len(valued):
            yield f"{name} never has an interval: give one, or declare interval=False"
        elif every and not any(r["law"] or r["n"] is not None or r["note"] or _wide(r) for r in every):
            yield f"{name} is of weights alone and has no interval: declare interval=False"


CHECKS: Mapping[str, Callable[[Sequence[Trial]], Iterator[str]]] = {
    "determinism": deterministic,
    "quantities": complete,
    "rows": sound,
    "intervals": with_intervals,
}
"""The checks of trials, by name."""
