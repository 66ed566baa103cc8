"""The verdicts and reach of a run: the last ones, from its note if there is one, or those of a step, from the rows."""

from __future__ import annotations

from pathlib import Path

from workbench.core.reach import Reach
from workbench.table.last_verdict import COLUMNS, StoredVerdict, read_note, read_whole_note, verdicts_by_step


def last_verdict_of(run_path: Path) -> StoredVerdict | None:
    """The last verdict of a run: from the note of its compaction, or from its rows if the folder has changed since.

    None without a verdict. Damaged files are left out, as :func:`workbench.table.reading.read_run` does.
    """
    noted = read_note(run_path)
    if noted is not None:
        return noted[0]
    verdicts = verdicts_of(run_path)
    return verdicts[max(verdicts)] if verdicts else None


def last_results_of(run_path: Path) -> tuple[StoredVerdict | None, Reach | None]:
    """The last verdict of a run, and reach at its step, from the note of its compaction or from its rows."""
    note = read_whole_note(run_path)
    verdict = last_verdict_of(run_path) if note is None else note.verdict
    if note is not None and note.reach is not None:
        return verdict, note.reach[0]
    return verdict, None if verdict is None else reach_at(run_path, verdict)


def reach_at(run_path: Path, verdict: StoredVerdict) -> Reach | None:
    """Reach of a run at the step of a verdict, from its rows; None without accuracies."""
    from workbench.table.reading import last_reach  # needs Arrow, which a noted reach does not

    return last_reach(run_path, verdict)


def verdicts_of(run_path: Path) -> dict[int, StoredVerdict]:
    """step -> verdict, ascending. Damaged files are left out, as :func:`workbench.table.reading.read_run` does."""
    from workbench.table.reading import read_run  # needs Arrow, which a noted verdict does not

    reading = read_run(run_path, COLUMNS)
    return verdicts_by_step(reading.rows, reading.specs)
