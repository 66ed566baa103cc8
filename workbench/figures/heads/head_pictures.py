"""The tables about heads as figures, for pictures and notebooks."""

from __future__ import annotations

import plotly.graph_objects as go

from workbench.core.thresholds import LEVEL_TEXT
from workbench.figures.heads.head_facts import head_facts, head_table
from workbench.figures.labels import MISSING, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import head_names, smallest_n
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.template import template
from workbench.models.base.graph import head_name


@figure(rows=head_table)
def head_table_figure(data: Frame, frame: Frame, *, step: int, length: int, look: Look = LIGHT) -> go.Figure:
    """All heads with their leading quantities, as a table.

    Raises:
        NotMeasured: without any row about heads at that step and length.
    """
    names = list(dict.fromkeys(data["name"]))
    wide = data.with_columns(at=head_names(data))
    heads = list(dict.fromkeys(wide["at"]))
    cells = [[_text(wide, at, name) for at in heads] for name in names]
    title = "Heads"
    meta = {
        "title": title,
        "slice": sample_size(smallest_n(data), _several(data)),
        "alt": f"{title} at length {whole(length)}",
    }
    return _table(["Head", *names], [heads, *cells], meta, look)


@figure(rows=head_facts)
def head_facts_figure(
    data: Frame, frame: Frame, *, step: int, length: int, layer: int, head: int, look: Look = LIGHT
) -> go.Figure:
    """Everything measured of one head, as a table.

    Raises:
        NotMeasured: without any row about that head at that step and length.
    """
    name = head_name(layer, head)
    meta = {"title": f"What {name} is", "slice": f"length {whole(length)}", "alt": f"Quantities of {name}"}
    columns = [list(data[column]) for column in ("name", "text", "interval")]
    columns.append([MISSING if missing(n) else whole(float(n)) for n in data["n"]])
    return _table(["Quantity", "Value", f"{LEVEL_TEXT} CI", "n"], columns, meta, look)


def _several(data: Frame) -> bool:
    """Whether values rest on several numbers of sequences."""
    return len({float(n) for n in data["n"] if not missing(n)}) > 1


def _text(data: Frame, at: str, name: str) -> str:
    found = data.where(at=at, name=name)["text"]
    return str(found[0]) if len(found) else ""


def _table(head: list[str], columns: list[list[str]], meta: dict[str, str], look: Look) -> go.Figure:
    t = TOKENS[look.theme]
    align = ["left"] + ["right"] * (len(head) - 1)
    plain = {"fill_color": t["surface"], "line_color": t["line"], "align": align, "height": 24}
    figure = go.Figure(
        go.Table(
            header={"values": head, "font": {"color": t["ink3"], "size": look.size}, **plain},
            cells={"values": columns, "font": {"color": t["ink"], "size": look.size + 1}, **plain},
        )
    )
    figure.update_layout(template=template(look), margin={"l": 12, "r": 12, "t": 6, "b": 6}, meta=meta)
    return figure
