"""What a link to the Sweep page means: one quantity, two configuration axes, a step, a length; and what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from workbench.dashboard.state.cursor import Notice, integer
from workbench.dashboard.state.run_brief import SERIES
from workbench.dashboard.state.run_kinds import of_one_kind
from workbench.dashboard.state.run_view import Cache, RunView
from workbench.dashboard.state.series_rows import FIRST, REACH_SERIES, Reading
from workbench.dashboard.state.store import Store
from workbench.figures.labels import whole
from workbench.figures.panels.phase_diagram import REDUCTIONS, TASK, axes_of, axis_title, settings_of, value_text
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.multiples import MULTIPLES, length_at, nearest_share, times_text
from workbench.table.wording import quantity_label

HELD = 24
"""Lengths and multiples of series that are kept."""
LIKELY = ("training.learning_rate", "model.d_model", "model.positions.name", "task.name", "seeds.init")
PAIRS = (("training.learning_rate", "model.d_model"), ("model.positions.name", "task.name"))
"""What runs are usually swept over; the first pair that they do cross is shown at first."""


SHARES = ("1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "3/4")
"""Shares of each run's own training that the step slider may stop at, before its end."""

StepStop = int | str | None
"""A stop of the step slider, as it stands in the link: a step, a share of training (``1/4``), or each run's last."""
Stop = int | str | None
"""A stop of the length slider, as it stands in the link: a length, a multiple of N (``8x``), or none."""
SWEEP_KEYS = ("quantity", "x", "y", "step", "len", "fix", "over")
"""Keys that a link to the Sweep page may have."""
MOST_VALUES = 12
"""Axes with more values than this are not offered for holding fixed: a menu of them would hold nothing else."""


ORIGIN = "origin"
"""The axis of where weights come from: trained, compiled or adopted."""

MANY_VALUES = 60
"""An axis with more values than this is shown only on request."""


@dataclass(frozen=True)
class SweepQuery:
    """The selection that the Sweep page shows.

    Attributes:
        series: measurement, quantity, test set, target and mode.
        x: configuration axis to the right.
        y: configuration axis upwards.
        step: the last step that counts, or None for each run's last.
        length: prefix length, or None if the quantity has no length or ``times`` gives it.
        times: in place of a length, a multiple of each run's N.
        fixed: fixed configuration axes, each with its value as text.
        over: how layers and heads of a run become one value.
        share: in place of a step, a share of each run's training.
    """

    series: tuple[str, ...]
    x: str
    y: str
    step: int | None
    length: int | None
    times: float | None = None
    fixed: tuple[tuple[str, str], ...] = ()
    over: str = "mean"
    share: float | None = None

    @property
    def step_stop(self) -> StepStop:
        """Return the position of the page's step slider."""
        return self.step if self.share is None else str(Fraction(self.share).limit_denominator(64))

    @property
    def stop(self) -> Stop:
        """Return the position of the page's length slider."""
        return self.length if self.times is None else f"{self.times:g}x"

    def address_parts(self, default: Sequence[tuple[str, str]] = ()) -> dict[str, str]:
        """Return the parts of the page's address, without values that are the defaults.

        Args:
            default: the axes that are fixed by default (:meth:`Choices.fixed`).
        """
        parts = {"quantity": "|".join(self.series), "x": self.x, "y": self.y}
        parts |= {"step": str(self.step_stop)} if self.step_stop is not None else {}
        parts |= {"len": str(self.stop)} if self.stop is not None else {}
        fixed = "|".join(f"{axis}={value}" for axis, value in self.fixed)
        parts |= {} if self.fixed == tuple(default) else {"fix": fixed}
        return parts | ({"over": self.over} if self.over != "mean" else {})


def choices_of(store: Store) -> Choices:
    """Return what can be chosen on the Sweep page for the runs in this folder, computed once for each state of the
    folder.
    """
    return _choices(store, tuple((name, run.rows_version) for name, run in store.comparable_runs().items()))


@lru_cache(maxsize=2)
def _choices(store: Store, _: tuple[tuple[str, str], ...]) -> Choices:
    return Choices(store)


