"""What a model does that was given a task in its prompt, in a sentence of the rows of ``behaviour.in_context``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.names import IN_CONTEXT
from workbench.core.verdicts import verdict_kind
from workbench.figures.errors import NotMeasured
from workbench.figures.in_context.changed_heads import TOLD, changed_rows
from workbench.figures.in_context.inducing_heads import MEASUREMENT as HEADS
from workbench.figures.in_context.inducing_heads import QUANTITY as INDUCTION
from workbench.figures.in_context.inducing_heads import highest_inducer, leading_inducer
from workbench.figures.labels import Piece
from workbench.figures.rows.claims import count, estimate, head, note, number, plain, selection_without_row
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import rows_with_values

MEASUREMENT = IN_CONTEXT


@of_rows
def in_context_sentence(frame: Frame, *, step: int) -> list[Piece]:
    """Return the verdict of a checkpoint with the form of its prompt, in numbers of items and tokens and as a share of
    the context window.

    Args:
        frame: rows of one run.
        step: the checkpoint.

    Raises:
        NotMeasured: if the checkpoint was not evaluated in a prompt.
    """
    rows = frame.where(measurement=MEASUREMENT, quantity="in_context_verdict", step=step, status="ok").rows()
    if not rows:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {step:,}: behaviour in context is not measured there.")
    row = rows[0]
    kind = verdict_kind(str(row["label"]))
    asked = f", presented as {row['target']}"
    return [(kind.word, kind.role), plain(asked), count(row, "step", " at step ", ": "), note(row), plain(".")]


def in_context_course(frame: Frame, *, step: int) -> list[Piece]:
    """Return the share of correct answer tokens at the fewest items, where it decays, and at the most items.

    Without a number of items at which answers are shown to decay, the lowest share stands there.

    Args:
        frame: rows of one run.
        step: the checkpoint.
    """
    where = {"measurement": MEASUREMENT, "quantity": "answer_accuracy", "mode": ["task", "teacher_forced"]}
    rows = rows_with_values(frame.where(step=step, **where)).sort("length").rows()
    if len(rows) < 2:
        return []
    ends = frame.where(measurement=MEASUREMENT, quantity="decays_from", step=step, status="ok").rows()
    decays = next((row for row in rows if ends and row["length"] == ends[0]["value"]), None)
    lowest = min(rows, key=lambda row: float(row["value"]))
    between, why = (lowest, " items (the lowest)") if decays is None else (decays, " items (where it first decays)")
    size = [] if missing(rows[-1]["n"]) else [count(rows[-1], "n", ", n = ")]
    first = [*estimate(rows[0]), count(rows[0], "length", " at ", " items (the fewest tested)")]
    middle = [] if between in (rows[0], rows[-1]) else [*estimate(between), count(between, "length", " at ", why)]
    last = [*estimate(rows[-1]), count(rows[-1], "length", " at ", " items (the most tested"), *size, plain(")")]
    return [
        plain("Share of correct answer tokens: "),
        *_joined([part for part in (first, middle, last) if part]),
        plain("."),
    ]


ASYMMETRY = "behaviour.asymmetry"


@of_rows
def asymmetry_sentence(frame: Frame, *, step: int) -> list[Piece]:
    """Accuracy for the right minus the left neighbour on the same sequences, at every measured length.

    Args:
        frame: rows of a run that was evaluated on one side.
        step: the checkpoint.

    Raises:
        NotMeasured: if the checkpoint was not evaluated in a prompt.
    """
    where = {"measurement": ASYMMETRY, "quantity": "neighbour_asymmetry", "step": step, "status": "ok"}
    rows = rows_with_values(frame.where(**where)).sort("length").rows()
    if not rows:
        raise NotMeasured(ASYMMETRY, f"Right against left neighbour is not measured at step {step:,}.")
    parts = [[*estimate(one), count(one, "length", " at ", " items")] for one in rows]
    return [plain("Right minus left neighbour, pairs of sequences: "), *_joined(parts), plain(".")]


def in_context_rail(frame: Frame, row: str, step: int, length: int, layer: int, which: int) -> list[Piece]:
    """The text next to a row of panels of a model that was evaluated in a prompt.

    Args:
        frame: rows of one run.
        row: behaviour, mechanism or in-context-use; others have no text.
        step: the selected checkpoint.
        length: the selected number of items.
        layer: the selected layer.
        which: the selected head.
    """
    if row == "behaviour":
        asked_there = {"measurement": MEASUREMENT, "quantity": "answer_accuracy"}
        found = _at(frame, step, length, asked_there)
        if not found:
            return [selection_without_row("step", step, "Answers in context are not measured at step ", ".")]
        ends = [[*estimate(one), count(one, "length", " at ", " items")] for one in found]
        return [plain("Right of all answer tokens: "), *_joined(ends), plain(".")]
    if row == "mechanism":
        found = _at(frame, step, length, {"measurement": HEADS, "quantity": INDUCTION, "layer": layer, "head": which})
        if not found:
            return [selection_without_row("step", step, "Heads are not measured at step ", ".")]
        ends = [[number(one), count(one, "length", " at ", " items")] for one in found]
        said = plain(" gives to the key behind the earlier occurrence of the token at hand, of its attention: ")
        return [head(found[0]), said, *_joined(ends), plain("."), *_chosen_inducer(frame, step, layer, which)]
    return _changed(frame, step, length) if row == "in-context-use" else []


def _chosen_inducer(frame: Frame, step: int, layer: int, which: int) -> list[Piece]:
    """Where the head was chosen as the highest of all, and the highest one at most items; empty for other heads."""
    where = {"measurement": HEADS, "quantity": INDUCTION, "mode": ["task", "teacher_forced"], "law": "matched"}
    rows = rows_with_values(frame.where(step=step, **where)).rows()
    lengths = sorted({int(row["length"]) for row in rows})
    if len(lengths) < 2 or leading_inducer(frame, step=step) != (layer, which):
        return []
    first, last = (highest_inducer(rows, length) for length in (lengths[0], lengths[-1]))
    pieces = [
        count(first, "length", " It was chosen as the highest of all heads at ", " items"),
        plain(", so its value there is likely too high. At "),
        count(last, "length", "", " items the highest is "),
    ]
    return [*pieces, head(last), plain(" with "), number(last), plain(".")]


def _changed(frame: Frame, step: int, length: int) -> list[Piece]:
    """What forcing the reading heads recovers at the selected number of items, its control, and a change without
    oracle."""
    rows = changed_rows(frame, step=step, length=length)
    if not rows:
        return [selection_without_row("step", step, "Changed heads are not measured at these items and step ", ".")]
    first = next(iter(rows.values()))
    ends = [[*estimate(row), plain(f" with {TOLD[name]}")] for name, row in rows.items()]
    return [count(first, "length", "Accuracy changes at ", " items: by "), *_joined(ends), plain(".")]


def _at(frame: Frame, step: int, length: int, where: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows at the fewest items and at the selected number."""
    rows = rows_with_values(frame.where(step=step, mode=["task", "teacher_forced"], **where)).sort("length").rows()
    return [one for index, one in enumerate(rows) if index == 0 or int(one["length"]) == length]


def _joined(parts: Sequence[Sequence[Piece]]) -> list[Piece]:
    return [piece for index, part in enumerate(parts) for piece in ([plain(", ")] if index else []) + list(part)]
