"""The executor ``dask`` without a cluster: its name, what it refuses, and the child process that an item runs in."""

from __future__ import annotations

import builtins
import os
import pickle
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.jobs.executors import gone, needs_proc
from workbench.jobs import cluster, cluster_workers, job_process
from workbench.jobs.choose import make_executor
from workbench.jobs.cluster import Dask
from workbench.jobs.cluster_workers import ClusterError, Scheduler, looker, marker_files
from workbench.jobs.executors import Answer, ExecutorError, Failure
from workbench.jobs.job_process import end_idle, pack_job, run_job, unpack_answer
from workbench.jobs.resources import THREADS


def test_the_address_is_part_of_the_name(tmp_path: Path) -> None:
    made = make_executor("dask=tcp://10.0.0.1:8786", folders=[tmp_path])
    assert isinstance(made, Dask)
    assert (made.address, made.folders) == ("tcp://10.0.0.1:8786", (tmp_path,))
    assert made.map(str, []) == []  # and nobody is asked


@pytest.mark.parametrize("name", ["dask", "dask=", "dask=localhost:8786", "dask=tcp://localhost", "dask=inproc://1"])
def test_what_is_no_address_is_explained(name: str) -> None:
    with pytest.raises(ExecutorError, match="dask=tcp://"):
        make_executor(name)


def test_a_number_of_workers_is_the_clusters_own() -> None:
    with pytest.raises(ExecutorError, match="workers"):
        make_executor("dask=tcp://10.0.0.1:8786", workers=3)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "distributed":
            raise ImportError(name)
        return plain(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExecutorError, match="cloudpickle"):
        make_executor("dask=tcp://10.0.0.1:8786")


@needs_proc
def test_an_item_runs_in_a_child_that_serves_again_until_it_dies(tmp_path: Path) -> None:
    def work(what: str) -> Any:
        print("what is printed is no answer")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raise":
            raise ValueError("not that")
        if what == "lock":
            return threading.Lock()
        main = threading.current_thread() is threading.main_thread()
        return os.getpid(), main, {name: os.environ.get(name) for name in THREADS}

    def outcome(what: str) -> Any:
        answer = run_job(pack_job(work, 7, what), str(tmp_path / "stop"))
        return None if answer is None else unpack_answer(answer)

    pid, main, threads = outcome("tell")
    assert pid != os.getpid()
    assert main
    assert threads == dict.fromkeys(THREADS, "1")
    raised, unsent = outcome("raise"), outcome("lock")
    assert isinstance(raised, Failure)
    assert raised.index == 7
    assert re.fullmatch(rf"ValueError: not that \(at {re.escape(__file__)}:\d+\)", raised.error)
    assert isinstance(unsent, Failure)
    assert "pickle" in unsent.error
    assert outcome("tell")[0] == pid
    assert outcome("die") is None
    other = outcome("tell")[0]
    assert other != pid
    end_idle()
    assert gone([pid, other])


@needs_proc
def test_the_stop_file_reaches_the_child_as_sigterm(tmp_path: Path) -> None:
    stop = tmp_path / "stop"

    def work(item: None) -> str:
        told: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
        stop.touch()
        while not told:
            time.sleep(0.01)
        return "saved"

    answer = run_job(pack_job(work, 0, None), str(stop))
    assert answer is not None
    assert unpack_answer(answer) == "saved"
    end_idle()


def test_a_mark_is_seen_where_the_folder_is_the_same(tmp_path: Path) -> None:
    """A folder of the same name with other content is another folder."""
    look = looker()
    with marker_files([tmp_path]) as marks:
        versions, unseen = look(marks)
        assert unseen == []
        assert set(versions) == {"python", "lengthlens", "torch"}
        (mark,) = tmp_path.iterdir()
        mark.write_text("of another disk")
        assert look(marks)[1] == [str(mark)]
    assert not list(tmp_path.iterdir())