class Choices:
    """What can be chosen on the Sweep page for the runs in this folder.

    Args:
        store: all runs.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._held: Cache[Any] = Cache(HELD)
        configs = {name: run.config for name, run in store.comparable_runs().items()}
        # Flattened once: what draws from them flattens them for each axis again, which then costs little.
        self.configs = {name: settings_of(config) for name, config in configs.items()}
        runs = self._swept()
        self.swept = {run.name: self.configs[run.name] for run in runs if run.name in self.configs}
        self.left_out = len(configs) - len(self.swept)
        axes = axes_of(configs)
        self.values = {name: {value_text(v): v for v in values} for name, values in axes.items()}
        order = {name: place for place, name in enumerate(LIKELY)}
        self.main_task = self._main_task()
        shown = [config for config in self.swept.values() if self._shown_at_first(config)]
        first = next((pair for pair in PAIRS if _cross(pair, shown)), ())
        differ = {name for name in axes if len({config.get(name) for config in shown}) > 1}
        # Of axes with a value for nearly every run a diagram shows nothing: they come last. Those in which the runs
        # that are shown at first are alike come after those in which they differ.
        listed = sorted(
            axes,
            key=lambda name: (len(axes[name]) > MANY_VALUES, name not in differ, order.get(name, len(order)), name),
        )
        found = [*first, *(name for name in listed if name not in first)]
        few = [name for name in found if len(axes[name]) <= MANY_VALUES]
        self.axes = list(dict.fromkeys([*few, *(() if len(few) > 1 else ("task.name", "seeds.init")), *found]))
        pairs = {pair for run in runs for pair in run.brief.quantities}
        if any(run.brief.reach is not None and run.brief.reach.value is not None for run in runs):
            pairs.add((REACH_SERIES[0], REACH_SERIES[1]))
        self.pairs = sorted(pairs)
        self.steps = sorted({step for run in runs for step in run.measured_steps})
        self.shares = _shares({run.measured_steps for run in runs})
        self.last = _ends(run.measured_steps[-1] for run in runs if run.measured_steps)
        self.trained = _ends(run.trained for run in runs)
        self.chances = {run.name: run.brief.chance for run in runs if ("behaviour", "chance") in run.brief.quantities}

    def fixed(self, x: str, y: str) -> tuple[tuple[str, str], ...]:
        """Return the settings that are fixed unless the address sets them otherwise: trained runs where there are
        compiled ones too, and the task with the most runs.
        """
        held = [(ORIGIN, "trained")] * self._compiled_too + [(TASK, self.main_task)] * bool(self.main_task)
        return tuple((axis, value) for axis, value in held if axis not in (x, y))

    @property
    def _compiled_too(self) -> bool:
        """Whether there are compiled runs next to trained ones."""
        return {"trained", "compiled"} <= self.values.get(ORIGIN, {}).keys()

    def _main_task(self) -> str:
        """The task, as text, that most of the measured runs have, the first by name of several; "" where there is only
        one task, or where no task has two runs.
        """
        runs = self.store.comparable_runs()
        counted = Counter(
            value_text(config[TASK])
            for name, config in self.swept.items()
            if TASK in config and name in runs and runs[name].brief.verdicts
            if not self._compiled_too or config[ORIGIN] == "trained"
        )
        if len(self.values.get(TASK, ())) < 2 or max(counted.values(), default=0) < 2:
            return ""
        return min(counted, key=lambda task: (-counted[task], task))

    def _shown_at_first(self, config: Mapping[str, Any]) -> bool:
        """Whether a run has the settings that are fixed by default."""
        return all(config.get(axis) == value for axis, value in self.fixed_values(self.fixed("", "")).items())

    def _swept(self) -> list[RunView]:
        """The runs that stand in one diagram."""
        return of_one_kind(self.store.comparable_runs().values())

    def rows(self, sweep: SweepQuery, wait: bool = True) -> Frame | Reading:
        """Return, for each run, the rows of the selected line at the selected step and length, without controls.

        Args:
            sweep: what the page shows.
            wait: until they have been read; else how far their reading is, if that takes long.
        """
        series_rows = self.store.series(sweep.series, wait)
        if isinstance(series_rows, Reading):
            return series_rows
        runs = self.store.comparable_runs()
        trained = {name: runs[name].trained if name in runs else 0 for name in series_rows.runs}
        held = series_rows.frame(
            step=sweep.step, length=sweep.length, times=sweep.times, trained=trained, share=sweep.share
        )
        return held.where(run=list(self.swept)) if self.left_out and len(held) else held

    def lasts(self, series: Sequence[str]) -> Mapping[str, int]:
        """Run -> the last step of its rows of a series, which is the whole of its training there."""
        found = self.store.series(series, wait=True)
        return {} if isinstance(found, Reading) else found.lasts

    def step_stops(self, relative: bool) -> list[StepStop]:
        """Return the stops of the step slider before its end: steps, or shares of training."""
        return list(self.shares) if relative else list(self.steps)

    def lengths(self, series: Sequence[str]) -> list[int]:
        """The prefix lengths that any run has the series at; empty where it has none."""
        found: list[int] = self._held(("lengths", *series), lambda: sorted({n for n, _ in self._measured(series)}))
        return found

    def multiples(self, series: Sequence[str]) -> list[float]:
        """Return the multiples of N, the longest trained length, at which any run was measured."""
        found: list[float] = self._held(("multiples", *series), lambda: self._multiples(series))
        return found

    def _multiples(self, series: Sequence[str]) -> list[float]:
        held: dict[int, set[int]] = {}
        for length, trained in self._measured(series):
            held.setdefault(trained, set()).add(length)
        return [t for t in MULTIPLES if any(length_at(own, n, t) is not None for n, own in held.items())]

    def _measured(self, series: Sequence[str]) -> set[tuple[int, int]]:
        """(length, N) of all runs that have the series; runs with equal measurements share the result."""
        wanted, alike = tuple(series), {(run.brief.series, run.trained) for run in self._swept()}
        return {(n, trained) for every, trained in alike for one, lengths in every if one == wanted for n in lengths}

    def stops(self, series: Sequence[str], relative: bool) -> list[Stop]:
        """The stops of the length slider: lengths, or multiples of N."""
        return [f"{times:g}x" for times in self.multiples(series)] if relative else list(self.lengths(series))

    def fixed_values(self, fixed: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the fixed settings with their values."""
        return {axis: self.values[axis][value] for axis, value in fixed}

    def series(self, measurement: str, quantity: str) -> list[tuple[str, ...]]:
        """The series of a quantity, the most common test set, target and mode first."""
        found: list[tuple[str, ...]] = self._held(
            ("series", measurement, quantity), lambda: self._series(measurement, quantity)
        )
        return found

    def _series(self, measurement: str, quantity: str) -> list[tuple[str, ...]]:
        if (measurement, quantity) == REACH_SERIES[:2]:
            return [REACH_SERIES]
        alike = {run.brief.series for run in self._swept()}
        listed = {one for every in alike for one, _ in every if one[:2] == (measurement, quantity)}
        return sorted(listed, key=lambda one: (one != FIRST, one[2] != "matched", one[4] != "transfer", one))


