"""What a panel is: a figure function, its rows, and the parts of the selection (step, length, head) that it uses.

A panel draws nothing itself. The same names make the figure, the table, CSV and Parquet, the exported picture
and the snippet that reproduces it, so that these cannot differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from workbench.dashboard.state.chosen_configurations import Configuration, choose_configurations
from workbench.dashboard.state.cursor import Cursor, axis_of, default_step, nearest_earlier
from workbench.dashboard.state.forks import describe_forks
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store, pair
from workbench.figures import figure_by_name, in_multiples
from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look, Theme
from workbench.figures.panels.phase_colours import SAME_CHANCE
from workbench.figures.registry import Figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.multiples import LengthAxis, StepPairing, partners, step_partners
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import cell_edges, u_length
from workbench.table.damage import blaming_damage

VALUES: Mapping[str, str] = {
    "trained": "", "axis": "", "pairing": "", "floor": "", "chance": "", "trained_each": "",
    "trained_b": "", "checkpoints": "", "checkpoints_b": "",
    "step": "step", "step_b": "step", "configurations": "step", "length": "length", "length_b": "length",
    "run": "", "layer": "head", "head": "head", "measurement": "extras", "quantity": "extras", "connection": "extras",
    "pins": "extras", "effect": "extras", "forks": "",
}  # fmt: skip
"""Argument of a figure function -> the part of the selection, or of the address, that it depends on."""
BASE_SIZE = 11
"""Type size the figures' margins are made for."""
SIZE = (640, 360)
"""Width and height of an exported picture."""

TABLE_CODE = "Table.load({path}).frame()"
LOG_CODE = "read_log({path})"
IMPORTS = {"Table": "from workbench.table import Table", "read_log": "from workbench.runs.log import read_log"}


