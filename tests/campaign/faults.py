"""Faults at a chosen file-system operation: a process that dies or meets a full disk exactly there.

Everything Python code does to files goes through ``open`` and functions of ``os``. These are replaced in
a child process by ones that count the operations below one folder, and at a given count do what the
fault says before going on, if they go on. Writes are split in half, so that a fault can fall inside one.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIGNALS = {
    "SIGKILL": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
    "SIGSTOP": signal.SIGSTOP,
}
FULL = "disk full"
FILLED = "disk really full"
HALF = ", half done"
_PLAIN_OPEN = io.open
#: operations that a full disk refuses
TAKES_ROOM = {"write", "create", "mkdir", "fsync"}


@dataclass(frozen=True)
class Fault:
    """What happens before the operation of number ``at`` (from 0).

    Attributes:
        kind: one of :data:`SIGNALS`, sent by the process to itself; :data:`FULL`: from there on the system
            says that the disk has no room; :data:`FILLED`: the disk is filled, with a file ``filler``
            beside the folder, which is for small disks only.
        at: the operation. The second half of a write is an operation of its own.
    """

    kind: str
    at: int


@dataclass
class Watch:
    """Counts the operations below a folder, and lets the fault happen.

    Attributes:
        folder: operations elsewhere are none of its business.
        fault: what happens, or None to count only.
        seen: the names of the operations so far.
    """

    folder: Path
    fault: Fault | None = None
    seen: list[str] = field(default_factory=list)

    def install(self) -> None:
        """Replace ``open`` and the functions of ``os``, for the rest of this process."""
        for name in ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "truncate"):
            setattr(os, name, self._on_path(getattr(os, name), name))
        for name in ("fsync", "ftruncate", "write"):
            setattr(os, name, self._on_descriptor(getattr(os, name), name))
        plain_os_open = os.open

        def open_(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            writes = set(mode) & set("wxa+") and not isinstance(file, int) and self._inside(file)
            if not writes:
                return _PLAIN_OPEN(file, mode, *args, **options)
            self._happens("create")
            return WatchedFile(_PLAIN_OPEN(file, mode, *args, **options), self)

        def os_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & os.O_CREAT and self._inside(path):
                self._happens("create")
            return plain_os_open(path, flags, *args, **options)

        builtins.open = io.open = open_  # type: ignore[assignment]
        os.open = os_open  # type: ignore[assignment]

    def write(self, name: str, data: Any, do: Callable[[Any], Any], flush: Callable[[], None]) -> Any:
        """Write in two halves, with a fault before, between or never."""
        self._happens(name)
        half = len(data) // 2
        do(data[:half])
        flush()
        self._happens(name, HALF)
        return half + do(data[half:])

    def _on_path(self, plain: Callable[..., Any], name: str) -> Callable[..., Any]:
        def watched(path: Any, *args: Any, **options: Any) -> Any:
            if self._inside(path, options.get("dir_fd")):
                self._happens(name)
            return plain(path, *args, **options)

        return watched

    def _on_descriptor(self, plain: Callable[..., Any], name: str) -> Callable[..., Any]:
        def watched(descriptor: int, *args: Any) -> Any:
            if not self._inside(os.readlink(f"/proc/self/fd/{descriptor}")):
                return plain(descriptor, *args)
            if name == "write":
                return self.write(name, args[0], lambda data: plain(descriptor, data), lambda: None)
            self._happens(name)
            return plain(descriptor, *args)

        return watched

    def _inside(self, path: Any, dir_fd: int | None = None) -> bool:
        here = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        return os.path.join(here, os.fspath(path)).startswith(str(self.folder))

    def _happens(self, name: str, part: str = "") -> None:
        """Count one operation, and let the fault happen if it is its turn."""
        number = len(self.seen)
        self.seen.append(name + part)
        fault = self.fault
        if fault is None or number < fault.at:
            return
        if fault.kind == FULL:
            if name in TAKES_ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        elif number == fault.at:
            if fault.kind == FILLED:
                fill(self.folder.parent / "filler")
            else:
                os.kill(os.getpid(), SIGNALS[fault.kind])


def fill(path: Path) -> None:
    """Take all the room that is left on a disk."""
    with suppress(OSError), _PLAIN_OPEN(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))


class WatchedFile:
    """A file whose writes are watched; everything else is the file's own."""

    def __init__(self, file: Any, watch: Watch) -> None:
        self._file, self._watch = file, watch

    def write(self, data: Any) -> Any:
        return self._watch.write("write", data, self._file.write, self._file.flush)

    def __enter__(self) -> WatchedFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