def _cross(pair: tuple[str, str], configs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every run has a value on both axes, and a third or more of their cells have a run."""
    places = [tuple(config.get(name) for name in pair) for config in configs]
    sides = [len({place[k] for place in places}) for k in (0, 1)]
    return (
        min(sides, default=0) > 1 and not any(None in p for p in places) and 3 * len({*places}) >= sides[0] * sides[1]
    )


def _shares(measured: Iterable[Sequence[int]]) -> list[str]:
    """The shares of training near which any run has a checkpoint."""
    near = [{step: step / steps[-1] for step in steps[:-1] if step} for steps in measured if steps]
    return [share for share in SHARES if any(nearest_share(one, float(Fraction(share))) is not None for one in near)]


def _ends(values: Iterable[int]) -> tuple[int, int]:
    listed = sorted(values) or [0]
    return listed[0], listed[-1]


def read(asked: Mapping[str, str], choices: Choices) -> tuple[SweepQuery, list[Notice]]:
    """Return the selection that an address makes, with a notice for each part that the runs do not have."""
    notices: list[Notice] = []

    def refuse(what: str, stop_text: str) -> None:
        notices.append(
            Notice(f"This link names {what}, which no run here has.", f"The page shows {stop_text}.", "Keep")
        )

    series = _series(asked.get("quantity", ""), choices, refuse)
    axes = []
    for place, key in enumerate(("x", "y")):
        default = next((name for name in choices.axes if name not in axes), choices.axes[place % len(choices.axes)])
        wanted = asked.get(key, default)
        if wanted not in choices.axes:
            refuse(f"the axis {wanted}", axis_title(default))
            wanted = default
        axes.append(wanted)
    stop = kept_stop(asked.get("len"), choices, series)
    if "len" in asked and str(stop) != asked["len"]:
        stop_text = "a quantity without lengths" if stop is None else f"{'length ' * isinstance(stop, int)}{stop}"
        refuse(quoted_value("length", asked["len"]), stop_text)
    fixed = [] if "fix" in asked else list(choices.fixed(axes[0], axes[1]))
    for part in filter(None, asked.get("fix", "").split("|")):
        axis, _, value = part.partition("=")
        if value in choices.values.get(axis, ()):
            fixed.append((axis, value))
        else:
            refuse(f"the fixed setting {part[:60]}", "all of its values")
    share = float(Fraction(asked["step"])) if asked.get("step") in choices.shares else None
    step = _step(asked.get("step"), choices.steps, refuse) if share is None else None
    over = asked.get("over", "mean")
    if over not in REDUCTIONS:
        refuse(f"\u201c{over}\u201d over layers and heads", "the mean")
        over = "mean"
    length, times = parse_stop(stop)
    return SweepQuery(series, axes[0], axes[1], step, length, times, tuple(fixed), over, share), notices


def parted_step(stop: StepStop) -> tuple[int | None, float | None]:
    """A stop of the step slider as a step or as a share."""
    return (None, float(Fraction(stop))) if isinstance(stop, str) else (stop, None)


def parse_stop(stop: Stop) -> tuple[int | None, float | None]:
    """A stop as a length or as a multiple."""
    return (None, float(stop[:-1])) if isinstance(stop, str) else (stop, None)


def kept_stop(asked: str | int | None, choices: Choices, series: Sequence[str]) -> Stop:
    """Return the requested length if the quantity is measured there; otherwise the largest measured multiple of N, or
    the longest length.

    Multiples come first: runs with different N are comparable at equal multiples of N.
    """
    every = [*choices.stops(series, True), *choices.stops(series, False)]
    wanted = next((stop for stop in every if str(stop) == str(asked)), None)
    if wanted is not None or not every:
        return wanted
    relative = choices.stops(series, True)
    return relative[-1] if relative and (asked is None or not str(asked).isdecimal()) else choices.lengths(series)[-1]


def stop_text(stop: Stop) -> str:
    """Return a stop of the length slider in words."""
    length, times = parse_stop(stop)
    return times_text(times) if times is not None else whole(length)


def _step(text: str | None, steps: Sequence[int], refuse: Any) -> int | None:
    """The step that a link names, else the nearest earlier one that some run is measured at: the same cells."""
    if text is None:
        return None
    step = integer(text)
    if step is None or not steps:
        refuse(quoted_value("step", text), "each run’s last")
        return None
    if step in steps:
        return step
    shown = max((one for one in steps if one < step), default=steps[0])
    refuse(quoted_value("step", text), f"step {whole(shown)}, the {'nearest earlier' if shown < step else 'first'} one")
    return shown


def quoted_value(noun: str, text: str) -> str:
    number = integer(text)
    return f"{noun} “{text[:40]}”" if number is None else f"{noun} {whole(number)}"


def _series(text: str, choices: Choices, refuse: Any) -> tuple[str, ...]:
    wanted = tuple(text.split("|"))
    if len(wanted) == len(SERIES) and wanted[:2] in choices.pairs and wanted in choices.series(*wanted[:2]):
        return wanted
    pairs = [pair for pair in (FIRST[:2], *choices.pairs) if pair in choices.pairs]
    known = next((found for pair in pairs if (found := choices.series(*pair))), [FIRST])
    if text:
        refuse(f"the quantity {text}", series_name(known[0]))
    return known[0]


def series_name(series: Sequence[str]) -> str:
    quantity = quantity_label(series[1])
    rest = [part.replace("_", " ") for part in series[2:] if part not in ("", "matched", "teacher_forced")]
    return f"{quantity} ({', '.join(rest)})" if rest else quantity
