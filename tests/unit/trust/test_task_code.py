"""Which code may be run: names and hashes, ids of runs made before, and what a task's file can do wrong."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import py_compile
import re
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.support.places import ROOT
from workbench.core import registry as core_registry
from workbench.models.handmade.transformers import majority
from workbench.runs import Run
from workbench.runs.run import run_id
from workbench.tasks import TaskError, load_task, make_task, registry
from workbench.tasks.errors import UntrustedCode
from workbench.tasks.registry import forbid_exit, same_task, stored_task, task_of
from workbench.tasks.source_code import LONGEST_PATH, NOT_RUN, code_of, identity, trust, trusted_files
from workbench.training.compare_configs import refuse_another
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.trainer import Trainer

BOTH = pytest.mark.parametrize("form", ["source", "before"])


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- what a run holds of it ----------------------------------------------------------------------
def test_name_file_and_hash_are_stored_apart(custom) -> None:
    made = custom()
    assert made.run.config["task"] == {
        "name": "mine",
        "parameters": {},
        "source": {"file": str(made.file.resolve()), "class": "Mine", "sha256": sha256(made.file)},
    }
    assert stored_task(make_task("mod_p_mean", p=5, k=2)) == {
        "name": "mod_p_mean", "parameters": {"p": 5, "k": 2, "tolerance": 0.05},
    }  # fmt: skip


def test_a_class_that_a_file_only_imports_is_known_by_its_own_name(tmp_path) -> None:
    file = tmp_path / "other.py"
    file.write_text("from workbench.tasks.counting.majority import Majority\n")
    assert "source" not in stored_task(load_task(f"{file}:Majority"))
    assert "source" not in stored_task(make_task("majority"))


def test_the_id_does_not_depend_on_where_the_file_lay_but_on_what_is_in_it(custom) -> None:
    config = custom().run.config
    task = config["task"]

    def with_source(**changes: str) -> str:
        return run_id({**config, "task": {**task, "source": {**task["source"], **changes}}})

    assert with_source(file="/elsewhere/mine.py") == config["id"]
    assert len({with_source(), with_source(sha256="0" * 64), with_source(**{"class": "Other"})}) == 3


def test_ids_of_runs_made_before_stay(custom) -> None:
    """The hash of the four parts as they are stored, whatever the task's name looks like."""
    for file in sorted((ROOT / "checkpoints" / "gallery").rglob("run.json")):
        config = json.loads(file.read_text())
        run = Run.open(file.parent)
        assert run_id(config) == config["id"] == run.id
        if "folder" in config["task"]["parameters"]:  # its text is not here, and neither are its weights
            assert run.rows_only
            continue
        task = run.task
        assert getattr(task, "inner", task).name == config["task"]["name"]
    config = custom("before").run.config
    parts = {key: config[key] for key in ("task", "model", "training", "seeds")}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert config["id"] == hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "source",
    [
        {"file": "a.py", "class": "A", "sha256": "0" * 63},
        {"file": "a.py", "class": "A", "sha256": "G" * 64},
        {"file": "a.py", "class": "A.b", "sha256": "0" * 64},
        {"file": "a" * 5000 + ".py", "class": "A", "sha256": "0" * 64},
        {"file": "", "class": "A", "sha256": "0" * 64},
        {"file": 1, "class": "A", "sha256": "0" * 64},
        {"class": "A", "sha256": "0" * 64},
        {},
        "a.py",
        1,
        True,
    ],
)
def test_a_source_that_says_too_little_is_refused_and_not_taken_for_a_known_task(source) -> None:
    spec = {"name": "majority", "parameters": {}, "source": source}
    with pytest.raises(TaskError, match="class"):
        task_of(spec)
    identity(spec)


def test_only_a_file_and_a_class_are_code() -> None:
    assert code_of({"name": "majority"}) is None
    assert code_of({"name": "mine.py"}) is None
    assert code_of({"name": "a.pyc:Mine"}) is None
    assert code_of({"name": "/a b/mine.py:Mine"}).as_source == {"file": "/a b/mine.py", "class": "Mine", "sha256": ""}
    for name in ("mine.py", "a.pyc:Mine", "os:system", "mine.py:A.b", "../mine.py:"):
        with pytest.raises(TaskError, match="unknown task"):
            task_of({"name": name, "parameters": {}})


