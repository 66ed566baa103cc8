"""Notes on a run: a text and tags, as plain files next to its ``run.json``.

``notes.md`` contains the note and ``tags.txt`` one tag per line. Both can be edited in any editor and in the dashboard.
They are not part of the run's id, of its checkpoints or of any row. If a file is not text, it is reported and never
overwritten.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workbench.core.errors import LensError
from workbench.storage.atomic import write_atomic
from workbench.storage.bounded import read_bytes

NOTE, TAGS = "notes.md", "tags.txt"
MOST = 64 << 10
"""The most bytes of either file."""
MOST_TAGS, LONGEST_TAG = 32, 40


class NotesError(LensError, ValueError):
    """Raised for a note or tags that cannot be saved; the message names the file and what to do."""


@dataclass(frozen=True)
class RunNotes:
    """A run's note and tags.

    Attributes:
        text: the note, "" if there is none.
        tags: in the order of their file, each once.
        state: changes whenever either file does.
        problems: a sentence for each file that is not a text file.
    """

    text: str = ""
    tags: tuple[str, ...] = ()
    state: str = ""
    problems: tuple[str, ...] = ()

    @property
    def first_line(self) -> str:
        """The note's first line that is not empty, without Markdown's marks of a heading."""
        lines = (line.strip().lstrip("#").strip() for line in self.text.splitlines())
        return next((line for line in lines if line), "")


def files_state(run_path: Path) -> str:
    """Size and time of both files; cheap enough for thousands of runs."""
    states = []
    for name in (NOTE, TAGS):
        try:
            state = os.stat(f"{run_path}/{name}")
        except OSError:
            states.append("-")
        else:
            states.append(f"{state.st_size} {state.st_mtime_ns}")
    return " ".join(states)


def read_notes(run_path: Path) -> RunNotes:
    """A run's note and tags; a file that cannot be read as text counts as empty and is reported."""
    problems: list[str] = []
    text, lines = (_text(Path(run_path) / name, problems) for name in (NOTE, TAGS))
    tags = tuple(dict.fromkeys(tag for tag in map(_tag, lines.splitlines()) if tag))[:MOST_TAGS]
    state = hashlib.sha256(f"{text}\0{lines}".encode()).hexdigest()[:12]
    return RunNotes(text, tags, state, tuple(problems))


def write_notes(run_path: Path, text: str, tags: Iterable[str], seen: str) -> RunNotes:
    """Write a run's note and tags, each file atomically; an empty one is removed.

    Args:
        run_path: the run.
        text: the note.
        tags: each of at most 40 characters, at most 32.
        seen: the ``state`` that the writer has read; changes that somebody else made since then are not overwritten.

    Raises:
        NotesError: if the files have changed since, are not text, or a tag is too long.
        StorageError: if the folder cannot be written.
    """
    now = read_notes(run_path)
    if now.problems:
        raise NotesError(f"{now.problems[0]}: move it away first, as it would be overwritten")
    if now.state != seen:
        raise NotesError(f"the notes in {run_path} were changed meanwhile: reload the page, then write again")
    chosen = list(dict.fromkeys(tag for tag in map(_tag, tags) if tag))
    long = next((tag for tag in chosen if len(tag) > LONGEST_TAG), None)
    if long is not None:
        raise NotesError(f"the tag {long[:LONGEST_TAG]}\u2026 is longer than {LONGEST_TAG} characters: shorten it")
    if len(chosen) > MOST_TAGS:
        raise NotesError(f"a run has at most {MOST_TAGS} tags, not {len(chosen)}: remove some")
    body = text.replace("\r\n", "\n").strip()
    if len(body.encode()) >= MOST:
        raise NotesError(f"the note has more than {MOST:,} bytes: shorten it")
    for name, content in ((NOTE, body), (TAGS, "\n".join(chosen))):
        _put(Path(run_path), name, content)
    return read_notes(run_path)


def _put(run_path: Path, name: str, content: str) -> None:
    if content or os.path.lexists(run_path / name):
        write_atomic(run_path, name, f"{content}\n".encode() if content else b"")


def _tag(text: str) -> str:
    """A tag in the form in which it is compared: one line, single blanks, no comma."""
    return " ".join(text.replace(",", " ").split())


def _text(path: Path, problems: list[str]) -> str:
    try:
        data = read_bytes(path, MOST)
        text = data.decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        problems.append(f"{path} is no text file (its bytes are no UTF-8)")
    except OSError as error:
        problems.append(f"{path} is no text file that can be read ({error.strerror or error})")
    else:
        if all(char.isprintable() or char in "\n\r\t" for char in text):
            return text
        problems.append(f"{path} is no text file (it holds control characters)")
    return ""