class FakeScheduler(Scheduler):
    """A scheduler whose workers the test says, and whose submitted items the test ends."""

    def __init__(self) -> None:
        self.there: dict[str, Any] = {}
        self.given: list[tuple[int, str]] = []
        self.futures: list[Any] = []
        super().__init__("tcp://fake:1", SimpleNamespace(status="running", submit=self.submit))

    def workers(self) -> dict[str, Any]:
        return self.there

    def refusals(self, names: Any, marks: Any) -> dict[str, str]:
        return {name: "is odd" for name in names if "odd" in name}

    def submit(self, function: Any, request: bytes, stop: str, *, key: str, workers: list[str], **options: Any) -> Any:
        assert options == {"allow_other_workers": False, "pure": False, "retries": 0}
        future = SimpleNamespace(status="pending", cancel=lambda force: None, callbacks=[])
        future.result = self.late
        future.add_done_callback = future.callbacks.append
        self.given.append((int(key.split("-")[1]), workers[0]))
        self.futures.append(future)
        return future

    def late(self, timeout: float) -> bytes:
        raise TimeoutError

    def end(self, number: int, answer: bytes | None) -> None:
        future = self.futures[number]
        future.status, future.result = "finished", lambda timeout: answer
        for told in future.callbacks:
            told(future)


def worker(threads: int = 1, memory: int = 0) -> dict[str, int]:
    return {"nthreads": threads, "memory_limit": memory}


def test_a_suspect_is_given_to_a_worker_that_has_nothing_else() -> None:
    """Two workers of two threads. Item 0 kills its child; before its second try one worker is emptied."""
    fake = FakeScheduler()
    fake.there = {"a": worker(2), "b": worker(2)}
    workers = cluster._Workers(fake, {}, None, 60.0)
    workers.wait()
    out = cluster._Out(fake, workers, str, list(range(7)), None)
    out._hand_out()
    assert sorted(fake.given) == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
    fake.end(0, None)
    assert list(out._outcome(*out.ended.get())) == []
    out._hand_out()  # a has one item left, and is kept for the suspect
    assert len(fake.given) == 4
    done = pickle.dumps(Answer(None, ()))
    fake.end(fake.given.index((1, "b")), done)
    assert list(out._outcome(*out.ended.get())) == [(1, None)]
    fake.end(fake.given.index((2, "a")), done)
    assert list(out._outcome(*out.ended.get())) == [(2, None)]
    out._hand_out()
    assert fake.given[4:] in ([(0, "a"), (4, "b")], [(4, "b"), (0, "a")])
    out._hand_out()
    assert len(fake.given) == 6  # a has a second thread, and the suspect is alone there
    fake.end(fake.given.index((0, "a"), 4), None)
    ((index, failure),) = out._outcome(*out.ended.get())
    assert index == 0
    assert isinstance(failure, Failure)
    assert failure.error == cluster.KILLED
    out._hand_out()
    assert set(fake.given[6:]) == {(5, "a"), (6, "a")}


def test_an_answer_that_died_with_its_worker_is_made_again() -> None:
    """Dask would wait for the dead worker; the item had ended, and is under no suspicion."""
    fake = FakeScheduler()
    fake.there = {"a": worker()}
    workers = cluster._Workers(fake, {}, None, 60.0)
    workers.wait()
    out = cluster._Out(fake, workers, str, [5], None)
    out._hand_out()
    out.ended.put((0, fake.futures[0]))
    assert list(out._outcome(*out.ended.get())) == []
    assert out.ended.get() == (0, fake.futures[0])  # the worker is there: it is asked again
    fake.there = {"b": worker()}
    assert list(out._outcome(0, fake.futures[0])) == []
    assert [one.name for one in workers.look()] == ["a"]
    out._hand_out()
    assert fake.given == [(0, "a"), (0, "b")]
    assert not out.deaths


def test_an_item_that_cannot_travel_fails_and_the_map_ends() -> None:
    fake = FakeScheduler()
    fake.there = {"a": worker()}
    workers = cluster._Workers(fake, {}, None, 60.0)
    workers.wait()
    ((index, failure),) = cluster._Out(fake, workers, str, [threading.Lock()], None).outcomes()
    assert index == 0
    assert isinstance(failure, Failure)
    assert "pickle" in failure.error


