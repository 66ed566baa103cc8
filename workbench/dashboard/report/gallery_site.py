"""A folder of HTML pages about runs, with a list of them; it needs no server, and the pages share files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from workbench.core.failures import isolate_errors
from workbench.core.verdicts import LENGTH_COUPLED, WORDS
from workbench.dashboard.components.plotly_bundle import FILE, plotly_js
from workbench.dashboard.report import page_parts
from workbench.dashboard.report.claims_page import claims_html
from workbench.dashboard.report.markup import element, sentence
from workbench.dashboard.report.report_page import (
    ReportError,
    Shared,
    licence,
    own_scripts,
    report_html,
    runs_below,
    styles,
    with_files,
)
from workbench.dashboard.report.run_data import verdict_line
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_summary import summarise
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import MISSING
from workbench.figures.style.sparklines import spark_path
from workbench.figures.style.template import u_length
from workbench.storage.atomic import is_temporary, remove_leftovers, write_atomic
from workbench.storage.below import path_below, refuse_links, remove_file
from workbench.storage.bounded import read_bytes

MADE = "lengthlens-site.json"
"""Names the files of a folder that :func:`publish` made, and so may take away."""
MOST_LISTED = 16 << 20
"""Bytes of that file."""
COLUMNS = ("Run", "Verdict", "Accuracy over prefix length", "Inside", "At the longest", "Fails at", "Model, positions")
CLAIMS = "claims.html"
"""The page of published claims."""
CURVE = (180, 28)
"""Size of the accuracy curve's view box."""
NUMBERS = ("Inside", "At the longest")
"""Columns of numbers."""


@dataclass(frozen=True)
class Entry:
    """A run in the list of the folder.

    Attributes:
        run: the run.
        address: the address of its page; "" where none could be made.
        problem: why none could be made.
    """

    run: RunView
    address: str = ""
    problem: str = ""


def publish(
    folders: Sequence[Path], out: Path, problems: list[str], claims: Sequence[Mapping[str, Any]] = ()
) -> list[Entry]:
    """Write a folder of pages: a list, a page for each run, and the files they share.

    If no page of a run can be made, the list and ``problems`` name the run; the other runs have pages.

    Args:
        folders: runs, or folders of runs.
        out: the folder; it must be new, empty, or made by this function.
        problems: takes a sentence for each thing that is wrong.
        claims: published claims, which get a page of their own; none = no such page.

    Raises:
        ReportError: for folders without runs, and for a folder that holds something else.
        StorageError: if it cannot be written.
    """
    before = _made_before(out)
    runs = runs_below(folders, problems)
    pages = addresses([run.name for run in runs])
    shared = Shared(
        styles=("../assets/report.css",),
        scripts=(f"../assets/{FILE.name}", "../assets/report.js"),
        back="../index.html",
    )
    files: dict[str, str] = {
        "assets/report.css": styles(),
        "assets/report.js": own_scripts(),
        f"assets/{FILE.name}": plotly_js(),
        "assets/plotly-LICENSE.txt": licence(),
    }
    if claims:
        files[CLAIMS] = claims_html(claims, _beside_index("index.html"))
    # The list of files comes first: an interrupted folder is then known as one of ours.
    intended = before | {*files, *pages, "index.html"}
    refuse_links(out, intended)
    _write_list(out, intended)
    for place in (".", "assets", "runs"):
        remove_leftovers(out / place)
    for name, text in files.items():
        _write(out, name, text)
    entries: list[Entry] = []
    for run, address in zip(runs, pages, strict=True):
        failures: list[str] = []
        with isolate_errors(failures.append, f"no page could be made of {run.name}"):
            _write(out, address, report_html([run], out=f"{run.path.name}.html", shared=shared))
            files[address] = ""
            entries.append(Entry(run, address))
        if failures:
            problems += failures
            entries.append(Entry(run, problem=failures[0]))
    files["index.html"] = ""
    _write(out, "index.html", index_html(entries, problems, CLAIMS if claims else ""))
    for name in intended - set(files):
        remove_file(out, name)
    _write_list(out, files)
    return entries


def addresses(names: Sequence[str]) -> list[str]:
    """Return the file name of each run's page: plain letters, and no two equal, also if letter case is ignored."""
    used: set[str] = set()
    file_names = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:80] or "run"
        address, count = plain, 1
        while address.lower() in used:
            count += 1
            address = f"{plain}-{count}"
        used.add(address.lower())
        file_names.append(f"runs/{address}.html")
    return file_names


