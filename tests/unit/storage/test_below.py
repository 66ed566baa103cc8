"""Writing and removing below a folder that somebody else may have filled: never through a link, never outside."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.storage import below, bounded
from workbench.storage.atomic import (
    make_folder,
    remove_leftovers,
    replacing,
    replacing_folder,
    temporary_name,
    write_atomic,
    write_named,
)
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
from workbench.storage.errors import LinkError, StorageError

WRITERS: tuple[Callable[[Path, str], object], ...] = (
    lambda folder, place: write_atomic(folder, place, b"new"),
    lambda folder, place: below.write_new(folder, place, b"new"),
    lambda folder, place: below.write_in_place(folder, place, b"new"),
    lambda folder, place: below.write_in_place(folder, place, b"new", append=True),
    lambda folder, place: os.close(below.open_to_lock(folder, place)),
    lambda folder, place: below.copy_file(folder / "source", folder, place, 100),
    below.remove_file,
    below.remove_folder,
    below.remove_empty_folder,
    make_folder,
    lambda folder, place: replacing_folder(folder, place).__enter__(),
    lambda folder, place: replacing_folder(folder, place, over=True).__enter__(),
    lambda folder, place: below.move_folder(folder, place, folder, "moved"),
    lambda folder, place: below.move_folder(folder, "source", folder, place),
    below.path_below,
    lambda folder, place: below.refuse_links(folder, [place]),
    lambda folder, place: below.refuse_links(folder, ["a", "source/x", place]),
)
"""Every public function that is given a place below a folder."""


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with links, beside one that is somebody else's."""
    victim = tmp_path / "victim"
    (victim / "empty").mkdir(parents=True)
    (victim / "file").write_bytes(b"theirs")
    here = tmp_path / "here"
    (here / "source" / "link").mkdir(parents=True)
    (here / "link").symlink_to(victim)
    (here / "file").symlink_to(victim / "file")
    (here / "dangling").symlink_to(victim / "none")
    (here / "deep").mkdir()
    (here / "deep" / "link").symlink_to("../../victim", target_is_directory=True)
    return here


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("place", [
    "link", "link/file", "link/empty", "link/new", "file", "dangling", "deep/link/file", "deep/link/empty/x/y", "../victim/file",
    "deep/../../victim/file", "..", "",
])  # fmt: skip
def test_no_writer_and_no_remover_follows_a_link_or_leads_outside(
    write: Callable[[Path, str], object], place: str, folder: Path
) -> None:
    if write is make_folder and place == "":
        return  # the folder itself
    before = contents(folder.parent)
    with pytest.raises(LinkError, match=r"is a link, and links in a given folder are not followed|is outside"):
        write(folder, place)
    assert contents(folder.parent) == before


def test_an_absolute_place_lies_outside(folder: Path) -> None:
    for write in WRITERS:
        with pytest.raises(LinkError, match="is outside"):
            write(folder, str(folder.parent / "victim" / "file"))


def test_the_given_folder_itself_may_be_reached_through_links(folder: Path) -> None:
    write_atomic(folder / "link", "new/file", b"mine")
    assert (folder.parent / "victim" / "new" / "file").read_bytes() == b"mine"


def test_a_folder_is_removed_with_its_links_and_not_with_what_they_lead_to(folder: Path) -> None:
    below.remove_folder(folder, "deep")
    assert not (folder / "deep").exists()
    assert (folder.parent / "victim" / "file").read_bytes() == b"theirs"
    below.remove_folder(folder, "deep")
    below.remove_file(folder, "deep")
    below.remove_empty_folder(folder, "source")
    assert (folder / "source" / "link").is_dir(), "it is not empty"
    below.remove_empty_folder(folder, "source/link")
    below.remove_empty_folder(folder, "source")
    assert not (folder / "source").exists()


def test_nothing_is_copied_through_a_link_and_only_regular_files_are(folder: Path) -> None:
    for place in ("file", "link/file", "dangling", "deep/link/file"):
        with pytest.raises(LinkError):
            below.copy_file(folder, folder.parent / "to", place, 100)
    os.mkfifo(folder / "pipe")
    (folder / "large").write_bytes(bytes(101))
    (folder.parent / "to").mkdir()
    for place, says in (("pipe", "a named pipe"), ("large", "101 bytes"), ("deep", "a folder")):
        with pytest.raises(UnreadableError, match=says):
            below.copy_file(folder, folder.parent / "to", place, 100)
    (folder / "large").write_bytes(bytes(100))
    below.copy_file(folder, folder.parent / "to", "large", 100)
    assert contents(folder.parent / "to") == {"large": bytes(100)}


