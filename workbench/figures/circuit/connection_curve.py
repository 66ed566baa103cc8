"""The accuracy drop without one connection, over prefix length, with its control."""

from __future__ import annotations

from workbench.figures.labels import join_with_dots, over_length, proportion, sample_size
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.connection_effects import (
    DROP,
    MEASUREMENT,
    RANDOM,
    effects_at,
    measured_connections,
    nearest_measured,
    strongest,
)
from workbench.figures.rows.frame import Frame, numbers
from workbench.figures.rows.select_rows import run_name, smallest_n, stack, telling, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import (
    Cursor,
    add_across,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import LineStyle, add_series, line_plot
from workbench.figures.style.template import DASH, run_axis
from workbench.models.base.graph import ARROW

CONTROL = "control"
READ_PARTS = {"q": "queries", "k": "keys", "v": "values"}
"""Mode of a row -> which inputs of the receiving head are cut from the sender."""


def connection_rows(frame: Frame, *, step: int, length: int, connection: str = "") -> Frame:
    """The rows of :func:`connection_over_length`: the connection, its control, and its parts where measured apart."""
    rows = measured_connections(frame, step=step)
    effects, _ = effects_at(rows, nearest_measured(rows, length))
    name = connection if connection in effects else strongest(effects)
    drops = frame.where(measurement=MEASUREMENT, quantity=DROP, law="matched", step=step, target=name)
    uncontrolled = drops.where(control="")
    return stack(
        [
            tidy(uncontrolled.where(mode=""), name, "length"),
            tidy(drops.where(control=RANDOM, mode=""), CONTROL, "length"),
            *(tidy(uncontrolled.where(mode=mode), said, "length") for mode, said in READ_PARTS.items()),
        ]
    )


@figure(rows=connection_rows)
def connection_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    length: int,
    connection: str = "",
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy drop without one connection at each measured length, with its interval. Dashed: its control.

    Thin lines: the drop if only the receiving head's queries, keys or values are cut, where this was measured.

    Args:
        length: at which the connection that costs most is meant, where none is chosen.
        connection: its name, ``L0.0 -> L1.0``; "" or one that there is not = the one that costs most.

    Raises:
        NotMeasured: without rows of that checkpoint.
    """
    name, t = str(data["target"][0]), TOKENS[look.theme]
    series = data.where(series=name)
    ends = numbers(data["low"]).tolist() + numbers(data["high"]).tolist() + numbers(data["value"]).tolist()
    scale = Scale.spanning(min(-0.1, *ends), max(0.2, *ends))
    y_axis = {**scale.axis(), "title": {"text": "accuracy drop"}}
    ticks = sorted({0.0, round(scale.low, 2), round(scale.high, 2)})
    y_axis |= {"tickvals": ticks, "ticktext": [proportion(tick) for tick in ticks]}
    drawing = line_plot(
        "length",
        run_axis("length", frame.distinct("length"), trained, look.theme),
        y_axis,
        title="Cost of cutting one connection",
        slice=join_with_dots(name.replace(ARROW, " \u2192 "), sample_size(smallest_n(series))),
        n=smallest_n(series),
        name=f"{run_name(frame)}/connection_over_length",
        look=look,
    )
    add_across(drawing, 0.0, {"color": t["line2"], "width": 1, "dash": "dot"}, "no drop")
    labels, _ = add_series(
        drawing,
        data,
        "length",
        {
            CONTROL: LineStyle(t["control"], 1.0, DASH, band=False, written=t["ink3"]),
            **{part: LineStyle(t["ink3"], 1.0, band=False) for part in READ_PARTS.values()},
        },
    )
    labels.append(("drop", add_line(drawing, series, "length", t["ink"]), t["ink"], True))
    add_end_labels(drawing, labels, y_axis["range"], look.size)
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme, [(series, t["ink"], "circle")])
    told = values_in_words(series, "length", telling(series, "length", trained))
    drawing.layout.meta["alt"] = f"Accuracy drop without {name} {over_length(step)}: {told}"
    return drawing
