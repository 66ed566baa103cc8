"""Where tracebacks of the command line go: a file of the user's, or standard error with ``--debug``."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.cli.user_folders import state_folder
from workbench.core.failures import DEBUG, Repeats, debugging, logging_to

OPTION = "--debug"
NAME = "lengthlens.log"
LIMIT = 1_000_000
"""Bytes after which the file is renamed to ``NAME.1``, in place of the one before."""
LONGEST_RECORD = 100_000
"""Bytes of one record that are kept."""


class Tracebacks(logging.Handler):
    """Appends tracebacks to a file, which is opened again for each, and records whether the user should look at one.

    If the file cannot be written, is a link, or is not a regular file, the record is dropped: a log must neither wait
    nor fail. Records of several processes do not mix, because each is one write.

    Args:
        path: the file; its folder is made.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.written, self.new = path, False, False
        self.addFilter(Repeats())
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record."""
        self.new |= record.levelno >= logging.ERROR
        try:
            data = self.format(record).encode(errors="backslashreplace")[:LONGEST_RECORD] + b"\n"
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            number = self._opened()
            try:
                found = os.fstat(number)
                if stat.S_ISREG(found.st_mode):
                    os.write(number, data)
                    self.written = True
                if found.st_size + len(data) > LIMIT:
                    os.replace(self.path, self.path.with_name(f"{self.path.name}.1"))
            finally:
                os.close(number)
        except OSError:
            return

    def _opened(self) -> int:
        """The open file. Nothing is waited for that reads at the other end, and no link is followed."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.path, flags, 0o600)

    def hint(self) -> str:
        """What to do about the errors logged since the last call; "" where there were none."""
        if not self.new:
            return ""
        self.new = False
        file = f"; the traceback is in {self.path}" if self.written else ""
        return f"run again with {OPTION} to see where{file}"


def log_path() -> Path:
    """``lengthlens/lengthlens.log`` in the user's folder of state: ``$XDG_STATE_HOME``, or ``~/.local/state``."""
    return state_folder() / "lengthlens" / NAME


@contextmanager
def keeping_tracebacks() -> Iterator[Tracebacks]:
    """Write what LengthLens logs in this block: to :func:`log_path`, or to standard error while errors are debugged."""
    tracebacks = Tracebacks(log_path())
    with logging_to(logging.StreamHandler() if debugging() else tracebacks):
        yield tracebacks


@contextmanager
def debug_option(words: list[str]) -> Iterator[None]:
    """Take ``--debug`` out of the words of a command line, wherever it stands, and obey it in this block.

    Worker processes obey it too, for they inherit the environment.
    """
    end = words.index("--") if "--" in words else len(words)
    if OPTION not in words[1:end]:
        yield
        return
    words[1:end] = [word for word in words[1:end] if word != OPTION]
    before = os.environ.get(DEBUG)
    os.environ[DEBUG] = "1"
    try:
        yield
    finally:
        os.environ.pop(DEBUG)
        if before is not None:
            os.environ[DEBUG] = before
