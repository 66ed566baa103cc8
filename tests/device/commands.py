"""Run commands with a time limit each, several at once, and keep what they print."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LENGTHLENS = (sys.executable, "-m", "lengthlens")
TAIL = 2_000
"""Characters of a command's output that the report keeps. The log keeps all."""


@dataclass(frozen=True)
class CommandResult:
    """How one command ended.

    Attributes:
        status: the exit status, or None if the command ran past its limit and was killed.
        seconds: wall time.
        output: stdout and stderr together.
    """

    status: int | None
    seconds: float
    output: str

    @property
    def facts(self) -> dict[str, Any]:
        """What the report states. The output only if the command failed."""
        tail = {} if self.status == 0 else {"output": self.output[-TAIL:]}
        return {
            "status": "timed out" if self.status is None else self.status,
            "seconds": round(self.seconds, 2),
            **tail,
        }


@dataclass
class Runner:
    """Runs commands until a deadline.

    Attributes:
        log: the file that receives every command and its output.
        ends: the time of ``time.monotonic`` after which nothing runs.
        workers: commands that run at the same time.
        environment: variables that all commands get in addition.
    """

    log: Path
    ends: float
    workers: int
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        words: Sequence[str],
        limit: float,
        environment: Mapping[str, str] | None = None,
        interrupt: Callable[[], bool] | None = None,
    ) -> CommandResult:
        """Run one command.

        Args:
            words: the command line.
            limit: seconds after which the command and its children are killed.
            environment: further variables.
            interrupt: asked every 20 ms. SIGTERM is sent once it returns True.
        """
        limit = min(limit, self.ends - time.monotonic())
        if limit <= 0:
            return CommandResult(None, 0.0, "not started: no time was left")
        variables = {**os.environ, "PYTHONUNBUFFERED": "1", **self.environment, **(environment or {})}
        begun = time.monotonic()
        process = subprocess.Popen(
            words, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        try:
            if interrupt is not None:
                while process.poll() is None and not interrupt() and time.monotonic() - begun < limit:
                    time.sleep(0.02)
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=max(0.1, limit - (time.monotonic() - begun)))
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            status = None
        result = CommandResult(status, time.monotonic() - begun, output)
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(words)}\n{output}\n[{result.facts['status']} after {result.seconds:.1f} s]\n\n")
        return result

    def together(self, jobs: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """The results of several jobs by name, ``workers`` of them at a time."""
        with ThreadPoolExecutor(self.workers) as pool:
            futures = {name: pool.submit(job) for name, job in jobs.items()}
            return {name: future.result() for name, future in futures.items()}