def index_html(entries: Sequence[Entry], problems: Sequence[str], claims: str = "") -> str:
    """Return the page that lists the runs.

    Args:
        entries: the runs.
        problems: what is wrong with the folders, a sentence each.
        claims: the address of the page of claims; "" = there is none.
    """
    rows = [element("tr", *(_cells(entry))) for entry in entries]
    heads = (element("th", name, scope="col", classes="right" * (name in NUMBERS)) for name in COLUMNS)
    head = element("thead", element("tr", *heads))
    table = element("table", head, element("tbody", *rows), classes="gallery num")
    counted = f"{len(entries)} run{'' if len(entries) == 1 else 's'}"
    body = element(
        "body",
        element("a", "Skip to the runs", href="#page", classes="skip"),
        page_parts.header(counted),
        element(
            "main",
            element(
                "div",
                element("h1", "Does a model keep working on inputs longer than it was trained on?"),
                element(
                    "p",
                    element("span", "Scale-robust", classes="summary"),
                    " models do; ",
                    element("span", LENGTH_COUPLED, classes="position"),
                    " ones fail past the longest trained length, ",
                    element("span", "the dashed line", classes="train"),
                    ". Each run has a page with its figures over training and prefix length.",
                ),
                element("p", element("a", "Which published claims hold?", href=claims, classes="back"))
                if claims
                else None,
                classes="gallery-head",
            ),
            *(element("p", said, classes="problem") for said in dict.fromkeys(problems)),
            element("div", table, classes="gallery-wrap", tabindex="0", role="region", aria_label="Runs"),
            id="page",
            tabindex="-1",
            classes="content",
        ),
    )
    return with_files(f"{counted} \u00b7 LengthLens", body, _beside_index())


def _beside_index(back: str = "") -> Shared:
    """The files of a page that is next to the list of runs."""
    return Shared(styles=("assets/report.css",), scripts=("assets/report.js",), back=back)


def _cells(entry: Entry) -> list[Element]:
    """A line of the list: what the Runs page of the dashboard shows of a run at its last verdict."""
    run, line = entry.run, summarise(entry.run)
    name = element("a", run.name, href=entry.address) if entry.address else element("strong", run.name)
    question = element("span", entry.problem or str(line["taskLabel"]), classes="soft")
    glyph = element("span", classes=f"icon glyph {line['slug']}", aria_hidden="true")
    chip = element("span", glyph, WORDS[line["verdict"]], classes=f"chip {line['slug']}")
    cells: list[Any] = []
    if run.brief.last is not None:
        with isolate_errors(lambda _: None, run.name):
            cells = sentence(verdict_line(run, default_cursor(run)))
    return [
        element("td", name, question),
        element("td", chip, _soft(line.get("tiesText"))),
        element("td", _curve(run, line) if run.brief.accuracy else MISSING, element("span", *cells, classes="sr")),
        _value(line, "inside"),
        _value(line, "longest"),
        element("td", str(line.get("failsText", MISSING)), _soft(line.get("failsTimes"))),
        element("td", str(line["model"]), element("span", str(line["positions"]), classes="soft")),
    ]


def _value(line: dict[str, Any], name: str) -> Element:
    title = {"title": str(line[f"{name}Title"])} if line.get(f"{name}Title") else {}
    soft = _soft(line.get(f"{name}Interval"))
    return element("td", str(line.get(f"{name}Text", MISSING)), soft, classes="right", **title)


def _soft(text: Any) -> Element | None:
    return element("span", str(text), classes="soft") if text else None


def _curve(run: RunView, line: dict[str, Any]) -> Element:
    """Accuracy over prefix length as a small picture, with the longest trained length and chance."""
    lengths = [int(row["length"]) for row in run.brief.accuracy]
    values = [float(row["value"]) for row in run.brief.accuracy]
    (width, height), bottom, top = CURVE, run.brief.chance - 0.08, 1.05
    low, high = u_length(lengths[0]), max(u_length(lengths[-1]), u_length(lengths[0]) + 1e-9)
    places = [(u_length(length) - low) / (high - low) for length in lengths]
    trained = round(min(1.0, max(0.0, (u_length(run.trained) - low) / (high - low))) * width, 2)
    chance = round((1 - (run.brief.chance - bottom) / (top - bottom)) * height, 2)
    path = spark_path(values, bottom, top, width, height, x=places)
    inside = f"{line['insideText']} inside training, " if "insideText" in line else ""
    words = f"Accuracy {inside}{line['longestText']} at length {line['longestLength']:,}"
    return element(
        "svg",
        element("path", d=f"M0 {chance}H{width}", stroke="var(--line2)", stroke_dasharray="2 2"),
        element("path", d=f"M{trained} 0V{height}", stroke="var(--train)", stroke_dasharray="3 2", stroke_width="1.5"),
        element("path", d=path, stroke="var(--ink)", stroke_width="1.6", stroke_linecap="round"),
        viewBox=f"0 0 {width} {height}",
        fill="none",
        role="img",
        aria_label=words,
    )


def _made_before(out: Path) -> set[str]:
    """The files that are in the folder since it was published before.

    Raises:
        ReportError: for a folder that holds something else.
    """
    if out.exists() and not out.is_dir():
        raise ReportError(f"{out} is a file; name a folder: -o {out}-site")
    if not out.is_dir() or all(map(is_temporary, out.iterdir())):
        return set()
    names: Any = None
    with isolate_errors(lambda _: None, MADE):
        names = json.loads(read_bytes(path_below(out, MADE), MOST_LISTED))
    if not isinstance(names, list):
        raise ReportError(f"{out} holds other files; name a new folder, or one that lengthlens publish made")
    plain = re.compile(rf"(assets|runs)/[A-Za-z0-9_-][A-Za-z0-9_.-]*|{re.escape(CLAIMS)}")
    return {name for name in names if isinstance(name, str) and plain.fullmatch(name)}


def _write(out: Path, name: str, text: str) -> None:
    write_atomic(out, name, text.encode())


def _write_list(out: Path, names: Iterable[str]) -> None:
    _write(out, MADE, json.dumps(sorted(names), indent=1) + "\n")
