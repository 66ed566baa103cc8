"""Executors: the same answers everywhere, every item accounted for, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.jobs.executors import gone, needs_proc
from workbench.jobs.executors import Failure
from workbench.jobs.processes import Processes


def test_an_item_that_kills_its_worker_costs_itself_only(tmp_path):
    def work(name: str) -> str:
        with open(tmp_path / name, "a") as file:
            file.write("x")
        if name == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        return name.upper()

    names = ["a", "b", "deadly", "c", "d", "e"]
    seen = []
    results = Processes(workers=2, retries=2).map(work, names, on_done=lambda index, _: seen.append(index))
    failure = results[2]
    assert isinstance(failure, Failure)
    assert failure.job == "deadly"
    assert "killed" in failure.error
    assert [r for r in results if r is not failure] == ["A", "B", "C", "D", "E"]
    assert sorted(seen) == list(range(6))
    assert (tmp_path / "deadly").read_text() == "xxx"  # once, and two retries


def test_a_worker_killed_once_costs_nothing(tmp_path):
    def work(number: int) -> int:
        mark = tmp_path / "killed"
        if number == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return -number

    assert Processes(workers=2).map(work, [0, 1, 2, 3]) == [0, -1, -2, -3]


PROGRAM = """
import os, sys, time
from workbench.jobs.processes import Processes

def work(index):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(3600)

try:
    Processes(workers=2).map(work, range(4))
except KeyboardInterrupt:
    sys.exit(42)
"""


@needs_proc
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 42), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_no_worker_outlives_the_program(tmp_path, sent, code):
    marks = tmp_path / "marks"
    marks.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen([sys.executable, program, marks], env=env, stderr=subprocess.PIPE, text=True) as process:
        while len(list(marks.iterdir())) < 2:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        try:
            process.send_signal(sent)
            assert process.wait(60) == code
        finally:
            process.kill()  # else leaving the block would wait for ever
    pids = [int(mark.name) for mark in marks.iterdir()]
    assert len(pids) == 2
    assert gone(pids)
