"""The Glossary page: the definition of every quantity, read from the specs stored with the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dash import Dash, html

from workbench.core.failures import isolate_errors
from workbench.core.verdicts import LENGTH_COUPLED, VERDICTS
from workbench.dashboard.components.icons import chip
from workbench.dashboard.components.page_frame import banner, command
from workbench.dashboard.components.terms import TERMS, anchor
from workbench.dashboard.components.typeset import LETTERS, typeset
from workbench.dashboard.pages.base import Drawn, FreePage, Visit
from workbench.dashboard.panels.panel_words import span_of
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Notice
from workbench.dashboard.state.run_view import RunView, quote_path
from workbench.figures.labels import whole
from workbench.figures.rows.frame import Frame, present
from workbench.figures.style.sparklines import spark_svg
from workbench.figures.style.template import u_length, u_step
from workbench.table.schema import SEPARATING
from workbench.table.wording import quantity_label


def layout(context: Context, visit: Visit) -> Drawn:
    """Return the page: an index on the left; on the right the verdicts, and a section for each measurement."""
    specs = context.store.specs
    runs = context.store.runs().values()
    run_counts = Counter(pair for run in runs for pair in run.brief.quantities)
    quantity_name = visit.query.get("quantity", "")
    known = {quantity["name"] for spec in specs.values() for quantity in spec.get("quantities", ())}
    notices = list(visit.notices)
    if quantity_name and quantity_name not in known:
        said = f"This link names the quantity {quantity_name}, which no run here has."
        notices.append(Notice(said, "The page shows all quantities.", "Keep all"))
    pictures = curves(max(runs, key=_telling, default=None))
    sections: list[Any] = []
    for name, spec in specs.items():
        unshown: list[str] = []
        with isolate_errors(unshown.append, f"{name} cannot be shown"):
            sections.append(_section(name, spec, run_counts, quantity_name, pictures))
        sections += [html.P(one, id=slug(name)) for one in unshown]
    content = html.Div(
        [
            html.Div(banner(notices, "/glossary"), id="banner"),
            html.Div(
                [
                    html.H1("Glossary"),
                    html.P(
                        "Definitions of all quantities in these folders. Each entry shows the label on screen, the "
                        "stored name in code font, the unit and range, and the number of runs that have it. All "
                        "intervals are 95\u00a0%, and n counts sequences.",
                        className="why",
                    ),
                    html.P(typeset(LETTERS), className="formula-where"),
                ],
                className="headline",
            ),
            html.Div(
                [
                    _index(specs),
                    html.Div([_verdicts(), _words(), *(sections or [_nothing(context)])], className="sections"),
                ],
                className="glossary",
            ),
        ],
        className="content glossary-page",
    )
    return Drawn([content], "Glossary")


def _index(specs: Mapping[str, Any]) -> html.Nav:
    links = [html.A("Verdicts", href="#verdicts"), html.A("Words", href="#words")]
    links += [html.A(spec.get("title") or name, href=f"#{slug(name)}") for name, spec in specs.items()]
    return html.Nav(links, className="index", **{"aria-label": "Measurements"})


def _verdicts() -> html.Section:
    terms = [html.Div([html.Dt(chip(label)), html.Dd(html.P(kind.meaning))]) for label, kind in VERDICTS.items()]
    return html.Section(
        [
            html.H2("Verdicts"),
            html.P("Verdicts depend only on behaviour; probes and circuits help to explain them.", className="soft"),
            html.Dl(terms),
        ],
        id="verdicts",
    )


def _words() -> html.Section:
    terms = [html.Div([html.Dt(term), html.Dd(html.P(said))], id=anchor(term)) for term, said in TERMS.items()]
    return html.Section(
        [
            html.H2("Words"),
            html.P(
                "Terms of these pages. On the Run page, hover or focus a term to see its definition.", className="soft"
            ),
            html.Dl(terms),
        ],
        id="words",
    )


def _telling(run: RunView) -> tuple[bool, int]:
    """Sort key of how informative a run's curves are: whether its behaviour changes with length, and how much was
    measured."""
    last = run.brief.last
    return last is not None and run.brief.verdicts.get(last) == LENGTH_COUPLED, len(run.brief.quantities)


def curves(run: RunView | None) -> dict[tuple[str, str], tuple[str, str]]:
    """Return a small picture of each quantity over prefix length, or over training if it has no length."""
    return {} if run is None else run.memo("glossary", lambda: dict(_curves(run)))


def _curves(run: RunView) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    last = max(run.measured_steps, default=0)
    for pair in sorted(run.brief.quantities):
        rows = run.frame.where(measurement=pair[0], quantity=pair[1], control="")
        rows = rows.where(present(rows["value"]))
        for along, where, here in (("length", u_length, rows.where(step=last)), ("step", u_step, rows)):
            line = _line(here.where(present(here[along])), along)
            if len(line) > 1:
                said = f"over prefix length at step {whole(last)}" if along == "length" else "over training"
                yield pair, (_picture(line, where), f"{said}, in {run.name}")
                break


def _line(rows: Frame, along: str) -> list[tuple[float, float]]:
    """The line of the first series among the rows: what differs from its first row is another."""
    if not len(rows):
        return []
    first = rows.row(0)
    apart = {name: first[name] for name in SEPARATING if name in first}
    same = rows.where(**{name: value for name, value in apart.items() if value is not None and value == value})
    found = {float(at): float(value) for at, value in zip(same[along], same["value"], strict=True)}
    return sorted((at, value) for at, value in found.items() if math.isfinite(value))


def _picture(line: list[tuple[float, float]], where: Callable[[float], float]) -> str:
    at, values = [where(place) for place, _ in line], [value for _, value in line]
    low, high = min(*values, 0.0), max(*values, 1.0 if max(values) > 0.2 else max(values) or 1.0)
    x = [(place - at[0]) / (at[-1] - at[0]) for place in at]
    return spark_svg(values, low, high, 96, 26, x=x, stroke=1.5)


def _section(
    name: str,
    spec: Mapping[str, Any],
    held: Mapping[tuple[str, str], int],
    asked: str,
    drawn: Mapping[tuple[str, str], tuple[str, str]],
) -> html.Section:
    laws = ", ".join(spec.get("laws", ())) or "no test set"
    sequences = f"{whole(spec['sequences'])} sequences" if spec.get("sequences") else ""
    facts = [html.Code(name), f"version {spec.get('version', 1)}", laws, sequences]
    line: list[Any] = []
    for fact in facts:
        line += [" \u00b7 ", fact] if line and fact else [fact]
    terms = [
        _term(quantity, held.get((name, quantity["name"]), 0), asked, drawn.get((name, quantity["name"])))
        for quantity in spec.get("quantities", ())
    ]
    settings = spec.get("settings") or {}
    parts = [html.Span(f"{key} {value}", className="setting mono") for key, value in settings.items()]
    return html.Section(
        [
            html.H2(spec.get("title") or name),
            html.P(line, className="soft"),
            *([html.P(["Settings: ", *parts], className="soft settings")] if parts else []),
            html.Dl(terms),
        ],
        id=slug(name),
    )


def _formula(quantity: Mapping[str, Any]) -> list[html.P]:
    """A quantity as a formula, and what its letters are; empty if it is defined only in words."""
    parts = (("formula", quantity.get("formula")), ("formula-where", quantity.get("where")))
    return [html.P(typeset(text), className=name) for name, text in parts if text]


def _code_font(text: str) -> list[Any]:
    """A text whose parts between backticks are in code font."""
    parts = text.split("`")
    return [html.Code(part) if place % 2 else part for place, part in enumerate(parts) if part]


def _term(quantity: Mapping[str, Any], runs: int, asked: str, drawn: tuple[str, str] | None) -> html.Div:
    counted = f"{whole(runs)} run{'' if runs == 1 else 's'}" if runs else "in no run"
    name = quantity["name"]
    facts = " \u00b7 ".join(part for part in (span_of(quantity), counted) if part)
    return html.Div(
        [
            html.Dt(
                [
                    html.A(quantity_label(name), href=f"/glossary?quantity={name}", **{"data-nav": "1"}),
                    html.Code(name),
                    html.Span(facts, className="soft num"),
                ]
            ),
            html.Dd(
                [
                    html.P(_code_font(quantity["definition"])),
                    *_formula(quantity),
                    *([html.P(f"about the {quantity['about']}", className="soft")] if quantity.get("about") else []),
                ]
            ),
            *([_thumb(name, *drawn)] if drawn else []),
        ],
        className="asked" if name == asked else "",
    )


def _thumb(name: str, picture: str, said: str) -> html.Dd:
    label = f"{quantity_label(name)} {said}"
    curve = html.Div(
        className="thumb", role="img", title=label, style={"--curve": f'url("{picture}")'}, **_aria_label(label)
    )
    return html.Dd(curve)


def _aria_label(name: str) -> dict[str, str]:
    return {"aria-label": name}


def _nothing(context: Context) -> html.Div:
    folder = context.store.roots[0] if context.store.roots else "checkpoints"
    said = html.P("Nothing is measured in these folders yet.")
    return html.Div([said, command(f"lengthlens measure {quote_path(folder)}")], className="empty")


def slug(name: str) -> str:
    """Return the name of a measurement as an anchor."""
    return name.replace(".", "-")


def connect(app: Dash, context: Context) -> None:
    """Register nothing, because the page has no callbacks."""


PAGE = FreePage(path="/glossary", name="Glossary", layout=layout, connect=connect, keys=("quantity",))
