"""One run as rows for JSON and CSV: its facts, its accuracy over prefix length, and its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.core.names import BEHAVIOUR, CHALLENGE, IN_CONTEXT, MATCHED
from workbench.core.reach import NO_REACH, Reach
from workbench.core.stored_model import StoredModel
from workbench.core.verdicts import NOT_MEASURED
from workbench.figures.rows.baselines import baseline_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.runs.run import Run
from workbench.table import Table
from workbench.table.stored_reach import QUANTITIES, VALUES, reach_by_step

ACCURACY = {False: "accuracy", True: "answer_accuracy"}
VERDICT = {False: "verdict", True: "in_context_verdict"}
"""Whether a run was prompted with its task -> its quantity of that meaning."""


def is_prompted(run: Run) -> bool:
    """Whether the run is a model that was prompted with its task and not trained on it."""
    return run.referenced or "presented" in run.config["task"]


def behaviour_measurement(run: Run) -> str:
    """The measurement of the run's verdict."""
    return IN_CONTEXT if is_prompted(run) else "behaviour"


def behaviour_rows(run: Run, table: Table | None = None) -> Any:
    """The rows of the run's behaviour that verdict and accuracies come from, as a DataFrame.

    Args:
        run: the run.
        table: its table, if it is loaded already.
    """
    loaded = Table.load(run.path) if table is None else table
    return loaded.frame(measurement=behaviour_measurement(run), mode=["teacher_forced", ""])


def run_row(run: Run, folder: Path, rows: Any, diagnosis: Any, step: int | None) -> dict[str, Any]:
    """Return the row of :data:`~workbench.cli.output.table_kinds.RUN` for a run.

    Args:
        run: the run.
        folder: its folder as the user typed it.
        rows: rows of its behaviour at all steps, as a DataFrame.
        diagnosis: rows of its diagnosis.
        step: the step of the verdict; None = nothing is measured.
    """
    model, steps = StoredModel(run.config["model"]), run.steps
    sentence = ""
    if step is not None and not diagnosis.empty and (diagnosis["step"] == step).any():
        sentence = plain_text(diagnosis_sentence(diagnosis, step=step, longest=run.trained_length))
    return {
        "run": run.name,
        "path": str(folder),
        "task": run.config["task"]["name"],
        "architecture": model.architecture,
        "positions": model.positions,
        "trained_length": run.trained_length,
        "checkpoints": len(steps),
        "last_step": steps[-1] if steps else None,
        **verdict_fields(run, rows, step),
        "diagnosis": sentence,
        **reach_fields(run, rows, step),
    }


def reach_fields(run: Run, rows: Any, step: int | None) -> dict[str, float | None]:
    """Reach at a step as columns of a row."""
    return reach_of_frame(rows[rows["step"] == (-1 if step is None else step)], run.trained_length).estimate


def reach_of_frame(rows: Any, trained: int) -> Reach:
    """Reach from rows of behaviour at one step, as a DataFrame."""
    where = (rows["measurement"] == BEHAVIOUR) & (rows["law"] == MATCHED) & (rows["mode"] == "teacher_forced")
    records = rows.loc[where & rows["quantity"].isin(QUANTITIES), list(VALUES)].to_dict("records")
    return next(iter(reach_by_step(records, trained).values()), NO_REACH)


def verdict_fields(run: Run, rows: Any, step: int | None) -> dict[str, Any]:
    """The verdict at a step as columns of a row."""
    found = rows[(rows["quantity"] == VERDICT[is_prompted(run)]) & (rows["step"] == (-1 if step is None else step))]
    if found.empty:
        return {"verdict": NOT_MEASURED, "reason": "", "verdict_step": None, "tested_to": None, "note": ""}
    row = found.iloc[0]
    return {
        "verdict": row["label"] or row["status"],
        "reason": row["reason"],
        "verdict_step": step,
        "tested_to": row["length"],
        "note": row["note"],
    }


def length_rows(run: Run, rows: Any, step: int | None) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.LENGTHS`, by prefix length, the matched test set first."""
    if step is None:
        return []
    frame = Frame.of(rows[rows["step"] == step])
    baselines = {
        law: {float(row["length"]): row["value"] for row in baseline_rows(frame, law, "length").rows()}
        for law in (MATCHED, CHALLENGE)
    }
    found = [
        {
            "test_set": row["law"] or MATCHED,
            "length": row["length"],
            "times_trained": row["length"] / run.trained_length,
            "accuracy": row["value"],
            "low": row["low"],
            "high": row["high"],
            "n": row["n"],
            "baseline": baselines.get(row["law"], {}).get(float(row["length"])),
            "status": row["status"],
        }
        for row in frame.where(quantity=ACCURACY[is_prompted(run)]).rows()
        if row["length"] == row["length"] and row["length"] is not None
    ]
    return sorted(found, key=lambda row: (row["length"], row["test_set"] != MATCHED))


def step_rows(run: Run, rows: Any) -> list[dict[str, Any]]:
    """Return rows of :data:`~workbench.cli.output.table_kinds.STEPS`, one per checkpoint."""
    prompted = is_prompted(run)
    verdicts = rows[rows["quantity"] == VERDICT[prompted]].drop_duplicates("step").set_index("step")
    accuracy = rows[rows["quantity"] == ACCURACY[prompted]]
    accuracy = accuracy if prompted else accuracy[accuracy["law"] == MATCHED]
    values = accuracy.drop_duplicates(["step", "length"]).set_index(["step", "length"])["value"]
    longest = rows["length"].max()
    return [
        {
            "step": step,
            "verdict": verdicts.loc[step, "label"] if step in verdicts.index else NOT_MEASURED,
            "reason": verdicts.loc[step, "reason"] if step in verdicts.index else "",
            "accuracy_trained": values.get((step, run.trained_length)),
            "accuracy_longest": values.get((step, longest)),
        }
        for step in run.steps
    ]


def measured_steps(rows: Any) -> Sequence[int]:
    """The steps that rows of behaviour are of, ascending."""
    return sorted(int(step) for step in rows["step"].unique())
