"""Executors: the same answers everywhere, every item accounted for, and no process left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.jobs.executors import gone, needs_proc
from workbench.cli.main import app
from workbench.jobs import choose, resources
from workbench.jobs.choose import ExecutorKind, executor_help, make_executor
from workbench.jobs.executors import ExecutorError, Failure, Serial
from workbench.jobs.processes import Processes
from workbench.jobs.resources import THREADS, available_cores, available_memory, worker_count

EXECUTORS = [Serial(), Processes(workers=2)]
NAMES = ["serial", "processes"]


def square(number: int) -> int:
    if number == 3:
        raise ValueError("three is not allowed")
    return number**2


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_results_come_in_order_and_a_raising_item_costs_itself(executor):
    seen: dict[int, object] = {}

    def on_done(index, outcome):
        assert index not in seen
        seen[index] = outcome

    results = executor.map(square, range(7), on_done=on_done)
    failure = results.pop(3)
    assert results == [0, 1, 4, 16, 25, 36]
    assert isinstance(failure, Failure)
    assert (failure.index, failure.job) == (3, 3)
    line = square.__code__.co_firstlineno + 2
    assert failure.error == f"ValueError: three is not allowed (at {__file__}:{line})"
    assert "in square" in failure.traceback
    assert sorted(seen) == list(range(7))
    assert seen[3] == failure
    assert [seen[k] for k in (0, 1, 2, 4, 5, 6)] == results


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_no_items_are_no_work(executor):
    executor.check()
    assert executor.map(square, []) == []


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_an_item_that_leaves_the_program_is_a_failure(executor):
    left, fine = executor.map(lambda code: sys.exit(code) if code else "fine", [2, 0])
    assert isinstance(left, Failure)
    assert left.error.startswith("it ends the program by sys.exit(2) (at ")
    assert fine == "fine"


def test_serial_lets_an_interrupt_through():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Serial().map(interrupt, [1])


def test_results_are_reported_while_others_are_still_out(tmp_path):
    """The second item waits for a file that is written when the first is reported."""
    signal_file = tmp_path / "first is done"

    def work(index: int) -> int:
        while index == 1 and not Path(signal_file).exists():
            time.sleep(0.01)
        return index

    assert Processes(workers=2).map(work, [0, 1], on_done=lambda i, _: signal_file.touch()) == [0, 1]


def test_what_cannot_travel_is_a_failure_of_its_item():
    def work(number: int) -> object:
        return threading.Lock() if number == 1 else number

    results = Processes(workers=1).map(work, [0, 1, 2])
    assert (results[0], results[2]) == (0, 2)
    assert isinstance(results[1], Failure)
    assert results[1].job == 1


def test_each_worker_has_one_numerical_thread():
    (found,) = Processes(workers=1).map(lambda _: {name: os.environ.get(name) for name in THREADS}, [0])
    assert found == dict.fromkeys(THREADS, "1")


@needs_proc
def test_a_raising_on_done_ends_the_workers():
    pids: list[int] = []

    def stop(_, pid):
        pids.append(pid)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        Processes(workers=1).map(lambda _: os.getpid(), range(3), on_done=stop)
    assert gone(pids)


def test_executors_are_made_by_name():
    assert isinstance(make_executor("serial"), Serial)
    made = make_executor("processes", workers=3)
    assert isinstance(made, Processes)
    assert made.workers == 3


@pytest.mark.parametrize(
    ("name", "workers", "said"),
    [
        ("proceses", None, "'proceses'.*processes"),
        ("slurm", None, "'slurm'"),
        ("processes", 0, "1 worker"),
        ("serial", 4, "serial"),
    ],
)
def test_what_cannot_be_made_is_explained(name, workers, said):
    with pytest.raises(ExecutorError, match=said):
        make_executor(name, workers)
    with pytest.raises(ExecutorError, match="retries must be at least 1"):
        Processes(retries=0)


def test_a_new_executor_is_one_entry(monkeypatch):
    requests: list[object] = []

    def make(address: str, workers: int | None, folders: Sequence[Path]) -> Serial:
        requests.append((address, workers, folders))
        return Serial()

    monkeypatch.setitem(choose.EXECUTORS, "threads", ExecutorKind("threads=N", "threads", make))
    assert isinstance(make_executor("threads=4", None, [Path("runs")]), Serial)
    assert requests == [("4", None, [Path("runs")])]
    assert "threads=N (threads)" in executor_help()
    with pytest.raises(ExecutorError, match="threads=N"):
        make_executor("threds=4")


def test_commands_say_which_executors_there_are():
    for command in ("measure", "sweep", "reproduce"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).output
        assert all(kind.form in shown for kind in choose.EXECUTORS.values()), command


def test_workers_are_as_many_as_cores_items_and_memory_allow(monkeypatch):
    monkeypatch.setattr(resources, "available_cores", lambda: 8)
    monkeypatch.setattr(resources, "available_memory", lambda: 10_000)
    assert worker_count(100) == 8
    assert worker_count(3) == 3
    assert worker_count(0) == 1
    assert worker_count(100, requested=2) == 2
    assert worker_count(100, requested=20) == 20
    assert worker_count(100, memory_per_worker=3_000) == 3
    assert worker_count(100, memory_per_worker=20_000) == 1


@needs_proc
def test_the_machine_is_read_as_it_is():
    assert 1 <= available_cores() <= len(os.sched_getaffinity(0))
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < available_memory() <= total


@pytest.mark.parametrize(
    ("cgroup", "files", "wanted"),
    [
        ("0::/job/step\n", {"job/memory.max": "5000", "job/step/memory.max": "max"}, [5000]),
        ("5:cpu:/x\n3:memory:/slurm\n", {"memory/slurm/memory.limit_in_bytes": "700\n"}, [700]),
        ("0::/\n", {}, []),
    ],
)
def test_limits_of_control_groups_are_found(tmp_path, monkeypatch, cgroup, files, wanted):
    own = tmp_path / "cgroup"
    own.write_text(cgroup)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert resources.group_limits(own, tmp_path) == wanted


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_library_swallows_still_ends_the_work(sent: signal.Signals) -> None:
    done: list[int] = []

    def swallow(item: int) -> int:
        done.append(item)
        if item == 1:
            try:
                os.kill(os.getpid(), sent)
            except KeyboardInterrupt:
                raise ValueError("what a C library makes of it") from None
        return item

    before = signal.signal(sent, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            make_executor("serial").map(swallow, range(4))
        assert done == [0, 1]
        assert signal.getsignal(sent) is signal.default_int_handler
    finally:
        signal.signal(sent, before)
