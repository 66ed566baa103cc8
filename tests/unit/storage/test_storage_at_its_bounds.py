"""Files at their limits: exactly as many bytes as are read, one more, none; seals over the edges of pieces; names and rooms."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.storage import atomic, bounded, seal
from workbench.storage.atomic import is_temporary, make_folder, replacing, require_room, temporary_name
from workbench.storage.bounded import (
    UnreadableError,
    is_folder,
    is_regular,
    names_in,
    open_regular,
    pieces,
    read_bytes,
    require_regular,
    sha256_of_file,
    unzip,
)
from workbench.storage.errors import StorageError, storing
from workbench.storage.locks import hold, is_linked
from workbench.storage.seal import (
    BLANK,
    SealError,
    check_file_seal,
    check_seal,
    json_object,
    open_json,
    sealed_json,
)


# ---- bounded reading ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("size", "limit", "read"), [(5, 5, True), (6, 5, False), (0, 0, True), (1, 0, False), (4, 5, True)]
)
def test_exactly_as_many_bytes_as_are_read(size: int, limit: int, read: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    for ask in (
        lambda: read_bytes(path, limit),
        lambda: sha256_of_file(path, limit),
        lambda: require_regular(path, limit),
    ):
        if read:
            assert ask() in (bytes(size), hashlib.sha256(bytes(size)).hexdigest(), None)
        else:
            with pytest.raises(UnreadableError, match=f"it has {size:,} bytes or more, and {limit:,} are the most"):
                ask()


def test_pieces_count_all_that_was_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bounded, "PIECE", 4)
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with open_regular(path, 10) as file:
        assert list(pieces(file, 10)) == [b"0123", b"4567", b"89"]
    with open_regular(path, 10) as file, pytest.raises(UnreadableError, match="it has 10 bytes or more, and 9 are"):
        list(pieces(file, 9))
    assert sha256_of_file(path) == hashlib.sha256(b"0123456789").hexdigest()


@pytest.mark.parametrize(("limit", "fits"), [(1000, True), (1001, True), (999, False)])
def test_what_unpacks_to_exactly_the_limit(limit: int, fits: bool) -> None:
    packed = zlib.compress(bytes(1000))
    if fits:
        assert unzip(packed, limit) == bytes(1000)
    else:
        with pytest.raises(ValueError, match="cut off, or unpacks to more than 999 bytes"):
            unzip(packed, limit)
    for broken in (packed[:-1], b"no zlib"):
        with pytest.raises(ValueError, match=r"cut off|incorrect"):
            unzip(broken)


def test_kinds_of_files(tmp_path: Path) -> None:
    file, folder, pipe, link, circle = (tmp_path / name for name in ("file", "folder", "pipe", "link", "circle"))
    file.write_bytes(b"x")
    folder.mkdir()
    os.mkfifo(pipe)
    link.symlink_to(file)
    circle.symlink_to(circle)
    assert [is_regular(path) for path in (file, folder, pipe, link, circle, tmp_path / "none")] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    assert [is_folder(path) for path in (file, folder, pipe, link, circle, tmp_path / "none")] == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]
    assert not is_regular("a\0b")
    assert not is_folder("a\0b")
    for path, kind in ((folder, "a folder"), (pipe, "a named pipe"), (Path("/dev/null"), "a device")):
        with pytest.raises(UnreadableError, match=f"it is {kind}, not a regular file") as said:
            read_bytes(path, 9)
        assert (said.value.errno, said.value.filename) == (errno.EINVAL, str(path))
    (tmp_path / ".hidden").touch()
    assert names_in(tmp_path) == ["circle", "file", "folder", "link", "pipe"]
    assert names_in(file) == names_in(tmp_path / "none") == []


# ---- seals ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 70, 71, 72, 73, 90, 1000])
@pytest.mark.parametrize("before", [0, 1, 69, 70, 71, 140])
def test_seals_across_the_edges_of_pieces(size: int, before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "PIECE", size)
    data = seal.seal(b"a" * before + BLANK.encode() + b"b" * 75)
    check_seal(data)

    def checked(content: bytes) -> None:
        file = io.BytesIO(content)
        file.name = "file"
        check_file_seal(file, len(content))

    checked(data)
    for place in {0, before, before + 8, before + 70, before + 71, len(data) - 1}:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(SealError):
            checked(changed)
    for content, says in ((data + data, "no seal"), (b"x" * 200, "no seal"), (b"", "no seal"), (data + b"c", "differ")):
        with pytest.raises(SealError, match=says):
            checked(content)
        with pytest.raises(SealError, match=says):
            check_seal(content)


def test_json_is_an_object_and_keeps_all_but_its_seal() -> None:
    assert len(BLANK) == 71
    data = sealed_json({"a": 1, "b": [None, "ü"]})
    assert data.endswith(b"}\n")
    assert open_json(data) == {"a": 1, "b": [None, "ü"]}
    assert b'\n "a"' in sealed_json({"a": 1}, indent=1)
    for content, says in (
        (b"[1]", "no JSON object"),
        (b"{", "it is no JSON: "),
        (b"", "it is no JSON: "),
        (b"[" * 100_000, "nested too deep"),
    ):
        with pytest.raises(SealError, match=says):
            json_object(content)
    with pytest.raises(SealError, match="carries no seal"):
        open_json(b'{"a": 1}')


# ---- writing ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "temporary"), [
    (".x.0123456789ab.tmp", True), (".a.b.0123456789ab.tmp", True), ("x.0123456789ab.tmp", False), (".x.0123456789a.tmp", False), (".x.0123456789abc.tmp", False), (".x.0123456789AB.tmp", False),
    (".x.0123456789ab.tmp~", False), (".0123456789ab.tmp", False), (".x.0123456789ab.temp", False),
])  # fmt: skip
def test_names_that_only_unfinished_files_have(name: str, temporary: bool) -> None:
    assert is_temporary(Path("folder") / name) == temporary


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with replacing(path) as stream:
        stream.write(b"one")
        assert not path.exists()
        assert is_temporary(Path(stream.name))
        assert not hold(os.open(stream.name, os.O_RDWR)), "a living writer's is locked"
    assert path.read_bytes() == b"one"

    def fail() -> None:
        with replacing(path) as stream:
            stream.write(b"two")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"one"
    assert [one.name for one in path.parent.iterdir()] == ["file"]
    names = {temporary_name(path) for _ in range(20)}
    assert len(names) == 20
    assert all(is_temporary(name) and name.parent == path.parent for name in names)


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
    (1000, 1000, ""), (1001, 1000, ""), (999, 1000, r"has room for 0\.0 MB, and this takes about 0\.0 MB"), (99_900_000, 10**8, r"room for 99\.9 MB, and this takes about 0\.1 GB"), (5 * 10**8, 2 * 10**9, r"room for 0\.5 GB, and this takes about 2\.0 GB"),
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


@pytest.mark.parametrize(("number", "way"), [
    (errno.ENOSPC, "make room there"), (errno.EDQUOT, "make room there"), (errno.EFBIG, "make room there"), (errno.EROFS, "ask for the right"), (errno.EACCES, "ask for the right"), (errno.EPERM, "ask for the right"), (errno.EIO, ""),
])  # fmt: skip
def test_what_the_system_says_and_the_way_out(number: int, way: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError) as said, storing(tmp_path):
        raise OSError(number, os.strerror(number))
    start = f"{tmp_path} cannot be written ({os.strerror(number)})"
    assert str(said.value).startswith(start)
    assert (way in str(said.value)) if way else str(said.value) == start


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb+") as one, open(path, "rb+") as other:
        assert hold(one.fileno())
        assert not hold(other.fileno())
        one.close()
        assert hold(other.fileno(), wait=True)
        assert is_linked(other.fileno())
        path.unlink()
        assert not is_linked(other.fileno())
