"""What the table says about heads at one step and length, whichever measurements wrote it.

Any row with a layer and a head counts, of any measurement: what another package measures of heads shows up
here by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import shape_clause
from workbench.figures.heads.head_curves import (
    ALL_KEYS,
    COUNTS,
    add_head_cursor,
    add_heads,
    hollow_said,
    in_front,
    title_of,
)
from workbench.figures.heads.leading_head import DROP, DROP_P, cost_clause, largest_effect
from workbench.figures.labels import (
    MISSING,
    Piece,
    dotted,
    head_name,
    magnitude,
    proportion,
    sample_size,
    significance,
    whole,
)
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.claims import Claim, cite, count, plain
from workbench.figures.rows.claims import head as named
from workbench.figures.rows.door import of_rows, rows_of_rows
from workbench.figures.rows.frame import Frame, absent, is_in, missing, present, unique
from workbench.figures.rows.picking import (
    DRAWN,
    cells,
    edges,
    known,
    refuse_empty,
    run_name,
    series_of,
    smallest_n,
)
from workbench.figures.sequence.sequence_marks import round_ticks
from workbench.figures.style.design_tokens import Theme
from workbench.figures.style.marks import Cursor, add_training, drawn_points, said
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import UNIT, length_axis

#: Quantities that lead the table where they were measured, with their short names, the most telling first.
LEADING: Mapping[str, str] = {
    "accuracy_drop": "Ablation",
    "hardmax_distance": "Hardmax",
    "dispersion_exponent": "Disperses",
    "previous_token": "Previous",
    "first_token": "First",
    "positional_share": "Positional",
    "induction": "Induction",
    "argmax_mass": "On tie set",
    "tie_size": "Tie set",
    "effective_support": "Support",
    "keys_needed": "Keys needed",
}
#: Of a quantity with several targets or modes, the variant that stands in the table: the first of these it has.
VARIANTS = ("task", "activations", "mean", "same")
MOST_COLUMNS = 6
_KINDS = {
    "sink": "rests on the first token",
    "uniform": "spreads its attention evenly over all keys",
    "point": "attends to a few keys, however many it sees",
    "class": "spreads its attention evenly over a class of keys and nothing else",
    "growing": "attends evenly to a set of keys that grows with length",
}


_DOES = {
    "hardmax": " attends as a hardmax",
    "soft": " weighs keys softly: its attention is no hardmax",
    "mixed": " is a hardmax on some sequences and not on others",
    "undecided": " may or may not be a hardmax: that is undecided",
}
"""Label of ``hardmax_verdict`` -> what the head does, where it is of no kind that has words of its own."""


@rows_of_rows
def head_rows(frame: Frame, *, step: int, length: int | None = None) -> Frame:
    """Rows about heads at one step (and one length, or none stated), controls left out.

    A column ``series`` is added: the quantity, with target and mode where it has several.
    """
    rows = frame.where(step=step, control="", law=["matched", ""])
    keep = present(rows["head"]) & (rows["layer"] >= 0)
    if length is not None:
        keep &= (rows["length"] == length) | absent(rows["length"])
    rows = rows.where(keep)
    return rows.with_columns(series=_series(rows))


def _series(rows: Frame) -> list[str]:
    """The series of each row: its quantity, with target and mode where that quantity has several."""
    quantities, targets, modes = ([str(text) for text in rows[name]] for name in ("quantity", "target", "mode"))
    variants: dict[str, tuple[set[str], set[str]]] = {}
    for quantity, target, mode in zip(quantities, targets, modes, strict=True):
        known = variants.setdefault(quantity, (set(), set()))
        known[0].add(target)
        known[1].add(mode)
    several = {quantity: [len(held) > 1 for held in known] for quantity, known in variants.items()}
    made = []
    for quantity, *words in zip(quantities, targets, modes, strict=True):
        kept = [word for word, many in zip(words, several[quantity], strict=True) if many and word]
        made.append(" \u00b7 ".join([quantity, *kept]))
    return made


@of_rows
def series_names(frame: Frame, *, step: int) -> list[str]:
    """The numeric quantities of heads at a step, the leading ones first."""
    rows = head_rows(frame, step=step)
    named = rows.where(present(rows["value"]) & is_in(rows["label"], ["", ALL_KEYS]))
    order = list(LEADING)

    def rank(name: str) -> tuple[int, str, int, str]:
        quantity, *words = name.split(" \u00b7 ")
        # The p of a difference stands behind everything that is a quantity of its own.
        place = order.index(quantity) if quantity in order else len(order) + quantity.endswith("_p")
        return place, quantity, min([VARIANTS.index(w) for w in words if w in VARIANTS], default=len(VARIANTS)), name

    return sorted(unique(named["series"]), key=rank)


@rows_of_rows
def head_table(frame: Frame, *, step: int, length: int, columns: int = MOST_COLUMNS) -> Frame:
    """The leading quantities of all heads, one row per head and quantity, the most telling head first.

    Returns:
        columns layer, head, series, name (short), value, text, share (of the quantity's range, 0 to 1; NaN where
        undefined), label, low, high, n, status, note, measurement.

    Raises:
        NotMeasured: without any row about heads there.
    """
    rows = _here(frame, step, length)
    names = [name for name in series_names(frame, step=step) if (rows["series"] == name).any()]
    first_of = {name.partition(" \u00b7 ")[0]: name for name in reversed(names)}
    chosen = [name for name in names if name in first_of.values()][:columns]
    made = []
    for name in chosen:
        mine = rows.where(series=name)
        mine = mine.where(~mine.repeats("layer", "head"))
        scale = _scale(mine["quantity"][0], mine)
        for row in mine.rows():
            made.append(_cell(row, scale, name))
    table = Frame.from_rows(made)
    first = {(row["layer"], row["head"]): -abs(row["value"]) for row in made if row["series"] == chosen[0]}
    order = np.array([first.get((row["layer"], row["head"]), math.nan) for row in made])
    return table.with_columns(_order=order).sort("_order", "layer", "head").without("_order")


@rows_of_rows
def head_facts(frame: Frame, *, step: int, length: int, layer: int, head: int) -> Frame:
    """Everything measured of one head at one step and length, one row per quantity.

    Returns:
        columns series, name, text, interval, value, label, low, high, n, status, note, measurement, quantity.

    Raises:
        NotMeasured: without any row about that head there.
    """
    mine = _of_head(frame, step, length, layer, head)
    made = []
    for row in sorted(mine.rows(), key=lambda row: (row["measurement"], row["series"])):
        shown = row["status"] in DRAWN or row["status"] == "censored"
        number = MISSING if missing(row["value"]) else _number(row["quantity"], float(row["value"]))
        text = str(row["label"]) or number
        kept = {
            k: row[k]
            for k in ("series", "value", "label", "low", "high", "n", "status", "note", "measurement", "quantity")
        }
        limits = "" if row["label"] else _limits(row)
        made.append(
            {"name": title_of(str(row["series"])), "text": text if shown else MISSING, "interval": limits, **kept}
        )
    return Frame.from_rows(made)


@of_rows
def head_sentence(
    frame: Frame, *, step: int, length: int, layer: int, head: int, trained: float | None = None
) -> tuple[list[Piece], list[Piece]]:
    """What a head does, in one sentence; and the numbers behind it, in others.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: the prefix length.
        layer: of the head.
        head: within the layer.
        trained: N, from which on its shape is told; None = from the shortest measured length on.

    Raises:
        NotMeasured: without any row about that head there.
    """
    mine = _of_head(frame, step, length, layer, head)
    # Of several variants of a quantity the one that the table shows.
    place = {name: i for i, name in enumerate(series_names(frame, step=step))}
    ordered = sorted(mine.rows(), key=lambda row: -place.get(str(row["series"]), -1))
    rows = {str(row["quantity"]): row for row in ordered}
    verdict, kind = (str(rows.get(q, {}).get("label", "")) for q in ("hardmax_verdict", "hardmax_kind"))
    if verdict == "hardmax" and kind in _KINDS:
        does = f" {_KINDS[kind]}"
    else:
        does = _DOES.get(verdict, ": whether its attention is a hardmax is not measured")
    at = next((row for row in ordered if not missing(row["length"])), None)
    where = [count(at, "length", " at length ")] if at is not None else []
    shape = shape_clause(frame, step, trained, layer, head)
    return [named(ordered[0]), plain(does), *where, plain(".")], _numbers(rows, _cost(ordered), shape)


def _cost(rows: list[dict[str, Any]]) -> list[Piece]:
    """What ablating a head costs: in the mode in which most is shown, else in the one that the table shows."""
    drops = [row for row in rows if row["quantity"] in (DROP, DROP_P) and known(row)]
    most = largest_effect(drops)
    if most is not None:
        return cost_clause(most, shown=True)
    own = [row for row in drops if row["quantity"] == DROP]
    return cost_clause(own[-1], shown=False) if own else []


def _numbers(rows: Mapping[str, Mapping[str, Any]], cost: list[Piece], shape: list[Piece]) -> list[Piece]:
    """Attention on the tie set, what ablating it costs, and its shape over length, where measured."""
    parts: list[list[Piece]] = []
    for quantity, before, after in (
        ("argmax_mass", "", " of its mass lies on its tie set"),
        ("tie_size", "", " keys are in the set"),
    ):
        row = rows.get(quantity)
        if row is not None and row["label"] == ALL_KEYS:
            parts.append([plain("its tie set is all keys")])
        elif row is not None and known(row):
            parts.append([*_counted(row, quantity, before), plain(after)])
    parts += [cost] if cost else []
    joined: list[Piece] = []
    for i, part in enumerate(parts):
        joined += [plain("; "), *part] if i else part
    sentences = [[*one, plain(".")] for one in (joined, shape) if one]
    return [piece for i, one in enumerate(sentences) for piece in ([plain(" "), *one] if i else one)]


def _counted(row: Mapping[str, Any], quantity: str, before: str) -> list[Piece]:
    """A value with its interval, as its quantity is written."""
    text = _number(quantity, float(row["value"]))
    ends = [cite(row, end, _number(quantity, float(row[end]))) for end in ("low", "high") if not missing(row[end])]
    shown = _limits(row)
    value = Claim(before + text, "plain", [cite(row, "value", text)])
    return [value, Claim(f" {shown}", "muted", ends)] if shown else [value]


def _of_head(frame: Frame, step: int, length: int, layer: int, head: int) -> Frame:
    """Every row about one head at one step and length; raises NotMeasured without any."""
    rows = _here(frame, step, length)
    mine = rows.where(layer=layer, head=head)
    if not len(mine):
        said = f"No rows about {head_name(layer, head)} at step {whole(step)} and length {whole(length)}."
        raise NotMeasured("circuits.", said, helps=False)
    return mine


@figure
def heads_over_length(
    frame: Frame,
    *,
    quantity: str | None = None,
    step: int,
    layer: int,
    head: int,
    trained: float,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Any quantity of one head over prefix length, in front of all other heads.

    Args:
        frame: rows of one run.
        quantity: a name of :func:`series_names`; None = the first of them.
        step: the checkpoint.
        layer, head: the head in front.
        trained: N.
        theme: light or dark.
        size: base text size, pixels.
        cursor: where to draw a cursor line.

    Raises:
        NotMeasured: without rows of that quantity about that head.
    """
    data = heads_over_length_data(frame, quantity=quantity, step=step, layer=layer, head=head)
    name = quantity or series_names(frame, step=step)[0]
    refuse_empty(data, title_of(name))
    scale = _scale(str(data["quantity"][0]), data)
    *others, (_, mine) = series_of(data)
    n = smallest_n(mine)
    figure = line_plot(
        "length",
        length_axis(frame.distinct("length"), trained, theme),
        _axis(scale),
        title=title_of(name),
        slice=dotted(head_name(layer, head), sample_size(n or None), hollow_said(mine)),
        alt=f"{title_of(name)} of {head_name(layer, head)} over prefix length: "
        + said(mine, "length", edges(mine, "length")),
        n=n,
        name=f"{run_name(data)}/heads/{name}",
        theme=theme,
        size=size,
    )
    add_heads(figure, others, mine, "length", scale, theme)
    add_training(figure, trained, theme, size, avoid=drawn_points(data, "length", scale.place))
    add_head_cursor(figure, mine, "length", scale, theme, cursor)
    return figure


