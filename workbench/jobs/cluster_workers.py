"""The scheduler of a Dask cluster, and the workers that can be used because they have the same package and data.

A worker is checked for everything that it needs before it receives a job.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import socket
import struct
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.core.errors import LensError, quoted_value
from workbench.jobs.executors import ExecutorError
from workbench.storage.below import remove_file, write_new

CONNECT_S = 10.0
"""Seconds to wait for a connection to the scheduler."""
ANSWER_S = 60.0
"""Seconds to wait for its answer; a machine may be busy."""
ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:[0-9]{1,5}")
GREETING_BYTES = 1 << 20
"""The greeting of a scheduler has some hundred bytes. A longer one does not come from a scheduler."""
LOOKED_AT = 20
"""The most folders that each worker must be able to read; further folders are usually on the same disks."""


class ClusterError(LensError):
    """Raised for a cluster that cannot be used, or whose connection ends. The message names the scheduler's address."""


def require_address(address: str) -> None:
    """Refuse a text that is not the address of a scheduler, and every address if Dask is not installed.

    Raises:
        ExecutorError: with the form of an address, or the package to install.
    """
    if not ADDRESS.fullmatch(address):
        raise ExecutorError(
            f"the executor dask takes the address of a running scheduler, e.g. dask=tcp://10.0.0.1:8786, "
            f"not {quoted_value(address)}"
        )
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ExecutorError("the executor dask needs two packages: pip install cloudpickle distributed") from None


class Scheduler:
    """A connection to a scheduler.

    Attributes:
        address: as given.
        client: Dask's own.
    """

    def __init__(self, address: str, client: Any) -> None:
        self.address, self.client = address, client

    @property
    def lost(self) -> bool:
        """Whether the connection broke. Dask would connect again, but the jobs that were running are forgotten."""
        return bool(self.client.status != "running")

    def workers(self) -> dict[str, Mapping[str, Any]]:
        """Return the scheduler's information on its running workers, by address.

        Raises:
            ClusterError: if it does not answer.
        """
        try:
            told = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_S)
        except (OSError, RuntimeError, AttributeError):  # the last two: it closed meanwhile
            raise self.lost_error() from None
        return {name: one for name, one in told["workers"].items() if one["status"] == "running"}

    def lost_error(self) -> ClusterError:
        """The error for a scheduler that no longer answers."""
        return ClusterError(
            f"the Dask scheduler at {self.address} does not answer any more; finished work is kept. "
            "Start a scheduler, and run the same command to resume"
        )

    def refusals(self, names: Sequence[str], marks: Mapping[str, str]) -> dict[str, str]:
        """Address -> a clause that explains why a worker cannot be used. Usable workers are left out.

        Args:
            names: addresses of workers.
            marks: files that a worker must be able to read, with their content.
        """
        look = looker()
        versions_here, _ = look({})
        reasons: dict[str, str] = {}
        told = self.client.run(look, dict(marks), workers=list(names), on_error="return")
        for name in names:
            answer = told.get(name)
            if isinstance(answer, BaseException) or answer is None:
                reasons[name] = f"cannot be inspected ({answer})"
                continue
            there, unseen = answer
            differing = [what for what in versions_here if there.get(what) != versions_here[what]]
            if differing:
                what = differing[0]
                has = f"{what} {there[what]}" if there.get(what) else f"no {what}"
                reasons[name] = f"has {has}, and here it is {versions_here[what]}: install the same on both"
            elif unseen:
                folder = Path(unseen[0]).parent
                reasons[name] = (
                    f"does not see the folder {folder} as it is here: put the data where all machines see it"
                )
        return reasons


@contextmanager
def connect_scheduler(address: str) -> Iterator[Scheduler]:
    """A connection to a scheduler, closed at the end. Dask's own messages are not shown to the user.

    Raises:
        ClusterError: if no scheduler answers at the address in time.
    """
    with _silent():
        require_greeting(address)
        client = _client(address)
        try:
            yield Scheduler(address, client)
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                client.close(timeout=2)


def require_greeting(address: str) -> None:
    """Refuse an address if nothing listens there, or if the answer does not begin like that of a Dask scheduler.

    A scheduler greets first: eight bytes with the length of a message, then the message. Dask's own client trusts that
    length. If a port accepts the connection and sends nothing, the client waits for ever. Over TLS only the port is
    tried.

    Raises:
        ClusterError: in one sentence with the address.
    """
    protocol, _, place = address.partition("://")
    host, _, port = place.rpartition(":")
    until = time.monotonic() + CONNECT_S
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S) as connection:
            if protocol == "tls":
                return require_certificates(address)
            head = _received(connection, 8, until)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
            if not 0 < length <= GREETING_BYTES or len(_received(connection, length, until)) < length:
                raise ClusterError(
                    f"what listens at {address} does not answer as a Dask scheduler does; give the address that "
                    "`dask scheduler` prints"
                )
    except (OSError, OverflowError, UnicodeError):
        raise _nobody(address) from None


