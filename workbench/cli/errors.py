"""Turns errors that the user can correct into one sentence and an exit status."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from workbench.cli.error_log import Tracebacks, debug_option, keeping_tracebacks
from workbench.core.errors import LensError
from workbench.core.failures import debugging, error_explanation, is_defect, is_expected, log_failure

INTERRUPTED = 130
DEFECT = 70
"""The exit status of a defect in LengthLens: EX_SOFTWARE of sysexits.h."""
LONGEST = 3000
"""Characters of what is said."""
GOES_ON = "Interrupted. Finished work is kept; run the same command to resume."


class Stopping(SystemExit):
    """Raised to leave the program after Ctrl-C or SIGTERM with a sentence of its own."""

    def __init__(self, sentence: str, status: int = INTERRUPTED) -> None:
        super().__init__(status)
        self.sentence, self.status = sentence, status


def exit_status(command: Callable[..., Any]) -> int:
    """Call a command, and return its exit status. An error is printed as one sentence, and its traceback is logged.

    With ``--debug`` among the arguments, or ``LENGTHLENS_DEBUG=1``, every error is raised again instead.
    """
    readable_everywhere()
    with debug_option(sys.argv), keeping_tracebacks() as log:
        status = _ended(command, log)
        if (hint := log.hint()) and not sys.stderr.closed:
            print(f"note: {hint}", file=sys.stderr)
        return status


def _ended(command: Callable[..., Any], log: Tracebacks) -> int:
    try:
        with terminable():
            command()
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where a full disk can still be told of
    except Stopping as leaving:
        print(leaving.sentence, file=sys.stderr)
        return leaving.status
    except SystemExit as leaving:
        if (code := _code_that_left(leaving)) is not None:
            print(f"error: {code} called sys.exit({leaving.code!r}); nothing after it was done", file=sys.stderr)
            return 2
        if leaving.code == INTERRUPTED:  # what typer makes of Ctrl-C
            print(GOES_ON, file=sys.stderr)
        if isinstance(leaving.code, str):
            print(f"error: {leaving.code}", file=sys.stderr)
            return 1
        return leaving.code or 0
    except KeyboardInterrupt:  # before typer was at work, or after
        print(GOES_ON, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone; saying so would fail as well
        return 0
    except Exception as error:
        if debugging():
            raise
        sentence = say(error) or _cut(log_failure(error))
        hint = log.hint()
        print(f"error: {sentence}{hint and f'; {hint}'}", file=sys.stderr)
        _drop_unwritable()
        return DEFECT if is_defect(error) else 2
    return 0


OURS = frozenset({"workbench", "probes", "circuits", "app", "argparse", "typer", "click", "rich", "__main__"})
"""Packages that leave by SystemExit where they mean to; from anywhere else it would end a command in silence."""


def _code_that_left(leaving: SystemExit) -> str | None:
    """The file and line of a task or plug-in that called ``sys.exit``; None where the command itself is leaving."""
    frames = list(traceback.walk_tb(leaving.__traceback__))
    if not frames:
        return None
    frame, line = frames[-1]
    name = str(frame.f_globals.get("__name__", ""))
    return None if name.partition(".")[0] in OURS else f"{frame.f_code.co_filename}:{line}"


def _drop_unwritable() -> None:
    """Throw away output that cannot be written: the interpreter would try again at its end, and fail loudly."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


PLAIN = str.maketrans(
    {
        "\u00b7": "-",
        "\u00d7": "x",
        "\u2013": "-",
        "\u2014": "-",
        "\u2026": "...",
        "\u201c": '"',
        "\u201d": '"',
        "\u2019": "'",
    }
)
"""What stands for a character where only ASCII can be written."""


def readable_everywhere() -> None:
    """Make the output replace characters that its encoding lacks, instead of raising an error."""
    codecs.register_error("lengthlens", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # its file was exchanged for one of another kind, below Python
                stream.reconfigure(errors="lengthlens")


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """The nearest plain text of what cannot be encoded; of a file's name that is no text, its bytes."""
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end].translate(PLAIN)
    return found.encode("ascii", "backslashreplace").decode(), error.end


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end the ``with`` block as Ctrl-C does: workers end, and one sentence is printed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def say(error: BaseException) -> str | None:
    """Return the sentence for an error that the user can correct; None for any other error."""
    return _cut(error_explanation(error)) if is_expected(error) else None


def _cut(sentence: str) -> str:
    """A sentence that quotes something endless, up to where it can still be read."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]} ... ({len(sentence):,} characters)"


class UsageError(LensError, ValueError):
    """Raised for an option whose value is not valid."""
