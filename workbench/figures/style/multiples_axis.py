"""Length axes in multiples of N: what runs of different N have in common.

Positions on a length axis are log2 of the length. An axis in multiples thus has the same marks at the same positions
with other labels, and any figure can be converted after it was drawn.
"""

from __future__ import annotations

from typing import TypeVar

from workbench.figures.labels import in_items_said, multiple
from workbench.figures.look import Theme
from workbench.figures.offered import register_public
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import PLOT_HEIGHT, PLOT_WIDTH, choose_ticks, u_length

D = TypeVar("D", bound=Drawing)

LENGTHS, ITEMS = "prefix length", "items of the question"
TITLE = "prefix length, \u00d7 trained"
#: Multiples that may be ticks, the most telling first: doublings past N, then below it, then what lies between.
_WANTED = (*(2.0**k for k in range(12, 0, -1)), 0.5, 0.25, 1.5, 3.0, 6.0)


@register_public
def in_multiples(figure: D, *, trained: float, span: tuple[float, float] | None = None, theme: Theme = "light") -> D:
    """The same figure with its length axes in multiples of N, the longest length seen in training.

    Args:
        figure: any figure of this package; one without a length axis stays as it is.
        trained: N of the run that it is of.
        span: lowest and highest position of the axis as log2 of a multiple, for figures side by side; None = as it is.
        theme: the tick at N has its colour.
    """
    meta = figure.layout.meta or {}
    for side, pixels in (("x", PLOT_WIDTH), ("y", PLOT_HEIGHT)):
        if (meta.get(side) or {}).get("kind") != "length":
            continue
        axis = getattr(figure.layout, f"{side}axis")
        at_one = u_length(trained)
        low, high = axis.range if span is None else (span[0] + at_one, span[1] + at_one)
        named = f'<span style="color:{TOKENS[theme]["train"]}">{multiple(1)}</span>'
        candidates = [(at_one, named), *((at_one + u_length(times), multiple(times)) for times in _WANTED)]
        kept = choose_ticks(candidates, low, high, pixels, vertical=side == "y")
        changed = {
            "range": [low, high],
            "tickvals": [candidates[i][0] for i in kept],
            "ticktext": [candidates[i][1] for i in kept],
            "title": {"text": TITLE},
        }
        figure.update_layout(**{f"{side}axis": changed})
        figure.layout.meta = {**figure.layout.meta, side: span_meta("length", changed)}
    return figure


@register_public
def in_items(figure: D) -> D:
    """The same figure with its lengths named for what they count in a prompt: items of the question.

    Args:
        figure: any figure of this package; one that names no length stays as it is.
    """
    for side in ("x", "y"):
        title = getattr(figure.layout, f"{side}axis").title
        if title is not None and title.text == LENGTHS:
            figure.update_layout(**{f"{side}axis": {"title": {"text": ITEMS}}})
    meta = figure.layout.meta or {}
    texts = {name: meta[name] for name in ("slice", "alt") if isinstance(meta.get(name), str)}
    said = {name: in_items_said(text) for name, text in texts.items()}
    if said:
        figure.layout.meta = {**meta, **said}
    return figure
