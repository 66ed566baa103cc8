"""One writer per run, whatever the last one left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench.runs import RunError
from workbench.runs.live_log import Live
from workbench.runs.lock import holder_of, writer_lock
from workbench.storage.errors import LinkError, StorageError

HOLD = """
import sys, time
from pathlib import Path
from workbench.runs.lock import holder_of, writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_refused_by_name(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path),
        pytest.raises(RunError, match=f"{tmp_path}"),
        writer_lock(tmp_path),
    ):
        pass
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("text", ["", "process 1 on elsewhere\n", "\0\0\0"], ids=["empty", "foreign", "rubbish"])
def test_a_lock_file_that_nobody_holds_is_taken_over(tmp_path: Path, text: str) -> None:
    """Empty: its writer died between making the file and writing into it."""
    (tmp_path / "lock").write_text(text)
    with writer_lock(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "lock").read_text()
    assert not (tmp_path / "lock").exists()


def test_the_lock_of_a_killed_writer_is_free_and_that_of_a_stopped_one_is_not(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "held\n"
        writer.send_signal(signal.SIGSTOP)
        with pytest.raises(RunError, match=f"process {writer.pid}"), writer_lock(tmp_path):
            pass
    finally:
        writer.kill()
        writer.communicate()
    assert (tmp_path / "lock").exists()
    with writer_lock(tmp_path):
        pass


def contend(folder: Path, rounds: int, seed: int) -> None:
    """Take the lock again and again; inside, fail if anybody else is inside too."""
    inside = folder / "inside"
    for number in range(rounds):
        try:
            with writer_lock(folder):
                handle = os.open(inside, os.O_CREAT | os.O_EXCL)
                os.close(handle)
                if (number + seed) % 3 == 0:
                    time.sleep(0)
                inside.unlink()
        except RunError:
            pass


def test_of_many_that_take_over_at_once_never_two_are_inside(tmp_path: Path) -> None:
    """Locks appear, are removed and are left behind all the time; O_EXCL inside would tell of a second holder."""
    (tmp_path / "lock").touch()
    start = multiprocessing.get_context("fork")
    workers = [start.Process(target=contend, args=(tmp_path, 400, seed)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert not (tmp_path / "inside").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match=f"{tmp_path}"), writer_lock(tmp_path):
        pass


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("workbench.runs.lock.hold", refuse)
    with pytest.raises(RunError, match="locks"), writer_lock(tmp_path):
        pass


def test_nothing_is_written_through_a_link_named_like_a_file_of_a_run(tmp_path: Path) -> None:
    """The lock is cut to nothing when it is taken, and the live tail is appended to."""
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    run = tmp_path / "run"
    run.mkdir()
    for name in ("lock", "live.jsonl"):
        (run / name).symlink_to(theirs)
    with (
        pytest.raises(LinkError, match="links"),
        writer_lock(run),
    ):
        pass
    live = Live(run)
    for write in (live.restart, lambda: live.add({"step": 1}), live.remove):
        with pytest.raises(LinkError, match=r"live\.jsonl"):
            write()
    assert theirs.read_text() == "theirs"
    assert (run / "lock").is_symlink()


def test_the_holder_is_the_process_with_the_kernels_lock(tmp_path: Path) -> None:
    """The text of a file that nobody holds names nobody, and neither do a pipe, a link, and a whole process group."""
    machine = socket.gethostname()
    with writer_lock(tmp_path):
        assert holder_of(tmp_path) == os.getpid()
        for process in ("0", "1", "x"):
            (tmp_path / "lock").write_text(f"process {process} on {machine}\n")
            assert holder_of(tmp_path) is None
        (tmp_path / "lock").write_text(f"process {os.getpid()} on elsewhere\n")
        assert holder_of(tmp_path) is None
    assert holder_of(tmp_path) is None
    (tmp_path / "lock").write_text(f"process {os.getpid()} on {machine}\n")
    assert holder_of(tmp_path) is None
    (tmp_path / "lock").unlink()
    os.mkfifo(tmp_path / "lock")
    assert holder_of(tmp_path) is None
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").symlink_to("/dev/zero")
    assert holder_of(tmp_path) is None
