"""What two runs have apart: their settings, and their accuracy over prefix length with intervals of the difference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.cli.errors import UsageError
from workbench.cli.options import TRAIN_OPTIONS
from workbench.cli.run_tables import behaviour_rows, is_prompted, measured_steps, verdict_fields
from workbench.core.names import CHALLENGE, MATCHED
from workbench.core.stored_model import component_name
from workbench.diagnosis.prescription import Prescription, suggest_change
from workbench.figures.errors import NotMeasured
from workbench.figures.panels.differences import compare_sentence, over_length_difference
from workbench.figures.rows.diagnosis_rows import named_entry
from workbench.figures.rows.frame import Frame
from workbench.figures.text.diagnosis_sentence import plain_text
from workbench.runs.run import Run
from workbench.table import Table

PARTS = ("task", "model", "training", "seeds")
"""Parts of the configuration of a run that are compared."""


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs, at its last measured step.

    Attributes:
        run: it.
        folder: its folder as the user typed it.
        name: its name in the comparison, which no other run has.
        rows: rows of its behaviour, as a DataFrame.
        diagnosis: rows of its diagnosis.
        step: its last measured step.
    """

    run: Run
    folder: Path
    name: str
    rows: Any
    diagnosis: Any
    step: int

    def row(self) -> dict[str, Any]:
        """Return the run's row of :data:`~workbench.cli.output.table_kinds.COMPARED`."""
        return {
            "run": self.name,
            "path": str(self.folder),
            "task": self.run.config["task"]["name"],
            "trained_length": self.run.trained_length,
            "step": self.step,
            **verdict_fields(self.run, self.rows, self.step),
        }


def open_runs(folders: list[Path]) -> list[ComparedRun]:
    """Return the runs in some folders, each at its last measured step.

    Raises:
        RunError: if a folder is not a run.
        UsageError: for one run only, one that is named twice, was prompted with its task, or is not measured.
    """
    if len(folders) < 2:
        raise UsageError(f"compare takes two or more runs, e.g. lengthlens compare {folders[0]} OTHER_RUN")
    runs = [Run.open(folder) for folder in folders]
    names = [run.name for run in runs]
    compared: list[ComparedRun] = []
    for folder, run in zip(folders, runs, strict=True):
        if any(run.path.samefile(other.run.path) for other in compared):
            raise UsageError(f"compare takes different runs, but {folder} is named twice; leave one out")
        if is_prompted(run):
            raise UsageError(
                f"{folder} was prompted with its task and has no trained length; choose runs of lengthlens train"
            )
        table = Table.load(run.path)
        rows = behaviour_rows(run, table)
        steps = measured_steps(rows)
        if not steps:
            raise UsageError(f"{folder} is not measured yet; run lengthlens measure {folder} --only behaviour")
        name = run.name if names.count(run.name) == 1 else str(folder)
        diagnosis = table.frame(measurement="diagnosis")
        compared.append(ComparedRun(run, folder, name, rows, diagnosis, steps[-1]))
    return compared


def difference_frame(a: ComparedRun, b: ComparedRun, law: str) -> Frame | None:
    """Return the accuracy of run A minus that of run B on one test set over prefix length; None if they share no
    length.
    """
    frame_a, frame_b = (Frame.of(one.rows.assign(run=one.name)) for one in (a, b))
    try:
        return over_length_difference(
            frame_a,
            frame_b,
            step=a.step,
            step_b=b.step,
            trained=a.run.trained_length,
            trained_b=b.run.trained_length,
            law=law,
        )
    except NotMeasured:
        return None


