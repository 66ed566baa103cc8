"""Tasks whose code is a file: what a run stores of the file, and which files may be run here.

Whoever names a file in a command or in a line of Python trusts its code. A run's folder is only data: a file that its
``run.json`` names is not run for that reason. For such a task a run stores its name and a ``source``: the file, the
class in it, and the file's SHA-256. The code of a run is the trusted file with that hash, whatever its path or name.
Files that this file imports are not hashed.

Runs made before ``source`` existed have ``file.py:Class`` for a name. For them nothing can prove that a file is
unchanged. A trusted file of the same name is used, and a message reports that this rests on trust.
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
"""Largest size of a task's file, in bytes."""
LONGEST_PATH = 4096
"""Longest path of a task's file, in characters."""
KEYS = ("file", "class", "sha256")
"""Keys of the ``source`` of a task in ``run.json``."""
NOT_RUN = "custom task: its code was not run"
"""The message for a task whose code nobody has trusted."""

_BEFORE = re.compile(rf"(?P<file>.{{1,{LONGEST_PATH}}}\.py):(?P<cls>\w+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_trusted: list[Path] = []


@dataclass(frozen=True)
class TaskCode:
    """The location and hash of a task's code.

    Attributes:
        file: path of the file, as it was where the run was made.
        cls: name of the class in it.
        sha256: of the file's bytes, in hex; "" for a run made before hashes were stored.
    """

    file: str
    cls: str
    sha256: str

    @property
    def as_source(self) -> dict[str, str]:
        """The ``source`` to store in ``run.json``."""
        return dict(zip(KEYS, (self.file, self.cls, self.sha256), strict=True))


def code_of(spec: Mapping[str, Any]) -> TaskCode | None:
    """Return the file of a run's task, as its ``run.json`` states it; None for a task that is known by name.

    Args:
        spec: the part ``task`` of a ``run.json``.

    Raises:
        TaskError: for a ``source`` without file, class and SHA-256. Such a task is not looked up by its name instead.
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
    """Return `` --trust-code FILE``, which a command needs for a run whose task is a file; "" for other runs.

    Args:
        spec: the part ``task`` of a ``run.json``.
    """
    with suppress(TaskError):  # the command itself reports what is wrong with it
        if code := code_of(spec):
            return f" --trust-code {_text(code.file)}"
    return ""


def identity(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's task that enters the run's id: everything except the path of its file."""
    source = spec.get("source")
    if not isinstance(source, Mapping):
        return dict(spec)
    return {**spec, "source": {key: value for key, value in source.items() if key != "file"}}


def trust(file: str | Path, code: TaskCode | None = None) -> Path:
    """Allow this process to run the code of a file, for the runs that use it. Nothing is run now.

    Args:
        file: the file.
        code: the code of the run for which to trust the file; it must match. None = any run.

    Returns:
        the absolute path of the file.

    Raises:
        TaskError: if it cannot be read, or is not a Python file.
        UntrustedCode: if it is not the file that the run was made with.
    """
    path = Path(file).resolve()
    source = read_code(path)
    if code is not None:
        check_code(code, path, source)
    if path not in _trusted:
        _trusted.append(path)
    return path


def trusted_files() -> tuple[str, ...]:
    """Return the files that this process trusts, so that a worker process can trust them too."""
    return tuple(str(path) for path in _trusted)


def read_code(path: Path) -> bytes:
    """Return the bytes of a task's file.

    Raises:
        TaskError: unless it is a regular file of at most :data:`LONGEST` bytes whose name ends in ``.py``.
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
    """Return the SHA-256 in hex."""
    return hashlib.sha256(source).hexdigest()


def find_code(code: TaskCode) -> tuple[Path, bytes]:
    """Return the trusted file that contains a run's code, and its bytes.

    Raises:
        UntrustedCode: if no trusted file does. The message gives the option to use, and both hashes if the file has
            changed.
    """
    sources = {path: read_code(path) for path in _trusted if path.exists()}
    if code.sha256:
        for path, source in sources.items():
            if sha256_of(source) == code.sha256:
                return path, source
    named = _of_that_name(code, sources)
    if named is None:
        trusted_names = ", ".join(_text(path.name) for path in sources)
        wrong = f", for none of the trusted files ({trusted_names}) is that of this run's task" if sources else ""
        raise UntrustedCode(f"{NOT_RUN}{wrong}; {_way_out(code)}")
    check_code(code, named, sources[named])
    return named, sources[named]


def check_code(code: TaskCode, path: Path, source: bytes) -> None:
    """Raise UntrustedCode if a file is not the code of a run.

    Args:
        code: the code of the run.
        path: the path of the file.
        source: its bytes.

    Raises:
        UntrustedCode: with both hashes; for a run without a hash, if the file has another name.
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
    """Return the warning for a run whose code is trusted but was stored without a hash; "" for other runs."""
    named = None if code.sha256 else _of_that_name(code, dict.fromkeys(_trusted, b""))
    if named is None:
        return ""
    return f"that {_text(str(named))} is the file of its task is taken on trust: it was made before hashes were stored"


def _of_that_name(code: TaskCode, files: Mapping[Path, bytes]) -> Path | None:
    """Return the trusted file with exactly this path, or else one with the same file name."""
    stored_path = Path(code.file)
    exact = next((path for path in files if path == stored_path), None)
    return exact or next((path for path in files if path.name == stored_path.name), None)


def _way_out(code: TaskCode) -> str:
    where = _text(code.file)
    return (
        f"it is the class {_text(code.cls)} of {where}; if you trust it, give --trust-code {where}, or in Python "
        f"run.trust({code.file!r})"
    )


def _text(name: str) -> str:
    """Quote text that came with data, so that it is safe in a shell and contains no control characters."""
    return shlex.quote(name if name.isprintable() else ascii(name))
