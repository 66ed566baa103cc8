"""Sweeps: every cell checked before any is trained, what is missing trained, kills survived, damage named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaign.forked import start, warm
from tests.support.limits import HANGS_S

SWEEP = """
out: {out}
base: {{lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: {steps}, training.checkpoints.log: 2}}
grid:
  task: [majority, parity]
  seed: [0, 1]
measure: {{only: [behaviour], steps: last, sequences: 16}}
"""
NAMES = {f"{task}-seed{seed}" for task in ("majority", "parity") for seed in (0, 1)}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "workbench.cli.main", "sweep", *map(str, words)]


Here = Callable[..., tuple[object, str, str]]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    """The sweep in this process, one cell after another: its exit status and what it says."""

    def call(file: Path, dry_run: bool = False) -> tuple[object, str, str]:
        from workbench.cli.commands.sweep import sweep
        from workbench.cli.errors import exit_status

        status = exit_status(lambda: sweep(file, None, None, "serial", dry_run))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def hashes(folder: Path) -> dict[str, str]:
    return {
        f"{p.parents[2].name}/{p.parent.name}": json.loads(p.read_text())["sha256"]
        for p in sorted(folder.glob("*/steps/*/meta.json"))
    }


def write(folder: Path, text: str = SWEEP, steps: int = 300) -> Path:
    file = folder / "sweep.yaml"
    file.write_text(text.format(out=folder / "runs", steps=steps))
    return file


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    done = subprocess.run(command(write(folder)), capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert "4 cells" in done.stdout
    assert "4 trained now, 0 existed already" in done.stdout
    return folder


def test_all_cells_are_trained_and_measured(trained: Path) -> None:
    from workbench.table import Table

    runs = trained / "runs"
    assert {p.name for p in runs.iterdir()} == NAMES
    table = Table.load(runs)
    assert set(table.frame(quantity="verdict")["run"]) == NAMES
    assert set(table.frame()["step"]) == {300}


def test_again_nothing_is_done(trained: Path, here: Here) -> None:
    before = hashes(trained / "runs")
    status, out, said = here(trained / "sweep.yaml")
    assert status == 0, said
    assert "0 trained now, 4 existed already" in out
    assert "4 measurements existed already" in out
    assert hashes(trained / "runs") == before


def test_killed_it_goes_on_to_the_same_bits(trained: Path, tmp_path: Path, here: Here) -> None:
    """Killed outright, workers and all, then by Ctrl-C."""
    file = write(tmp_path, SWEEP.partition("measure")[0].replace("[majority, parity]", "[majority]"))
    before = len(list(tmp_path.glob("runs/*/steps/*")))
    warm()
    child = start(["sweep", file], tmp_path, own_group=True)
    while len(list(tmp_path.glob("runs/*/steps/*"))) <= before and not child.ended():
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)  # of one that has ended nothing is left to kill
    assert "Traceback" not in child.end(kill_after=HANGS_S).said
    before = len(list(tmp_path.glob("runs/*/steps/*")))
    process = subprocess.Popen(
        command(file), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while len(list(tmp_path.glob("runs/*/steps/*"))) <= before and process.poll() is None:
        time.sleep(0.01)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=HANGS_S)
    assert "Traceback" not in said
    status, _, said = here(file)
    assert status == 0, said
    expected = {k: v for k, v in hashes(trained / "runs").items() if k.startswith("majority")}
    found = hashes(tmp_path / "runs")
    assert {k.removeprefix("seed"): v for k, v in found.items()} == {
        k.removeprefix("majority-seed"): v for k, v in expected.items()
    }


def test_a_dry_run_trains_nothing(tmp_path: Path, here: Here) -> None:
    status, out, said = here(write(tmp_path), dry_run=True)
    assert status == 0, said
    assert "4 to be trained" in out
    assert "majority-seed1  missing  task majority, seed 1" in out
    assert not (tmp_path / "runs").exists()


def test_a_damaged_cell_is_named_and_the_rest_goes_on(trained: Path, tmp_path: Path, here: Here) -> None:
    shutil.copytree(trained / "runs", tmp_path / "runs")
    bad = tmp_path / "runs" / "majority-seed1" / "run.json"
    bad.write_text(bad.read_text()[:-20])
    shutil.rmtree(tmp_path / "runs" / "parity-seed0")
    status, out, said = here(write(tmp_path, SWEEP.partition("measure")[0]))
    assert status == 1
    assert "cell majority-seed1: " in said
    assert "is damaged" in said
    assert "1 trained now, 2 existed already" in out
    parities = {k: v for k, v in hashes(trained / "runs").items() if "parity" in k}
    assert hashes(tmp_path / "runs").items() >= parities.items()


@pytest.mark.parametrize(("text", "sentences"), [
    ("base: {task: majority, lengths: 1-9, heads: 3}\ngrid: {seed: [0, 1]}", ["every cell: model: d_model 64 is not a multiple of n_heads 3"]),
    ("base: {task: mod_p_mean}\ngrid: {task.p: [3, 99]}", ["cell p99 (task.p: 99): mod_p_mean: p must be an integer at least 1 and at most 64"]),
    ("base: {task: majority}\ngrid: {positions: [none, rotry]}", ["cell rotry (positions: rotry)", "did you mean rotary"]),
    ("base: {task: majority}\ngrid: {seed: [0]}\nmeasure: {only: [behavior]}", ["did you mean behaviour"]),
    ("base: {task: majority}\ngrid: {seed: [0]}\nmeasure: {only: [behaviour], lengths: [100]}", ["the next length it has is 101"]),
    ("base: {task: majority, training.regularizers.positional: 1}\ngrid: {positions: [none, learned]}",
     ["cell none (positions: none): the regularizer positional needs"]),
])  # fmt: skip
def test_every_cell_is_checked_before_any_is_trained(
    tmp_path: Path, here: Here, text: str, sentences: list[str]
) -> None:
    file = write(tmp_path, "out: {out}\n" + text.replace("{", "{{").replace("}", "}}"))
    status, _, said = here(file)
    assert status == 2
    assert str(file) in said
    for sentence in sentences:
        assert sentence in said
    assert not (tmp_path / "runs").exists()


def test_a_folder_of_another_run_is_refused_before_training(trained: Path, tmp_path: Path, here: Here) -> None:
    shutil.copytree(trained / "runs", tmp_path / "runs")
    shutil.rmtree(tmp_path / "runs" / "parity-seed0")
    status, _, said = here(write(tmp_path, steps=301))
    assert status == 2
    assert "contains another run (its training differs: training." in said
    assert not (tmp_path / "runs" / "parity-seed0").exists()


def test_a_cell_that_fails_in_training_is_named(tmp_path: Path, here: Here) -> None:
    text = SWEEP.replace("seed: [0, 1]", "learning_rate: [0.001, 1.0e+30]").replace("[majority, parity]", "[majority]")
    status, _, said = here(write(tmp_path, text, steps=20))
    assert status == 1
    assert "cell learning_rate1e+30: RunError" in said
    assert "no longer finite" in said
    assert list(tmp_path.glob("runs/learning_rate0.001/measurements/behaviour/*"))
