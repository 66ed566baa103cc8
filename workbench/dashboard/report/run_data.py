"""Everything that a page contains of one run: its texts and figures at every step and length, as plain data.

What changes with the selection is a *slot*: the parts of the selection that it depends on, and its content at each of
their values, lengths innermost. The figures are those of the Run page, made by the same panels from the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.failures import as_sentence, isolate_errors
from workbench.dashboard.components.slider_curves import (
    ends,
    length_text,
    marks,
    ribbon,
    scent_over_lengths,
    scent_over_steps,
    verdict_at,
)
from workbench.dashboard.panels.ledger import STANDINGS, ledger
from workbench.dashboard.panels.panel_spec import BASE_SIZE, Panel, PanelCursor
from workbench.dashboard.panels.panel_words import why_empty
from workbench.dashboard.panels.run_panels import panels_of as kind_panels
from workbench.dashboard.state.cursor import Cursor, slug
from workbench.dashboard.state.run_description import describe_run, headline_words, rail_words, why_words
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import Piece, short, whole
from workbench.figures.look import Theme
from workbench.figures.style.template import u_length, u_step
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence

MOST_STEPS, MOST_LENGTHS = 40, 24
"""Checkpoints and prefix lengths that one page holds; of more, these many spread over the sliders."""
THEMES: tuple[Theme, ...] = ("light", "dark")
PARTS = ("step", "length")
"""Parts of the selection that a page can change."""


@dataclass(frozen=True)
class Stops:
    """The stops of a page's two sliders, and their positions when it is opened.

    Attributes:
        steps, lengths: ascending.
        start: the selection; its head is that of the whole page.
    """

    steps: tuple[int, ...]
    lengths: tuple[int, ...]
    start: Cursor

    @classmethod
    def of(cls, run: RunView, start: Cursor) -> Stops:
        """Return the slider stops for a run: everything that was measured, or as much as a page can contain."""
        steps = spread(run.steps or (0,), MOST_STEPS, start.step, u_step)
        return cls(steps, spread(run.lengths or (run.trained,), MOST_LENGTHS, start.length, u_length), start)

    def over(self, needs: Sequence[str], make: Callable[[Cursor], Any]) -> dict[str, Any]:
        """A slot: the result of ``make`` at each value of the parts of the selection that it depends on."""
        parts = [part for part in PARTS if part in needs]
        steps = self.steps if "step" in parts else (self.start.step,)
        lengths = self.lengths if "length" in parts else (self.start.length,)
        places = (replace(self.start, step=step, length=length) for step in steps for length in lengths)
        return {"needs": parts, "made": [make(at) for at in places]}


def spread(values: Sequence[int], most: int, kept: int, where: Callable[[float], float]) -> tuple[int, ...]:
    """Return at most ``most`` of the values, spaced as evenly on their axis as possible, including both ends and
    ``kept``.

    Args:
        values: ascending.
        most: how many, three or more.
        kept: one that must stay.
        where: maps a value to its position on the axis.
    """
    if len(values) <= most:
        return tuple(values)
    low, high = where(values[0]), where(values[-1])
    chosen = {values[0], values[-1], kept} & set(values)
    for i in range(most):
        wanted = low + (high - low) * i / (most - 1)
        chosen.add(min((one for one in values if one not in chosen), key=lambda one: abs(where(one) - wanted)))
        if len(chosen) == most:
            break
    return tuple(sorted(chosen))


def run_data(run: RunView, stops: Stops) -> dict[str, Any]:
    """Return a run as the page's script reads it. What its rows cannot show is replaced by a message."""
    start = stops.start
    return {
        "name": run.name,
        "meta": [list(piece) for piece in meta_words(run)],
        "trained": run.trained,
        "tokens": stops.over(["step"], lambda at: run.prompt_tokens(at.step)),
        "steps": list(stops.steps),
        "lengths": list(stops.lengths),
        "checkpoints": len(run.steps),
        "measured": len(run.lengths),
        "start": {"step": stops.steps.index(start.step), "length": stops.lengths.index(start.length)},
        "sliders": _sliders(run, stops),
        "verdict": stops.over(["step"], lambda at: slug(verdict_at(run, at.step))),
        "texts": {
            name: stops.over(needs, _isolated_sentence(make, run)) for name, (needs, make) in texts_of(run).items()
        },
        "ledger": stops.over(PARTS, lambda at: _ledger(run, at)),
        "panels": {one.id: stops.over(one.needs, _isolated_figure(one, run)) for one in panels_of(run)},
    }


def panels_of(run: RunView) -> list[Panel]:
    """The panels of a run's page: those of its kind, and further ones where their rows were measured."""
    always, further = kind_panels(run.kind)
    asked = {one.row for one in further if one.measurement in run.measurement_names}
    return [*always, *(one for one in further if one.row in asked)]


