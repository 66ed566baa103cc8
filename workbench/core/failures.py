"""Handles unexpected errors: logs the traceback, and returns a sentence that names the line that raised the error.

Code that catches more than a :class:`~workbench.core.errors.LensError` uses :func:`isolate_errors` or
:func:`log_failure`. Tracebacks go to the logger ``lengthlens``, by package (``lengthlens.measure``). The process that
logs decides where they are written: the command line writes them to a file, and the dashboard prints them. With
``LENGTHLENS_DEBUG=1`` in the environment nothing is caught: the error is raised again.
"""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from workbench.core.errors import LensError

DEBUG = "LENGTHLENS_DEBUG"
"""The environment variable with which every error is raised again. Worker processes inherit it."""
LOG = logging.getLogger("lengthlens")
LOG.addHandler(logging.NullHandler())  # without a handler of the program, Python would print to standard error
LONGEST = 300
"""The most characters of another library's error message that are repeated."""
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workbench", "probes", "circuits", "lengthlens", "app")
"""Packages whose unexpected errors are defects of LengthLens."""
TASK_MODULE = "lengthlens_task_"
"""The prefix of the names of modules that are created from task files."""
SHOWN_CODE = ("<ipython-input", "<stdin>", "<string>")
"""Names of code that is not in a file, but was written by the user (a notebook cell, an expression)."""


def debugging() -> bool:
    """Whether errors are raised with a traceback instead of being caught (``--debug``)."""
    return os.environ.get(DEBUG, "") not in ("", "0")


@contextmanager
def logging_to(handler: logging.Handler) -> Iterator[None]:
    """Send the log records of LengthLens to ``handler`` inside the ``with`` block."""
    LOG.addHandler(handler)
    try:
        yield
    finally:
        LOG.removeHandler(handler)


