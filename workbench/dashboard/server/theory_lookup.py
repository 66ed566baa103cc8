"""What theory predicts for runs, compared with what they do; requested once for each task and positions.

The deciders import tasks and thus torch, so they run in the worker.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.dashboard.server.worker import Worker
from workbench.dashboard.server.worker_addresses import DESCRIBE_ALL
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.theory_match import subject

POLL_MS = 700
WAITING = 16
"""Subjects requested at a time, with a job for each, so that one failure does not affect the others."""
LONGEST = 60.0
"""Seconds after which a subject is given up; the longest of the tasks here takes one, and starting the worker ten."""


class Expectations:
    """Predictions by subject; unknown ones are requested from a worker.

    Args:
        worker: the worker that computes them.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._known: dict[str, Mapping[str, Any]] = {}
        self._asked: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, runs: Iterable[RunView]) -> dict[str, Mapping[str, Any] | None]:
        """Run name -> the prediction of theory (``verdict``, ``theorem``, ``reason``), or None while it is computed."""
        subjects = {run.name: json.dumps(subject(run), sort_keys=True) for run in runs}
        with self._lock:
            self._collect()
            missing = sorted(set(subjects.values()) - set(self._known) - set(self._asked.values()))
            for text in missing[: WAITING - len(self._asked)]:
                self._asked[self._worker.submit(DESCRIBE_ALL, {"subjects": [json.loads(text)]})] = text
            return {name: self._known.get(text) for name, text in subjects.items()}

    def stored_prediction(self, run: RunView) -> Mapping[str, Any] | None:
        """Return the prediction of theory for a run, if it has been computed already; otherwise None."""
        return self._known.get(json.dumps(subject(run), sort_keys=True))

    def _collect(self) -> None:
        for key, text in list(self._asked.items()):
            job = self._worker.job(key)
            if job is not None and job.pending:
                if job.started is not None and time.monotonic() - job.started > LONGEST:
                    self._worker.cancel(key)
                continue
            (self._known[text],) = job.result if job is not None and job.state == "done" else [{"verdict": ""}]
            del self._asked[key]