# ---- words ----------------------------------------------------------------------------------------------
def meta_words(run: RunView) -> list[Piece]:
    """Return the run's name, its task as a question, its model, and the origin of its weights."""
    return [(run.name, "mono"), *((f" \u00b7 {part}", "plain") for part in describe_run(run))]


def verdict_line(run: RunView, at: Cursor) -> list[Piece]:
    """Return the headline at the selected step, or that there is no verdict."""
    try:
        return headline_words(run, at.step).verdict
    except NotMeasured:
        return [("Not measured", "plain"), (f" at step {whole(at.step)}: no verdict yet.", "muted")]


def further_words(run: RunView, at: Cursor) -> list[Piece]:
    """Return the sentences below the headline; empty without a verdict."""
    try:
        return headline_words(run, at.step).further
    except NotMeasured:
        return []


def _rail(row: str) -> Callable[[RunView, Cursor], list[Piece]]:
    return lambda run, at: rail_words(run, row, at) if run.brief.rows else []


def cause_words(run: RunView, at: Cursor) -> list[Piece]:
    """The diagnosis at the selected step; empty for a run that was not diagnosed."""
    if "diagnosis" not in run.measurement_names:
        return []
    try:
        return diagnosis_sentence(run.frame, step=at.step, longest=run.trained)
    except NotMeasured:
        return [(f"Not diagnosed at step {whole(at.step)}.", "plain")]


def texts_of(run: RunView) -> dict[str, tuple[Sequence[str], Callable[[RunView, Cursor], list[Piece]]]]:
    """Return the function that makes the words of each part of a page, and whether they depend on step, length or
    both.
    """
    kind = run.kind
    cause = {"rail-why": (["step"], cause_words)} if "why" in kind.sections else {}
    rails = {f"{kind.report_rail}{row}": (parts, _rail(row)) for row, parts in kind.rails.items()}
    top = {"verdict-line": (["step"], verdict_line), "further": (["step"], further_words), "why": (PARTS, why_words)}
    return {**top, **rails, **cause}


def _isolated_sentence(
    make: Callable[[RunView, Cursor], list[Piece]], run: RunView
) -> Callable[[Cursor], list[list[str]]]:
    def sentence(at: Cursor) -> list[list[str]]:
        said: list[str] = []
        with isolate_errors(said.append, f"This sentence of {run.name} cannot be written"):
            return [[text, role] for text, role in make(run, at)]
        return [[said[0], "plain"]]

    return sentence


def _ledger(run: RunView, at: Cursor) -> dict[str, Any]:
    if not run.kind.evidence:
        return {"said": "", "rows": []}
    counts: list[str] = []
    with isolate_errors(counts.append, f"The evidence of {run.name} cannot be listed"):
        evidence_table = ledger(run, at)
        rows = [
            {"clause": [list(piece) for piece in one.clause], "panel": one.panel, "cells": one.cells}
            | {"standing": one.standing, "style": slug(one.standing), "label": STANDINGS[one.standing]}
            for one in evidence_table.rows
        ]
        return {"said": evidence_table.said or "none at this step", "rows": rows}
    return {"said": counts[0], "rows": []}


# ---- figures --------------------------------------------------------------------------------------------
def _isolated_figure(panel: Panel, run: RunView) -> Callable[[Cursor], dict[str, Any]]:
    """A panel's figure in both themes, or the heading and the sentence that stand in its place."""

    def figures(at: Cursor) -> dict[str, Any]:
        place = PanelCursor(run, at)
        problems: list[str] = []
        with isolate_errors(problems.append, ""):
            try:
                return {theme: panel.plain(place, theme, BASE_SIZE).to_plotly_json() for theme in THEMES}
            except NotMeasured as missing:
                return {"state": list(why_empty(missing))}
        return {"state": ["This cannot be drawn", as_sentence(problems[0])]}

    return figures


# ---- sliders --------------------------------------------------------------------------------------------
def _sliders(run: RunView, stops: Stops) -> dict[str, Any]:
    """For each slider its axis, its stops, the accuracy behind it and the verdicts below it."""
    steps, lengths, trained = stops.steps, stops.lengths, run.trained
    low, high = ends(steps, u_step)
    first, last = ends(lengths, u_length)

    trained_part = min(1.0, max(0.0, (u_length(trained) - first) / (last - first)))
    return {
        "step": {
            "ends": [low, high],
            "marks": marks(steps, u_step, 440, steps[-1:], short),
            "ribbon": ribbon(run, low, high),
            "scent": stops.over(["length"], lambda at: scent_over_steps(run, at.length)),
        },
        "length": {
            "ends": [first, last],
            "marks": marks(lengths, u_length, 340, [trained], length_text(run, run.kind.axes[0])),
            "trained": trained_part if run.kind.has_trained_length else 0.0,
            "scent": stops.over(["step"], lambda at: scent_over_lengths(run, at.step)),
        },
    }
