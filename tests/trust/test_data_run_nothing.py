"""A run that names code, opened by every route there is: the code is not run; trusted, it is."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flask.testing import FlaskClient

from workbench.cli.errors import guarded
from workbench.dashboard import router
from workbench.dashboard.app import create_app
from workbench.dashboard.downloads import panels
from workbench.dashboard.measure_now import ask, shown
from workbench.dashboard.pages import theory
from workbench.dashboard.pages.listed import PAGES
from workbench.dashboard.pages.runs import summary
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, asked_of
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job, Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.runs import Run, find_runs
from workbench.runs.integrity import run_problems
from workbench.runs.log import read_log
from workbench.table import Table
from workbench.tasks.source_code import NOT_RUN, trust
from workbench.theory.prediction.as_data import describe_all

ROOT = Path(__file__).resolve().parents[2]
LONG = 240.0
BOTH = pytest.mark.parametrize("form", ["source", "before"])
Called = Callable[..., tuple[object, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Called:
    """The command in this process: its exit status, and all that it says, in one line."""

    def run(*words: object) -> tuple[object, str]:
        from workbench.cli.main import main

        monkeypatch.setattr(sys, "argv", ["lengthlens", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        heard = capsys.readouterr()
        return left.value.code, " ".join(f"{heard.out} {heard.err}".split())

    return run


# ---- in Python -------------------------------------------------------------------------------------
@BOTH
def test_nothing_of_a_run_runs_its_code(custom, form) -> None:
    made = custom(form, measured=True)
    for run in (Run.open(made.run.path), *find_runs(made.run.path.parent)):
        run.load(100)
        run.verify(100)
        run.equal_steps()
        for name in [name for name, part in vars(Run).items() if isinstance(part, property)]:
            if name == "task":
                with pytest.raises(ValueError, match=NOT_RUN):
                    run.task  # noqa: B018
            else:
                getattr(run, name)
    table = Table.load(made.run.path.parent)
    assert len(table.joined()) > 0
    assert list(table.runs()["task"]) == [made.run.config["task"]["name"]]
    assert made.times == 0


class Payload:
    """What unpickling it runs."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.marker), "w")


def test_what_parquet_says_of_its_columns_is_not_unpickled(custom, tmp_path) -> None:
    """Extension types may carry a pickle, which pyarrow once loaded."""
    made = custom(measured=True)
    payload = pickle.dumps(Payload(tmp_path / "was-unpickled"))
    said = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": payload}
    files = [*made.run.path.rglob("*-*.parquet"), made.run.path / "table.parquet"]
    assert len(files) == 2
    for file in files:
        table = pq.read_table(file)
        fields = [table.schema.field(0).with_metadata(said), *list(table.schema)[1:]]
        pq.write_table(table.cast(pa.schema(fields, metadata=table.schema.metadata)), file)
        assert payload in pq.read_schema(file).serialize().to_pybytes()
    pq.write_table(pq.read_table(files[0]), made.run.step_path(100) / "log.parquet")
    Table.load(made.run.path)
    run_problems(made.run)
    read_log(made.run.path)
    assert not (tmp_path / "was-unpickled").exists()
    pickle.loads(payload).close()
    assert (tmp_path / "was-unpickled").exists(), "or the test shows nothing"


def test_theory_is_told_the_file_and_runs_it_only_where_it_is_trusted(custom) -> None:
    made = custom()
    about = {"task": "mine", "parameters": {}, "positions": "none", "source": made.run.config["task"]["source"]}
    before = {"task": f"{made.file}:Mine", "parameters": {}, "positions": "none"}
    assert describe_all([about, before]) == [{"verdict": "", "theorem": "", "reason": NOT_RUN}] * 2
    assert made.times == 0
    trust(made.file)
    assert NOT_RUN not in [said["reason"] for said in describe_all([about, before])]
    assert made.times == 1


# ---- the command line ------------------------------------------------------------------------------
@pytest.mark.science  # every command there is
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
        assert "holds another run (its task" in said
    status, said = call("compile", "majority", "--lengths", "1-9", "--up-to", 9, "--out", folder)
    assert (status, "holds another run" in said) == (2, True)
    call("adopt", folder / "steps", "--task", "majority", "--lengths", "1-9", "--out", folder)
    assert made.times == 0


@pytest.mark.science  # measures
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


@pytest.mark.science  # measures
def test_a_file_that_changed_is_refused_with_both_hashes(custom, call) -> None:
    made = custom()
    held = made.run.config["task"]["source"]["sha256"]
    made.file.write_text(made.file.read_text() + "# changed\n")
    now = hashlib.sha256(made.file.read_bytes()).hexdigest()
    status, said = call("measure", made.run.path, "--trust-code", made.file)
    assert status == 1
    assert f"is not the file that the run was made with: its sha256 is {now}, the run's is {held}" in said
    assert made.times == 0


