"""The verdicts of a run: the last one, from its note if there is one, or those of all steps, from the rows."""

from __future__ import annotations

from pathlib import Path

from workbench.table.last_verdict import COLUMNS, StoredVerdict, read_note, verdicts_by_step


def last_verdict_of(run_path: Path) -> StoredVerdict | None:
    """The last verdict of a run: from the note of its compaction, or from its rows if the folder has changed since.

    None without a verdict. Damaged files are left out, as :func:`workbench.table.reading.read_run` does.
    """
    noted = read_note(run_path)
    if noted is not None:
        return noted[0]
    verdicts = verdicts_of(run_path)
    return verdicts[max(verdicts)] if verdicts else None


def verdicts_of(run_path: Path) -> dict[int, StoredVerdict]:
    """step -> verdict, ascending. Damaged files are left out, as :func:`workbench.table.reading.read_run` does."""
    from workbench.table.reading import read_run  # needs Arrow, which a noted verdict does not

    reading = read_run(run_path, COLUMNS)
    return verdicts_by_step(reading.rows, reading.specs)
