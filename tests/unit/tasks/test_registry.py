"""Tasks by name, from other packages and from files; parameters and their errors; worked examples."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from pydantic import Field
from pydantic.fields import FieldInfo

from workbench.core import registry as core_registry
from workbench.core.failures import clause
from workbench.tasks import (
    Task,
    TaskError,
    describe,
    find_task,
    load_task,
    make_task,
    registry,
    source_code,
    task_names,
)
from workbench.tasks.later_parameter import later

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
    with pytest.raises(TaskError, match=r"my_task\.py"):
        make_task(f"{file}:MyTask")
    file.write_text(MY_TASK)
    with pytest.raises(TaskError, match=r"file\.py:ClassName"):
        make_task(str(file))
    with pytest.raises(TaskError, match="'Other'"):
        make_task(f"{file}:Other")
    with pytest.raises(TaskError, match="'x'"):
        make_task(f"{file}:MyTask", size="x")
    file.write_text("1 / 0")
    with pytest.raises(TaskError, match=r"my_task\.py"):
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
    with pytest.raises(TaskError, match="mine"):
        make_task("mined")


@pytest.mark.parametrize(
    ("entries", "name", "sentence"),
    [
        (
            [("majority", "elsewhere:Task")],
            "majority",
            "'majority'",
        ),
        ([("x", "no_such_package:X")], "x", "no_such_package:X"),
        ([("x", "math:pi")], "x", "'x'"),
        ([("x", "workbench.tasks.counting.majority:Majority")], "x", "'majority'"),
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
    with pytest.raises(AttributeError, match="'nothing'"):
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
    with pytest.raises(TaskError, match="character 1"):
        make_task("regular", regex="\ud800")


@pytest.mark.parametrize(("annotation", "noun"), [
    (int, "an integer"), (float | None, "a number"), (tuple[str, ...] | None, "a list of strings"),
    (Optional[str], "a string"),  # noqa: UP045
    (int | str, "of type int | str"), (int | str | None, "of type int | str | None"), (Literal["a"] | None, "'a'"),
    (Literal["a", "b"], "'a' or 'b'"), (dict[str, Any], "a JSON object"), (bytes, "of type <class 'bytes'>"),
])  # fmt: skip
def test_kinds_of_values_in_words(annotation: Any, noun: str) -> None:
    assert registry._noun(annotation) == noun


@pytest.mark.parametrize(("bounds", "words"), [
    ({}, "a number"), ({"ge": 1}, "a number at least 1"), ({"gt": 0, "lt": 0.5}, "a number above 0 and below 0.5"),
    ({"le": 7}, "a number at most 7"),
])  # fmt: skip
def test_bounds_of_values_in_words(bounds: dict[str, float], words: str) -> None:
    field = FieldInfo.from_annotated_attribute(float, Field(1.0, **bounds))
    assert registry.allowed_values(field) == words


@pytest.mark.parametrize(("error", "said"), [
    (SystemExit(), "it ends the program by sys.exit()"), (SystemExit(3), "it ends the program by sys.exit(3)"),
    (SystemExit(0), "it ends the program by sys.exit(0)"), (SystemExit("no"), "it ends the program by sys.exit('no')"),
    (ValueError("x"), "ValueError: x"),
])  # fmt: skip
def test_what_is_said_of_code_that_fails(error: BaseException, said: str) -> None:
    assert clause(error) == said


@pytest.mark.parametrize("place", ["my.txt:X", "my.py", "X", ":X", "my.py.txt:X", "my.pyx:X"])
def test_a_place_is_a_file_of_python_and_a_class(place: str) -> None:
    with pytest.raises(TaskError, match=r"file\.py:ClassName"):
        load_task(place)


@pytest.mark.parametrize(("found", "is_task"), [
    (Task, False), (find_task("parity"), True), (int, False), (None, False), ("Parity", False), (make_task("parity"), False),
])  # fmt: skip
def test_what_is_a_class_of_tasks(found: object, is_task: bool) -> None:
    assert registry._is_task(found) == is_task


def test_a_class_is_installed_where_its_name_is_that_of_itself() -> None:
    parity = find_task("parity")
    assert registry._installed(parity)
    assert not registry._installed(type("Other", (parity,), {}))
    assert not registry._installed(type("Other", (parity,), {"name": "nowhere"}))
    assert registry.is_built_in(parity())
    assert not registry.is_built_in(type("Other", (parity,), {"__module__": "workbenches.own"})())


PARITY = {"name": "parity", "parameters": {}}


@pytest.mark.parametrize(("held", "wanted", "same"), [
    (PARITY, PARITY, True),
    (PARITY, {**PARITY, "name": "majority"}, False),
    ({"name": "gone", "parameters": {"p": 1}}, {"name": "gone", "parameters": {"p": 1}}, True),
    ({"name": "gone", "parameters": {"p": 1}}, {"name": "gone", "parameters": {"p": 2}}, False),
    ({"name": "gone"}, {"name": "gone"}, True),
    ({"name": "tomita", "parameters": {}}, {"name": "tomita", "parameters": {"misses": "replaced"}}, True),
    ({"name": "tomita", "parameters": {}}, {"name": "tomita", "parameters": {"misses": "mixed"}}, False),
    (PARITY, {**PARITY, "presented": {"how": "bare"}}, False),
])  # fmt: skip
def test_tasks_that_are_one(held: dict[str, Any], wanted: dict[str, Any], same: bool) -> None:
    """A parameter that is not named is what it was then; what cannot be made is compared as it stands."""
    assert registry.same_task(held, wanted) == registry.same_task(wanted, held) == same


def test_how_a_task_is_presented_is_an_object() -> None:
    with pytest.raises(TaskError, match="JSON"):
        registry.task_of({**PARITY, "presented": ["bare"]})


CODE = source_code.TaskCode("/a/x.py", "X", "")


@pytest.mark.parametrize(("held", "found"), [
    ([], None), (["/b/x.py", "/a/x.py"], "/a/x.py"), (["/b/x.py", "/c/x.py"], "/b/x.py"), (["/a/y.py", "/b/z.py"], None),
    (["/a/y.py", "/c/x.py"], "/c/x.py"),
])  # fmt: skip
def test_a_file_is_that_of_the_place_or_else_of_the_name(held: list[str], found: str | None, monkeypatch) -> None:
    paths = [Path(path) for path in held]
    monkeypatch.setattr(source_code, "_trusted", paths)
    assert source_code._of_that_name(CODE, dict.fromkeys(paths, b"")) == (found and Path(found))
    said = source_code.on_trust(CODE)
    assert said.startswith(f"that {found} is the file of its task is taken on trust") if found else said == ""
    assert source_code.on_trust(replace(CODE, sha256="0" * 64)) == ""


@pytest.mark.parametrize(("spec", "option"), [
    (PARITY, ""), ({"name": "mine", "source": {"file": "a b.py", "class": "X", "sha256": "0" * 64}}, " --trust-code 'a b.py'"),
    ({"name": "mine", "source": {"file": "a.py"}}, ""), ({"name": "mine", "source": 3}, ""), ({"name": "x.py:X"}, " --trust-code x.py"),
    ({"name": "x.txt:X"}, ""), ({"name": 3}, ""), ({}, ""),
])  # fmt: skip
def test_what_a_command_about_a_run_says_of_its_file(spec: dict[str, Any], option: str) -> None:
    assert source_code.trust_option(spec) == option


@pytest.mark.parametrize(("sha256", "name", "refused"), [
    (source_code.sha256_of(b"text"), "y.py", False), (source_code.sha256_of(b"other"), "x.py", True), ("", "x.py", False),
    ("", "y.py", True),
])  # fmt: skip
def test_a_file_is_checked_by_its_hash_or_else_by_its_name(sha256: str, name: str, refused: bool) -> None:
    def check() -> None:
        source_code.check_code(replace(CODE, sha256=sha256), Path("/z") / name, b"text")

    if refused:
        with pytest.raises(source_code.UntrustedCode, match="custom"):
            check()
    else:
        check()


def test_a_file_that_is_trusted_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_code, "_trusted", [])
    file = tmp_path / "own.py"
    file.write_text("1 / 0  # never run")
    assert source_code.trust(file) == source_code.trust(tmp_path / "." / "own.py") == file.resolve()
    assert source_code.trusted_files() == (str(file.resolve()),)
    spec = {"name": "own", "source": {"file": "a.py", "class": "X", "sha256": "0" * 64}, "parameters": {}}
    assert source_code.identity(spec) == {**spec, "source": {"class": "X", "sha256": "0" * 64}}
    assert source_code.identity(PARITY) == PARITY


@pytest.mark.parametrize(("default", "given", "written"), [
    (3, {}, {}), (3, {"size": 3}, {}), (3, {"size": 4}, {"size": 4}), (0, {"size": 0}, {}), (0, {"size": 1}, {"size": 1}),
])  # fmt: skip
def test_a_later_parameter_is_written_where_it_differs(
    default: int, given: dict[str, int], written: dict[str, int]
) -> None:
    own = type("Own", (find_task("parity"),), {"__annotations__": {"size": int}, "size": later(default), "name": "own"})
    assert own(**given).parameters == {**find_task("parity")().parameters, **written}


@pytest.mark.parametrize(("one", "other", "same"), [
    (("a.py", "X", "0"), ("b.py", "X", "0"), True), (("a.py", "X", "0"), ("a.py", "X", "1"), False),
    (("a.py", "X", "0"), ("a.py", "Y", "0"), False), (("a.py", "X", ""), ("a.py", "X", "0"), True),
    (("a.py", "X", ""), ("b.py", "X", "0"), False), (("a.py", "X", ""), ("a.py", "Y", "0"), False),
    (("a.py", "X", ""), ("a.py", "X", ""), True), (("a.py", "X", ""), ("b.py", "X", ""), False),
])  # fmt: skip
def test_files_are_one_by_their_hash_or_else_by_their_place(one, other, same: bool) -> None:
    def spec(file: str, cls: str, digit: str) -> dict[str, Any]:
        if not digit:
            return {"name": f"{file}:{cls}", "parameters": {}}
        return {"name": "own", "parameters": {}, "source": {"file": file, "class": cls, "sha256": digit * 64}}

    assert registry.same_task(spec(*one), spec(*other)) == registry.same_task(spec(*other), spec(*one)) == same
    assert not registry.same_task(spec(*one), PARITY)


def test_what_a_stored_task_does_not_say_is_what_it_was_then(tmp_path: Path) -> None:
    """Of a task by its name and of one of a file; who makes one now has the default."""
    file = tmp_path / "aged.py"
    file.write_text(MY_TASK.replace("size: int", 'formerly: ClassVar[dict] = {"size": 9}\n    size: int'))
    now = make_task(f"{file}:MyTask")
    assert now.parameters == {"size": 3}
    spec = registry.stored_task(now)
    assert spec["source"] == {"file": str(file), "class": "MyTask", "sha256": source_code.sha256_of(file.read_bytes())}
    assert registry.task_of({**spec, "parameters": {}}).parameters == {"size": 9}
    assert registry.task_of(spec).parameters == {"size": 3}
    assert make_task("tomita").parameters["misses"] == "mixed"
    assert registry.task_of({"name": "tomita", "parameters": {}}).parameters["misses"] == "replaced"
    assert "source" not in registry.stored_task(make_task("tomita"))
