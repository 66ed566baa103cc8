"""All rows about heads at one step and length, of any measurement.

Any row with a layer and a head counts, so that measurements of other packages appear without further code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.names import ABOVE_CHANCE, TO_CHANCE
from workbench.core.verdicts import HARD_ATTENTION
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import EVEN, attends, shape_clause
from workbench.figures.heads.head_curves import (
    ALL_KEYS,
    COUNTS,
    add_head_cursor,
    add_heads,
    hollow_said,
    in_front,
    title_of,
)
from workbench.figures.heads.leading_head import (
    DROP,
    DROP_P,
    HEAD_DROP,
    ablation_cost,
    cost_clause,
    drops_of_tested_heads,
    leading_head,
)
from workbench.figures.labels import (
    MISSING,
    Piece,
    join_with_dots,
    magnitude,
    proportion,
    sample_size,
    significance,
    whole,
)
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.claims import Claim, cite, count, plain
from workbench.figures.rows.claims import head as named
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, absent, is_in, missing, present, unique
from workbench.figures.rows.select_rows import (
    DRAWN,
    cells,
    edges,
    has_value,
    head_names,
    refuse_empty,
    run_name,
    series_of,
    smallest_n,
    tidy,
)
from workbench.figures.sequence.sequence_marks import round_ticks
from workbench.figures.style.marks import Cursor, add_training, drawn_points, values_in_words
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import UNIT, length_axis
from workbench.models.base.graph import head_name

#: Quantities that lead the table where they were measured, with their short names, the most telling first.
LEADING: Mapping[str, str] = {
    "accuracy_drop": "Ablation",
    "hardmax_distance": "Hardmax distance",
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
FACT_COLUMNS = (
    "series", "value", "label", "low", "high", "n", "length", "status", "note", "measurement", "quantity"
)  # fmt: skip
"""Columns of the rows of one head that :func:`head_facts` keeps."""
TIES, SUPPORT = "tie_size", "effective_support"


@of_rows
def head_rows(frame: Frame, *, step: int, length: int | None = None) -> Frame:
    """Return the rows about heads at one step and at one length (or without a length), without controls.

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
    labelled = rows.where(present(rows["value"]) & is_in(rows["label"], ["", ALL_KEYS, TO_CHANCE, ABOVE_CHANCE]))
    order = list(LEADING)

    def rank(name: str) -> tuple[int, str, int, str]:
        quantity, *words = name.split(" \u00b7 ")
        # The p of a difference stands behind everything that is a quantity of its own.
        place = order.index(quantity) if quantity in order else len(order) + quantity.endswith("_p")
        return place, quantity, min([VARIANTS.index(w) for w in words if w in VARIANTS], default=len(VARIANTS)), name

    return sorted(unique(labelled["series"]), key=rank)


@of_rows
def head_table(frame: Frame, *, step: int, length: int, columns: int = MOST_COLUMNS) -> Frame:
    """Return the most important quantities of all heads, one row per head and quantity, the most important head first.

    If ``circuits.head_effect`` tested a head there, its accuracy drop is that of the test, with its output replaced
    by the mean. The drop of every other head is from the screening of all heads, which uses fewer sequences.

    Returns:
        columns layer, head, series, name (short), value, text, share (of the quantity's range, 0 to 1; NaN where
        undefined), label, low, high, n, status, note, measurement.

    Raises:
        NotMeasured: without any row about heads there.
    """
    rows = _rows_at(frame, step, length)
    names = [name for name in series_names(frame, step=step) if (rows["series"] == name).any()]
    first_of = {name.partition(" \u00b7 ")[0]: name for name in reversed(names)}
    chosen = [name for name in names if name in first_of.values()][:columns]
    lines = []
    for name in chosen:
        mine = rows.where(series=name)
        mine = mine.where(~mine.repeats("layer", "head"))
        if mine["quantity"][0] == DROP:
            mine = _with_tested(frame, mine, step, length)
        scale = _scale(mine["quantity"][0], mine)
        for row in mine.rows():
            lines.append(_cell(row, scale, name))
    if not lines:
        raise NotMeasured("circuits.", f"No quantity of heads at step {whole(step)} and length {whole(length)}.")
    table = Frame.from_rows(lines)
    first = {(row["layer"], row["head"]): -abs(row["value"]) for row in lines if row["series"] == chosen[0]}
    order = np.array([first.get((row["layer"], row["head"]), math.nan) for row in lines])
    return table.with_columns(_order=order).sort("_order", "layer", "head").without("_order")


