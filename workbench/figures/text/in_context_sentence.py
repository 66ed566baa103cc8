"""What a model does that was given a task in its prompt, in a sentence of the rows of ``behaviour.in_context``."""

from __future__ import annotations

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import Piece
from workbench.figures.rows.claims import count, note, plain
from workbench.figures.rows.door import of_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.style.verdict_styles import verdict_style

MEASUREMENT = "behaviour.in_context"


@of_rows
def in_context_sentence(frame: Frame, *, step: int) -> list[Piece]:
    """The verdict of a checkpoint with the presentation that it is about, in items, tokens and shares of the window.

    Args:
        frame: rows of one run.
        step: the checkpoint.

    Raises:
        NotMeasured: where the checkpoint was not asked.
    """
    rows = frame.where(measurement=MEASUREMENT, quantity="in_context_verdict", step=step, status="ok").rows()
    if not rows:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {step:,}: behaviour in context is not measured there.")
    row = rows[0]
    style = verdict_style(str(row["label"]))
    asked = f", presented as {row['target']}"
    return [(style.word, style.role), plain(asked), count(row, "step", " at step ", ": "), note(row), plain(".")]
