"""Tasks whose code is a file: what a run holds of it, and which files' code may be run here.

Whoever names a file in a command or in a line of Python trusts its code. A run's folder is data: that its ``run.json``
names a file runs nothing. What a run holds of such a task is its name and, apart from it, its ``source``: the file,
the class in it, and the file's SHA-256. The code of a run is then the file among the trusted ones that has that hash;
where it lies and what it is called does not matter. What that file imports in turn is not hashed.

Runs made before there was a ``source`` have ``file.py:Class`` for a name. Nothing tells whether a file is still the
one they were made with, so that one of the same file name is taken, and said to be taken, on trust.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.tasks.errors import TaskError, UntrustedCode

LONGEST = 1 << 20
"""Bytes that the file of a task may have."""
LONGEST_PATH = 4096
"""Characters that its path may have."""
KEYS = ("file", "class", "sha256")
"""What the ``source`` of a task in ``run.json`` says."""
NOT_RUN = "custom task: its code was not run"
"""What is said wherever a task was needed whose code nobody trusted."""

_BEFORE = re.compile(rf"(?P<file>.{{1,{LONGEST_PATH}}}\.py):(?P<cls>\w+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_trusted: list[Path] = []


@dataclass(frozen=True)
class TaskCode:
    """Where the code of a task is.

    Attributes:
        file: path of the file, as it was where the run was made.
        cls: name of the class in it.
        sha256: of the file's bytes, in hex; "" for a run made before it was stored.
    """

    file: str
    cls: str
    sha256: str

    @property
    def stored(self) -> dict[str, str]:
        """As it stands in ``run.json``."""
        return dict(zip(KEYS, (self.file, self.cls, self.sha256), strict=True))


def code_of(spec: Mapping[str, Any]) -> TaskCode | None:
    """The file behind a run's task, as its ``run.json`` says; None for a task that is known by name.

    Args:
        spec: the part ``task`` of a ``run.json``.

    Raises:
        TaskError: for a ``source`` that does not say file, class and SHA-256. It is not taken for a task of that name.
    """
    source, name = spec.get("source"), spec.get("name")
    if source is None:
        before = _BEFORE.fullmatch(name) if isinstance(name, str) else None
        return TaskCode(before["file"], before["cls"], "") if before else None
    if isinstance(source, Mapping):
        file, cls, sha256 = (text if isinstance(text := source.get(key), str) else "" for key in KEYS)
        if 0 < len(file) <= LONGEST_PATH and cls.isidentifier() and _SHA256.fullmatch(sha256):
            return TaskCode(file, cls, sha256)
    raise TaskError(f"the source of the task {name!r} has no file, class and sha256; restore run.json")


def trust_option(spec: Mapping[str, Any]) -> str:
    """`` --trust-code FILE``, as a command about a run wants it whose task is that of a file; "" for the others.

    Args:
        spec: the part ``task`` of a ``run.json``.
    """
    with suppress(TaskError):  # what is wrong with it, the command says
        if code := code_of(spec):
            return f" --trust-code {_text(code.file)}"
    return ""


def identity(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's task enters the run's id: all but where the file of its code lay."""
    source = spec.get("source")
    if not isinstance(source, Mapping):
        return dict(spec)
    return {**spec, "source": {key: value for key, value in source.items() if key != "file"}}


def trust(file: str | Path, code: TaskCode | None = None) -> Path:
    """Let the code of a file be run, in this process, for the runs whose task it is. Nothing is run now.

    Args:
        file: the file.
        code: of the run that it is trusted for, which it must be; None = of any that it turns out to be.

    Returns:
        the file with its whole path.

    Raises:
        TaskError: if it cannot be read, or is no file of Python.
        UntrustedCode: if it is not the file that the run was made with.
    """
    path = Path(file).resolve()
    source = read_code(path)
    if code is not None:
        check_code(code, path, source)
    if path not in _trusted:
        _trusted.append(path)
    return path


def trusted() -> tuple[str, ...]:
    """The files that are trusted here, to be trusted in a process that works for this one."""
    return tuple(str(path) for path in _trusted)


def read_code(path: Path) -> bytes:
    """The bytes of a task's file.

    Raises:
        TaskError: if it is no regular file of at most :data:`LONGEST` bytes whose name ends in ``.py``.
    """
    if path.suffix != ".py":
        raise TaskError(f"{path} is not a Python file; give a file whose name ends in .py")
    try:
        if path.exists() and not path.is_file():
            raise TaskError(f"cannot read the task file {path}: it is not a regular file")
        with path.open("rb") as file:
            source = file.read(LONGEST + 1)
    except OSError as error:
        raise TaskError(f"cannot read the task file {path}: {error.strerror}") from None
    if len(source) > LONGEST:
        raise TaskError(f"the task file {path} has more than {LONGEST:,} bytes")
    return source


def sha256_of(source: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(source).hexdigest()


def find_code(code: TaskCode) -> tuple[Path, bytes]:
    """The trusted file that is a run's code, and its bytes.

    Raises:
        UntrustedCode: if no trusted file is, saying the way out; with both hashes where the file has changed.
    """
    held = {path: read_code(path) for path in _trusted if path.exists()}
    if code.sha256:
        for path, source in held.items():
            if sha256_of(source) == code.sha256:
                return path, source
    named = _of_that_name(code, held)
    if named is None:
        given = ", ".join(_text(path.name) for path in held)
        wrong = f", for none of the trusted files ({given}) is that of this run's task" if given else ""
        raise UntrustedCode(f"{NOT_RUN}{wrong}; {_way_out(code)}")
    check_code(code, named, held[named])
    return named, held[named]


def check_code(code: TaskCode, path: Path, source: bytes) -> None:
    """Refuse a file that is not the code of a run.

    Args:
        code: of the run.
        path: of the file.
        source: its bytes.

    Raises:
        UntrustedCode: with both hashes, or, where the run has none, if the file is called otherwise.
    """
    if code.sha256 and code.sha256 != (found := sha256_of(source)):
        raise UntrustedCode(
            f"{NOT_RUN}, as {_text(str(path))} is not the file of the run: its sha256 is {found}, the "
            f"run's is {code.sha256}; restore the file"
        )
    if not code.sha256 and path.name != Path(code.file).name:
        raise UntrustedCode(
            f"{NOT_RUN}, as it is the class {code.cls} of {_text(Path(code.file).name)}, not of {_text(str(path))}"
        )


def on_trust(code: TaskCode) -> str:
    """What is to be said of a run whose code is trusted, but was stored without a hash; "" for others."""
    named = None if code.sha256 else _of_that_name(code, dict.fromkeys(_trusted, b""))
    if named is None:
        return ""
    return f"that {_text(str(named))} is the file of its task is taken on trust: it was made before hashes were stored"


def _of_that_name(code: TaskCode, held: Mapping[Path, bytes]) -> Path | None:
    """The file at the very place, or else one that is called the same."""
    own = Path(code.file)
    return next((path for path in held if path == own), next((path for path in held if path.name == own.name), None))


def _way_out(code: TaskCode) -> str:
    where = _text(code.file)
    return (
        f"it is the class {_text(code.cls)} of {where}; if you trust it, give --trust-code {where}, or in Python "
        f"run.trust({code.file!r})"
    )


def _text(name: str) -> str:
    """Text that came with data, such that it can be pasted into a shell and moves no cursor."""
    return shlex.quote(name if name.isprintable() else ascii(name))