def _with_tested(frame: Frame, screening: Frame, step: int, length: int) -> Frame:
    """Accuracy drops of the screening, with those of tested heads in the same mode in their place."""
    mode, series = screening["mode"][0], screening["series"][0]
    drops = drops_of_tested_heads(frame, step=step, length=length)
    tested = [{**row, "series": series} for rows in drops.values() for row in rows if row["mode"] == mode]
    if not tested:
        return screening
    places = {(int(row["layer"]), int(row["head"])) for row in tested}
    own = [row for row in screening.rows() if (int(row["layer"]), int(row["head"])) not in places]
    return Frame.from_rows([*own, *tested])


@of_rows
def head_facts(frame: Frame, *, step: int, length: int, layer: int, head: int) -> Frame:
    """Return everything that was measured about one head at one step and length, one row per quantity.

    The drops of the test in which the head is the control are facts of it too.

    Returns:
        columns series, name, text, interval, value, label, low, high, n, length, status, note, measurement, quantity.

    Raises:
        NotMeasured: without any row about that head there.
    """
    mine = _of_head(frame, step, length, layer, head)
    drops = drops_of_tested_heads(frame, step=step, length=length).get((layer, head), [])
    controls = [{**row, "series": f"{HEAD_DROP} \u00b7 {row['mode']}"} for row in drops if row["control"]]
    facts = []
    for row in sorted([*mine.rows(), *controls], key=lambda row: (row["measurement"], row["series"])):
        has_number = row["status"] in DRAWN or row["status"] == "censored"
        number = MISSING if missing(row["value"]) else _number(row["quantity"], float(row["value"]))
        text = str(row["label"]) or number
        fact = {name: row[name] for name in FACT_COLUMNS}
        limits = "" if row["label"] else _limits(row)
        if row["quantity"] == HEAD_DROP:  # the label adds to the value
            text, limits = ", ".join(filter(None, (number, str(row["label"])))), _limits(row)
        facts.append(
            {"name": title_of(str(row["series"])), "text": text if has_number else MISSING, "interval": limits, **fact}
        )
    return Frame.from_rows(facts)


@of_rows
def head_sentence(
    frame: Frame, *, step: int, length: int, layer: int, head: int, trained: float | None = None
) -> tuple[list[Piece], list[Piece]]:
    """Return what a head does, in one sentence, and its numbers in further sentences.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: the prefix length.
        layer: the layer of the head.
        head: within the layer.
        trained: N, the first length that its shape is described at; None = from the shortest measured length on.

    Raises:
        NotMeasured: without any row about that head there.
    """
    mine = _of_head(frame, step, length, layer, head)
    # Of several variants of a quantity the one that the table shows.
    place = {name: i for i, name in enumerate(series_names(frame, step=step))}
    ordered = sorted(mine.rows(), key=lambda row: -place.get(str(row["series"]), -1))
    rows = {str(row["quantity"]): row for row in ordered}
    verdict, kind = (str(rows.get(q, {}).get("label", "")) for q in ("hardmax_verdict", "hardmax_kind"))
    after = ""
    if verdict == HARD_ATTENTION and kind == "sink":
        does: list[Piece] = [(" rests on the first token", EVEN)]
    elif verdict:
        size, support = (
            [row for row in ordered if row["quantity"] == q and has_value(row)][-1:] for q in (TIES, SUPPORT)
        )
        picks, after = attends([verdict], size, support)
        does = [plain(" "), *picks]
    else:
        does = [plain(": what its attention picks is not measured")]
    at = next((row for row in ordered if not missing(row["length"])), None)
    where = [count(at, "length", " at length ")] if at is not None else []
    shape = shape_clause(frame, step, trained, layer, head)
    return [named(ordered[0]), *does, *where, plain(f"{after}.")], _numbers(
        rows, _cost(frame, ordered, step, length), shape
    )


def _cost(frame: Frame, rows: list[dict[str, Any]], step: int, length: int) -> list[Piece]:
    """What removing a head costs in each mode: of a head that is shown to matter as it was tested, else by ablation."""
    leading = leading_head(frame, step=step, length=length)
    here = leading.tested is not None and leading.tested["length"] == length
    if here and leading.place == (rows[0]["layer"], rows[0]["head"]):
        return [plain("without it, "), *leading.cost]
    place = int(rows[0]["layer"]), int(rows[0]["head"])
    screening = [row for row in rows if row["quantity"] in (DROP, DROP_P) and has_value(row)]
    drops, shown = ablation_cost(drops_of_tested_heads(frame, step=step, length=length).get(place, screening))
    return [plain("without it, "), *cost_clause(drops, shown)] if drops else []


