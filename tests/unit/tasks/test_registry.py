"""Tasks by name, from other packages and from files; parameters and their errors; worked examples."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from workbench.core import registry as core_registry
from workbench.tasks import Task, TaskError, describe, find_task, load_task, make_task, registry, task_names

BUILT_IN = ["flip_flop", "parity", "majority", "mod_p_mean", "kgram_retrieval"]
MY_TASK = """
from __future__ import annotations
from typing import ClassVar
from workbench.tasks.regular.state_machines import Parity

class MyTask(Parity):
    name: ClassVar[str] = "mine"
    size: int = 3
"""


def test_built_in_tasks_come_by_name():
    assert task_names()[:5] == BUILT_IN
    for name in BUILT_IN:
        assert find_task(name).name == make_task(name).name == name


def test_token_ids_are_fixed():
    assert make_task("flip_flop").tokens_names == ("<bos>", "w0", "w1", "i0", "i1", "r")
    for name in ("parity", "majority", "mod_p_mean"):
        assert make_task(name).tokens_names == ("<bos>", "0", "1")
    assert make_task("kgram_retrieval", symbols=3).tokens_names == ("<bos>", "a", "b", "c")
    assert make_task("kgram_retrieval", symbols=40).tokens_names[-1] == "s39"
    assert make_task("kgram_retrieval", symbols=40).d_vocab_out == 40


def test_parameters_survive_the_way_through_a_config():
    for name, parameters in (
        ("majority", {}),
        ("flip_flop", {"write_probability": 0.2, "read_probability": 0.0}),
        ("mod_p_mean", {"p": 5, "k": 0, "tolerance": 0.1}),
        ("kgram_retrieval", {"k": 2, "symbols": 8}),
    ):
        task = make_task(name, **parameters)
        assert task.parameters == parameters
        assert make_task(task.name, **task.parameters) == task


def test_kinds_and_questions():
    kinds = {name: make_task(name).kind for name in BUILT_IN}
    assert kinds == {
        "flip_flop": "state",
        "parity": "state",
        "majority": "counter",
        "mod_p_mean": "average",
        "kgram_retrieval": "pointer",
    }
    for name in BUILT_IN:
        task = make_task(name)
        line = describe(task)
        assert "\n" not in line
        for part in (task.name, task.kind, task.question, task.summary, "Chance 0."):
            assert part in line


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("majorty", {}, "unknown task 'majorty'; did you mean majority or letter_majority or parity?"),
        ("zzz", {}, f"unknown task 'zzz'; known: {', '.join(registry.BUILT_IN)}"),
        ("majority", {"p": 3}, "majority: unknown parameter 'p'; known: queries"),
        (
            "kgram_retrieval",
            {"symbol": 3},
            "kgram_retrieval: unknown parameter 'symbol'; did you mean symbols?",
        ),
        ("mod_p_mean", {"p": 0}, "mod_p_mean: p must be an integer at least 1 and at most 64, not 0"),
        ("mod_p_mean", {"p": "x"}, "mod_p_mean: p must be an integer at least 1 and at most 64, not 'x'"),
        ("mod_p_mean", {"p": 3, "k": 3}, "mod_p_mean: k must be an integer from 0 to p - 1 = 2, not 3"),
        (
            "mod_p_mean",
            {"tolerance": 0.5},
            "mod_p_mean: tolerance must be a number above 0 and below 0.5, not 0.5",
        ),
        (
            "kgram_retrieval",
            {"k": 9},
            "kgram_retrieval: k must be an integer at least 1 and at most 8, not 9",
        ),
        (
            "flip_flop",
            {"write_probability": 0},
            "flip_flop: write_probability must be a number above 0 and below 1, not 0",
        ),
        (
            "flip_flop",
            {"write_probability": 0.5, "read_probability": 0.7},
            "flip_flop: write_probability and read_probability must sum to at most 1, not 1.2",
        ),
    ],
)
def test_wrong_names_and_values_are_answered_in_one_sentence(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


def test_a_task_from_a_file(tmp_path):
    file = tmp_path / "my_task.py"
    file.write_text(MY_TASK)
    task = make_task(f"{file}:MyTask", size=4)
    assert isinstance(task, Task)
    assert (task.name, task.parameters) == ("mine", {"size": 4})
    assert load_task(f"{file}:MyTask", size=4) == task
    file.write_text(MY_TASK.replace("size: int = 3", "size: int = 7"))
    assert make_task(f"{file}:MyTask").parameters == {"size": 7}


def test_what_a_file_can_lack(tmp_path):
    file = tmp_path / "my_task.py"
    with pytest.raises(TaskError, match=r"cannot read the task file .*my_task.py: No such file"):
        make_task(f"{file}:MyTask")
    file.write_text(MY_TASK)
    with pytest.raises(TaskError, match=r"write it as file.py:ClassName"):
        make_task(str(file))
    with pytest.raises(TaskError, match=r"has no task class 'Other'; a task is a subclass of workbench.tasks.Task"):
        make_task(f"{file}:Other")
    with pytest.raises(TaskError, match="mine: size must be an integer, not 'x'"):
        make_task(f"{file}:MyTask", size="x")
    file.write_text("1 / 0")
    with pytest.raises(TaskError, match=r"my_task.py does not run: ZeroDivisionError: division by zero"):
        make_task(f"{file}:MyTask")


def announce(monkeypatch: pytest.MonkeyPatch, *entries: tuple[str, str]) -> None:
    found = [EntryPoint(name=n, value=v, group=registry.ENTRY_POINTS) for n, v in entries]
    monkeypatch.setattr(core_registry, "entry_points", lambda group: found if group == "lengthlens.tasks" else [])


def test_tasks_of_other_packages(monkeypatch, tmp_path):
    (tmp_path / "other_package.py").write_text(MY_TASK)
    monkeypatch.syspath_prepend(tmp_path)
    announce(monkeypatch, ("mine", "other_package:MyTask"))
    assert task_names() == [*registry.BUILT_IN, "mine"]
    assert make_task("mine").parameters == {"size": 3}
    with pytest.raises(TaskError, match="did you mean mine"):
        make_task("mined")


@pytest.mark.parametrize(
    ("entries", "name", "sentence"),
    [
        (
            [("majority", "elsewhere:Task")],
            "majority",
            "'majority' is taken more than once, by .*Majority and elsewhere",
        ),
        ([("x", "no_such_package:X")], "x", r"'x' \(no_such_package:X\) could not be imported"),
        ([("x", "math:pi")], "x", "math:pi, announced as the task 'x', is no subclass"),
        ([("x", "workbench.tasks.counting.majority:Majority")], "x", "as the task 'x' but calls itself 'majority'"),
    ],
)
def test_wrong_announcements(monkeypatch, entries, name, sentence):
    announce(monkeypatch, *entries)
    with pytest.raises(TaskError, match=sentence):
        make_task(name)


def test_the_package_is_lazy():
    code = "import sys, workbench.tasks; sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    root = Path(importlib.import_module("workbench.tasks").__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
    import workbench.tasks

    assert set(dir(workbench.tasks)) >= {"make_task", "Batch", "Task", "TaskError"}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        workbench.tasks.nothing  # noqa: B018


def test_families_are_declared_by_the_class_wherever_it_lives():
    families = {}
    for name in registry.BUILT_IN:
        families.setdefault(find_task(name).family, []).append(name)
    assert "other" not in families
    assert families["copying"] == [
        "uf", "ub", "nf", "nb", "reverse", "duplicate_string", "odds_first", "sort", "addition",
    ]  # fmt: skip
    moved = type("Moved", (find_task("needle"),), {"__module__": "somewhere.copying", "name": "moved"})
    assert moved.family == "retrieval"
    assert type("Own", (Task,), {"name": "own"}).family == "other"


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_class_has_a_worked_example(name):
    assert ">>> " in find_task(name).__doc__


def test_half_a_character_is_refused_in_a_sentence() -> None:
    with pytest.raises(TaskError, match=r"regular: a parameter holds half of a character \(a lone surrogate\)"):
        make_task("regular", regex="\ud800")
