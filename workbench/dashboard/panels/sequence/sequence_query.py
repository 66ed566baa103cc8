"""What the sequence pages request from the worker: one sequence, through one checkpoint, with edits or without."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import LensError
from workbench.core.names import DISTRIBUTIONS
from workbench.dashboard.panels.sequence.pattern_zoom import Zoom, parse_zoom
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.server.worker_addresses import LOOK_AT_SEQUENCE, READ_SEQUENCE
from workbench.dashboard.state.cursor import Cursor, Notice
from workbench.dashboard.state.request_gate import let_others_run
from workbench.dashboard.state.run_view import RunView
from workbench.measure.edits.edit import EditError, parse_edits
from workbench.measure.edits.reading import ProbeReading, SequenceReading

POOLED = 512
"""Positions up to which every query's weights are sent; longer sequences request those of the selected query."""
LAWS = DISTRIBUTIONS
WRONG_OF = 64
"""Samples among which the first wrong one is looked for."""
PICKS = ("sample", "wrong")
"""Which sample of the test set is shown: the numbered one, or the first whose last answer the model gets wrong."""
IN_LINK = 1500
"""Characters of a typed sequence that a link still carries."""
PATIENCE = 120.0
"""Seconds an export waits for the worker."""


WAITING = 2
"""Exports that wait for the worker at once: each holds one of the server's few threads, which pages need too."""
SOON = 5
"""Seconds after which a rejected export may try again."""

_waiting = threading.BoundedSemaphore(WAITING)


class Busy(LensError):
    """Too many requests wait for the worker; ``seconds`` is when to try again."""

    seconds = SOON


class NotComputed(LookupError):
    """The worker has no result for a request; the message gives the reason."""


@dataclass(frozen=True)
class SequenceQuestion:
    """A request of the page *Try it* about one sequence.

    Attributes:
        run: the run with the checkpoint.
        cursor: selected step, layer and head, and the length of a drawn sequence.
        text: the typed sequence, or "" for a drawn one.
        law: test set of a drawn sequence.
        edits: the edits, in the form in which a link writes them.
        strength: strength of the interventions among the edits, from 0 to 1.
        wrong: whether the first wrong sample is shown instead of the numbered one.
        prefix: prefix length of the chosen query; None = the whole sequence's.
        site: layer that probes read; None = the last.
        cells: largest side of the pattern.
        zoom: the requested part of the pattern; None means all of it.
        beyond: a part that the link names, past the end of this sequence.
    """

    run: RunView
    cursor: Cursor
    text: str = ""
    law: str = "matched"
    edits: str = ""
    prefix: int | None = None
    site: int | None = None
    cells: int = POOLED
    zoom: Zoom | None = None
    beyond: str = ""
    strength: float = 1.0
    wrong: bool = False

    @property
    def sequence(self) -> dict[str, Any]:
        """Return the sequence in the form that the worker's functions take."""
        if self.text:
            return {"text": self.text}
        if self.wrong:
            return {"law": self.law, "length": self.cursor.length, "wrong_of": WRONG_OF}
        return {"law": self.law, "length": self.cursor.length, "seed": self.cursor.sample}

    @property
    def long(self) -> bool:
        """Whether the pattern is pooled or a part, so that the selected query's own weights must be requested."""
        return self.zoom is not None or (len(self.text) if self.text else self.cursor.length) + 1 > self.cells

    def look(self) -> dict[str, Any]:
        """Arguments of the function that looks."""
        return {
            "run_path": str(self.run.path),
            "step": self.cursor.step,
            "sequence": self.sequence,
            "layer": self.cursor.layer,
            "head": self.cursor.head,
            "query": self.prefix if self.long else None,
            "edits": self.edits,
            "strength": self.strength,
            "cells": self.cells,
            "queries": None if self.zoom is None else list(self.zoom.queries),
            "keys": None if self.zoom is None else list(self.zoom.keys),
        }

    def read(self) -> dict[str, Any]:
        """Arguments of the function that reads with probes."""
        return {
            "run_path": str(self.run.path),
            "step": self.cursor.step,
            "sequence": self.sequence,
            "edits": self.edits,
            "strength": self.strength,
        }

    def submit(self, context: Context, session: str) -> dict[str, str]:
        """Request both; returns the jobs' keys."""
        return {
            "look": context.worker.submit(LOOK_AT_SEQUENCE, self.look(), slot=f"look/{session}", urgent=True),
            "read": context.worker.submit(READ_SEQUENCE, self.read(), slot=f"read/{session}"),
        }

    def wait(self, context: Context) -> tuple[SequenceReading, ProbeReading]:
        """Wait for both results, and return them: the reading of the model and the reading of the probes.

        Raises:
            NotComputed: in one sentence, why there is none.
            Busy: while others wait, or if it takes too long.
        """
        with _exporting():
            keys = self.submit(context, f"export/{id(self)}")
            found = [_result(context.worker.wait(keys[name], PATIENCE)) for name in ("look", "read")]
        return found[0], found[1]

    def snippet(self, extra: str, rows: tuple[str, ...]) -> str:
        """Python that computes and draws the same in a notebook."""
        view = f', view="{self.cursor.view}"'
        site = "" if self.site is None else f", site={self.site}"
        return (
            "from circuits.one_sequence import look\n"
            "from probes.one_sequence import read_sequence\n"
            "from workbench.figures import sequence_view\n\n"
            f"found = {self.looking}\n"
            f"read = read_sequence({self._place}{self._edited})\n"
            f"sequence_view(found, read, rows={rows!r}{view}{site}{extra})\n"
        )

    @property
    def looking(self) -> str:
        """Python that computes the reading of the model."""
        head = f", layer={self.cursor.layer}, head={self.cursor.head}"
        query = f", query={self.prefix}" if self.prefix is not None else ""
        cells = f", cells={self.cells}" if self.cells != POOLED else ""
        part = "" if self.zoom is None else f", queries={self.zoom.queries}, keys={self.zoom.keys}"
        return f"look({self._place}{head}{query}{self._edited}{cells}{part})"

    @property
    def _place(self) -> str:
        return f"run_path={self.run.shown_path!r}, step={self.cursor.step}, sequence={self.sequence!r}"

    @property
    def _edited(self) -> str:
        strength = f", strength={self.strength:g}" if self.strength != 1 else ""
        return f", edits={self.edits!r}{strength}" if self.edits else ""


