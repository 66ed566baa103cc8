"""The published claims with their verdicts, requested once from the worker: they are in a higher layer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.dashboard.server.worker import Worker
from workbench.dashboard.server.worker_addresses import PUBLISHED_CLAIMS
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.theory_match import subject


@dataclass(frozen=True)
class ClaimList:
    """The published claims, or why they are not there.

    Attributes:
        claims: as :func:`workbench.claims.published.published_claims` returns them; empty while they are read.
        runs: for each subject that a claim names in ``similar``, the names of its runs.
        error: why there are none, in a sentence; "" otherwise.
    """

    claims: Sequence[Mapping[str, Any]] = ()
    runs: Sequence[Sequence[str]] = ()
    error: str = ""

    @property
    def ready(self) -> bool:
        """Whether there is an answer, be it an error."""
        return bool(self.claims) or bool(self.error)

    def runs_like(self, claim: Mapping[str, Any]) -> list[str]:
        """Names of the runs with the task, positions and kind of model of a claim."""
        return [name for index in claim["similar"] if index < len(self.runs) for name in self.runs[index]]


class PublishedClaims:
    """The claims as a worker reads them; one answer is cached.

    Args:
        worker: the worker that reads them.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._cached: tuple[str, Sequence[Mapping[str, Any]]] = ("", ())

    def with_runs(self, runs: Iterable[RunView]) -> ClaimList:
        """Return the claims, with the runs that are like those of each claim. Never waits."""
        names: dict[str, list[str]] = {}
        for run in runs:
            names.setdefault(json.dumps(subject(run), sort_keys=True), []).append(run.name)
        text = json.dumps(sorted(names))
        members = [names[key] for key in sorted(names)]
        with self._lock:
            if self._cached[0] == text:
                return ClaimList(self._cached[1], members)
        key = self._worker.submit(PUBLISHED_CLAIMS, {"subjects": [json.loads(one) for one in sorted(names)]})
        job = self._worker.job(key)
        if job is None or job.pending:
            return ClaimList()
        if job.state != "done":
            return ClaimList(error=job.error or "The claims were not read, because the computation was stopped.")
        with self._lock:
            self._cached = (text, job.result)
        return ClaimList(job.result, members)