@pytest.mark.parametrize(
    ("file", "cls", "digest", "sound"),
    [
        ("/a/mine.py", "Mine", "0" * 64, True),
        ("/" + "a" * (LONGEST_PATH - 1), "Mine", "0" * 64, True),
        ("/" + "a" * LONGEST_PATH, "Mine", "0" * 64, False),
        ("", "Mine", "0" * 64, False),
        ("/a/mine.py", "Mi.ne", "0" * 64, False),
        ("/a/mine.py", "", "0" * 64, False),
        ("/a/mine.py", "Mine", "0" * 63, False),
        ("/a/mine.py", "Mine", "g" * 64, False),
        ("/a/mine.py", None, "0" * 64, False),
    ],
)
def test_a_source_says_file_class_and_hash_or_is_refused(file, cls, digest, sound) -> None:
    spec = {"name": "mine", "source": {"file": file, "class": cls, "sha256": digest}}
    if sound:
        assert code_of(spec).as_source == spec["source"]
    else:
        with pytest.raises(TaskError, match="restore"):
            code_of(spec)


# ---- what may be run -----------------------------------------------------------------------------
@BOTH
def test_a_run_runs_nothing_until_its_file_is_trusted(custom, form) -> None:
    made = custom(form)
    with pytest.raises(UntrustedCode) as caught:
        made.run.task  # noqa: B018
    said = str(caught.value)
    assert said.startswith(NOT_RUN)
    assert f"--trust-code {made.file}" in said
    assert f"run.trust({str(made.file)!r})" in said
    assert made.times == 0
    if form == "before":
        with pytest.warns(UserWarning, match=r"mine\.py"):
            run = made.run.trust(made.file)
    else:
        run = made.run.trust(made.file)
    assert made.times == 0, "trusting runs nothing"
    assert (run.task.name, made.times) == ("mine", 1)
    assert type(run.task) is type(run.task)
    assert made.times == 1


def test_a_changed_file_is_refused_with_both_hashes(custom) -> None:
    made = custom()
    before = sha256(made.file)
    made.file.write_text(made.file.read_text() + "\n")
    with pytest.raises(UntrustedCode) as caught:
        made.run.trust(made.file)
    assert before in str(caught.value)
    assert sha256(made.file) in str(caught.value)
    assert trusted_files() == ()
    trust(made.file)  # as the command line does, which knows of no run yet
    with pytest.raises(UntrustedCode, match=f"{sha256(made.file)}"):
        made.run.task  # noqa: B018
    assert made.times == 0


def test_the_same_file_elsewhere_under_another_name_will_do(custom, tmp_path) -> None:
    made = custom()
    moved = Path(shutil.move(made.file, tmp_path / "moved.py"))
    assert made.run.trust(moved).task.name == "mine"


def test_a_file_of_another_name_is_not_that_of_a_run_without_a_hash(custom, tmp_path) -> None:
    made = custom("before")
    other = Path(shutil.copy(made.file, tmp_path / "other.py"))
    with pytest.raises(UntrustedCode, match=r"other\.py"):
        made.run.trust(other)
    trust(other)
    with pytest.raises(UntrustedCode, match=NOT_RUN):
        made.run.task  # noqa: B018
    assert made.times == 0


def test_trusting_one_file_trusts_no_other(custom, tmp_path) -> None:
    made = custom()
    other = tmp_path / "other.py"
    other.write_text("raise SystemExit('this was run')")
    trust(other)
    with pytest.raises(
        UntrustedCode,
        match=r"other\.py",
    ):
        made.run.task  # noqa: B018