@pytest.mark.parametrize("words", [["measure", "."], ["app", "."]])
def test_a_file_to_be_trusted_that_is_not_there_is_one_sentence(call, words) -> None:
    status, said = call(*words, "--trust-code", "nothing.py")
    assert status == 2
    assert said.startswith("error: cannot read the task file ")
    assert said.endswith("nothing.py: No such file or directory")


def test_a_task_file_that_ends_the_program_is_an_error(call, tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import sys\nsys.exit(0)\n")
    for words in (["train", f"{file}:Mine"], ["tasks", f"{file}:Mine"], ["predict", f"{file}:Mine"]):
        status, said = call(*words)
        assert (status, said) == (2, f"error: the task file {file} does not run: it ends the program by sys.exit(0)")


def test_a_task_that_ends_the_program_in_training_is_an_error(call, tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import sys\nfrom workbench.tasks.counting.majority import Majority\nclass Mine(Majority):\n    name = 'mine'\n"
        "    def _strings(self, *given):\n        sys.exit(0)\n"
    )
    status, said = call("train", f"{file}:Mine", "--out", tmp_path / "run", "--steps", 2, "--layers", 1)
    assert status == 2
    assert "error: the code of the task mine fails: it ends the program by sys.exit(0)" in said


def test_foreign_code_that_ends_a_command_is_named_with_its_line(tmp_path, capsys) -> None:
    """Wherever it is called from: left alone, the command would end in silence with a good exit status."""
    foreign: dict[str, Any] = {"__name__": "mine"}
    exec(compile("import sys\ndef automaton():\n    sys.exit(0)\n", "mine.py", "exec"), foreign)
    assert guarded(foreign["automaton"]) == 2
    assert capsys.readouterr().err == "error: mine.py:3 called sys.exit(0); nothing after it was done\n"

    ours: dict[str, Any] = {"__name__": "workbench.cli.command"}
    exec(compile("def command():\n    raise SystemExit(3)\n", "command.py", "exec"), ours)
    assert guarded(ours["command"]) == 3


STARTS = {
    "executor": "from workbench.jobs.choose import make_executor\n"
    "if __name__ == '__main__':\n"
    "    print(make_executor('processes').map(abs, [-2, -3]))\n",
    "worker": "from workbench.dashboard.server.worker import Worker\n"
    "if __name__ == '__main__':\n"
    "    made = Worker()\n"
    "    print(made.wait(made.submit('operator:index', {}), 200).error)\n",
}


@pytest.mark.science  # processes
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
        [sys.executable, str(script)], cwd=here, capture_output=True, text=True, timeout=300, env=environment
    )
    assert not (tmp_path / "was-imported").exists()
    assert says in done.stdout, done.stderr


# ---- the dashboard ---------------------------------------------------------------------------------
@pytest.fixture
def app(custom, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Context, FlaskClient]]:
    made = custom(getattr(request, "param", "source"), measured=True)
    server = create_app(made.run.path.parent).server
    answers: Context = server.extensions["lengthlens"]
    yield made, answers, server.test_client()
    answers.close()


def finished(worker: Worker, key: str) -> Job:
    job = worker.wait(key, LONG)
    assert job is not None
    assert not job.pending
    return job


@pytest.mark.science  # a worker process
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
    assert NOT_RUN in str(theory.said(run, told)[0])
    for typed in ("", "0101"):
        keys = asked_of(run, default_cursor(run), {**EXTRAS, "seq": typed}).submit(answers, "session")
        for key in keys.values():
            job = finished(answers.worker, key)
            assert job.state == "failed"
            assert job.error.startswith(NOT_RUN)
    asked = ask(answers, {"run": "mine", "only": "behaviour"})
    measured = finished(answers.measurer, asked["key"])
    assert NOT_RUN in str(shown(measured, asked))
    assert "Nothing was measured." in str(shown(measured, asked))
    assert ask(answers, {"run": "mine", "only": f"{made.file}:Mine"}) is None
    assert finished(answers.measurer, ask(answers, {"run": "mine", "only": "os"})["key"]).state == "failed"

    # Whatever can be exported.
    for name in panels():
        for kind in ("csv", "json", "py"):
            assert client.get(f"/data/{name}.{kind}?run=mine&run2=mine").status_code in (200, 404)
    assert made.times == 0


@pytest.mark.science  # a worker process
def test_a_trusted_file_serves_theory_and_sequences(app) -> None:
    made, answers, _ = app
    trust(made.file)  # as the option of the command line does, before the worker begins
    run = answers.store.runs()["mine"]
    told = finished(answers.worker, theory.ask(answers, run))
    assert told.state == "done", told.error
    look = asked_of(run, default_cursor(run), {**EXTRAS, "seq": "0101"}).submit(answers, "session")["look"]
    assert finished(answers.worker, look).state == "done"
    assert made.times == 1, "in the worker, once"