def difference_rows(a: ComparedRun, b: ComparedRun) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.DIFFERENCES`, the matched test set first."""
    found = []
    for law in (MATCHED, CHALLENGE):
        frame = difference_frame(a, b, law)
        if frame is None:
            continue
        sources: Mapping[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = frame.attrs["rows"]
        for row in frame.sort("length").rows():
            row_a, row_b = sources[int(row["length"])]
            found.append(
                {
                    "run_a": a.name,
                    "run_b": b.name,
                    "test_set": law,
                    "length": row["length"],
                    "length_b": row_b["length"],
                    "accuracy_a": row_a["value"],
                    "accuracy_b": row_b["value"],
                    "difference": row["value"],
                    "low": row["low"],
                    "high": row["high"],
                    "significant": "yes" if is_significant(row) else "no",
                }
            )
    return found


def is_significant(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a difference excludes 0; a difference without an interval is exact."""
    if row["low"] is None or row["low"] != row["low"]:
        return bool(row["value"] != 0)
    return bool(row["low"] > 0 or row["high"] < 0)


def sentences(a: ComparedRun, b: ComparedRun) -> list[str]:
    """Return one sentence per test set that compares the accuracies of two runs, as on the Compare page."""
    found = []
    for law in (MATCHED, CHALLENGE):
        frame = difference_frame(a, b, law)
        if frame is not None:
            found.append(plain_text(compare_sentence(frame)))
    return found or ["The two runs share no measured length."]


def setting_rows(a: ComparedRun, b: ComparedRun) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.SETTINGS`: every setting in which two runs differ."""
    leaves = [dict(_leaves({part: one.run.config.get(part) for part in PARTS})) for one in (a, b)]
    return [
        {
            "run_a": a.name,
            "run_b": b.name,
            "setting": path,
            "value_a": leaves[0].get(path, ""),
            "value_b": leaves[1].get(path, ""),
        }
        for path in dict.fromkeys([*leaves[0], *leaves[1]])
        if leaves[0].get(path) != leaves[1].get(path)
    ]


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, json.dumps(tree)


def prescription_sentence(a: ComparedRun, b: ComparedRun) -> str:
    """Whether B was trained with the change that the diagnosis of A suggests, and whether that fixed the failure.

    "" where A has no diagnosis, the diagnosis suggests nothing, or B was trained otherwise.
    """
    suggestion = _suggestion(a)
    if suggestion is None or not _has(b.run.config, suggestion):
        return ""
    entry, change = suggestion
    frame = difference_frame(a, b, str(entry["law"]))
    rows = [] if frame is None else frame.where(length=entry["length"]).rows()
    begun = f"{b.name} was trained with the change that the diagnosis of {a.name} suggests ({change.about})."
    if not rows:
        return f"{begun} The two runs share no measurement at the diagnosed length {entry['length']:.0f}."
    row = rows[0]
    interval = "" if row["low"] is None or row["low"] != row["low"] else f" [{-row['high']:+.2f}, {-row['low']:+.2f}]"
    effect = "raised" if row["value"] < 0 else "lowered"
    effect = effect if is_significant(row) else "did not change"
    verdict = verdict_fields(b.run, b.rows, b.step)["verdict"]
    return (
        f"{begun} The change {effect} accuracy at length {entry['length']:.0f} ({entry['law']} test set) by "
        f"{-row['value']:+.2f}{interval}. The verdict of {b.name} is {verdict}."
    )


def _suggestion(a: ComparedRun) -> tuple[Mapping[str, Any], Prescription] | None:
    """The diagnosed place of A and the change of training that its diagnosis suggests."""
    if a.diagnosis.empty:
        return None
    step = int(a.diagnosis["step"].max())
    frame = Frame.of(a.diagnosis[a.diagnosis["step"] == step])
    try:
        entry = named_entry(frame, step=step)
    except NotMeasured:
        return None
    sites = frame.where(quantity="failure_site", law=entry["law"], length=entry["length"]).rows()
    change = suggest_change(str(entry["label"] or ""), str(sites[0]["label"] or "") if sites else "", a.run.config)
    return (entry, change) if change.about else None


def _has(config: Mapping[str, Any], suggestion: tuple[Mapping[str, Any], Prescription]) -> bool:
    """Whether a configuration has every value that a change sets."""
    change = suggestion[1]
    values = {TRAIN_OPTIONS[name].settings[0]: value for name, value in change.options.items()} | {**change.settings}
    for path, value in values.items():
        place: Any = config
        for part in path.split("."):
            place = place.get(part) if isinstance(place, Mapping) else None
        if (place if isinstance(value, Mapping) else component_name(place)) != value:
            return False
    return True