@dataclass(frozen=True)
class PanelCursor:
    """What a panel is drawn for: a selection in a run and, on the Compare page, a second run.

    Attributes:
        run: A.
        cursor: the selection in A.
        other: B, or None.
        store: all runs, for panels about more than two.
        extras: other keys of the page's address.
    """

    run: RunView
    cursor: Cursor
    other: RunView | None = None
    store: Store | None = None
    extras: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_link(cls, store: Store, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> PanelCursor:
        """Return the state that the address of a page gives. The key ``run2`` in it names the second run."""
        run, other = pair(store, run, extras)
        return cls(run, cursor, other, store, extras)

    def blaming_damage(self) -> AbstractContextManager[None]:
        """Return a context for reading rows of these runs. Errors inside it name damaged rows as the cause, instead of
        a defect of LengthLens.
        """
        runs = [self.run, *([self.other] if self.other is not None else [])]
        return blaming_damage(lambda: ((run.name, run.damage) for run in runs), passes=(NotMeasured,))

    @cached_property
    def other_side(self) -> PanelCursor:
        """Return the corresponding selection in the second run, by one rule for all comparisons.

        If A is at its last measured step, so is B. Otherwise B is at the same share of its training, or at the same
        step if the page pairs by steps. If B has no such checkpoint, its nearest earlier one is taken. Lengths are
        paired by :func:`workbench.figures.rows.multiples.partners`; a length of A without a partner stays, and B shows
        nothing there.
        """
        b = self.other or self.run
        last = self.cursor.step == default_step(self.run)
        share = self.cursor.step / max(default_step(self.run), 1) if self.pairing == "share" else 1.0
        wanted = round(share * default_step(b)) if self.pairing == "share" else self.cursor.step
        paired = step_partners(self.run.measured_steps, b.measured_steps, self.pairing).get(self.cursor.step)
        step = default_step(b) if last else nearest_earlier(b.steps, wanted) if paired is None else paired
        pairs = partners(self.run.lengths, self.run.trained, b.lengths, b.trained, self.axis)
        length = pairs.get(self.cursor.length, self.cursor.length)
        layer, head = self.cursor.layer, self.cursor.head
        if layer is not None and head is not None:
            layer, head = min(layer, b.n_layers - 1), min(head, b.n_heads - 1)
        cursor = replace(self.cursor, run=b.name, step=step, length=length, layer=layer, head=head)
        return PanelCursor(b, cursor, self.run, self.store, self.extras)

    @cached_property
    def configurations(self) -> Sequence[Configuration]:
        """Return the configurations that are compared, A's first; empty unless the address chooses them."""
        asked = self.extras.get("configs", "")
        return choose_configurations(self.store, self.run, asked)[0] if asked and self.store is not None else ()

    @cached_property
    def configuration_values(self) -> dict[str, Any]:
        """Return the arguments that a figure of several configurations may take: see :attr:`values`.

        The selection of every seed follows the rule of :attr:`beside`.
        """
        placed = {
            configuration.letter: {
                run.name: replace(self, other=run).other_side.cursor.step for run in configuration.runs
            }
            for configuration in self.configurations
        }
        chances = [run.brief.chance for configuration in self.configurations for run in configuration.runs]
        same = bool(chances) and max(chances) - min(chances) < SAME_CHANCE
        return {
            "configurations": placed,
            "trained_each": {
                configuration.letter: configuration.runs[0].trained for configuration in self.configurations
            },
            "chance": self.run.brief.chance if same else None,
        }

    @property
    def lines_beside(self) -> dict[str, float]:
        """Return the step and the length at which lines are drawn in the figures of the second run.

        A length without a partner has a line too: at the same multiple of B's N, or number of tokens, as in A.
        """
        b = self.other_side
        pairs = partners(self.run.lengths, self.run.trained, b.run.lengths, b.run.trained, self.axis)
        times = b.run.trained / self.run.trained if self.axis == "times" and self.run.trained else 1.0
        return {"step": b.cursor.step, "length": pairs.get(self.cursor.length, self.cursor.length * times)}

    @property
    def stops_beside(self) -> dict[str, list[float]]:
        """Return, for each step and each length of the first run, the position of the lines in figures of the second
        run.

        A click in a drawing of B then selects the step and length of A that correspond to it.
        """

        def lines_at(**moved: Any) -> dict[str, float]:
            return replace(self, cursor=replace(self.cursor, **moved)).lines_beside

        return {
            "step": [lines_at(step=step)["step"] for step in self.run.steps],
            "length": [lines_at(length=length)["length"] for length in self.run.lengths],
        }

    @property
    def axis(self) -> LengthAxis:
        """Return the unit of lengths: tokens, multiples of N, or items of a prompt."""
        return axis_of(self.extras, self.run)

    @property
    def pairing(self) -> StepPairing:
        """Return how checkpoints of two runs are paired: by their share of training, unless the address gives steps."""
        return "step" if self.extras.get("steps") == "step" else "share"

    @property
    def span(self) -> tuple[float, float] | None:
        """Return the range that the length axes of two compared runs share, as log2 of a multiple of N."""
        run_b = self.other
        if run_b is None:
            return None
        # No cached property: until Python 3.12 these hold one lock of the class, and whoever waits for rows gives the
        # turn to compute away, which somebody may hold who waits for that lock.
        return self.run.memo(("span", run_b.name, run_b.rows_version), lambda: _span((self.run, run_b)))

    @property
    def values(self) -> dict[str, Any]:
        """Return the arguments that a figure function may take for this selection."""
        beside = self.other.brief.chance if self.other is not None else 1.0
        in_b = self.other_side.cursor if self.other is not None else self.cursor
        return {
            "run": self.run.name,
            "trained": self.run.trained,
            "axis": self.axis,
            "pairing": self.pairing,
            "step": self.cursor.step,
            "length": self.cursor.length,
            "layer": self.cursor.layer,
            "head": self.cursor.head,
            "step_b": in_b.step,
            "length_b": in_b.length,
            "trained_b": (self.other or self.run).trained,
            "checkpoints": self.run.steps,
            "checkpoints_b": (self.other or self.run).steps,
            **dict(zip(("measurement", "quantity"), self.extras.get("quantity", "").split("|"), strict=False)),
            "connection": self.extras.get("connection", ""),
            "pins": self.extras.get("pins", ""),
            "effect": self.extras.get("effect") or "accuracy",
            "floor": min(self.run.brief.chance, beside),
            "forks": {} if self.store is None else describe_forks(self.run, self.store.forks_of(self.run)),
            **(self.configuration_values if self.configurations else {}),
        }


def _span(runs: Sequence[RunView]) -> tuple[float, float] | None:
    """The ends of a length axis, as log2 of a multiple of each run's N, on which all lengths of the runs have room."""
    lengths = [(run.trained, run.frame.distinct("length").tolist()) for run in runs]
    places = sorted({u_length(n) - u_length(trained) for trained, listed in lengths for n in listed})
    if not places:
        return None
    edges = cell_edges(places)
    return float(edges[0]), float(edges[-1])


class PanelSource(NamedTuple):
    """A source of rows for figures.

    Attributes:
        frame: the rows.
        version: changes whenever they do.
        name: the variable they are in a snippet.
        code: the expression that reads them there.
    """

    frame: Frame
    version: str
    name: str
    code: str


def rows_of(run: RunView, name: str = "frame") -> PanelSource:
    """Return all rows of a run, as a source for figures."""
    return PanelSource(run.frame, run.rows_version, name, TABLE_CODE.format(path=repr(run.shown_path)))


def log_of(run: RunView) -> PanelSource:
    """Return a run's training log, as a source for figures."""
    return PanelSource(run.log, run.log_signature, "log", LOG_CODE.format(path=repr(run.shown_path)))


SOURCES: dict[str, Callable[[PanelCursor], tuple[PanelSource, ...]]] = {
    "frame": lambda at: (rows_of(at.run),),
    "log": lambda at: (log_of(at.run),),
    "both": lambda at: (rows_of(at.run, "a"), rows_of(at.other or at.run, "b")),
}
"""Name of what a panel is drawn from -> the rows."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The description of one panel of a page.

    Attributes:
        id: prefix of its component ids, and its name in export links.
        row: kind of evidence, or where else on its page it stands.
        column: over training, over prefix length, at the selection, or which run; the named area of its row's grid.
        title: as on screen.
        figure: name of the function in :mod:`workbench.figures`.
        without: parameters of that function that keep their default. It is given everything else of
            :attr:`PanelCursor.values` that it has a parameter for.
        also: what redraws it in addition to the parts of the selection that it uses.
        still: is on a page whose selection does not change.
        measurement: whose rows it shows; names the command that would make them.
        quantities: entries of the measurements' specs that define it.
        about: how to read the drawing, one or two sentences.
        source: what it is drawn from, a key of :data:`SOURCES`.
        form: a plot, or a grid of buttons, one per head.
        side: which run of Compare it is about: ``a``, or ``b``, the second run.
        settings: further arguments of the figure.
        read: what it is drawn from, where that is none of :data:`SOURCES`.
    """

    id: str
    row: str
    column: str
    title: str
    figure: str
    measurement: str
    quantities: tuple[str, ...]
    about: str
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    still: bool = False
    source: str = "frame"
    form: Literal["graph", "heads"] = "graph"
    side: Literal["a", "b"] = "a"
    settings: Mapping[str, Any] = field(default_factory=dict)
    read: Callable[[PanelCursor], tuple[PanelSource, ...]] | None = field(default=None, repr=False)

    @property
    def takes(self) -> tuple[str, ...]:
        """Return which of :attr:`PanelCursor.values` the panel's figure takes."""
        parameters = _parameters(self.figure)
        # A quantity is chosen in the address together with its measurement, or not at all.
        fixed = {*self.without, *self.settings, *(() if "measurement" in parameters else ("quantity",))}
        return tuple(name for name in parameters if name in VALUES and name not in fixed)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the parts of the selection, and the ``extras`` of the address, whose change redraws the panel."""
        parts = () if self.still else (VALUES[name] for name in self.takes)
        return tuple(dict.fromkeys([part for part in (*parts, *self.also) if part]))

    def place(self, at: PanelCursor) -> PanelCursor:
        """Return the selection that the panel shows: that of the first run or of the second."""
        return at.other_side if self.side == "b" else at

    def sources(self, at: PanelCursor) -> tuple[PanelSource, ...]:
        """Return the sources of the rows that the panel's figure draws."""
        return (self.read or SOURCES[self.source])(self.place(at))

    def arguments(self, at: PanelCursor) -> dict[str, Any]:
        """Return the keyword arguments of the panel's figure function.

        Raises:
            NotMeasured: if the address names no quantity for a panel that draws any quantity.
        """
        have = self.place(at).values
        if "quantity" in self.takes and "quantity" not in have:
            raise NotMeasured("", "No quantity is chosen: choose one in the list of quantities.", helps=False)
        return {name: have[name] for name in self.takes} | dict(self.settings)

    def key(self, at: PanelCursor) -> tuple[Any, ...]:
        """Return a key that is equal for selections with equal figures."""
        versions = tuple(source.version for source in self.sources(at))
        return (self.id, versions, at.axis, *sorted((name, str(value)) for name, value in self.arguments(at).items()))

    def draw(self, at: PanelCursor, theme: Theme, size: int, line: bool = False) -> go.Figure:
        """Return the figure; raises :class:`workbench.figures.NotMeasured` if there are no rows.

        Args:
            at: where.
            theme: light or dark.
            size: base text size.
            line: draw the line that marks the selection into the figure, for pictures outside the dashboard.
        """
        drawn = {"cursor": self._cursor(at)} if line and "cursor" in _parameters(self.figure) else {}
        return self._drawn(self._registered, at, theme, size, **drawn)

    def plain(self, at: PanelCursor, theme: Theme, size: int) -> Drawing:
        """Return the figure as the browser receives it, without plotly's checks; raises as :meth:`draw`."""
        return self._drawn(self._registered.plain, at, theme, size)

    @property
    def _registered(self) -> Figure[...]:
        return figure_by_name(self.figure)

    def _drawn(self, draw: Callable[..., Any], at: PanelCursor, theme: Theme, size: int, **drawn: Any) -> Any:
        with at.blaming_damage():
            frames = [source.frame for source in self.sources(at)]
            figure = draw(*frames, **self.arguments(at), look=Look(theme, size), **drawn)
        if at.axis == "times":
            place = self.place(at)
            in_multiples(figure, trained=place.run.trained, span=place.span, theme=theme)
        elif at.run.kind.relabel is not None:
            at.run.kind.relabel(figure)
        if size > BASE_SIZE and figure.layout.margin.r and self.column != "cursor":  # end labels grow with the type
            figure.update_layout(margin_r=round(figure.layout.margin.r * size / BASE_SIZE) + 2)
        return figure

    def data(self, at: PanelCursor) -> pd.DataFrame:
        """Return exactly the rows that the figure draws."""
        with at.blaming_damage():
            frames = [source.frame for source in self.sources(at)]
            rows: Frame = self._registered.data(*frames, **self.arguments(at))
            return rows.to_pandas()

    def snippet(self, at: PanelCursor) -> str:
        """Return Python code that draws the same figure in a notebook."""
        arguments_here, sources = self.arguments(at), self.sources(at)
        if "cursor" in _parameters(self.figure):
            arguments_here["cursor"] = self._cursor(at)
        relative = at.axis == "times" and bool(self._lengths(at))
        relabel = at.run.kind.relabel if self._lengths(at) else None
        used = [self.figure, *["in_multiples"] * relative, *([] if relabel is None else [relabel.__name__])]
        imports = [f"from workbench.figures import {', '.join(used)}"]
        imports += [line for name, line in IMPORTS.items() if any(name in source.code for source in sources)]
        frames = ", ".join(source.name for source in sources)
        arguments = "".join(f", {name}={value!r}" for name, value in arguments_here.items())
        read = [f"{source.name} = {source.code}" for source in sources]
        call = f"{self.figure}({frames}{arguments})"
        if relative:
            place = self.place(at)
            span = "" if place.span is None else f", span={place.span!r}"
            call = f"in_multiples({call}, trained={place.run.trained}{span})"
        elif relabel is not None:
            call = f"{relabel.__name__}({call})"
        return "\n".join([*sorted(imports), "", *read, call, ""])

    def _lengths(self, at: PanelCursor) -> list[str]:
        """The axes of its figure that show lengths."""
        meta = self.plain(at, "light", BASE_SIZE).layout.meta
        return [side for side in ("x", "y") if (meta.get(side) or {}).get("kind") == "length"]

    def _cursor(self, at: PanelCursor) -> dict[str, int]:
        cursor = self.place(at).cursor
        return {"step": cursor.step, "length": cursor.length}


@cache
def _parameters(figure: str) -> tuple[str, ...]:
    """Names of the parameters of a figure."""
    return tuple(inspect.signature(figure_by_name(figure)).parameters)
