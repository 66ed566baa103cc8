"""Files that appear whole, what is left of writers that were killed, and room for what is to come."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.storage import atomic
from workbench.storage.atomic import remove_leftovers, replacing, require_room
from workbench.storage.errors import StorageError

WRITER = """
import sys, time
from pathlib import Path
from workbench.storage.atomic import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half"); stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def temporaries(folder: Path) -> list[Path]:
    return list(folder.glob(".*.tmp"))


def test_leftovers_of_the_dead_are_removed_and_files_of_the_living_stay(tmp_path: Path) -> None:
    with replacing(tmp_path / "mine") as stream:
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
    with replacing(tmp_path / "file") as stream:
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
            with replacing(tmp_path / f"{number}") as stream:
                stream.write(b"%d" % number)
    finally:
        over.set()
        cleaner.join()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {str(n): b"%d" % n for n in range(150)}


@pytest.mark.parametrize(("number", "sentence"), [
    (errno.ENOSPC, "No space left on device.: make room there, and the same command goes on"),
    (errno.EDQUOT, "make room there"),
    (errno.EROFS, "ask for the right to write there, or choose another folder"),
    (errno.EIO, "cannot be written .Input/output error.$"),
])  # fmt: skip
def test_what_keeps_a_file_from_being_written_is_one_sentence(
    tmp_path: Path, monkeypatch, number: int, sentence: str
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match=sentence) as caught, replacing(tmp_path / "file") as stream:
        stream.write(b"new")
    assert str(caught.value).startswith(f"{tmp_path} cannot be written")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_room_is_asked_for_before_work(tmp_path: Path, monkeypatch) -> None:
    require_room(tmp_path / "new" / "folder", 1000)
    assert os.listdir(tmp_path / "new" / "folder") == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    require_room(tmp_path, 5_000_000)
    with pytest.raises(StorageError, match=r"has room for 5\.0 MB, and this takes about 7\.5 MB: make room"):
        require_room(tmp_path, 7_500_000)
    with pytest.raises(StorageError, match=r"takes about 3\.2 GB"):
        require_room(tmp_path, 3_200_000_000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said_before_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="ask for the right to write there"):
        require_room(tmp_path, 0)


def test_a_file_in_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        require_room(tmp_path / "file" / "run", 0)