@data_of(heads_over_length)
def heads_over_length_data(frame: Frame, *, quantity: str | None = None, step: int, layer: int, head: int) -> Frame:
    """The rows of :func:`heads_over_length`: a series per head, the selected one last."""
    names = series_names(frame, step=step)
    rows = head_rows(frame, step=step)
    rows = rows.where(present(rows["length"]), series=quantity or (names[0] if names else ""))
    here = (rows["layer"] == layer) & (rows["head"] == head)
    if not here.any():
        said = (
            f"No rows of {(quantity or 'any quantity').replace('_', ' ')} about {head_name(layer, head)} at this step."
        )
        raise NotMeasured("circuits.", said, helps=not len(head_rows(frame, step=step)))
    return in_front(rows.where(here), rows.where(~here), "length")


def _here(frame: Frame, step: int, length: int) -> Frame:
    rows = head_rows(frame, step=step, length=length)
    if not len(rows):
        there = head_rows(frame, step=step)
        have = np.unique(cells(there, "length"))
        said = f"No rows about heads at step {whole(step)}"
        if not len(there):
            raise NotMeasured("circuits.", f"{said}.")
        looked = ", ".join(whole(n) for n in have)
        raise NotMeasured("circuits.", f"{said} and length {whole(length)}; they look at {looked}.", helps=False)
    return rows


