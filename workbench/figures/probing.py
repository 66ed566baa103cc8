"""When does the summary appear, and what breaks without it: selectivity over training, erasure over prefix length."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from workbench.figures.labels import over_length, whole
from workbench.figures.marks import Cursor, add_training
from workbench.figures.rows import after_last_block, edges, nothing, pick, stack, tidy
from workbench.figures.series import Look, series_figure, spoken
from workbench.figures.template import DASH, DOTS
from workbench.figures.tokens import TOKENS, Theme

SUMMARY, ERASURE = "probes.summary", "probes.erasure"
REFIT, UNTRAINED, SELECTIVITY = "refit", "untrained", "gain"
INTACT, NO_SUMMARY, NO_POSITION = "as it is", "-summary", "-position"
RANDOM = "random_of_equal_rank"
RANDOM_SUMMARY, RANDOM_POSITION = "random s", "random p"


def selectivity_over_training(
    frame: pd.DataFrame,
    *,
    trained: float,
    length: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Decodability of the summary after the last block, what step 0 shows already, and selectivity over all rivals.

    Raises:
        NotMeasured: without rows of summary probes at that length.
    """
    data = selectivity_over_training_data(frame, length=length)
    t = TOKENS[theme]
    looks = {
        SELECTIVITY: Look(t["summary"], strong=True),
        REFIT: Look(t["summary"], 1.2, DOTS, band=False),
        UNTRAINED: Look(t["control"], 1.0, DASH, band=False),
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


def selectivity_over_training_data(frame: pd.DataFrame, *, length: int) -> pd.DataFrame:
    """The rows of :func:`selectivity_over_training`: series gain (selectivity), refit and untrained."""
    rows = after_last_block(pick(frame, measurement=SUMMARY, length=length, mode="refit", law="matched"))
    if rows.empty:
        raise nothing(frame, SUMMARY, length=length)
    scores = pick(rows, quantity="summary_decodability")
    return stack(
        [
            tidy(pick(rows, quantity="selectivity"), SELECTIVITY, "step"),
            tidy(pick(scores, control=""), REFIT, "step"),
            tidy(pick(scores, control="untrained"), UNTRAINED, "step"),
        ]
    )


def erasure_over_length(
    frame: pd.DataFrame,
    *,
    trained: float,
    step: int,
    layer: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Accuracy as it is, without the summary, without position, and (dashed) without as much as either at random.

    Raises:
        NotMeasured: without rows of erasure there, or of accuracy.
    """
    data = erasure_over_length_data(frame, step=step, layer=layer)
    t = TOKENS[theme]
    looks = {
        INTACT: Look(t["ink2"], strong=True),
        NO_SUMMARY: Look(t["summary"]),
        NO_POSITION: Look(t["position"]),
        RANDOM_SUMMARY: Look(t["summary"], 1.0, DASH, band=False),
        RANDOM_POSITION: Look(t["position"], 1.0, DASH, band=False),
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
    return figure


def erasure_over_length_data(frame: pd.DataFrame, *, step: int, layer: int) -> pd.DataFrame:
    """The rows of :func:`erasure_over_length`: series as it is, -summary, -position, random s, random p."""
    rows = pick(frame, measurement=ERASURE, quantity="erased_accuracy", step=step, layer=layer, mode="refit")
    if rows.empty:
        raise nothing(frame, ERASURE, step=step, layer=layer)
    own = {"measurement": "behaviour", "quantity": "accuracy", "mode": "teacher_forced", "control": ""}
    intact = pick(frame, **own, step=step, law=[str(law) for law in rows["law"].unique()])
    plain, random = pick(rows, control=""), pick(rows, control=RANDOM)
    return stack(
        [
            tidy(intact, INTACT, "length"),
            tidy(pick(plain, target="output_summary"), NO_SUMMARY, "length"),
            tidy(pick(plain, target="log_i"), NO_POSITION, "length"),
            tidy(pick(random, target="output_summary"), RANDOM_SUMMARY, "length"),
            tidy(pick(random, target="log_i"), RANDOM_POSITION, "length"),
        ]
    )