def test_the_bytes_that_were_hashed_are_those_that_run(custom) -> None:
    """Compiled code beside the file, which Python takes for the file's own, is not run."""
    made = custom()
    evil = made.file.with_name("evil.py")
    evil.write_text("raise RuntimeError('the compiled file was run')")
    cached = importlib.util.cache_from_source(str(made.file))
    py_compile.compile(
        str(evil), cfile=cached, dfile=str(made.file), doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("mine", made.file)
    module = importlib.util.module_from_spec(spec)
    with pytest.raises(RuntimeError, match="compiled"):
        spec.loader.exec_module(module)
    assert made.run.trust(made.file).task.name == "mine"


def test_what_has_run_here_needs_no_file(custom) -> None:
    """A file that is edited while a run trains is not in the way of its own last sentence."""
    made = custom()
    task = load_task(f"{made.file}:Mine")
    made.file.write_text("changed")
    assert made.run.task == task


def test_names_of_installed_packages_need_no_trust(monkeypatch, tmp_path) -> None:
    (tmp_path / "plugged.py").write_text(
        "from workbench.tasks.counting.majority import Majority\nclass Plugged(Majority):\n    name = 'plugged'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = [EntryPoint(name="plugged", value="plugged:Plugged", group=registry.ENTRY_POINTS)]
    monkeypatch.setattr(core_registry, "entry_points", lambda group: found)
    assert task_of({"name": "plugged", "parameters": {}}).name == "plugged"
    assert "source" not in stored_task(make_task("plugged"))


def test_a_run_of_a_known_task_takes_no_file(make_run, custom) -> None:
    run = make_run(majority(), make_task("majority"), trained=9)
    with pytest.raises(TaskError, match="is part of LengthLens"):
        run.trust(custom().file)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing.py", r"nothing\.py"),
        ("/dev/zero", "/dev/zero"),
        ("folder.py", r"folder\.py"),
        ("pipe.py", r"pipe\.py"),
        ("device.py", "/dev/zero"),
        ("long.py", r"long\.py"),
    ],
)
def test_what_cannot_be_trusted(tmp_path, name, sentence) -> None:
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "long.py").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(TaskError, match=sentence):
        trust(tmp_path / name)


def test_a_path_that_came_with_data_can_be_pasted_without_harm() -> None:
    for file, shown in (("/a; rm -r b.py", "--trust-code '/a; rm -r b.py'"), ("/a\x1b[2J.py", r"/a\x1b[2J.py")):
        spec = {"name": "mine", "parameters": {}, "source": {"file": file, "class": "A", "sha256": "0" * 64}}
        with pytest.raises(UntrustedCode) as caught:
            task_of(spec)
        assert shown in str(caught.value)
        assert str(caught.value).isprintable()


# ---- naming is trusting ----------------------------------------------------------------------------
def trained(custom, folder: Path) -> tuple[RunConfig, Path]:
    made = custom(folder="runs/other")
    task = make_task(f"{made.file}:Mine")
    law = TrainingConfig(steps=2, batch_size=4, curriculum={"law": "uniform", "low": 1, "high": 9})
    config = RunConfig(task=task, model=majority().cfg, training=law)
    return config, made.file


def test_a_run_continues_by_the_command_that_began_it(custom, tmp_path) -> None:
    config, file = trained(custom, tmp_path)
    run = Trainer(config, tmp_path / "run").run()
    assert run.task.name == "mine", "who names the file has trusted it"
    refuse_another(run, config)
    file.write_text(file.read_text() + "# changed\n")
    changed = config.model_copy(update={"task": make_task(f"{file}:Mine")})
    with pytest.raises(ValueError, match=f"{run.config['task']['source']['sha256']}"):
        refuse_another(run, changed)


def test_a_run_made_before_continues_by_the_command_that_began_it(custom, tmp_path) -> None:
    config, file = trained(custom, tmp_path)
    held = custom("before")
    now = RunConfig(
        task=make_task(f"{file}:Mine"),
        model=majority().cfg,
        training=TrainingConfig(steps=100, curriculum={"law": "uniform", "low": 1, "high": 9}),
    )
    assert now.as_json()["id"] != held.run.id
    refuse_another(held.run, now)
    elsewhere = Path(shutil.copy(file, tmp_path / "mine.py"))
    with pytest.raises(ValueError, match=r"task\.name"):
        refuse_another(held.run, now.model_copy(update={"task": make_task(f"{elsewhere}:Mine")}))
    assert config.task.name == "mine"