def require_certificates(address: str) -> None:
    """Refuse a TLS address if Dask's settings name no certificates.

    Raises:
        ClusterError: with the names of the missing settings.
    """
    from distributed.security import Security

    if not Security().get_connection_args("client").get("ssl_context"):
        raise ClusterError(
            f"{address} needs certificates: name them in Dask's settings distributed.comm.tls.ca-file, .client.cert "
            "and .client.key (docs/scale.md)"
        )


def _received(connection: socket.socket, count: int, until: float) -> bytes:
    """``count`` bytes from a connection, or fewer if they do not arrive in time."""
    data = b""
    while len(data) < count and time.monotonic() < until:
        connection.settimeout(max(0.01, until - time.monotonic()))
        try:
            part = connection.recv(min(1 << 16, count - len(data)))
        except OSError:
            break
        if not part:
            break
        data += part
    return data


def _nobody(address: str) -> ClusterError:
    return ClusterError(
        f"there is no Dask scheduler at {address}: start one with `dask scheduler`, and its workers with "
        f"`dask worker {address}` on each machine"
    )


def _client(address: str) -> Any:
    """Dask's client. It is made in a thread of its own, because making one may wait without end.

    Raises:
        ClusterError: if it is not connected in time, or not at all.
    """
    from distributed import Client

    clients: list[Any] = []

    def make() -> None:
        try:
            clients.append(Client(address, timeout=CONNECT_S, set_as_default=False))
        except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
            clients.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    thread.join(2 * CONNECT_S)
    client = clients[0] if clients else None
    if isinstance(client, OSError | TypeError):
        raise _nobody(address) from client
    if client is None or isinstance(client, Exception):
        raise ClusterError(
            f"what listens at {address} stopped answering as a Dask scheduler does; give the address that "
            "`dask scheduler` prints"
        ) from client
    if isinstance(client, BaseException):
        raise client
    return client


@contextmanager
def _silent() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, which are compared here
            yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


@contextmanager
def marker_files(folders: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Write hidden files to some folders, and give their content. A worker that reads the files unchanged has access to
    the folders.

    Raises:
        StorageError: if a folder cannot be written.
    """
    every = max(1, len(folders) // LOOKED_AT)
    marks: dict[str, str] = {}
    try:
        for folder in folders[::every]:
            token = secrets.token_hex(8)
            name = f".seen-{token}"
            write_new(folder.resolve(), name, token.encode())
            marks[str(folder.resolve() / name)] = token
        yield marks
    finally:
        for path_text in marks:
            remove_file(Path(path_text).parent, Path(path_text).name)


def looker() -> Callable[[Mapping[str, str]], tuple[dict[str, str], list[str]]]:
    """Return a function that a worker runs: it returns the worker's versions and the marker files that it cannot read.

    The function is defined here so that cloudpickle sends its code. A name in this package would not help a worker that
    does not have the package.
    """

    def look(marks: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        import hashlib
        import importlib.metadata
        import importlib.util
        import os
        import sys

        def version(name: str) -> str:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                return ""

        digest = hashlib.sha256()
        for package in ("workbench", "probes", "circuits"):
            found = importlib.util.find_spec(package)
            if found is None or found.origin is None:
                return {"python": f"{sys.version_info[0]}.{sys.version_info[1]}", "lengthlens": ""}, []
            root = os.path.dirname(found.origin)
            for folder, folders, files in os.walk(root):
                folders.sort()
                for name in sorted(files):
                    if name.endswith((".py", ".yaml")):
                        path = os.path.join(folder, name)
                        with open(path, "rb") as file:
                            data = file.read()
                        digest.update(f"{package}/{os.path.relpath(path, root)} {len(data)}\n".encode() + data)
        unseen = []
        for path, token in marks.items():
            try:
                with open(path) as mark:
                    seen = mark.read() == token and os.access(os.path.dirname(path), os.W_OK)
            except OSError:
                seen = False
            if not seen:
                unseen.append(path)
        versions = {
            "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "lengthlens": f"{version('lengthlens')} (source {digest.hexdigest()[:8]})",
            "torch": version("torch"),
        }
        return versions, unseen

    return look
