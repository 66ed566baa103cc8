"""The parts of the theorems' bounds on a checkpoint's weights, over training."""

from __future__ import annotations

import math

from workbench.figures.labels import magnitude, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import run_name, select, series_of, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, Label, add_cursor, add_end_labels, add_line
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import step_axis

MEASUREMENT = "bound"
#: What a part is, by the beginning of its name; the rest of the name counts the layer.
MEANINGS = {
    "residual": "largest norm in the residual stream",
    "unembedding": "norm of the unembedding",
    "scores": "norm of the attention scores",
    "values": "norm of the values and output",
    "mlp": "norm of the feed-forward layer",
    "period": "period of the position code",
    "locality": "largest offset that positions see",
    "alphabet": "symbols of the alphabet",
    "gamma_top": "margin of the top score, by enumeration",
    "gamma_pair": "smallest gap between two scores, by enumeration",
    "position_margin": "margin that positions give by themselves",
}


def bound_part_rows(frame: Frame) -> Frame:
    """The rows of :func:`bound_parts`: a series per part that varies, by its name (``target``)."""
    rows = select(frame, MEASUREMENT, quantity="bound_part")
    parts = []
    for (name,), part in rows.group("target"):
        if not str(name).startswith(("period", "locality", "alphabet")):
            parts.append(tidy(part, str(name), "step"))
    return stack(parts)


@figure(rows=bound_part_rows)
def bound_parts(
    data: Frame,
    frame: Frame,
    *,
    step: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """What enters the bounds, over training, on a logarithmic axis.

    Args:
        step: training step that the description names.

    Raises:
        NotMeasured: without rows of the measurement ``bound``.
    """
    t = TOKENS[look.theme]
    values = data["value"].astype(float)
    values = values[values > 0]  # NaN is not
    low, high = math.floor(math.log10(values.min()) - 0.1), math.ceil(math.log10(values.max()) + 0.1)
    ticks = list(range(low, high + 1, max(1, (high - low) // 4)))
    y_range = [low - 0.08 * (high - low), high + 0.08 * (high - low)]
    at_step = data.where(step=step)
    figure = line_plot(
        "step",
        step_axis(frame.distinct("step")),
        {"range": y_range, "tickvals": ticks, "ticktext": [magnitude(10.0**tick) for tick in ticks]},
        title="Parts of the bound",
        slice="norms and margins of the weights",
        alt=f"Parts of the bound over training; at step {whole(step)} "
        + ", ".join(f"{row['series']} {magnitude(row['value'])}" for row in at_step.rows()),
        n=None,
        name=f"{run_name(frame)}/bound_parts",
        look=look,
    )
    figure.update_layout(margin_r=110)
    labels: list[Label] = []
    for name, rows in series_of(data):
        margin = name.startswith(("gamma", "position_margin"))
        colour = t["ink"] if margin else t["ink3"]
        end = add_line(figure, rows, "step", colour, width=1.8 if margin else 1, band=False, place=_log)
        labels.append((name.replace("_", " "), end, colour, margin))
    add_end_labels(figure, labels, y_range, look.size, pixels=300)
    add_cursor(figure, cursor, "step", look.theme)
    return figure


def _log(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan


def meaning(part: str) -> str:
    """Return the meaning of a term of a bound in a few words; its name if the table does not contain it."""
    for name, text in MEANINGS.items():
        if part == name or part.startswith(f"{name}_"):
            layer = part.removeprefix(name).strip("_")
            return f"{text}, layer {layer}" if layer.isdigit() else text
    return part.replace("_", " ")
