"""When does the summary appear, and what breaks without it: selectivity over training, erasure over prefix length."""

from __future__ import annotations

from workbench.figures.labels import over_length, whole
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.picking import after_last_block, edges, nothing, stack, tidy
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.marks import Cursor, add_training
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, series_figure, spoken
from workbench.figures.style.template import DASH, DOTS

SUMMARY, ERASURE = "probes.summary", "probes.erasure"
REFIT, UNTRAINED, SELECTIVITY = "refit", "untrained", "gain"
LABELS = 118
"""Right margin, pixels: the longest name at the end of a line is wider than the usual margin."""
INTACT, NO_SUMMARY, NO_POSITION = "as it is", "\u2212summary", "\u2212position"
RANDOM = "random_of_equal_rank"
RANDOM_SUMMARY, RANDOM_POSITION = "random, summary", "random, position"
"""Without as many directions as the summary, or position, has, at random."""


@figure
def selectivity_over_training(
    frame: Frame,
    *,
    trained: float,
    length: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Decodability of the summary after the last block, what step 0 shows already, and selectivity over all rivals.

    Raises:
        NotMeasured: without rows of summary probes at that length.
    """
    data = selectivity_over_training_data(frame, length=length)
    t = TOKENS[theme]
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
        alt=f"Selectivity of the summary over training at length {whole(length)}: "
        + spoken(data, "step", edges(data, "step")),
        theme=theme,
        size=size,
        cursor=cursor,
    )


@data_of(selectivity_over_training)
def selectivity_over_training_data(frame: Frame, *, length: int) -> Frame:
    """The rows of :func:`selectivity_over_training`: series gain (selectivity), refit and untrained."""
    rows = after_last_block(frame.where(measurement=SUMMARY, length=length, mode="refit", law="matched"))
    if not len(rows):
        raise nothing(frame, SUMMARY, length=length)
    scores = rows.where(quantity="summary_decodability")
    return stack(
        [
            tidy(rows.where(quantity="selectivity"), SELECTIVITY, "step"),
            tidy(scores.where(control=""), REFIT, "step"),
            tidy(scores.where(control="untrained"), UNTRAINED, "step"),
        ]
    )


@figure
def erasure_over_length(
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy as it is, without the summary, without position, and (dashed) without as much as either at random.

    Raises:
        NotMeasured: without rows of erasure there, or of accuracy.
    """
    data = erasure_over_length_data(frame, step=step, layer=layer)
    t = TOKENS[theme]
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
        alt=f"Accuracy under erasure {over_length(step)}: {spoken(data, 'length', edges(data, 'length'))}",
        theme=theme,
        size=size,
        cursor=cursor,
    )
    add_training(figure, trained, theme, size)
    figure.update_layout(margin_r=LABELS)
    return figure


@data_of(erasure_over_length)
def erasure_over_length_data(frame: Frame, *, step: int, layer: int) -> Frame:
    """The rows of :func:`erasure_over_length`: as it is, −summary, −position, and as many directions at random."""
    rows = frame.where(measurement=ERASURE, quantity="erased_accuracy", step=step, layer=layer, mode="refit")
    if not len(rows):
        raise nothing(frame, ERASURE, step=step, layer=layer)
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