@contextmanager
def isolate_errors(
    report: Callable[[str], object],
    what: str,
    *,
    foreign: bool = False,
    exits: bool = False,
    passes: type[Exception] | tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Run the ``with`` block as one of many independent steps: an error ends only this step, and is reported in one
    sentence.

    Args:
        report: called with the sentence. An error that was written for readers supplies its own message.
        what: what failed, as the beginning of a sentence about any other error; "" leaves it out.
        foreign: whether the code inside belongs to a plug-in or a task file, so that LengthLens is not to blame.
        exits: whether ``sys.exit`` inside the block counts as an error, too.
        passes: error classes that are raised and not caught.
    """
    try:
        yield
    except passes:
        raise
    except LensError as error:
        report(str(error))
    except SystemExit as error:
        if not exits:
            raise
        report(_sentence(what, log_failure(error, what, foreign=foreign)))
    except Exception as error:  # noqa: BLE001 - the rule of this module
        report(_sentence(what, log_failure(error, what, foreign=foreign)))


class Repeats(logging.Filter):
    """A logging filter that drops a record equal to one of the last minute.

    A measurement may fail in the same way at every length, and a page sends its request every second. This filter is
    for handlers, which receive the records of all packages.
    """

    SECONDS, MOST = 60.0, 1000

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether no equal record was logged in the last minute."""
        key = (record.name, record.getMessage(), record.__dict__.get("asked", ""))
        if record.created - self._seen.get(key, -self.SECONDS) < self.SECONDS:
            return False
        if len(self._seen) >= self.MOST:
            self._seen.clear()
        self._seen[key] = record.created
        return True


def log_failure(error: BaseException, what: str = "", *, foreign: bool = False, again: bool = True) -> str:
    """Log the traceback of a caught error, and return the explanation for the reader, without a full stop.

    Args:
        error: the caught error. A :class:`LensError` was written for readers and is not logged.
        what: what failed, for the log.
        foreign: whether the failing code belongs to a plug-in or a task file.
        again: whether the error may be raised again; False if it must be reported to another process instead.

    The log level is ERROR if code has to be fixed. It is WARNING if the machine or a file caused the error.

    Raises:
        BaseException: the error itself, while :func:`debugging`.
    """
    if isinstance(error, LensError):
        return str(error)
    if again and debugging():
        raise error
    sentence = error_explanation(error, foreign=foreign)
    frames = _frames(error)
    level = logging.ERROR if frames.author is not None or (is_defect(error) and not foreign) else logging.WARNING
    info = (type(error), error, error.__traceback__)
    _logger(frames.first).log(level, "%s", _sentence(what, sentence), exc_info=info)
    return sentence


def error_explanation(error: BaseException, *, foreign: bool = False) -> str:
    """Return the explanation of an error for the user: its own message, or which line raised it and who has to fix the
    code.

    An error in a task file or a plug-in names the line of its author's code. Errors of the machine (an unreadable file,
    too little memory) have sentences of their own. Any other error is called a defect in LengthLens.
    """
    if isinstance(error, LensError):
        return str(error)
    frames = _frames(error)
    if frames.author is not None:
        return f"{clause(error)} (at {_file_and_line(frames.author)})"
    if _has_words(error):
        return machine_error_sentence(error)
    if foreign or frames.ours is None:
        return clause(error)
    return f"a defect in LengthLens at {_file_and_line(frames.ours)} ({clause(error)}); please report it"


def is_defect(error: BaseException) -> bool:
    """Whether an error is a defect of LengthLens: neither expected nor raised by code of a plug-in or a task file."""
    return not is_expected(error) and _frames(error).author is None


def is_expected(error: BaseException) -> bool:
    """Whether the message of an error lets the user continue: the error was written for users, or the machine caused
    it.

    An error of the machine that is raised in a task file or a plug-in does not count: its author has to know the line.
    """
    return isinstance(error, LensError) or (_has_words(error) and _frames(error).author is None)


def clause(error: BaseException) -> str:
    """Return an error as one clause: its type and the first line of its message."""
    if isinstance(error, SystemExit):
        return f"it ends the program by sys.exit({'' if error.code is None else repr(error.code)})"
    message = str(error).strip().partition("\n")[0][:LONGEST].rstrip(".")
    name = type(error).__name__
    return message if isinstance(error, LensError) else f"{name}: {message}" if message else name


def machine_error_sentence(error: BaseException) -> str:
    """Return the message for an error that needs no change of code: one of the machine, or of values that do not
    fit.
    """
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return "; ".join(_field(each) for each in error.errors())
    if isinstance(error, OSError):
        return f"{error.filename or ''!s:.500}: {error.strerror or error}".removeprefix(": ")
    return "there is not enough memory for this; choose smaller sizes, shorter lengths or fewer sequences"


def _has_words(error: BaseException) -> bool:
    from pydantic import ValidationError

    return isinstance(error, ValidationError | OSError | MemoryError)


def _field(error: object) -> str:
    assert isinstance(error, dict)
    where = ".".join(str(part) for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def as_sentence(explanation: str) -> str:
    """Return an explanation as a complete sentence, for a page of the dashboard."""
    return f"{explanation[:1].upper()}{explanation[1:].rstrip('.')}."


def _sentence(what: str, explanation: str) -> str:
    return f"{what}: {explanation}" if what else explanation


# ---- whose code ----------------------------------------------------------------------------------------------
class Line(NamedTuple):
    """A line of code that was running when an error was raised."""

    file: str
    number: int
    module: str


class Frames(NamedTuple):
    """The lines of a traceback that are needed to explain an error.

    Attributes:
        first: the first line of LengthLens below the code that caught the error.
        ours: the last line of LengthLens.
        author: the last line of code that LengthLens called and that does not belong to a library, such as a task file
            or a plug-in.
    """

    first: Line | None
    ours: Line | None
    author: Line | None


def _file_and_line(line: Line) -> str:
    """``FILE:LINE``; files of LengthLens are named from its root."""
    path = Path(line.file)
    if _is_ours(line) and path.is_relative_to(ROOT):
        path = path.relative_to(ROOT)
    return f"{path.as_posix()}:{line.number}"


def _frames(error: BaseException) -> Frames:
    lines = [
        Line(*_where(frame, number))
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__
    ]
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        lines.append(Line(error.filename, error.lineno, ""))
    ours = [line for line in lines if _is_ours(line)]
    plugins = _plugin_packages(tuple(sys.path))
    called = lines[lines.index(ours[0]) :] if ours else lines
    authors = [line for line in called if not _is_ours(line) and _is_authors(line, plugins)]
    return Frames(ours[0] if ours else None, ours[-1] if ours else None, authors[-1] if authors else None)


def _where(frame: FrameType, number: int) -> tuple[str, int, str]:
    return frame.f_code.co_filename, number, str(frame.f_globals.get("__name__", ""))


def _is_ours(line: Line) -> bool:
    if line.module.partition(".")[0] in PACKAGES:
        return True
    path = Path(line.file)
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).with_suffix("").parts[0] in PACKAGES


def _is_authors(line: Line, plugins: frozenset[str]) -> bool:
    """Whether a line belongs neither to a library nor to code that a library generated. A plug-in may be installed
    among the libraries.
    """
    if line.module.startswith(TASK_MODULE) or line.module.partition(".")[0] in plugins:
        return True
    if line.file.startswith("<"):
        return line.file.startswith(SHOWN_CODE) and line.module == "__main__"
    parts = Path(line.file).parts
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    library = sysconfig.get_paths()
    return not any(line.file.startswith(library[kind] + os.sep) for kind in ("stdlib", "platstdlib"))


@lru_cache(maxsize=8)
def _plugin_packages(folders: tuple[str, ...]) -> frozenset[str]:
    """The top-level packages of the distributions in ``sys.path`` that announce entry points to LengthLens."""
    every = (entry for package in metadata.distributions(path=list(folders)) for entry in package.entry_points)
    announced = (entry.value for entry in every if entry.group.startswith("lengthlens."))
    return frozenset(value.partition(":")[0].partition(".")[0].strip() for value in announced) - frozenset(PACKAGES)


def _logger(first: Line | None) -> logging.Logger:
    """The logger of the package that caught an error."""
    package, _, inside = (first.module if first is not None else "").partition(".")
    name = inside.partition(".")[0] if package == "workbench" else package
    return LOG.getChild(name) if name in PACKAGES or package == "workbench" else LOG