def test_what_is_one_task() -> None:
    def source(file: str, cls: str, digit: str) -> dict[str, object]:
        code = {"file": file, "class": cls, "sha256": digit * 64}
        return {"name": "mine", "parameters": {"p": 1}, "source": code}

    one = source("/a/mine.py", "Mine", "0")
    before = {"name": "/a/mine.py:Mine", "parameters": {"p": 1}}
    assert same_task(one, source("/b/mine.py", "Mine", "0"))
    assert same_task(before, one)
    assert not same_task(one, source("/a/mine.py", "Mine", "1"))
    assert not same_task(one, source("/a/mine.py", "Other", "0"))
    assert not same_task(before, source("/b/mine.py", "Mine", "0"))
    assert not same_task({"name": "mine", "parameters": {"p": 1}}, one)
    assert not same_task(one, {**one, "parameters": {"p": 2}})
    assert same_task({"name": "mod_p_mean", "parameters": {"p": 5}}, stored_task(make_task("mod_p_mean", p=5)))
    assert not same_task({"name": "mod_p_mean", "parameters": {"p": 7}}, stored_task(make_task("mod_p_mean", p=5)))


def test_no_room_that_reads_data_makes_tasks_by_name() -> None:
    """``make_task`` and ``load_task`` run the file in a name; whoever reads run.json calls ``task_of``."""
    rooms = ["workbench/runs", "workbench/measure", "workbench/dashboard", "workbench/table", "workbench/figures",
             "workbench/training", "workbench/jobs", "workbench/models", "probes", "circuits"]  # fmt: skip
    files = [file for room in rooms for file in (ROOT / room).rglob("*.py")]
    files += [ROOT / "workbench" / "theory" / "prediction" / "as_data.py"]
    assert len(files) > 100
    for file in files:
        names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"make_task", "load_task", "exec", "eval", "__import__"}, file


def test_the_worker_is_asked_for_functions_that_stand_in_the_code_alone() -> None:
    """No address of a function comes from a link, a request or a run."""
    files = (ROOT / "workbench" / "dashboard").rglob("*.py")
    calls = [node for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    asked = re.compile(r".*(worker|measurer)\.submit")
    submitted = [ast.unparse(call.args[0]) for call in calls if asked.fullmatch(ast.unparse(call.func))]
    assert len(submitted) >= 4
    assert all(name.isupper() for name in submitted), submitted


# ---- what a task's file can do wrong ----------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("import sys; sys.exit(0)", r"sys\.exit\(0"),
        ("raise SystemExit", r"sys\.exit\("),
        ("exit('bye')", r"sys\.exit\('bye'"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "does not run: Odd: x"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("def f(:", "SyntaxError"),
        ("x = '\0'", "does not run: (SyntaxError|ValueError)"),
        ("from workbench.tasks import Task\nclass Mine(Task): pass", "question"),
        (
            "from workbench.tasks import Task\nclass Mine(Task):\n  name = question = kind = summary = 'x'",
            "label_strings",
        ),
        (
            "from workbench.tasks.counting.majority import Majority\nclass Mine(Majority):\n  name = 'mine'\n"
            "  def model_post_init(self, context): raise SystemExit(0)",
            r"sys\.exit\(0",
        ),
    ],
)  # fmt: skip
def test_a_file_that_fails_is_one_sentence(tmp_path, body, sentence) -> None:
    file = tmp_path / "mine.py"
    file.write_text(body)
    with pytest.raises(TaskError, match=sentence):
        make_task(f"{file}:Mine")


def test_ctrl_c_in_a_file_is_ctrl_c(tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        make_task(f"{file}:Mine")
    task = make_task("majority")
    with pytest.raises(KeyboardInterrupt), forbid_exit(task):
        raise KeyboardInterrupt
    with pytest.raises(TaskError, match="majority"), forbid_exit(task):
        raise SystemExit(0)
