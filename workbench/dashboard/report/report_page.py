"""An HTML page about runs that needs no server: one file, or one of a folder whose pages share files."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element

import orjson

from workbench.core.direction_marks import without_direction_marks_utf8
from workbench.core.errors import LensError
from workbench.dashboard.components.plotly_bundle import FILE, plotly_js
from workbench.dashboard.components.theme import ASSETS, EARLY, ICON, verdict_css
from workbench.dashboard.report import page_parts
from workbench.dashboard.report.markup import ROLES, document, element, script, style
from workbench.dashboard.report.provenance import provenance, report_command
from workbench.dashboard.report.run_data import Stops, run_data
from workbench.dashboard.report.shared_values import pack
from workbench.dashboard.state.cursor import Cursor, default_cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.figures.style.design_tokens import palette_css
from workbench.table.walk import near_folders

STYLES = ("base", "icons", "frame", "cursorbar", "run")
"""Files of ``assets/css`` that pages share with the dashboard; ``assets/report/report.css`` comes after them."""
FONTS = ("inter", "jetbrains-mono")
MOST_BYTES = 5_000_000
"""Size of a page that can still be sent by mail."""


class ReportError(LensError):
    """Raised for a page that cannot be made."""


@dataclass(frozen=True)
class Shared:
    """The files that the pages in a folder share, by their paths relative to the pages."""

    styles: Sequence[str]
    scripts: Sequence[str]
    back: str


def runs_below(folders: Iterable[Path], problems: list[str]) -> list[RunView]:
    """Return the runs in and below some folders, each once; errors are added to ``problems``."""
    runs_by_path: dict[Path, RunView] = {}
    for folder in folders:
        if not folder.is_dir():
            raise ReportError(f"there is no folder {folder}{near_folders(folder)}")
        store = Store([folder], patience=0)
        for run in store.runs().values():
            runs_by_path.setdefault(run.path.resolve(), run)
        problems += store.problems
        if not store.runs() and not store.problems:
            raise ReportError(f"{folder} holds no run; lengthlens train TASK --out {folder}/NAME makes one")
    return list(runs_by_path.values())


def report_html(
    runs: Sequence[RunView],
    out: str = "page.html",
    starts: Mapping[str, Cursor] | None = None,
    shared: Shared | None = None,
) -> str:
    """Return the HTML report of one or several runs.

    Args:
        runs: in the order in which they are offered; the first one is shown.
        out: what the file will be called, for the command that makes it again.
        starts: name of a run -> where its sliders stand when the page is opened; else at its default.
        shared: files next to it that it uses; None means that the page contains everything.

    Raises:
        ReportError: for no run, and for a file that would be too large to send.
    """
    if not runs:
        raise ReportError("a report needs at least one run; name one")
    cursors = [(starts or {}).get(run.name) or default_cursor(run) for run in runs]
    command = report_command(runs, out)
    provenances = [provenance(run, command) for run in runs]
    stops = [Stops.of(run, start) for run, start in zip(runs, cursors, strict=True)]
    data = {"roles": dict(ROLES), "runs": [run_data(*pair) for pair in zip(runs, stops, strict=True)]}
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    body = element(
        "body",
        element("a", "Skip to the verdict", href="#page", classes="skip"),
        page_parts.header(f"Report on {title}", shared.back if shared else ""),
        page_parts.cursor_bar([run.name for run in runs]),
        element(
            "main",
            element("noscript", element("p", "The figures of this page need JavaScript.", classes="problem")),
            element("div", id="problems"),
            page_parts.headline(runs[0], cursors[0]),
            *page_parts.thinning_notes(runs, stops),
            page_parts.ledger_shell(),
            *page_parts.evidence(runs),
            page_parts.origins(runs, provenances, cursors),
            page_parts.definitions(runs),
            id="page",
            tabindex="-1",
            classes="content run-page report-page",
        ),
        script(_encoded(data), type="text/plain", id="lens-data"),
    )
    page = with_files(f"{title} \u00b7 LengthLens", body, shared)
    size = len(page.encode())
    if shared is None and size > MOST_BYTES:
        raise ReportError(
            f"a page of {title} would have {size / 1e6:.1f} MB, but at most {MOST_BYTES / 1e6:.0f} MB are allowed; "
            "name fewer runs, or make a folder of pages: lengthlens publish FOLDER -o site/"
        )
    return page


def with_files(title: str, body: Element, shared: Shared | None) -> str:
    """Return a page with its styles and scripts, inside the page or next to it. The page loads nothing from other
    hosts.
    """
    if shared is None:
        head = [style(styles())]
        late = [script(text) for text in scripts()]
        allowed = " ".join(_hashed(text) for text in (EARLY, *scripts()))
        policy = f"script-src {allowed}; style-src 'unsafe-inline'; font-src data:; img-src data: blob:"
    else:
        head = [element("link", rel="stylesheet", href=address) for address in shared.styles]
        late = [element("script", src=address) for address in shared.scripts]
        policy = (
            f"script-src 'self' file: {_hashed(EARLY)}; style-src 'self' file: 'unsafe-inline'; font-src data:; "
            "img-src data: blob:"
        )
    body.extend(late)
    return document(
        [
            element("meta", http_equiv="Content-Security-Policy", content=f"default-src 'none'; {policy}"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="generator", content="LengthLens"),
            element("title", title),
            element("link", rel="icon", href=ICON),
            *head,
            script(EARLY),
        ],
        body,
    )


@cache
def styles() -> str:
    """Return all styles of a page, including its fonts."""
    sheets = [(ASSETS / "css" / f"{name}.css").read_text() for name in STYLES]
    text = "\n".join([palette_css(), verdict_css(), *sheets, (ASSETS / "report" / "report.css").read_text()])
    for name in FONTS:
        font = base64.b64encode((ASSETS / "fonts" / f"{name}.woff2").read_bytes()).decode()
        text = text.replace(f"url(../fonts/{name}.woff2)", f"url(data:font/woff2;base64,{font})")
    return text


@cache
def own_scripts() -> str:
    """Return the script that updates a page's figures when its sliders move."""
    files = (ASSETS / "js" / "plot_lines.js", ASSETS / "report" / "report.js")
    return "\n".join(file.read_text() for file in files)


def scripts() -> tuple[str, str]:
    """Return all scripts at the end of a page."""
    return plotly_js(), own_scripts()


def licence() -> str:
    """Return the licence of plotly.js, which must be distributed with it."""
    return (FILE.parent / "plotly-LICENSE.txt").read_text()


def _hashed(text: str) -> str:
    """How a policy names a script that stands in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _encoded(data: object) -> str:
    """Plain data as text that stands safely in HTML: JSON, deflated, in base 64."""
    return base64.b64encode(zlib.compress(without_direction_marks_utf8(orjson.dumps(pack(data))), 9)).decode()
