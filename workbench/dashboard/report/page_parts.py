"""The parts of a report page, except what changes with the selection, which ``assets/report/report.js`` fills in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element

from workbench.core.failures import isolate_errors
from workbench.dashboard.panels.ledger import HEADS as LEDGER
from workbench.dashboard.panels.ledger import NUMBERS
from workbench.dashboard.panels.panel_spec import Panel
from workbench.dashboard.panels.panel_words import accessible_name, definition
from workbench.dashboard.panels.run_panels import (
    BANDS,
    CIRCUIT_ROW,
    COLUMNS,
    DEEPER_ROWS,
    IN_CONTEXT,
    IN_CONTEXT_DEEPER,
    IN_CONTEXT_DEEPER_ROWS,
    IN_CONTEXT_ROWS,
    LEGEND,
    ROWS,
    WHY_ROW,
)
from workbench.dashboard.report.markup import add, element, sentence
from workbench.dashboard.report.provenance import Provenance
from workbench.dashboard.report.run_data import Stops, further_words, meta_words, panels_of, verdict_line
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_description import why_words
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import whole
from workbench.models.base.graph import head_name

TRAINING = {"optimisation": ("Training", "Did it learn?")}
IN_CONTEXT_PANELS = (*IN_CONTEXT, *IN_CONTEXT_DEEPER)
"""Panels of models that were evaluated in a prompt."""
WIDE = {**dict.fromkeys((*WHY_ROW, *DEEPER_ROWS, *CIRCUIT_ROW), "two"), **dict.fromkeys(TRAINING, "one")}
"""Rows whose grid is not that of the matrix -> its class in assets/css/run.css."""
HEADS = "One cell per head; the head that this page speaks of is outlined."
"""What the grid of heads shows where none can be chosen."""


def header(title: str, back: str = "") -> Element:
    """Return the top strip: name, description, and the button of the theme; ``back`` links to the list of runs."""
    toggle = element(
        "button",
        element("span", classes="icon moon", aria_hidden="true"),
        classes="ib",
        type="button",
        id="theme-toggle",
        title="Dark theme",
        aria_label="Dark theme",
    )
    brand = element("span", element("span", classes="icon mark", aria_hidden="true"), "LengthLens", classes="brand")
    link = element("a", "All runs", href=back, classes="back") if back else None
    said = element("span", title, classes="soft page-title")
    return element(
        "header", brand, link, said, element("div", toggle, classes="tools source"), classes="header report-header"
    )


def cursor_bar(names: Sequence[str]) -> Element:
    """Return the bar with the run and the two sliders."""
    if len(names) > 1:
        options = (element("option", name, value=str(i)) for i, name in enumerate(names))
        pick = element("select", *options, id="run-select", classes="run-select")
        label = element("label", "Run", for_="run-select", classes="caption")
    else:
        pick = element("strong", names[0], classes="run-name")
        label = element("span", "Run", classes="caption")
    return element(
        "section",
        element("div", label, pick, classes="cell pick"),
        _slider("step", "Training step", element("div", classes="ribbon")),
        _slider("length", "Prefix length", element("div", classes="ribbon bare"), element("div", classes="trained")),
        id="cursorbar",
        classes="cursorbar report-bar",
        role="region",
        aria_label="Cursor",
    )


def _slider(part: str, label: str, *behind: Element) -> Element:
    head = element(
        "div",
        element("span", label, classes="caption"),
        element("span", id=f"{part}-value", classes="value num"),
        element("span", id=f"{part}-where", classes="where soft num"),
        element("span", id=f"{part}-note", classes="note num"),
        classes="slider-head",
    )
    track = element(
        "div",
        *behind,
        element("div", id=f"{part}-scent", classes="scent"),
        element("div", id=f"{part}-marks", classes="marks num", aria_hidden="true"),
        element("input", type="range", id=f"{part}-slider", min="0", max="1", step="any", aria_label=label),
        classes="track",
    )
    return element("div", head, track, classes="cell")


def headline(run: RunView, start: Cursor) -> Element:
    """Return the run's description, its verdict and the reason, as they are before the script updates them."""
    return element(
        "div",
        element("p", *sentence(meta_words(run)), classes="meta", id="meta"),
        element("h1", *_safely(verdict_line, run, start), id="verdict-line"),
        element("p", *_safely(further_words, run, start), id="further", classes="why"),
        element("p", *_safely(why_words, run, start), id="why", classes="why"),
        classes="headline",
        aria_live="polite",
    )