def test_memory_bounds_what_a_worker_has_at_once() -> None:
    fake = FakeScheduler()
    fake.there = {"a": worker(8, 5 << 30), "b": worker(8, 1 << 30), "c": worker(8, 0)}
    workers = cluster._Workers(fake, {}, 2 << 30, 60.0)
    workers.wait()
    assert {name: one.room for name, one in workers.used.items()} == {"a": 2, "b": 1, "c": 8}


def test_a_worker_that_comes_later_and_cannot_be_used_is_left_out_and_told_of_at_last() -> None:
    fake = FakeScheduler()
    fake.there = {"a": worker()}
    workers = cluster._Workers(fake, {}, None, 0.0)
    workers.wait()
    fake.there = {"a": worker(), "odd": worker()}
    assert workers.look() == []
    assert set(workers.used) == {"a"}
    fake.there = {"odd": worker()}
    with pytest.raises(ClusterError, match="scheduler"):
        workers.look()


def test_children_are_not_used_once_they_may_be_leaving() -> None:
    """One that has waited for long ends by itself; an item must not meet it there."""
    ended: list[int] = []

    class Fake(job_process._Child):
        def __init__(self) -> None:
            self.process: Any = SimpleNamespace(poll=lambda: None)
            self.since = time.monotonic()

        def end(self) -> None:
            ended.append(1)

    idle, child = job_process._Idle(), Fake()
    idle.put(child)
    assert idle.take() is child
    child.since -= job_process.IDLE_S / 2
    idle.put(child)
    assert idle.take() is None
    assert ended == [1]


# ---- what is no scheduler ------------------------------------------------------------------------
@pytest.fixture
def listening() -> Iterator[Callable[[bytes], int]]:
    """Makes a port that accepts every connection and says the given bytes, and nothing else."""
    sockets: list[socket.socket] = []

    def listen(greeting: bytes) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    sockets.append(connection)
                    connection.sendall(greeting)

        threading.Thread(target=answer, daemon=True).start()
        return int(server.getsockname()[1])

    yield listen
    for one in sockets:
        one.close()


NOT_ONE = "does not answer as a Dask scheduler does"


@pytest.mark.parametrize(
    "greeting",
    [
        b"",
        b"x" * 4096,
        (1 << 40).to_bytes(8, "little") * 9,
        b"\0" * 64,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x20\0\0",
    ],
    ids=["silent", "garbage", "endless", "empty", "http", "cut"],
)
def test_a_port_that_is_no_scheduler_ends_in_one_sentence(
    listening: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch, greeting: bytes
) -> None:
    monkeypatch.setattr(cluster_workers, "CONNECT_S", 0.5)
    address = f"tcp://127.0.0.1:{listening(greeting)}"
    with pytest.raises(ClusterError, match=f"{address} {NOT_ONE}"):
        Dask(address).check()


def test_a_scheduler_that_greets_and_says_no_more_ends_in_one_sentence(
    listening: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_workers, "CONNECT_S", 0.5)
    address = f"tcp://127.0.0.1:{listening((4).to_bytes(8, 'little') + b'abcd')}"
    with pytest.raises(ClusterError, match=rf"{address}.*(`dask scheduler`|does not go on)"):
        Dask(address).check()


@pytest.mark.parametrize(
    "host", ["no.such.host.invalid:8786", "127.0.0.1:99999", "127.0.0.1:1", "[::1]:1", "\udcff:80"]
)
def test_an_address_where_nobody_listens_ends_in_one_sentence(host: str) -> None:
    for protocol in ("tcp", "tls"):
        with pytest.raises(ClusterError, match="scheduler"):
            Dask(f"{protocol}://{host}").check()


def test_tls_without_certificates_names_the_settings(listening: Callable[[bytes], int]) -> None:
    with pytest.raises(ClusterError, match=r"distributed\.comm\.tls\.ca-file"):
        Dask(f"tls://127.0.0.1:{listening(b'')}").check()
