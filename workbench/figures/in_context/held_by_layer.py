"""What each layer of a model holds of a question in its prompt: the answer, and the number of an item."""

from __future__ import annotations

from workbench.core.names import EMBEDDING
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import join_with_dots, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import refuse_empty, run_name, select, series_of, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Label, add_end_labels, add_level, add_line
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import UNIT, blank, unit_axis

MEASUREMENT = "probes.in_context"
ANSWER, PLACE = "answer", "place"
QUANTITY_OF = {ANSWER: "lens_accuracy", PLACE: "item_position_r2"}
"""Series -> its quantity."""


def layer_content_rows(frame: Frame, *, step: int, length: int) -> Frame:
    """The rows of :func:`held_by_layer`: series ``answer``, ``place`` (index of an item), and its control."""
    where = {"law": "matched", "step": step, "length": length}
    rows = select(frame, MEASUREMENT, quantity=list(QUANTITY_OF.values()), **where)
    parts = [tidy(rows.where(quantity=quantity, control=""), name, "layer") for name, quantity in QUANTITY_OF.items()]
    control = rows.where(quantity=QUANTITY_OF[PLACE], control=EMBEDDING)
    return stack([*parts, tidy(control, EMBEDDING, "layer")])


@figure(rows=layer_content_rows)
def held_by_layer(data: Frame, frame: Frame, *, step: int, length: int, look: Look = LIGHT) -> Drawing:
    """What can be decoded from the residual stream after each measured layer, at one number of items.

    ``answer``: accuracy among the task's symbols when the unembedding is applied to the stream at the query.
    ``place``: R² of a linear probe for the index of an item, fitted and tested on different sequences of this length.
    Dashed: the same probe on embeddings. Values outside 0..1 are drawn at the edge.

    Args:
        length: items of the question.

    Raises:
        NotMeasured: without such rows at that step and length.
    """
    t = TOKENS[look.theme]
    refuse_empty(data, "What layers contain")
    parts = dict(series_of(data))
    layers = sorted({int(at) for at in data["layer"] if not missing(at)})
    if not layers:
        raise NotMeasured(MEASUREMENT, f"No layer is measured at step {whole(step)} and length {whole(length)}.")
    edge = max(1.0, 0.04 * (layers[-1] - layers[0]))
    ends = [layers[0] - edge, layers[-1] + edge]
    x_axis = {
        "range": ends,
        "tickvals": layers,
        "ticktext": [str(at) for at in layers],
        "title": {"text": "after layer"},
    }
    y_axis, n = unit_axis(), smallest_n(data)
    alt = "; ".join(
        f"{name} {float(rows['value'][-1]):.2f} after layer {whole(rows['layer'][-1])}"
        for name, rows in parts.items()
        if name != EMBEDDING and not missing(rows["value"][-1])
    )
    drawing = blank(
        look, column="length", xaxis=x_axis, yaxis=y_axis,
        meta={
            "title": "Decoded after each layer",
            "slice": join_with_dots(f"at length {whole(length)}", sample_size(n)),
            "alt": f"What layers contain at length {whole(length)}, step {whole(step)}: {alt}",
            "n": n,
        },
        uirevision=f"{run_name(data)}/held_by_layer",
    )  # fmt: skip
    if EMBEDDING in parts:
        control = min(max(float(parts[EMBEDDING]["value"][0]), 0.0), 1.0)
        add_level(drawing, ends, [control, control], look.theme)
    labels: list[Label] = []
    for name, colour in ((PLACE, t["position"]), (ANSWER, t["summary"])):
        if name in parts:
            end = add_line(drawing, parts[name], "layer", colour, clip=UNIT)
            labels.append((name, end, colour, name == ANSWER))
    add_end_labels(drawing, labels, y_axis["range"], look.size)
    return drawing
