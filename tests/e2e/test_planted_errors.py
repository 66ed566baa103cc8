"""A KeyError in a measurement, a figure, a task file and a plug-in: its file and line reach the author on every surface.

One sentence by default; the traceback in the log; with ``--debug`` the error itself; from worker processes as well.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import planted
from tests.support.dashboard.answers import LIGHT, texts
from tests.support.dashboard.fixtures import answers, cursor, robust, small_root  # noqa: F401 - fixtures
from tests.support.trust.data_run_nothing import Called, call  # noqa: F401 - fixtures
from workbench.cli.error_log import log_path
from workbench.core.failures import LOG
from workbench.dashboard.panels import render
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.server.error_log import error_handler
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.server.worker_addresses import MEASURE_RUN
from workbench.jobs.executors import WorkerError
from workbench.models.handmade.transformers import majority
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.tasks.registry import load_task
from workbench.tasks.source_code import trust

RAISES = f"line {planted.LINE}, in "
"""How a traceback names the line."""


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def run(make_run: Callable[..., Run]) -> Run:
    return make_run(majority(), make_task("majority"), trained=9)


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed plug-in, among other libraries, for this process and for its workers."""
    from workbench.measure import registry

    file = planted.install_plug_in(tmp_path)
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.setenv("PYTHONPATH", f"{file.parent}:{Path.cwd()}")
    registry._plug_ins.cache_clear()
    yield file
    registry._plug_ins.cache_clear()
    sys.modules.pop(file.stem, None)


@pytest.fixture
def printed() -> Iterator[io.StringIO]:
    """What the dashboard prints on standard error."""
    stream = io.StringIO()
    handler = error_handler(stream)
    LOG.addHandler(handler)
    yield stream
    LOG.removeHandler(handler)


# ---- a measurement of LengthLens --------------------------------------------------------------------
def test_a_defect_in_a_measurement_is_called_one_and_the_log_has_the_traceback(
    run: Run, call: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("circuits.hardmax.measurement.Hardmax.observer", planted.of_ours())
    status, said = call("measure", run.path, "--only", "circuits.hardmax", "--executor", "serial")
    assert status == 1
    assert f"circuits.hardmax failed: {planted.DEFECT}" in said
    assert said.count("planted") == 2, "the file, and the error once"
    assert said.endswith(f"note: run again with --debug to see where; the traceback is in {log_path()}")
    assert "stored" not in said
    assert "lengthlens check" not in said
    log = log_path().read_text()
    assert f'{planted.OURS}", {RAISES}planted' in log
    assert "ERROR lengthlens.measure: " in log


@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after it"])
def test_debug_raises_the_error_itself(run: Run, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    from workbench.cli.main import main

    monkeypatch.setattr("circuits.hardmax.measurement.Hardmax.observer", planted.of_ours())
    words = ["measure", str(run.path), "--only", "circuits.hardmax", "--executor", "serial"]
    words.insert(0 if before else len(words), "--debug")
    monkeypatch.setattr(sys, "argv", ["lengthlens", *words])
    with pytest.raises(WorkerError, match=f'{planted.OURS}", {RAISES}planted'):
        main()
    assert not log_path().exists()


# ---- a plug-in ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_an_error_in_a_plug_in_names_its_line_from_any_process(
    run: Run, plug_in: Path, call: Called, executor: str
) -> None:
    words = ("measure", run.path, "--only", "theirs", "--executor", executor, "--workers", 1)
    status, said = call(*words)
    assert status == 1
    assert f"theirs failed: KeyError: 'planted' (at {plug_in}:{planted.LINE})" in said
    assert "defect" not in said
    assert f'{plug_in}", {RAISES}observe' in log_path().read_text()


def test_debug_brings_the_traceback_of_a_worker_process(
    run: Run, plug_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.cli.main import main

    words = ["measure", str(run.path), "--only", "theirs", "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["lengthlens", *words])
    monkeypatch.setenv("LENGTHLENS_DEBUG", "1")
    with pytest.raises(WorkerError, match=f'{plug_in}", {RAISES}observe'):
        main()


# ---- a task file ---------------------------------------------------------------------------------------
@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(f"{planted.TASK}# {file}\n")  # equal files are run once
    return file


def test_an_error_in_a_task_file_names_its_line(task_file: Path, call: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "1")
    status, said = call("train", f"{task_file}:Mine", "--out", task_file.parent / "run", "--steps", 1, "--layers", 1)
    assert status == 2
    assert f"KeyError: 'planted' (at {task_file}:{planted.LINE})" in said
    assert said.count("error: ") == 1
    assert "Traceback" not in said
    assert f'{task_file}", {RAISES}draw_strings' in log_path().read_text()


@pytest.fixture
def run_of_file(task_file: Path, make_run: Callable[..., Run]) -> Run:
    trust(task_file)
    return make_run(majority(), load_task(f"{task_file}:Mine"), trained=9)


def test_measuring_now_names_the_line_of_a_task_file_in_the_message_and_in_the_log(
    run_of_file: Run, task_file: Path, printed: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the worker process of the dashboard to the page and to the log of the server."""
    monkeypatch.setenv("PLANTED", "1")
    worker = Worker()
    arguments = {"run_path": str(run_of_file.path), "only": ["behaviour"], "state": ""}
    try:
        job = worker.wait(worker.submit(MEASURE_RUN, arguments), 120)
    finally:
        worker.close()
    assert job is not None
    said = f"{job.error} {job.result}"
    assert f"KeyError: 'planted' (at {task_file}:{planted.LINE})" in said.replace('\\"', '"').replace("\\'", "'")
    assert f'{task_file}", {RAISES}draw_strings' in printed.getvalue()


# ---- a figure --------------------------------------------------------------------------------------------
def test_a_defect_in_a_figure_blames_no_rows(
    answers: Any, robust: Any, cursor: Any, printed: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = next(panel for panel in PANELS if panel.id == "accuracy-length")
    monkeypatch.setattr(type(panel), "plain", planted.of_ours())
    shown = texts(list(render.render_panel(panel, PanelCursor(robust, cursor), LIGHT, "figure")))
    assert planted.DEFECT in shown
    assert "The log of the server has the traceback." in shown
    assert "stored" not in shown
    assert "lengthlens check" not in shown
    assert f"ERROR lengthlens.dashboard: panel accuracy-length of {robust.name}: {planted.DEFECT}" in printed.getvalue()
    assert f'{planted.OURS}", {RAISES}planted' in printed.getvalue()


def test_rows_that_are_damaged_are_blamed_and_nothing_is_logged(
    answers: Any, robust: Any, cursor: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.table.errors import TableError

    def damaged(*given: Any) -> Any:
        raise TableError("a length of -1")

    panel = next(panel for panel in PANELS if panel.id == "accuracy-length")
    monkeypatch.setattr(type(panel), "plain", damaged)
    with caplog.at_level(logging.DEBUG, "lengthlens"):
        shown = texts(list(render.render_panel(panel, PanelCursor(robust, cursor), LIGHT, "figure")))
    assert "The rows stored for this panel cannot be drawn (a length of -1)." in shown
    assert f"lengthlens check {robust.shown_path}" in shown
    assert caplog.records == []