def thinning_notes(runs: Sequence[RunView], stops: Sequence[Stops]) -> list[Element]:
    """Return a sentence for each run whose sliders do not stop at every measured step and length."""
    notes = []
    for i, (run, held) in enumerate(zip(runs, stops, strict=True)):
        pairs = ((held.steps, run.steps, "checkpoints"), (held.lengths, run.lengths, "prefix lengths"))
        few = [f"{len(kept)} of {whole(len(every))} {noun}" for kept, every, noun in pairs if len(kept) < len(every)]
        if few:
            said = f"The sliders stop at {' and '.join(few)} only. "
            said += "Curves and maps over steps or lengths show all of them."
            notes.append(element("p", said, classes="meta thinned", data_run=str(i)))
    return notes


def _safely(words: Any, run: RunView, start: Cursor) -> list[Element | str]:
    """A sentence, or nothing where its rows are damaged: the script then shows what is wrong with them."""
    with isolate_errors(lambda _: None, f"a sentence of {run.name}"):  # run_data reports it in the same place
        return sentence(words(run, start))
    return []


def ledger_shell() -> Element:
    """Return the table of evidence, which the script fills with rows."""
    heads = (element("th", name, scope="col", classes="right" * (name in NUMBERS)) for name in LEDGER)
    head = element("thead", element("tr", *heads))
    table = element("table", head, element("tbody", id="ledger"), classes="ledger")
    wrap = element("div", table, classes="ledger-wrap")
    return element("details", element("summary", id="ledger-said"), wrap, classes="evidence", id="evidence", open="")


def panels_of_all(runs: Sequence[RunView]) -> list[Panel]:
    """Return the panels of all runs, each once."""
    return list({one.id: one for run in runs for one in panels_of(run)}.values())


def specs_of_all(runs: Sequence[RunView]) -> dict[str, Any]:
    """Return the description of each measurement, from the last run that has it."""
    return {name: spec for run in runs for name, spec in run.specs.items()}


def evidence(runs: Sequence[RunView]) -> list[Element]:
    """Return the table of the runs' results, its legend, why the runs fail, and rows for further evaluations."""
    panels = [panel for panel in panels_of_all(runs) if panel not in IN_CONTEXT_PANELS]
    order = {**ROWS, **WHY_ROW, **DEEPER_ROWS, **CIRCUIT_ROW, **TRAINING}
    panels.sort(key=lambda panel: list(order).index(panel.row))
    heads = [
        element(
            "p",
            element("strong", title),
            element("span", classes="soft num", data_at=column),
            classes=f"column {column}",
            style=f"grid-area:{column}",
        )
        for column, title in COLUMNS.items()
    ]
    matrix = element("div", element("div", *heads, classes="matrix-row heads-row"), classes="matrix")
    further: list[Element] = []
    for row, group in groupby(panels, key=lambda panel: panel.row):
        children = _row(row, order[row], list(group))
        if row in ROWS:
            matrix.append(children)
        else:
            wide = "training-row" if row in TRAINING else "more-row"
            further.append(element("div", children, classes=f"matrix {wide}", data_row=row))
    trained = element("div", matrix, legend(), data_row="trained")
    return [*([trained] if panels else []), *further, *over_items(runs)]


def over_items(runs: Sequence[RunView]) -> list[Element]:
    """Return the rows of panels over the number of items, for runs evaluated in a prompt; empty if there are none."""
    panels = [one for one in panels_of_all(runs) if one in IN_CONTEXT_PANELS]
    rows = []
    for row, (name, question, kind) in {**IN_CONTEXT_ROWS, **IN_CONTEXT_DEEPER_ROWS}.items():
        heading = [element("h2", name), element("p", question, classes="soft"), element("p", id=f"rail-items-{row}")]
        shells = [_panel(one) for one in panels if one.row == row]
        if not shells:
            continue
        rows.append(
            element("div", element("div", *heading, classes="rail"), *shells, classes=f"matrix-row {kind}".strip())
        )
    return [element("div", *rows, classes="matrix", data_row="items")] if panels else []