def test_many_places_are_checked_each_part_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [f"run{run}/measurements/m/{shard}.parquet" for run in range(3) for shard in range(50)]
    looked_at: list[str] = []
    monkeypatch.setattr(below.os.path, "islink", lambda path: bool(looked_at.append(str(path))))
    below.refuse_links(tmp_path, places)
    assert len(looked_at) < 1.1 * (3 * 50 + 3 * 3)
    assert {str(tmp_path / place) for place in places} <= set(looked_at)


# ---- folders that appear whole -------------------------------------------------------------------
FOLDER_WRITER = """
import sys, time
from pathlib import Path
from workbench.storage.atomic import replacing_folder
with replacing_folder(Path(sys.argv[1]), "made", over=sys.argv[2] == "over") as folder:
    (folder / "half").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("over", ["new", "over"])
def test_the_hidden_folder_of_a_killed_writer_is_removed_and_that_of_a_living_one_stays(
    tmp_path: Path, over: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FOLDER_WRITER, str(tmp_path), over], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        remove_leftovers(tmp_path, "made")
        (hidden,) = tmp_path.iterdir()
        assert (hidden / "half").exists(), "its writer lives"
        writer.kill()
        writer.wait()
    remove_leftovers(tmp_path, "other")
    assert hidden.exists()
    remove_leftovers(tmp_path, "made")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with replacing_folder(tmp_path, "a/made") as folder:
        below.write_new(folder, "file", b"one")
        assert not (tmp_path / "a" / "made").exists()
    assert contents(tmp_path) == {"a": None, "a/made": None, "a/made/file": b"one"}

    def write(over: bool, fail: bool = False) -> None:
        with replacing_folder(tmp_path, "a/made", over=over) as folder:
            below.write_new(folder, "file", b"two")
            if fail:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        write(over=True, fail=True)
    with pytest.raises(StorageError, match="cannot be written"):
        write(over=False)
    assert contents(tmp_path) == {"a": None, "a/made": None, "a/made/file": b"one"}
    write(over=True)
    assert contents(tmp_path) == {"a": None, "a/made": None, "a/made/file": b"two"}


def test_the_former_folder_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old").touch()
    plain, calls = os.replace, []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        plain(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(StorageError, match="Input/output error"), replacing_folder(tmp_path, "made", over=True):
        pass
    assert contents(tmp_path) == {"made": None, "made/old": b""}


def test_leftovers_of_one_name_are_told_from_those_of_another(tmp_path: Path) -> None:
    long = "x" * 255
    for name in ("page.html", long):
        temporary_name(tmp_path / name).touch()
    link = temporary_name(tmp_path / "linked")
    link.symlink_to(tmp_path.parent)
    remove_leftovers(tmp_path, "page")
    assert len(os.listdir(tmp_path)) == 3
    remove_leftovers(tmp_path, long)
    assert len(os.listdir(tmp_path)) == 2
    write_named(tmp_path / "page.html", b"page")
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([link.name, "page.html"]), "what a link leads to is not opened"


@pytest.mark.parametrize("name", ["x" * 255, "\u00fc" * 127])
def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path, name: str) -> None:
    with replacing(tmp_path, name) as file:
        file.write(b"whole")
    assert os.listdir(tmp_path) == [name]
    with pytest.raises(StorageError, match="File"):
        write_atomic(tmp_path, f"{name}xx", b"")


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
    with open_regular(path, 10) as file, pytest.raises(UnreadableError, match="10 bytes"):
        list(pieces(file, 9))
    assert sha256_of_file(path) == hashlib.sha256(b"0123456789").hexdigest()


@pytest.mark.parametrize(("limit", "fits"), [(1000, True), (1001, True), (999, False)])
def test_what_unpacks_to_exactly_the_limit(limit: int, fits: bool) -> None:
    packed = zlib.compress(bytes(1000))
    if fits:
        assert unzip(packed, limit) == bytes(1000)
    else:
        with pytest.raises(ValueError, match="999 bytes"):
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
        with pytest.raises(UnreadableError, match=f"{kind}") as said:
            read_bytes(path, 9)
        assert (said.value.errno, said.value.filename) == (errno.EINVAL, str(path))
    (tmp_path / ".hidden").touch()
    assert names_in(tmp_path) == ["circle", "file", "folder", "link", "pipe"]
    assert names_in(file) == names_in(tmp_path / "none") == []
