"""A run that names code, opened by every route there is: the code is not run; trusted, it is."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.trust.data_run_nothing import BOTH, app, call  # noqa: F401 - fixtures
from workbench.cli.errors import exit_status
from workbench.runs import Run, find_runs
from workbench.runs.integrity import run_problems
from workbench.runs.log import read_log
from workbench.table import Table
from workbench.tasks.source_code import NOT_RUN, trust
from workbench.theory.prediction.as_data import describe_all


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
    assert len(table.frame_with_runs()) > 0
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
        assert status == 2
        ends = f"it ends the program by sys.exit(0) (at {file}:2); run again with --debug to see where"
        assert said.startswith(f"error: the task file {file} does not run: {ends}")
        assert said.count("\n") == 0


def test_a_task_that_ends_the_program_in_training_is_an_error(call, tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import sys\nfrom workbench.tasks.counting.majority import Majority\nclass Mine(Majority):\n    name = 'mine'\n"
        "    def draw_strings(self, *given):\n        sys.exit(0)\n"
    )
    status, said = call("train", f"{file}:Mine", "--out", tmp_path / "run", "--steps", 2, "--layers", 1)
    assert status == 2
    assert "error: the code of the task mine fails: it ends the program by sys.exit(0)" in said


def test_foreign_code_that_ends_a_command_is_named_with_its_line(tmp_path, capsys) -> None:
    """Wherever it is called from: left alone, the command would end in silence with a good exit status."""
    foreign: dict[str, Any] = {"__name__": "mine"}
    exec(compile("import sys\ndef automaton():\n    sys.exit(0)\n", "mine.py", "exec"), foreign)
    assert exit_status(foreign["automaton"]) == 2
    assert capsys.readouterr().err == "error: mine.py:3 called sys.exit(0); nothing after it was done\n"

    ours: dict[str, Any] = {"__name__": "workbench.cli.command"}
    exec(compile("def command():\n    raise SystemExit(3)\n", "command.py", "exec"), ours)
    assert exit_status(ours["command"]) == 3