def _row(row: str, named: tuple[str, str], group: Sequence[Panel]) -> Element:
    name, question = named
    rail = element("div", element("h2", name), element("p", question, classes="soft"), classes="rail")
    if row in ROWS or row in WHY_ROW:
        rail.append(element("p", id=f"rail-{row}"))
    shells = [_panel(one) for one in group]
    return element("div", rail, *shells, classes=f"matrix-row {WIDE.get(row, '')}".strip())


def _panel(panel: Panel) -> Element:
    """The panel, empty."""
    plot = element("div", id=f"{panel.id}-graph", classes="graph")
    body = element(
        "div",
        element("figure", plot, id=f"{panel.id}-figure", role="img"),
        element("div", id=f"{panel.id}-state", classes="state"),
        id=f"{panel.id}-body",
        classes="body first",
    )
    slice_ = element("span", id=f"{panel.id}-slice", classes="slice num")
    return element(
        "section",
        element("header", element("h3", panel.title), slice_),
        body,
        id=f"{panel.id}-panel",
        classes="pan",
        style=f"grid-area:{panel.column}",
        aria_label=accessible_name(panel),
    )


def legend() -> Element:
    """Return the meaning of the line styles."""
    keys = [element("span", element("i", classes=f"key {style}"), said) for style, said in LEGEND]
    return element("p", *keys, element("span", BANDS), classes="legend")


def definitions(runs: Sequence[RunView]) -> Element:
    """Return what each panel shows and what its quantities mean, each once."""
    specs, quantities = specs_of_all(runs), dict[str, str]()
    panels = element("dl")
    for panel in panels_of_all(runs):
        quantities |= dict(definition(panel, specs)[:-1])
        about = HEADS if panel.form == "heads" else panel.about
        add(panels, element("dt", accessible_name(panel)), element("dd", about))
    named = element("dl")
    for name, said in quantities.items():
        add(named, element("dt", name), element("dd", said))
    title = element("h2", "What the panels show")
    return element("section", title, panels, element("h3", "Quantities"), named, classes="words", id="words")


def origins(runs: Sequence[RunView], told: Sequence[Provenance], heads: Sequence[Cursor]) -> Element:
    """Return where the numbers of each run come from."""
    made = element("section", element("h2", "Where these numbers come from"), classes="words", id="origins")
    for i, (run, origin, start) in enumerate(zip(runs, told, heads, strict=True)):
        add(made, _origin(run, origin, start, i))
    return made


def _origin(run: RunView, origin: Provenance, start: Cursor, index: int) -> Element:
    facts = element("dl", classes="facts")
    head = head_name(start.layer, start.head)
    for name, value in (("Run", run.name), *origin.facts, ("Head of this page", head)):
        add(facts, element("dt", name), element("dd", value))
    add(facts, element("dt", "Made by"), element("dd", element("code", origin.command)))
    weights = [(f"step {whole(step)}", sha) for step, sha in origin.weights]
    problems = [element("p", said, classes="problem") for said in origin.problems]
    return element(
        "div",
        *problems,
        facts,
        _hashes("Rows", "SHA-256 of the files that every number here was read from", origin.rows),
        _hashes("Weights", "SHA-256 of each checkpoint, as recorded when it was saved", weights),
        element("h3", "Configuration"),
        element("pre", element("code", origin.config), tabindex="0", aria_label=f"Configuration of {run.name}"),
        data_run=str(index),
    )


def _hashes(title: str, about: str, found: Sequence[tuple[str, str]]) -> Element | None:
    if not found:
        return None
    rows = [element("tr", element("th", name, scope="row"), element("td", element("code", sha))) for name, sha in found]
    caption = element("caption", element("strong", title), f" \u00b7 {about}")
    return element("table", caption, element("tbody", *rows), classes="hashes")
