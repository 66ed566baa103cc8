"""``lengthlens diagnose``: measure why a run fails at longer lengths, and print the diagnosis."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import TrustCode
from workbench.cli.output.print_tables import (
    CsvOption,
    JsonOption,
    OutputTable,
    print_columns,
    print_tables,
    refuse_both,
)
from workbench.cli.output.table_kinds import DIAGNOSIS, INTERVENTIONS
from workbench.cli.table_text import on_one_line
from workbench.core.thresholds import LEVEL_TEXT

if TYPE_CHECKING:
    from workbench.runs.run import Run


def diagnose(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Diagnose the last checkpoint of this run.")],
    trust_code: TrustCode = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Find out why a run fails at longer lengths: measure the diagnosis of its last checkpoint, then print it.

    The command runs `lengthlens measure RUN --only diagnosis --steps last` and then prints the result. An existing
    diagnosis is not measured again. `lengthlens prescribe RUN` then suggests a changed training.
    """
    from workbench.cli.commands.measure import measure
    from workbench.cli.commands.prescribe import refuse_undiagnosable
    from workbench.runs.run import Run

    refuse_both(as_json, as_csv)
    opened = Run.open(run)
    rows = _rows(opened)
    steps = opened.steps
    if rows.empty:
        refuse_undiagnosable(run, opened)
    if not opened.weightless and (rows.empty or int(rows["step"].max()) < steps[-1]):
        with redirect_stdout(sys.stderr):
            measure([run], only=["diagnosis"], steps="last", trust_code=trust_code)
        rows = _rows(opened)
    step = int(rows["step"].max())
    tables = tables_of(opened, run, rows[rows["step"] == step], step)
    if print_tables("diagnose", tables, as_json, as_csv):
        return
    from rich.console import Console

    (facts,), interventions = tables[0].rows, tables[1].rows
    print(facts["sentence"])
    if interventions:
        print(
            f"\nShare of the accuracy drop that each intervention recovers at length {interventions[0]['length']:.0f}:"
        )
        print_columns(
            ("recovered", f"{LEVEL_TEXT} interval", "intervention"),
            [
                (f"{row['recovered']:.2f}", _interval(row), f"{row['words']} ({row['intervention']})")
                for row in interventions
            ],
        )
    if facts["cause"]:
        on_one_line(Console(), f"\nNext: lengthlens prescribe {run}")


def tables_of(run: Run, folder: Path, rows: Any, step: int) -> list[OutputTable]:
    """The tables of a diagnosis.

    Args:
        run: the run.
        folder: its folder as the user typed it.
        rows: rows of the diagnosis at one step.
        step: that step.
    """
    from workbench.figures.errors import NotMeasured
    from workbench.figures.panels.restored_shares import restored_shares
    from workbench.figures.rows.diagnosis_rows import named_entry
    from workbench.figures.rows.frame import Frame
    from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
    from workbench.measure.edits.interventions.all_interventions import find_intervention

    frame = Frame.of(rows)
    named = named_entry(frame, step=step)
    sites = frame.where(quantity="failure_site", law=named["law"], length=named["length"]).rows()
    facts = {
        "run": run.name,
        "path": str(folder),
        "step": step,
        "cause": named["label"] or "",
        "location": (sites[0]["label"] or "") if sites else "",
        "sentence": plain_text(diagnosis_sentence(rows, step=step, longest=run.trained_length)),
    }
    try:
        shares = restored_shares.data(frame, step=step).where(control="").rows()
    except NotMeasured:
        shares = []
    interventions = [
        {
            "intervention": row["target"],
            "words": known.words if (known := find_intervention(row["target"])) else row["target"],
            "test_set": row["law"],
            "length": row["length"],
            "recovered": row["value"],
            "low": row["low"],
            "high": row["high"],
        }
        for row in shares
    ]
    return [OutputTable(DIAGNOSIS, [facts]), OutputTable(INTERVENTIONS, interventions)]


def _rows(run: Run) -> Any:
    """All rows of the diagnosis of a run, as a DataFrame."""
    from workbench.table import Table

    return Table.load(run.path).frame(measurement="diagnosis")


def _interval(row: Any) -> str:
    low, high = row["low"], row["high"]
    return "" if low is None or low != low else f"[{low:.2f}, {high:.2f}]"
