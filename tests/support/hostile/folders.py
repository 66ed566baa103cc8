"""What tests of several tiers share. Odd folders, seen by the command line and by the dashboard: no traceback, no hang, and the sound run beside is whole.

``make hostile`` sees them all; a few are seen with the end-to-end tests.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from plotly.io.json import to_json_plotly

from tests.support.hostile.damaged import Case, make_template
from tests.support.hostile.effort import DEFECT
from workbench.cli.errors import exit_status
from workbench.cli.main import app
from workbench.dashboard import router
from workbench.dashboard.downloads import connect, panels
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.runs import lines
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import render_panel
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker, job_key
from workbench.dashboard.state.cursor import resolve
from workbench.dashboard.state.filters import Filters
from workbench.dashboard.state.store import Store
from workbench.dashboard.state.theory_match import subject
from workbench.table import Table
from workbench.theory.prediction.as_data import describe_all

SEED = 15
LIMIT_S = 300
LOOK = {"theme": "light", "size": 11}


class Idle(Worker):
    """A worker that is asked and starts no process: what it would answer is asked for here, where it counts."""

    def submit(self, function: str, arguments: Mapping[str, Any], slot: str = "", urgent: bool = False) -> str:
        return job_key(function, arguments)


class Hang(BaseException):
    """Not an Exception: nothing that handles things apart may take it for one of them."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    make_template(root)
    return root


@contextlib.contextmanager
def limited(seconds: int = LIMIT_S) -> Iterator[None]:
    """Raises Hang after so many seconds; what not even that ends, ends with the whole process and says where it was."""

    def late(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(seconds + 60, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def command(words: Sequence[object]) -> tuple[int | str, str]:
    """The status and the output of a command, in this process."""
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status: int | str = exit_status(lambda: app([str(word) for word in words]))
        except Exception:  # noqa: BLE001 - a traceback is what is looked for
            traceback.print_exc()
            status = "traceback"
    return status, said.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]


def seen(root: Path, sound: int, measured: bool, drawn: bool) -> Iterator[str]:
    """What is wrong with how a folder is seen, a sentence each.

    Args:
        root: the folder.
        sound: rows of the sound run.
        measured: whether to measure what is missing, too.
        drawn: whether to draw every panel.
    """
    todo: list[list[object]] = [["check", root], ["show", root / "odd"], ["show", root / "sound"]]
    if measured:
        todo.append(
            ["measure", root, "--only", "behaviour", "--steps", "last", "--sequences", 4, "--executor", "serial"]
        )
    for words in todo:
        status, said = command(words)
        if status not in (0, 1, 2) or "Traceback" in said or DEFECT in said:
            yield f"traceback of {words[0]}: {said[-2000:]}"
        if words[-1] == root / "sound" and status != 0:
            yield f"lost in show: {said[-500:]}"
    rows = Table.load(root).frame(run="sound")
    if len(rows) < sound:
        yield f"lost in the table: {len(rows)} rows of the sound run"
    yield from dashboard(root, drawn)


def dashboard(root: Path, drawn: bool) -> Iterator[str]:
    """The same of the dashboard: every page about the odd run and every panel of it, the sound run's own page."""
    answers = Context(Store([root]), Idle(), Idle())
    server = Flask("exports")
    connect(server, answers)
    answers.store.refresh(force=True)  # a first look at many steps may show a part of the runs on a busy machine
    client, runs = server.test_client(), answers.store.runs()
    if "sound" not in runs or not runs["sound"].brief.verdicts:
        yield f"lost in the dashboard: {sorted(runs)[:5]}, {answers.store.problems[:3]}"
    odd = [run for run in runs.values() if run.name != "sound"][:1]
    try:
        for page in PAGES:
            search = f"?run={odd[0].name}&run2=sound" if odd and page.path != "/" else ""
            to_json_plotly(router.page(answers, page.path, search)[:2])
        content, _, here = router.page(answers, "/run", "?run=sound")
        assert here["run"] == "sound"
        to_json_plotly(content)
        for filters in (Filters(), Filters(seeds="1")):
            to_json_plotly(lines(answers, filters))
        for run in odd if drawn else []:
            cursor, _ = resolve(f"?run={run.name}", run)
            for one in (one for one in panels().values() if isinstance(one, Panel)):
                status = client.get(f"/data/{one.id}.csv", query_string={"run": run.name, "run2": "sound"}).status_code
                if status not in (200, 404, 422):
                    yield f"traceback of {one.id}.csv: status {status}"
                at = PanelCursor.from_link(answers.store, run, cursor, {"run2": "sound"})
                for mode in ("figure", "table"):
                    to_json_plotly(render_panel(one, at, LOOK, mode))
        to_json_plotly(describe_all([subject(run) for run in odd]))
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        yield f"traceback of the dashboard: {traceback.format_exc()[-2000:]}"
    finally:
        answers.close()


def tried(template: Path, folder: Path, case: Case, measured: bool = False) -> list[str]:
    """What is wrong with how one case is seen."""
    root = folder / "root"
    shutil.copytree(template, root)
    sound = len(Table.load(root).frame(run="sound"))
    here = os.getcwd()
    try:
        case.apply(root)
        with limited():
            return [f"{case.label}: {one}" for one in seen(root, sound, measured, case.rows)]
    except Hang:
        return [f"{case.label}: hang"]
    finally:
        os.chdir(here)
        # Not Python's own: deep folders are deeper than its stack.
        os.system(f"rm -rf '{root}'")
