"""The tables about heads as figures, for pictures and notebooks."""

from __future__ import annotations

import plotly.graph_objects as go

from workbench.figures.heads.head_facts import head_facts, head_table
from workbench.figures.labels import head_name, sample_size, whole
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import head_names, smallest_n
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.template import template


@figure
def head_table_figure(frame: Frame, *, step: int, length: int, theme: Theme = "light", size: int = 11) -> go.Figure:
    """All heads with their leading quantities, as a table.

    Raises:
        NotMeasured: without any row about heads at that step and length.
    """
    data = head_table_figure_data(frame, step=step, length=length)
    names = list(dict.fromkeys(data["name"]))
    wide = data.with_columns(at=head_names(data))
    heads = list(dict.fromkeys(wide["at"]))
    cells = [[_text(wide, at, name) for at in heads] for name in names]
    title = "Heads"
    meta = {"title": title, "slice": sample_size(smallest_n(data)), "alt": f"{title} at length {whole(length)}"}
    return _table(["Head", *names], [heads, *cells], meta, theme, size)


@data_of(head_table_figure)
def head_table_figure_data(frame: Frame, *, step: int, length: int) -> Frame:
    """The rows of :func:`head_table_figure`; see :func:`workbench.figures.head_table`."""
    return head_table(frame, step=step, length=length)


@figure
def head_facts_figure(
    frame: Frame, *, step: int, length: int, layer: int, head: int, theme: Theme = "light", size: int = 11
) -> go.Figure:
    """Everything measured of one head, as a table.

    Raises:
        NotMeasured: without any row about that head at that step and length.
    """
    data = head_facts_figure_data(frame, step=step, length=length, layer=layer, head=head)
    name = head_name(layer, head)
    meta = {"title": f"What {name} is", "slice": f"length {whole(length)}", "alt": f"Quantities of {name}"}
    columns = [list(data[column]) for column in ("name", "text", "interval")]
    return _table(["Quantity", "Value", "95 % CI"], columns, meta, theme, size)


@data_of(head_facts_figure)
def head_facts_figure_data(frame: Frame, *, step: int, length: int, layer: int, head: int) -> Frame:
    """The rows of :func:`head_facts_figure`; see :func:`workbench.figures.head_facts`."""
    return head_facts(frame, step=step, length=length, layer=layer, head=head)


def _text(data: Frame, at: str, name: str) -> str:
    found = data.where(at=at, name=name)["text"]
    return str(found[0]) if len(found) else ""


def _table(head: list[str], columns: list[list[str]], meta: dict[str, str], theme: Theme, size: int) -> go.Figure:
    t = TOKENS[theme]
    align = ["left"] + ["right"] * (len(head) - 1)
    plain = {"fill_color": t["surface"], "line_color": t["line"], "align": align, "height": 24}
    figure = go.Figure(
        go.Table(
            header={"values": head, "font": {"color": t["ink3"], "size": size}, **plain},
            cells={"values": columns, "font": {"color": t["ink"], "size": size + 1}, **plain},
        )
    )
    figure.update_layout(template=template(theme, size), margin={"l": 12, "r": 12, "t": 6, "b": 6}, meta=meta)
    return figure
