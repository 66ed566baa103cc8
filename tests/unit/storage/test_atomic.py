"""Files that appear whole, what is left of writers that were killed, and room for what is to come."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.storage import atomic
from workbench.storage.atomic import (
    is_temporary,
    make_folder,
    remove_leftovers,
    replacing,
    require_room,
    temporary_name,
    write_atomic,
    write_named,
)
from workbench.storage.errors import StorageError
from workbench.storage.locks import hold

WRITER = """
import sys, time
from pathlib import Path
from workbench.storage.atomic import replacing
with replacing(Path(sys.argv[1]).parent, Path(sys.argv[1]).name) as stream:
    stream.write(b"half"); stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def temporaries(folder: Path) -> list[Path]:
    return list(folder.glob(".*.tmp"))


def test_leftovers_of_the_dead_are_removed_and_files_of_the_living_stay(tmp_path: Path) -> None:
    with replacing(tmp_path, "mine") as stream:
        stream.write(b"mine")
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "theirs")], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "writing\n"
        assert len(temporaries(tmp_path)) == 2
        remove_leftovers(tmp_path)
        assert len(temporaries(tmp_path)) == 2, "both writers live"
        writer.kill()
        writer.communicate()
        remove_leftovers(tmp_path)
        assert len(temporaries(tmp_path)) == 1
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["mine"]


def test_files_of_others_are_never_taken_for_leftovers(tmp_path: Path) -> None:
    """A folder named by mistake may hold anything."""
    for name in (".notes.tmp", "a.tmp", ".a.0123456789AB.tmp", ".0123456789ab.tmp"):
        (tmp_path / name).touch()
    before = sorted(os.listdir(tmp_path))
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_taken_for_a_leftover_before_it_is_locked_is_made_anew(tmp_path: Path, monkeypatch) -> None:
    """The cleaner may come between making the temporary file and locking it."""
    real, calls = atomic.hold, []

    def late(descriptor: int, *, wait: bool = False) -> bool:
        calls.append(wait)
        if calls == [True]:
            remove_leftovers(tmp_path)
        return real(descriptor, wait=wait)

    monkeypatch.setattr(atomic, "hold", late)
    with replacing(tmp_path, "file") as stream:
        stream.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert calls.count(True) == 2


def test_writers_and_cleaners_at_once_lose_nothing(tmp_path: Path) -> None:
    over = threading.Event()

    def clean() -> None:
        while not over.is_set():
            remove_leftovers(tmp_path)

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        for number in range(150):
            with replacing(tmp_path, f"{number}") as stream:
                stream.write(b"%d" % number)
    finally:
        over.set()
        cleaner.join()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {str(n): b"%d" % n for n in range(150)}


@pytest.mark.parametrize(("number", "sentence"), [
    (errno.ENOSPC, "device"),
    (errno.EDQUOT, "room"),
    (errno.EROFS, "right"),
    (errno.EIO, "Input/output"),
])  # fmt: skip
def test_what_keeps_a_file_from_being_written_is_one_sentence(
    tmp_path: Path, monkeypatch, number: int, sentence: str
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match=sentence) as caught, replacing(tmp_path, "file") as stream:
        stream.write(b"new")
    assert str(caught.value).startswith(f"{tmp_path} cannot be written")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_room_is_asked_for_before_work(tmp_path: Path, monkeypatch) -> None:
    require_room(tmp_path / "new" / "folder", 1000)
    assert os.listdir(tmp_path / "new" / "folder") == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    require_room(tmp_path, 5_000_000)
    with pytest.raises(StorageError, match="MB"):
        require_room(tmp_path, 7_500_000)
    with pytest.raises(StorageError, match="GB"):
        require_room(tmp_path, 3_200_000_000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said_before_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="right"):
        require_room(tmp_path, 0)


def test_a_file_in_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        require_room(tmp_path / "file" / "run", 0)


@pytest.mark.parametrize(("name", "temporary"), [
    (".x.0123456789ab.tmp", True), (".a.b.0123456789ab.tmp", True), ("x.0123456789ab.tmp", False), (".x.0123456789a.tmp", False), (".x.0123456789abc.tmp", False), (".x.0123456789AB.tmp", False),
    (".x.0123456789ab.tmp~", False), (".0123456789ab.tmp", False), (".x.0123456789ab.temp", False),
])  # fmt: skip
def test_names_that_only_unfinished_files_have(name: str, temporary: bool) -> None:
    assert is_temporary(Path("folder") / name) == temporary


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with replacing(tmp_path, "new/folder/file") as stream:
        stream.write(b"one")
        assert not path.exists()
        assert is_temporary(Path(stream.name))
        assert not hold(os.open(stream.name, os.O_RDWR)), "a living writer's is locked"
    assert path.read_bytes() == b"one"

    def fail() -> None:
        with replacing(tmp_path, "new/folder/file") as stream:
            stream.write(b"two")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"one"
    assert [one.name for one in path.parent.iterdir()] == ["file"]
    names = {temporary_name(path) for _ in range(20)}
    assert len(names) == 20
    assert all(is_temporary(name) and name.parent == path.parent for name in names)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_a_device_or_a_folder_is_never_replaced_by_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    taken = tmp_path / "taken"
    make(taken)
    kind = stat.S_IFMT(taken.stat().st_mode)
    for write in (lambda: write_named(taken, b"x"), lambda: write_atomic(tmp_path, "taken", b"x")):
        with pytest.raises(StorageError, match="taken"):
            write()
    assert stat.S_IFMT(taken.stat().st_mode) == kind
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_folders_are_made_with_those_above_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(atomic, "sync_folder", synced.append)
    make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    make_folder(tmp_path / "a")
    assert len(synced) == 3


@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_file_systems_that_cannot_sync_a_folder(
    number: int, raised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(handle: int) -> None:
        raise OSError(number, "said so")

    monkeypatch.setattr(os, "fsync", fsync)
    if raised:
        with pytest.raises(OSError, match="said so"):
            atomic.sync_folder(tmp_path)
    else:
        atomic.sync_folder(tmp_path)


@pytest.mark.parametrize(("free", "need", "said"), [
    (1000, 1000, ""), (1001, 1000, ""), (999, 1000, r"has 0\.0 MB of free space, but about 0\.0 MB are needed"), (99_900_000, 10**8, r"99\.9 MB of free space, but about 0\.1 GB are needed"), (5 * 10**8, 2 * 10**9, r"0\.5 GB of free space, but about 2\.0 GB are needed"),
])  # fmt: skip
def test_room_that_is_just_enough(
    free: int, need: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    if said:
        with pytest.raises(StorageError, match=said):
            require_room(tmp_path / "out", need)
    else:
        require_room(tmp_path / "out", need)
    assert list((tmp_path / "out").iterdir()) == []
