"""Notes and tags beside a run: read as text or named, written whole, never over what somebody else wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.runs.run_notes import NOTE, TAGS, NotesError, files_state, read_notes, write_notes


def test_what_is_written_is_read_again_and_is_plain_text(tmp_path: Path) -> None:
    before = files_state(tmp_path)
    made = write_notes(
        tmp_path, "# Odd\r\n\nIt fails at 3 N.\n", [" to  check ", "odd", "odd", ""], read_state(tmp_path)
    )
    assert made == read_notes(tmp_path)
    assert (tmp_path / NOTE).read_bytes() == b"# Odd\n\nIt fails at 3 N.\n"
    assert (tmp_path / TAGS).read_bytes() == b"to check\nodd\n"
    assert (made.first_line, made.tags) == ("Odd", ("to check", "odd"))
    assert files_state(tmp_path) != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def read_state(folder: Path) -> str:
    return read_notes(folder).state


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a\0b", b"\x1b[31m", b"x" * (1 << 20)])
def test_what_is_no_text_file_is_named_and_not_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NOTE).write_bytes(content)
    found = read_notes(tmp_path)
    assert found.text == ""
    assert f"{tmp_path / NOTE} is no text file" in found.problems[0]
    with pytest.raises(NotesError, match="move it away first"):
        write_notes(tmp_path, "mine", [], found.state)
    assert (tmp_path / NOTE).read_bytes() == content


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / TAGS).mkdir()
    assert "tags.txt is no text file" in read_notes(tmp_path).problems[0]


def test_nothing_is_written_over_what_somebody_else_wrote_meanwhile(tmp_path: Path) -> None:
    seen = read_state(tmp_path)
    (tmp_path / NOTE).write_text("theirs\n")
    with pytest.raises(NotesError, match="were changed meanwhile"):
        write_notes(tmp_path, "mine", [], seen)
    assert (tmp_path / NOTE).read_text() == "theirs\n"


@pytest.mark.parametrize(("text", "tags"), [("", ["x" * 41]), ("", [str(k) for k in range(33)]), ("é" * (1 << 15), [])])
def test_what_is_too_long_is_refused_before_anything_is_written(tmp_path: Path, text: str, tags: list[str]) -> None:
    with pytest.raises(NotesError):
        write_notes(tmp_path, text, tags, read_state(tmp_path))
    assert list(tmp_path.iterdir()) == []