def _scale(quantity: str, rows: Frame) -> Scale:
    """0 to 1 where all values lie there, else what they span; in powers of two for counts."""
    values = rows.where(is_in(rows["status"], DRAWN))["value"].astype(float)
    values = values[np.isfinite(values)]
    if quantity in COUNTS:
        return Scale.of_counts(values)
    if not len(values) or (values.min() >= UNIT[0] and values.max() <= UNIT[1]):
        return Scale(*UNIT)
    return Scale.spanning(min(0.0, values.min()), max(0.0, values.max()))


def _axis(scale: Scale) -> dict[str, Any]:
    """The scale's axis; round numbers where it is neither a share nor a count."""
    axis = scale.axis()
    if scale.log or (scale.low, scale.high) == UNIT:
        return axis
    ticks = round_ticks(scale.low, scale.high)
    return axis | {"tickvals": ticks, "ticktext": [magnitude(v) for v in ticks]}


def _cell(row: Mapping[str, Any], scale: Scale, series: str) -> dict[str, Any]:
    there = known(row)
    value = float(row["value"]) if there else math.nan
    quantity = str(row["quantity"])
    return {
        "layer": int(row["layer"]),
        "head": int(row["head"]),
        "series": series,
        "name": LEADING.get(quantity, title_of(series)),
        "value": value,
        "text": (str(row["label"]) or _number(quantity, value)) if there else MISSING,
        "share": _length_of_bar(scale, value) if there and not row["label"] else math.nan,
        **{k: row[k] for k in ("label", "low", "high", "n", "status", "note", "measurement")},
    }


def _length_of_bar(scale: Scale, value: float) -> float:
    """A value's share of its range; of a range with negative values, the share of the largest size."""
    return scale.share(value) if scale.low >= 0 or scale.log else min(1.0, abs(value) / max(-scale.low, scale.high))


def _limits(row: Mapping[str, Any]) -> str:
    """The interval of a row, written as its value is; empty where it has none."""
    if missing(row["low"]) or missing(row["high"]):
        return ""
    low, high = (_number(str(row["quantity"]), float(row[end])) for end in ("low", "high"))
    return f"[{low}, {high}]"


def _number(quantity: str, value: float) -> str:
    if quantity.endswith("_p"):
        return significance(value)
    return magnitude(value) if quantity in COUNTS or abs(value) >= 10 else proportion(value)
