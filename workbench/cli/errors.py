"""Turning what the user can mend into one sentence and an exit status."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.core.errors import LensError

INTERRUPTED = 130
GOES_ON = "Interrupted; what was finished is kept, and the same command continues."


class Stopping(SystemExit):
    """Leaving after Ctrl-C or SIGTERM with a sentence of one's own."""

    def __init__(self, sentence: str) -> None:
        super().__init__(INTERRUPTED)
        self.sentence = sentence


def guarded(command: Callable[..., Any]) -> int:
    """Call a command; print one sentence for a known error, and return the exit status."""
    try:
        with terminable():
            command()
    except Stopping as leaving:
        print(leaving.sentence, file=sys.stderr)
        return INTERRUPTED
    except SystemExit as leaving:
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
        sentence = say(error)
        if sentence is None:
            raise
        print(f"error: {sentence}", file=sys.stderr)
        return 2
    return 0


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends what is inside like Ctrl-C does: workers are ended, and a sentence is said."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def say(error: BaseException) -> str | None:
    """The sentence for an error that the user can mend, or None for a defect of ours."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return "; ".join(_field(e) for e in error.errors())
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return str(error) if isinstance(error, LensError) else None


class UsageError(LensError, ValueError):
    """An option whose value cannot be read."""


def _field(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
