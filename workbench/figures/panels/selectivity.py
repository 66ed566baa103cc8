"""When does the task state appear, and what breaks without it: selectivity over training, erasure over prefix
length."""

from __future__ import annotations

from workbench.core.names import REFIT, UNTRAINED_MODEL
from workbench.figures.labels import over_length, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.select_rows import after_last_block, edges, not_measured, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_training
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, alt_text, series_figure
from workbench.figures.style.template import DASH, DOTS

SUMMARY, ERASURE = "probes.summary", "probes.erasure"
UNTRAINED, SELECTIVITY = UNTRAINED_MODEL, "gain"
LABELS = 140
"""Right margin, pixels: the longest name at the end of a line is wider than the usual margin."""
INTACT, NO_SUMMARY, NO_POSITION = "as it is", "\u2212task state", "\u2212position"
RANDOM = "random_of_equal_rank"
RANDOM_SUMMARY, RANDOM_POSITION = "random, task state", "random, position"
"""Controls: as many random directions are erased as the task state, or position, has."""


def selectivity_rows(frame: Frame, *, length: int) -> Frame:
    """The rows of :func:`selectivity_over_training`: series gain (selectivity), refit and untrained."""
    rows = after_last_block(frame.where(measurement=SUMMARY, length=length, mode="refit", law="matched"))
    if not len(rows):
        raise not_measured(frame, SUMMARY, length=length)
    scores = rows.where(quantity="summary_decodability")
    return stack(
        [
            tidy(rows.where(quantity="selectivity"), SELECTIVITY, "step"),
            tidy(scores.where(control=""), REFIT, "step"),
            tidy(scores.where(control="untrained"), UNTRAINED, "step"),
        ]
    )


@figure(rows=selectivity_rows)
def selectivity_over_training(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    length: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Decodability of the task state (summary) after the last block, that of step 0, and selectivity over all rivals.

    Raises:
        NotMeasured: without rows of probes of the task state at that length.
    """
    t = TOKENS[look.theme]
    looks = {
        SELECTIVITY: LineStyle(t["summary"], strong=True),
        REFIT: LineStyle(t["summary"], 1.2, DOTS, band=False),
        UNTRAINED: LineStyle(t["control"], 1.0, DASH, band=False),
    }
    return series_figure(
        frame,
        data,
        "step",
        trained=trained,
        looks=looks,
        title="Selectivity",
        alt=f"Selectivity of the task state over training at length {whole(length)}: "
        + alt_text(data, "step", edges(data, "step")),
        look=look,
        cursor=cursor,
    )


def erasure_rows(frame: Frame, *, step: int, layer: int | None) -> Frame:
    """The rows of :func:`erasure_over_length`: as it is, without the task state, without position, and random controls.

    If ``layer`` is None, they are those after the last block.
    """
    if layer is None:
        layer = max((int(n) for n in frame.where(measurement=ERASURE).distinct("layer")), default=0)
    rows = frame.where(measurement=ERASURE, quantity="erased_accuracy", step=step, layer=layer, mode="refit")
    if not len(rows):
        raise not_measured(frame, ERASURE, step=step, layer=layer)
    own = {"measurement": "behaviour", "quantity": "accuracy", "mode": "teacher_forced", "control": ""}
    intact = frame.where(**own, step=step, law=[str(law) for law in unique(rows["law"])])
    plain, random = rows.where(control=""), rows.where(control=RANDOM)
    return stack(
        [
            tidy(intact, INTACT, "length"),
            tidy(plain.where(target="output_summary"), NO_SUMMARY, "length"),
            tidy(plain.where(target="log_i"), NO_POSITION, "length"),
            tidy(random.where(target="output_summary"), RANDOM_SUMMARY, "length"),
            tidy(random.where(target="log_i"), RANDOM_POSITION, "length"),
        ]
    )


@figure(rows=erasure_rows)
def erasure_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int | None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy as it is, without the task state, without position, and (dashed) without as many random directions."""
    t = TOKENS[look.theme]
    looks = {
        INTACT: LineStyle(t["ink2"], strong=True),
        NO_SUMMARY: LineStyle(t["summary"]),
        NO_POSITION: LineStyle(t["position"]),
        RANDOM_SUMMARY: LineStyle(t["summary"], 1.0, DASH, band=False),
        RANDOM_POSITION: LineStyle(t["position"], 1.0, DASH, band=False),
    }
    figure = series_figure(
        frame,
        data,
        "length",
        trained=trained,
        looks=looks,
        title="Erasure",
        alt=f"Accuracy under erasure {over_length(step)}: {alt_text(data, 'length', edges(data, 'length'))}",
        look=look,
        cursor=cursor,
    )
    add_training(figure, trained, look)
    figure.update_layout(margin_r=LABELS)
    return figure
