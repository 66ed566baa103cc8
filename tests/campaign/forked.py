"""The command ``lengthlens`` in a forked child, with a fault: as real as a process of its own, without its imports."""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.campaign.faults import Fault, Watch
from tests.support.limits import HANGS_S

OPERATIONS = "\noperations "
IMPORTED = (
    "workbench.cli.run_config",
    "workbench.training.trainer",
    "workbench.measure.behaviour.solves_trained_lengths",
    "workbench.cli.measure_plan",
    "workbench.measure.running.plan",
    "workbench.jobs.processes",
    "workbench.cli.main",
    "workbench.models.transformer.model",
    "workbench.tasks.counting.majority",
    "workbench.cli.sweeping.shipped_sweeps",
    "pyarrow.pandas_compat",  # at the first table
    "scipy.linalg",  # at the first measurement, and threadpoolctl looks for its threads
)
ANNOUNCED = ("architectures", "encodings", "id_samplers", "measurements", "rate_schedules", "tasks")
"""Groups of what installed packages announce; who asks for them reads what is installed, once."""


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        status: its exit status; -n where signal n ended it.
        said: what it wrote to standard output and error.
        operations: the file-system operations it did; empty where it was killed.
        seconds: how long it took.
    """

    status: int
    said: str
    operations: tuple[str, ...]
    seconds: float


@cache
def warm() -> None:
    """Import here what every command would import there."""
    import torch

    from workbench.core.registry import entry_points
    from workbench.measure.registry import measurements

    for name in IMPORTED:
        import_module(name)
    measurements()
    for group in ANNOUNCED:
        entry_points(f"lengthlens.{group}")
    _options()
    torch.set_num_threads(1)
    gc.freeze()  # no child looks through what it inherits, and copies it by that


@cache
def _options() -> Any:
    """The program with what the functions of all its commands say of their options, which takes a while to look through."""
    import typer.main

    from workbench.cli.main import app

    group: Any = typer.main.get_command(app)
    for name in group.commands:  # a look at each imports and builds it
        group.commands[name]
    return group


def start(
    words: Sequence[object],
    folder: Path,
    fault: Fault | None = None,
    file_size: int | None = None,
    encoding: str = "utf-8",
    own_group: bool = False,
) -> Child:
    """Start a command that does its work in ``folder``.

    Args:
        words: the command line, without the program's name.
        folder: operations on files below it are counted.
        fault: what happens at one of them.
        file_size: the largest size in bytes that the system lets a file have; None = as it is.
        encoding: of what it writes, as the environment variable PYTHONIOENCODING says.
        own_group: whether it and its workers are a group of processes, whose number is that of the command.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    status = 70
    try:
        if own_group:
            os.setsid()
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        be_a_command()
        _write_to(writing, encoding)
        # As in a terminal: a shell that started the campaign in the background would have it ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["lengthlens", *map(str, words)]
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
        watch = Watch(folder, fault)
        watch.install()
        status = _run()
        print(OPERATIONS + json.dumps(watch.seen), flush=True)
    except BaseException:  # noqa: BLE001 - what the interpreter would do at the end of a process
        traceback.print_exc()
    finally:
        # No clean-up of what was inherited: buffers, locks and handlers are the parent's.
        os._exit(status)


def be_a_command() -> None:
    """Make use of what is known here of the program's options, for the rest of this process."""
    import typer.main

    from workbench.cli.main import app

    make = typer.main.get_command
    typer.main.get_command = lambda given: _options() if given is app else make(given)


def _write_to(descriptor: int, encoding: str) -> None:
    """Let standard output and error go there. What the parent held open may be of another kind, or a test's."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding=encoding, line_buffering=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding=encoding, errors="backslashreplace", write_through=True)


def _run() -> int:
    from workbench.cli.errors import exit_status
    from workbench.cli.main import app

    status = exit_status(app)
    sys.stdout.flush()
    return status


class Child:
    """A command that is running."""

    def __init__(self, pid: int, reading: int) -> None:
        self.pid, self._reading = pid, reading
        self._begun = time.monotonic()

    def stopped(self) -> bool:
        """Wait until it is stopped by a signal, or has ended; whether it was stopped."""
        status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        return status is not None and status.si_code == os.CLD_STOPPED

    def ended(self) -> bool:
        """Whether it has ended; it is still to be waited for."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self, kill_after: float | None = None) -> Ended:
        """Wait for its end; kill it after so many seconds."""
        limit = HANGS_S if kill_after is None else kill_after
        said = bytearray()
        while True:
            left = self._begun + limit - time.monotonic()
            if not select.select([self._reading], [], [], max(0.0, left))[0]:
                os.kill(self.pid, signal.SIGKILL)
                limit = HANGS_S
                continue
            part = os.read(self._reading, 1 << 16)
            if not part:
                break
            said += part
        os.close(self._reading)
        _, status = os.waitpid(self.pid, 0)
        text, _, operations = said.decode(errors="replace").partition(OPERATIONS)
        return Ended(
            os.waitstatus_to_exitcode(status),
            text,
            tuple(json.loads(operations)) if operations else (),
            time.monotonic() - self._begun,
        )


def lengthlens(words: Sequence[object], folder: Path, fault: Fault | None = None) -> Ended:
    """Run a command to its end; see :func:`start`."""
    return start(words, folder, fault).end()
