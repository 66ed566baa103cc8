"""Is it the same code past training? Length coupling over training and over prefix length.

Two codes can be equal because neither encodes anything. Checkpoints that do not solve the trained lengths are therefore
grey and dotted. Nothing is drawn without a verdict, because only the verdict identifies them.
"""

from __future__ import annotations

from workbench.core import names
from workbench.core.verdicts import NOT_FITTED
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import over_length
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, is_in
from workbench.figures.rows.select_rows import after_last_block, edges, not_measured, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_training
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, alt_text, series_figure
from workbench.figures.style.template import DOTS

MEASUREMENT = "probes.length_coupling"
FITTED, UNFITTED, INSIDE, STORED = "past N", NOT_FITTED, "inside N", names.STORED


def coupling_rows(frame: Frame) -> Frame:
    """The rows of :func:`coupling_over_training`: series past N and inside N where fitted, not fitted."""
    rows = frame.where(measurement=MEASUREMENT, mode="used", control="")
    past, inside = (rows.where(quantity=q) for q in ("length_coupling", "length_coupling_in"))
    if not len(past):
        raise not_measured(frame, MEASUREMENT, quantity="length_coupling")
    fitted = is_in(past["step"], fitted_steps(frame))
    return stack(
        [
            tidy(past.where(fitted), FITTED, "step"),
            tidy(past.where(~fitted), UNFITTED, "step"),
            tidy(inside.where(is_in(inside["step"], fitted_steps(frame))), INSIDE, "step"),
        ]
    )


@figure(rows=coupling_rows)
def coupling_over_training(
    data: Frame, frame: Frame, *, trained: float, look: Look = LIGHT, cursor: Cursor | None = None
) -> Drawing:
    """The one figure per checkpoint, with its band: 0 the same code at 2N, 4N and 8N, 1 nothing of it left.

    Raises:
        NotMeasured: without rows of length coupling, or without verdicts.
    """
    return _figure(frame, data, "step", "Length coupling over training", trained, look, cursor)


def fitted_steps(frame: Frame) -> list[int]:
    """The steps whose verdict is anything but *not fitted*.

    Raises:
        NotMeasured: without verdicts.
    """
    verdicts = frame.where(measurement="behaviour", quantity="verdict")
    if not len(verdicts):
        raise NotMeasured(
            "behaviour", "No verdicts for this run: length coupling is shown only with the verdict of each checkpoint."
        )
    return [int(step) for step in verdicts.where(verdicts["label"] != NOT_FITTED)["step"]]


def coupling_at_lengths(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`coupling_over_length`: series past N (or not fitted), and stored."""
    rows = frame.where(measurement=MEASUREMENT, quantity="length_coupling_at", step=step)
    if not len(rows):
        raise not_measured(frame, MEASUREMENT, step=step)
    used, stored = rows.where(mode="used"), rows.where(mode="stored")
    name = FITTED if step in fitted_steps(frame) else UNFITTED
    return stack([tidy(used, name, "length"), tidy(after_last_block(stored), STORED, "length")])


@figure(rows=coupling_at_lengths)
def coupling_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """C(n) of the logits (used) and of the stream after the last block (stored), at one step.

    Raises:
        NotMeasured: without rows of length coupling at that step, or without verdicts.
    """
    what = f"Change of the code {over_length(step)}"
    figure = _figure(frame, data, "length", what, trained, look, cursor)
    add_training(figure, trained, look)
    return figure


def _figure(
    frame: Frame,
    data: Frame,
    along: str,
    what: str,
    trained: float,
    look: Look,
    cursor: Cursor | None,
) -> Drawing:
    t = TOKENS[look.theme]
    looks = {
        FITTED: LineStyle(t["summary"], strong=True),
        UNFITTED: LineStyle(t["control"], 1.4, DOTS, band=False),
        INSIDE: LineStyle(t["train"], 1.4),
        STORED: LineStyle(t["position"], 1.4),
    }
    return series_figure(
        frame,
        data,
        along,
        trained=trained,
        looks=looks,
        title="Length coupling",
        alt=f"{what}: {alt_text(data, along, edges(data, along))}",
        look=look,
        cursor=cursor,
    )