def _numbers(rows: Mapping[str, Mapping[str, Any]], cost: list[Piece], shape: list[Piece]) -> list[Piece]:
    """Attention on the tie set, what ablating it costs, and its shape over length, where measured."""
    parts: list[list[Piece]] = []
    mass = rows.get("argmax_mass")
    if mass is not None and mass["label"] == ALL_KEYS:
        parts.append([plain("its tie set is all keys")])
    elif mass is not None and has_value(mass):
        parts.append([*_counted(mass, "argmax_mass", ""), plain(" of its mass is on its tie set")])
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
    rows = _rows_at(frame, step, length)
    mine = rows.where(layer=layer, head=head)
    if not len(mine):
        said = f"No rows about {head_name(layer, head)} at step {whole(step)} and length {whole(length)}."
        raise NotMeasured("circuits.", said, helps=False)
    return mine


def head_quantity_rows(
    frame: Frame, *, quantity: str | None = None, step: int, layer: int | None, head: int | None
) -> Frame:
    """The rows of :func:`heads_over_length`: a series per head, the selected one last."""
    names = series_names(frame, step=step)
    rows = head_rows(frame, step=step)
    rows = rows.where(present(rows["length"]), series=quantity or (names[0] if names else ""))
    if head is None and len(rows):
        return tidy(rows, head_names(rows), ["layer", "head", "length"])
    of_head = (rows["layer"] == layer) & (rows["head"] == head)
    if not of_head.any():
        said = (
            f"No rows of {(quantity or 'any quantity').replace('_', ' ')} about {head_name(layer, head)} at this step."
        )
        raise NotMeasured("circuits.", said, helps=not len(head_rows(frame, step=step)))
    return in_front(rows.where(of_head), rows.where(~of_head), "length")


@figure(rows=head_quantity_rows)
def heads_over_length(
    data: Frame,
    frame: Frame,
    *,
    quantity: str | None = None,
    step: int,
    layer: int | None,
    head: int | None,
    trained: float,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Any quantity of one head over prefix length, in front of all other heads.

    Args:
        quantity: a name of :func:`series_names`; None = the first of them.
        layer, head: the head in front; None = all heads alike.

    Raises:
        NotMeasured: without rows of that quantity about that head.
    """
    name = quantity or series_names(frame, step=step)[0]
    refuse_empty(data, title_of(name))
    *other_heads, (_, mine) = series_of(data)
    if head is None:
        other_heads, mine = series_of(data), data
    scale = _scale(str(data["quantity"][0]), data, mine)
    n = smallest_n(mine)
    figure = line_plot(
        "length",
        length_axis(frame.distinct("length"), trained, look.theme),
        _axis(scale),
        title=title_of(name),
        slice=join_with_dots(head_name(layer, head), sample_size(n or None), "" if head is None else hollow_said(mine)),
        alt=f"{title_of(name)} of {head_name(layer, head)} over prefix length"
        + ("" if head is None else f": {values_in_words(mine, 'length', edges(mine, 'length'))}"),
        n=n,
        name=f"{run_name(data)}/heads/{name}",
        look=look,
    )
    add_heads(figure, other_heads, None if head is None else mine, "length", scale, look.theme)
    add_training(figure, trained, look, avoid=drawn_points(data, "length", scale.place))
    if head is not None:
        add_head_cursor(figure, mine, "length", scale, look.theme, cursor)
    return figure


def _rows_at(frame: Frame, step: int, length: int) -> Frame:
    rows = head_rows(frame, step=step, length=length)
    if not len(rows):
        there = head_rows(frame, step=step)
        have = np.unique(cells(there, "length"))
        said = f"No rows about heads at step {whole(step)}"
        if not len(there):
            raise NotMeasured("circuits.", f"{said}.")
        looked = ", ".join(whole(n) for n in have)
        raise NotMeasured("circuits.", f"{said} and length {whole(length)}. Measured lengths: {looked}.", helps=False)
    return rows


def _scale(quantity: str, rows: Frame, banded: Frame | None = None) -> Scale:
    """0 to 1 if all values are in that range, else the range of the values; in powers of two for counts."""
    drawn = [rows.where(is_in(rows["status"], DRAWN))["value"].astype(float)]
    if banded is not None:
        shown = banded.where(is_in(banded["status"], DRAWN))
        drawn += [shown[end].astype(float) for end in ("low", "high")]
    values = np.concatenate(drawn)
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
    has_number = has_value(row)
    value = float(row["value"]) if has_number else math.nan
    quantity = str(row["quantity"])
    label = "" if quantity == HEAD_DROP else str(row["label"])  # there the label adds to the value
    return {
        "layer": int(row["layer"]),
        "head": int(row["head"]),
        "series": series,
        "name": LEADING.get(series.partition(" \u00b7 ")[0], title_of(series)),
        "value": value,
        "text": (label or _number(quantity, value)) if has_number else MISSING,
        "share": _length_of_bar(scale, value) if has_number and not label else math.nan,
        "label": label,
        **{k: row[k] for k in ("low", "high", "n", "status", "note", "measurement")},
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