def wait_for_answer(context: Context, ask: Callable[[], str]) -> Any:
    """The worker's answer to another request, waited for; raises as :meth:`SequenceQuestion.wait`.

    Args:
        context: the dashboard's.
        ask: submits the request to the worker and returns the job's key.
    """
    with _exporting():
        return _result(context.worker.wait(ask(), PATIENCE))


@contextmanager
def _exporting() -> Iterator[None]:
    """Wait for the worker in this block, as one of few; raises :class:`Busy` where others do already."""
    if not _waiting.acquire(blocking=False):
        raise Busy(f"{WAITING} exports are being computed already; try again in {SOON} seconds.")
    try:
        with let_others_run():
            yield
    finally:
        _waiting.release()


def _result(job: Job | None) -> Any:
    if job is None or job.pending:
        raise Busy("This export is not computed yet; try again in a minute.")
    if job.state != "done":
        raise NotComputed(job.error or "the computation was stopped; try again")
    return job.result


EXTRAS: Mapping[str, str] = {
    "seq": "",
    "law": LAWS[0],
    "edits": "",
    "pos": "",
    "site": "",
    "zoom": "",
    "strength": "",
    "pick": "",
}
"""What the sequence pages keep in the link in addition to the selection."""


def asked_of(run: RunView, cursor: Cursor, extras: Mapping[str, str], cells: int = POOLED) -> SequenceQuestion:
    """The request that a page's stores describe."""
    text = extras.get("seq", "")
    prefix = _whole(extras.get("pos", ""))
    if not text and prefix is not None and prefix >= cursor.length:
        prefix = None
    site = extras.get("site", "")
    zoom = parse_zoom(extras.get("zoom", ""))
    beyond = ""
    # With BOS the last position is the length, without it one less, which only the worker knows.
    if zoom is not None and zoom.last > (len(text) if text else cursor.length):
        beyond, zoom = zoom.text, None
    return SequenceQuestion(
        run,
        cursor,
        text,
        extras.get("law", LAWS[0]),
        extras.get("edits", ""),
        prefix,
        int(site) if site else None,
        cells,
        zoom,
        beyond,
        float(extras.get("strength") or 1),
        extras.get("pick") == "wrong",
    )


def check_extras(_: Context | None, run: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return the parts of a link that a page can use, with a notice for each part that it cannot."""
    good, notices = dict(extras), []

    def drop(key: str, message: str, shown: str) -> None:
        good[key] = EXTRAS[key]
        notices.append(Notice(message, f"The page shows {shown}.", "Keep"))

    if len(good.get("seq", "")) > IN_LINK:
        drop("seq", f"This link's sequence has more than {IN_LINK:,} characters.", "a sample")
    if good.get("law", LAWS[0]) not in LAWS:
        drop(
            "law",
            f"This link names the test set \u201c{good['law'][:40]}\u201d, which does not exist.",
            "the matched test set",
        )
    if good.get("edits"):
        try:
            good["edits"] = ",".join(edit.text for edit in parse_edits(good["edits"]))
        except EditError as error:
            drop("edits", f"This link's edits cannot be read: {error}.", "no edits")
    if good.get("pos") and not _whole(good["pos"]):
        drop(
            "pos",
            f"This link names the query \u201c{good['pos'][:40]}\u201d, which is not a prefix length.",
            "the last",
        )
    if good.get("zoom") and parse_zoom(good["zoom"]) is None:
        drop("zoom", f"This link names the part \u201c{good['zoom'][:40]}\u201d, which cannot be read.", "all tokens")
    if good.get("strength") and not is_strength(good["strength"]):
        message = (
            f"This link gives the strength \u201c{good['strength'][:40]}\u201d, which is not a number from 0 to 1."
        )
        drop("strength", message, "the full intervention")
    if good.get("pick", "") not in ("", *PICKS):
        message = f"This link contains the choice \u201c{good['pick'][:40]}\u201d, which does not exist."
        drop("pick", message, "a sample")
    sites = [str(layer) for layer in range(-1, run.n_layers)]
    if good.get("site") and good["site"] not in sites:
        message = f"This link names layer \u201c{good['site'][:40]}\u201d, which {run.name} does not have."
        drop("site", message, "the last layer")
    return good, notices


def is_strength(text: str) -> bool:
    """Whether a text is the strength of an intervention: a number from 0 to 1 with at most two decimals."""
    return re.fullmatch(r"0|1|0\.[0-9]{1,2}", text) is not None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) <= 6 and int(text) > 0 else None
