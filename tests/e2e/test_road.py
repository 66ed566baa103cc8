"""The whole road by its commands: train, stop, continue, measure, show; and what bad input gets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaign.forked import Ended, start, warm
from tests.support.limits import HANGS_S

LAST = 1000
SMALL = ["--lengths", "1-9", "--layers", "1", "--d-model", "8", "--heads", "2", "--batch-size", "8"]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "workbench.cli.main", *map(str, words)]


def lengthlens(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=HANGS_S)


def forked(*words: object, cwd: Path | None = None) -> Ended:
    """The command without its imports, which take most of the time of a small one."""
    warm()
    with contextlib.chdir(cwd or Path.cwd()):
        child = start(words, Path.cwd())
    return child.end(kill_after=HANGS_S)


def hashes(folder: Path) -> dict[str, str]:
    return {p.parent.name: json.loads(p.read_text())["sha256"] for p in sorted(folder.glob("steps/*/meta.json"))}


Here = Callable[..., tuple[object, str]]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Here:
    """The command in this process: what it exits with, and what it says on standard error."""

    def call(*words: object, cwd: Path | None = None) -> tuple[object, str]:
        from workbench.cli.main import main

        monkeypatch.setattr(sys, "argv", ["lengthlens", *map(str, words)])
        if cwd is not None:
            monkeypatch.chdir(cwd)
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, capsys.readouterr().err

    return call


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("road") / "majority"
    done = lengthlens("train", "majority", "--out", folder, "--steps", LAST, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "Next: lengthlens measure" in done.stdout
    assert f"{LAST:,}/{LAST:,} steps" in done.stderr
    return folder


@pytest.fixture(scope="module")
def measured(trained: Path) -> Path:
    done = lengthlens("measure", trained, "--steps", f"0,{LAST}", "--sequences", 64)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 checkpoints measured in 1 run:" in done.stdout
    return trained


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_ended_by_a_signal_continues_to_the_same_bits(trained: Path, tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "cut"
    words = ("train", "majority", "--out", folder, "--steps", LAST, *SMALL)
    warm()
    process = start(words, folder)
    while not list(folder.glob("steps/0000000[4-9]")):
        assert not process.ended(), process.end().said
        time.sleep(0.01)
    os.kill(process.pid, how)
    ended = process.end()
    assert not (folder / "steps" / f"{LAST:08d}").exists(), "it was to be ended before its end"
    if how is not signal.SIGKILL:
        assert ended.status == 130
        assert "run the same command to resume" in " ".join(ended.said.split())
        assert (folder / "resume.safetensors").exists()
    done = forked(*words)
    assert done.status == 0, done.said
    assert hashes(folder) == hashes(trained)


def made() -> set[str]:
    """The measurements that a run of a task of ours gets: all that are made unasked, but for that of prompts."""
    from workbench.measure.registry import choose

    return set(choose(None)) - {"behaviour.in_context"}


def test_every_measurement_leaves_rows_of_both_checkpoints(measured: Path) -> None:
    from workbench.table import Table

    table = Table.load(measured)
    assert table.problems == []
    found = table.sql("select distinct measurement, step from rows order by all")
    assert set(map(tuple, found.to_numpy())) == {(m, s) for m in made() for s in (0, LAST)}
    for spec in table.specs.values():
        defined = {q["name"] for q in spec["quantities"]}
        rows = table.frame(measurement=spec["name"])
        assert set(rows["quantity"]) <= defined, "every quantity in the table has a definition"
    bad = table.sql("select * from rows where status = 'ok' and value is null and label = ''")
    assert bad.empty, bad


def test_measuring_again_finds_everything_there(measured: Path) -> None:
    again = forked("measure", measured, "--steps", f"0,{LAST}", "--sequences", 64)
    assert "Nothing left to measure in 1 run" in again.said
    assert f"{2 * len(made())} measurements existed already" in again.said


def test_serial_and_parallel_measuring_agree(measured: Path, tmp_path: Path) -> None:
    import shutil

    from workbench.table import Table

    other = tmp_path / "majority"
    shutil.copytree(measured, other, ignore=shutil.ignore_patterns("measurements", "table.parquet"))
    done = forked("measure", other, "--steps", f"0,{LAST}", "--sequences", 64, "--executor", "serial")
    assert done.status == 0, done.said
    keys = ["measurement", "step", "law", "length", "layer", "head", "quantity", "target", "mode", "control"]
    frames = [Table.load(f).frame().sort_values(keys).reset_index(drop=True) for f in (measured, other)]
    assert frames[0].equals(frames[1])


def test_families_have_their_own_command(trained: Path, tmp_path: Path) -> None:
    for package in ("probes", "circuits"):
        options = ("--steps", "1", "--sequences", "64", "--executor", "serial")
        words = [sys.executable, "-m", package, str(trained), *options]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        folders = {p.parent.name for p in trained.glob("measurements/*/00000001-*") if package in p.parent.name}
        assert folders
    assert not list(trained.glob("measurements/behaviour/00000001-*"))


def test_show_tells_the_verdict_without_torch(measured: Path) -> None:
    shown = lengthlens("show", measured)
    assert shown.returncode == 0, shown.stderr
    assert "majority" in shown.stdout
    assert f"at step {LAST:,}" in shown.stdout
    assert "challenge" in shown.stdout
    code = "import sys; sys.argv = ['x', 'show', sys.argv[1]]\nfrom workbench.cli.main import main\ntry: main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code, str(measured)], capture_output=True).returncode == 0


def test_tasks_are_listed_one_a_line() -> None:
    from workbench.tasks import task_names

    lines = forked("tasks").said.strip().splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(task_names())
    assert lines[0].split()[1:4] == ["automata", "state", "0.50"]


def test_one_task_is_told_in_full() -> None:
    told = forked("tasks", "mod_p_mean").said
    for part in ("(mod_p_mean)", "Kind: average", "challenge", "--set task.p=..", "at most 64; default 3", "Example"):
        assert part in told


def test_training_says_whether_it_fits_and_where_its_options_come_from(tmp_path: Path) -> None:
    (tmp_path / "easy.py").write_text(EASY)
    words = ("train", "easy.py:Easy", "--out", "run", "--heads", 1, "--set", "model.positions.base=1e5")
    done = forked(*words, "--positions", "rotary", cwd=tmp_path)
    assert done.status == 0, done.said
    assert "easy suggests lengths 1-3, steps 5, layers 1, d_model 4" in done.said
    said = [line for line in done.said.splitlines() if line.startswith("accuracy at the longest training length 3")]
    assert len(said) == 1
    assert "n 512" in said[0]
    assert ": not fitted (skill " in said[0]
    assert "fitted needs 0.95)" in said[0]
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert config["model"]["positions"]["base"] == 1e5
    assert config["training"]["steps"] == 5
    assert config["training"]["batch_size"] == 64


def test_a_run_that_fits_is_said_to(tmp_path: Path) -> None:
    words = ("train", "majority", "--out", tmp_path / "run", "--lengths", "1-1", "--layers", 1, "--d-model", 8)
    done = forked(*words, "--heads", 1, "--steps", 300, "--learning-rate", 0.02, "--batch-size", 16)
    assert done.status == 0, done.said
    assert "n 512, chance 0.50: fitted" in done.said


EASY = '''
from workbench.tasks.counting.majority import Majority

class Easy(Majority):
    """Majority with suggestions."""
    name = "easy"
    suggested = {"lengths": "1-3", "steps": 5, "layers": 1, "d_model": 4, "heads": 4}
'''


MY_TASK = '''
from workbench.tasks.counting.majority import Majority

class MyTask(Majority):
    """Majority under another name."""
    name = "mine"
'''


def test_a_task_from_a_file_trains_and_is_measured(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MY_TASK)
    done = forked("train", "mine.py:MyTask", "--out", "run", "--steps", 3, *SMALL, cwd=tmp_path)
    assert done.status == 0, done.said
    assert f"Next: lengthlens measure run --trust-code {tmp_path / 'mine.py'}" in done.said
    words = ("measure", "run", "--only", "behaviour", "--sequences", 16, "--steps", "3")
    done = forked(*words, cwd=tmp_path)
    assert done.status == 1
    assert "custom task: its code was not run" in done.said
    done = forked(*words, "--trust-code", "mine.py", cwd=tmp_path)
    assert done.status == 0, done.said


@pytest.mark.parametrize(("words", "sentence"), [
    (["train", "majorty"], "did you mean majority"),
    (["train", "majority", "--positions", "rotry"], "did you mean rotary"),
    (["train", "majority", "--ids", "offset"], "did you mean random_offset"),
    (["train", "majority", "--stpes", "3"], "--steps"),
    (["train", "majority", "--lengths", "50-1"], "the shortest length exceeds the longest"),
    (["train", "majority", "--lengths", "many"], "LOW-HIGH"),
    (["train", "majority", "--lengths", "2-2"], "no admissible length between 2 and 2"),
    (["train", "majority", "--positions", "learned", "--lengths", "1-600"], "train with n_ctx of at least 600"),
    (["train", "majority", "--heads", "3"], "d_model 64 is not a multiple of n_heads 3"),
    (["train", "majority", "--set", "training.weight_decy=1"], "did you mean weight_decay"),
    (["train", "majority", "--set", "trainng.steps=1"], "settings start with task., model., training., seeds."),
    (["train", "flip_flop", "--set", "task.write_probability=2"], "write_probability"),
    (["train", "nothing.py:MyTask"], "nothing.py"),
    (["measure", "nowhere"], "there is no folder nowhere"),
    (["measure", "."], "contains no run"),
    (["measure", ".", "--executor", "procesess"], "did you mean processes"),
    (["show", "."], "is not a run"),
    (["mesure", "."], "measure"),
])  # fmt: skip
def test_bad_input_gets_one_sentence_and_a_non_zero_exit(
    tmp_path: Path, here: Here, words: list[str], sentence: str
) -> None:
    (tmp_path / "notes.txt").write_text("not a run")
    status, said = here(*words, cwd=tmp_path)
    assert status not in (0, None)
    assert sentence in " ".join(said.replace("│", " ").split()), said
    assert not list(tmp_path.rglob("run.json")), "nothing is begun"


def test_bad_measure_options_on_a_real_run(measured: Path, here: Here) -> None:
    for words, sentence in (
        (["--only", "hardmax"], "did you mean circuits.hardmax"),
        (["--lengths", "10"], "the next length it has is 11"),
        (["--steps", "5"], "no checkpoint at step 5"),
        (["--set", "behaviour.x=1"], "behaviour has no setting 'x'"),
    ):
        status, said = here("measure", measured, *words)
        assert status == 2, said
        assert sentence in said


def test_a_damaged_checkpoint_makes_the_exit_status_1(measured: Path, tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree(measured, run, ignore=shutil.ignore_patterns("measurements", "table.parquet"))
    weights = run / "steps" / "00000000" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    done = forked("measure", run, "--steps", f"0,{LAST}", "--only", "behaviour", "--sequences", 16)
    assert done.status == 1
    assert "1 of 2 checkpoints measured" in done.said
    checked = forked("check", run)
    assert checked.status == 1
    assert "1 problem" in checked.said
    assert "sha256 differs from meta.json" in checked.said
    assert forked("check", measured).status == 0
    assert "00000000" in done.said
    assert "Traceback" not in done.said


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_ctrl_c_while_measuring_keeps_what_is_done_and_says_so(trained: Path, tmp_path: Path, executor: str) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("measurements", "table.parquet"))
    words = ("measure", run, "--only", "behaviour", "--executor", executor)

    def begun() -> bool:
        return bool(list(run.glob("measurements/behaviour/[0-9]*.parquet")))

    status, said = interrupted(begun, words) if executor == "processes" else interrupted_alone(begun, words, run)
    assert status == 130
    assert "Interrupted. Finished work is kept" in said
    assert "Traceback" not in said
    done = len(list(run.glob("measurements/behaviour/[0-9]*.parquet")))
    assert 1 <= done < len(list(run.glob("steps/*")))


def interrupted(begun: Callable[[], bool], words: tuple[object, ...]) -> tuple[int, str]:
    """Press Ctrl-C once it has begun: how it ends, and what it says on standard error."""
    # A group of its own, as a terminal gives it: Ctrl-C reaches the workers too.
    process = subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not begun():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=HANGS_S)
    return process.returncode, said


def interrupted_alone(begun: Callable[[], bool], words: tuple[object, ...], folder: Path) -> tuple[int, str]:
    """The same of a command that has no workers, without its imports; what it says anywhere."""
    warm()
    child = start(words, folder, own_group=True)
    while not begun():
        assert not child.ended(), child.end().said
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    ended = child.end(kill_after=HANGS_S)
    return ended.status, ended.said


def test_help_answers_without_torch() -> None:
    code = "import sys; sys.argv = ['lengthlens', '--help']\nfrom workbench.cli.main import main\ntry: main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ).returncode == 0
