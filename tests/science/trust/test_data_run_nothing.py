"""A run that names code, opened by every route there is: the code is not run; trusted, it is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT
from tests.support.trust.data_run_nothing import BOTH, app, call  # noqa: F401 - fixtures
from workbench.dashboard import router
from workbench.dashboard.downloads import panels
from workbench.dashboard.measure_now import ask, status_line
from workbench.dashboard.pages import theory
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.runs import summary
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, asked_of
from workbench.dashboard.server.worker import Job, Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.table import Table
from workbench.tasks.source_code import NOT_RUN, trust

LONG = 240.0


# ---- the command line ------------------------------------------------------------------------------
@BOTH
def test_no_command_runs_the_code_of_a_run(custom, form, call, tmp_path, monkeypatch) -> None:
    from workbench.cli.commands.measure import run_for_package

    made = custom(form, measured=True)
    folder, root = made.run.path, made.run.path.parent
    yaml = tmp_path / "sweep.yaml"
    yaml.write_text(f"out: {root}\nbase: {{task: majority, steps: 2}}\ngrid: {{seed: [0]}}\nmeasure: true\n")
    (root / "run").symlink_to(folder)  # as the sweep would call its cell

    status, said = call("measure", root, "--executor", "serial", "--sequences", 16)
    assert status == 1
    assert f"is not measured: {NOT_RUN}; it is the class Mine of {made.file}" in said
    for words in (["measure", folder, "--only", "behaviour"], ["show", folder], ["check", root]):
        call(*words)
    for package in ("probes", "circuits"):
        monkeypatch.setattr(sys, "argv", [package, str(root), "--executor", "serial"])
        with pytest.raises(SystemExit):
            run_for_package(package)
    for words in (["sweep", yaml], ["sweep", yaml, "--dry-run"], ["train", "majority", "--out", folder, "--steps", 2]):
        status, said = call(*words)
        assert status == 2
        assert "contains another run (its task" in said
    status, said = call("compile", "majority", "--lengths", "1-9", "--up-to", 9, "--out", folder)
    assert (status, "contains another run" in said) == (2, True)
    call("adopt", folder / "steps", "--task", "majority", "--lengths", "1-9", "--out", folder)
    assert made.times == 0


@BOTH
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_trusted_file_is_measured_with(custom, form, executor, call) -> None:
    made = custom(form)
    words = ["measure", made.run.path, "--only", "behaviour", "--sequences", 16, "--lengths", "19,37,73", "--executor"]
    status, said = call(*words, executor)
    assert (status, made.times) == (1, 0)
    status, said = call(*words, executor, "--trust-code", made.file)
    assert status == 0, said
    assert ("is taken on trust" in said) is (form == "before")
    assert made.times == (1 if executor == "serial" else 2), "once here, once in the worker"
    rows = Table.load(made.run.path).frame(quantity="accuracy", length=9)
    assert (rows["value"] == 1).all()
    assert len(rows) > 0


def test_a_file_that_changed_is_refused_with_both_hashes(custom, call) -> None:
    made = custom()
    held = made.run.config["task"]["source"]["sha256"]
    made.file.write_text(made.file.read_text() + "# changed\n")
    now = hashlib.sha256(made.file.read_bytes()).hexdigest()
    status, said = call("measure", made.run.path, "--trust-code", made.file)
    assert status == 1
    assert f"is not the file of the run: its sha256 is {now}, the run's is {held}" in said
    assert made.times == 0


STARTS = {
    "executor": "from workbench.jobs.choose import make_executor\n"
    "if __name__ == '__main__':\n"
    "    print(make_executor('processes').map(abs, [-2, -3]))\n",
    "worker": "from workbench.dashboard.server.worker import Worker\n"
    "if __name__ == '__main__':\n"
    "    made = Worker()\n"
    "    print(made.wait(made.submit('operator:index', {}), 200).error)\n",
}


@pytest.mark.parametrize(("who", "says"), [("executor", "[2, 3]"), ("worker", "TypeError: ")])
def test_no_neighbour_of_the_data_is_imported(tmp_path, who, says) -> None:
    """Worker processes do not look for modules in the folder that the command was called in."""
    here = tmp_path / "runs"
    here.mkdir()
    for name in ("random", "joblib", "runpy", "multiprocessing", "pickle", "socket", "torch", "encodings", "numpy"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'was-imported')!r}, 'a').write(__name__)\n")
    script = tmp_path / "script.py"
    script.write_text(STARTS[who])
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=here, capture_output=True, text=True, timeout=HANGS_S, env=environment
    )
    assert not (tmp_path / "was-imported").exists()
    assert says in done.stdout, done.stderr


def finished(worker: Worker, key: str) -> Job:
    job = worker.wait(key, LONG)
    assert job is not None
    assert not job.pending
    return job


@pytest.mark.parametrize("app", ["source", "before"], indirect=True)
def test_no_page_and_no_question_runs_the_code_of_a_run(app) -> None:
    made, answers, client = app
    runs = answers.store.runs()
    assert list(runs) == ["mine"]
    run = runs["mine"]
    for page in PAGES:
        for search in ("", "?run=mine", "?run=mine&run2=mine", f"?run={made.file}:Mine", "?run=mine&law=os:system"):
            router.page(answers, page.path, search)

    # Runs: what theory expects of every run, worked out by the worker.
    assert answers.expectations.of(runs.values()) == {"mine": None}
    (key,) = answers.expectations._asked
    assert finished(answers.worker, key).state == "done"
    assert answers.expectations.of(runs.values())["mine"]["reason"] == NOT_RUN
    line = summary(answers, run)
    assert (line["expects"], line["theory"]) == ("custom task", "its code was not run")
    assert line["verdict"] != "not measured", "its numbers are shown"

    # Theory, Try it and a checkpoint's sequences, Measure now.
    told = finished(answers.worker, theory.ask(answers, run))
    assert told.state == "failed"
    assert told.error.startswith(NOT_RUN)
    assert NOT_RUN in str(theory.prediction_state(run, told)[0])
    for typed in ("", "0101"):
        keys = asked_of(run, default_cursor(run), {**EXTRAS, "seq": typed}).submit(answers, "session")
        for key in keys.values():
            job = finished(answers.worker, key)
            assert job.state == "failed"
            assert job.error.startswith(NOT_RUN)
    asked = ask(answers, {"run": "mine", "only": "behaviour"})
    measured = finished(answers.measurer, asked["key"])
    assert NOT_RUN in str(status_line(measured, asked))
    assert "Nothing was measured of mine." in str(status_line(measured, asked))
    assert ask(answers, {"run": "mine", "only": f"{made.file}:Mine"}) is None
    assert finished(answers.measurer, ask(answers, {"run": "mine", "only": "os"})["key"]).state == "failed"

    # Whatever can be exported.
    for name in panels():
        for kind in ("csv", "json", "py"):
            assert client.get(f"/data/{name}.{kind}?run=mine&run2=mine").status_code in (200, 404)
    assert made.times == 0


def test_a_trusted_file_serves_theory_and_sequences(app) -> None:
    made, answers, _ = app
    trust(made.file)  # as the option of the command line does, before the worker begins
    run = answers.store.runs()["mine"]
    told = finished(answers.worker, theory.ask(answers, run))
    assert told.state == "done", told.error
    look = asked_of(run, default_cursor(run), {**EXTRAS, "seq": "0101"}).submit(answers, "session")["look"]
    assert finished(answers.worker, look).state == "done"
    assert made.times == 1, "in the worker, once"
