"""Numbers and words that figures make themselves, of numbers at, just below and just above every bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.figures.contents import contents, without_tags, words
from tests.support.held import Held
from tests.support.printed import outcome, told
from workbench.core.thresholds import CLAIM
from workbench.core.verdicts import since
from workbench.figures import labels
from workbench.figures.circuit.graph_layout import columns_of, curve, places
from workbench.figures.heads.head_maps import map_sides
from workbench.figures.heads.leading_head import cost_clause, has_effect
from workbench.figures.in_context.changed_heads import gain_axis
from workbench.figures.look import Look
from workbench.figures.panels.bound_parts import meaning
from workbench.figures.panels.phase_diagram import share_text
from workbench.figures.panels.restored_shares import name_of
from workbench.figures.rows import claims, multiples, select_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.sequence.attention_pattern import heatmap_colours, pair_names, position_ticks
from workbench.figures.sequence.sequence_marks import chosen_positions, round_ticks, top_classes
from workbench.figures.sequence.sequence_view import row_domains
from workbench.figures.style import heatmap, marks, scale, sparklines, template
from workbench.figures.style.cell_strips import Dot, add_strips, have_room
from workbench.figures.style.plain_figure import plain_figures
from workbench.table.schema import row

NUMBERS = (
    None, math.nan, math.inf, -math.inf, -12345.6, -1000.0, -999.6, -1.5, -0.5, -0.004, -0.0, 0.0, 1e-9, 0.004, 0.005, 0.0099,
    0.01, 0.0101, 0.25, 0.5, 0.949, 0.95, 0.96, 0.999, 1.0, 1.049, 1.05, 1.5, 2.0, 3.25, 9.94, 9.96, 10.0, 99.4, 99.6, 100.0,
    999.4, 999.6, 1000.0, 1001.0, 1500.0, 5999.0, 6000.0, 6001.0, 999_999.0, 1_000_000.0, 2_345_678.0,
)  # fmt: skip
FINITE = tuple(x for x in NUMBERS if x is not None and math.isfinite(x))
FEW = (-1000.0, -0.5, 0.0, 0.01, 0.949, 1.0, 1.5, 3.25, 9.96, 1000.0)
POSITIVE = tuple(x for x in FINITE if x > 0)
THEMES = ("light", "dark")
LISTS = ((), (0.5,), (0.5, 0.5), (0.1, 0.9, 0.2), (0.0, 0.05, 0.06, 1.0), (3.0, 1.0, 2.0, 2.1, 2.05))


def over(function: Callable[..., Any], *given: Iterable[Any]) -> list[Any]:
    """What a function gives for every combination of these, as JSON; of refusals kind and words."""
    return [told(outcome(partial(function, *one))) for one in product(*given)]


def grown(kind: str, **fields: Any) -> dict[str, Any]:
    return row(run="r", step=7, law="matched", measurement="m", quantity=kind, **fields)


CASES: dict[str, Callable[[], Any]] = {
    **{f"labels.{f.__name__}": partial(over, f, NUMBERS) for f in (
        labels.proportion, labels.significance, labels.signed_number, labels.whole, labels.magnitude)},
    **{f"labels.{f.__name__}": partial(over, f, FINITE) for f in (
        labels.time_left, labels.short, labels.beyond, labels.over_length, labels.layer_said)},
    "labels.proportion of three": lambda: over(labels.proportion, NUMBERS, (0, 3)),
    "labels.multiple": lambda: over(labels.multiple, POSITIVE),
    "labels.counted": lambda: over(labels.length_label, (1, 64, 1024.0), (True, False)),
    "labels.interval": lambda: over(labels.interval, (None, math.nan, -0.25, 0.5), (None, 0.5, 1.0), (2, 3)),
    "labels.estimate": lambda: over(labels.estimate, (None, 0.5), (None, 0.25), (None, 0.75), (2, 3)),
    "labels.times_trained": lambda: over(labels.times_trained, (1, 31, 32, 33, 64, 1000), (32.0,)),
    "labels.over_training": lambda: over(labels.over_training, (31, 32, 33), (32.0,)),
    "labels.span_of_steps": lambda: over(labels.span_of_steps, (0, 7), (7, 1700)),
    "labels.sample_size": lambda: over(labels.sample_size, (None, 0, 1, 5000)),
    "labels.layer_name": lambda: over(labels.layer_name, (-1, 0, 1)),
    "labels.in_items_said": lambda: over(labels.in_items_said, ("at length 1,024, at length 8", "length 8", "at length n")),
    "labels.spread": lambda: over(labels.spread, LISTS, (0.0, 0.1, 0.3, 1.0), (0.0,), (1.0, 3.0)),
    "multiples.length_at": lambda: over(
        multiples.length_at, ([25, 49, 99, 393, 100], [8, 12, 15, 16, 18, 19, 20, 36], []), (1, 3, 8, 12, 16, 49), (0.25, 1.0, 1.5, 2.0, 8.0)
    ),
    "multiples.nearest_above": lambda: over(
        multiples.nearest_above, [np.arange(1.0, 42.0, 3.0)], [np.array(float(n)) for n in (3, 8, 16, 17)], (1.0, 2.0)
    ),
    "multiples.times_text": lambda: over(multiples.times_text, (*multiples.MULTIPLES, 0.3, 1.25, 12.0)),
    "multiples.partners": lambda: over(
        multiples.partners,
        ([31, 125, 249], [32, 64, 128], [16, 32], []), (16, 31, 32, 64), ([32, 128, 256], [32, 64], [64, 128, 256]), (32, 64),
        ("length", "times"),
    ),
    "multiples.pairing_text": lambda: over(multiples.pairing_text, ({}, {1: 1}, {1: 1, 2: 3})),
    "multiples.step_partners": lambda: over(
        multiples.step_partners, ([], [0], [0, 10, 250, 500, 1000], [5, 100, 1000]), ([0, 300, 620, 1200], [], [100, 1000], [0]),
        ("share", "step"),
    ),
    "multiples.nearest_share": lambda: over(
        multiples.nearest_share, ({}, {1: 0.25, 2: 0.5, 3: 1.0}), (0.1, 0.17, 0.2, 0.25, 0.35, 0.36, 0.7, 0.71, 0.75, 1.0, 1.3, 1.5, 2.0)
    ),
    "picking.nearest": lambda: over(select_rows.nearest, ([64, 16, 32], [48]), (8.0, 16.0, 31.0, 32.0, 33.0, 100.0)),
    "picking.known": lambda: over(
        select_rows.has_value, [{"status": s, "value": v} for s in ("ok", "sampled", "unseen_position", "censored", "undefined") for v in (0.5, math.nan, None)]
    ),
    "picking.setting_of": lambda: over(
        select_rows.setting_of, ({}, {"setting": ""}, {"setting": None}, {"setting": '{"robust": 0.8, "fitted": 0}'}), ("robust", "fitted", "x")
    ),
    "share_text": lambda: over(share_text, (1.0, 0.5, 1 / 3, 1 / 64, 0.99, 0.0)),
    "meaning": lambda: over(meaning, ("residual", "residual_1", "residual_x", "residuals", "mlp_0", "gamma_top", "some_part", "position_margin_2")),
    "name_of": lambda: over(name_of, ("P.shift", "C.pool1", "C.pool0 and P.shift", "nothing", "K.first and C.pool2")),
    "map_sides": lambda: over(map_sides, (1, 7, 8, 9, 12, 30), (1, 8, 9, 12, 40)),
    "gain_axis": lambda: over(gain_axis, ((0.1, -0.2), (0.54, 0.0), (0.541,), (-0.6, 0.2))),
    "have_room": lambda: over(have_room, (0, 1, 1500, 1501), (1, 16, 17), (1, 24, 25)),
    "round_ticks": lambda: over(round_ticks, (-23.0, 0.0, 0.113, -1e6, 5.0), (0.117, 1.0, 3.0, 178.0, 3e6, 10.0)),
    "top_classes": lambda: over(top_classes, [np.array([0.1, 0.4, 0.2, 0.05, 0.15, 0.1])], (1, 2, 4, 9)),
    "chosen_positions": lambda: over(chosen_positions, ([i % 3 > 0 for i in range(700)],), (range(3, 9), range(100, 160))),
    "row_domains": lambda: over(
        row_domains, (("outputs",), ("pattern",), ("outputs", "pattern", "summary", "position"), ("pattern", "position")), (True, False), (True, False)
    ),
    "position_ticks": lambda: over(position_ticks, (1, 2, 5, 6, 10, 11, 31, 64, 99, 100, 257, 1025), (0, 3, 100)),
    "pair_names": lambda: over(pair_names, (["a", "b", "c"],), (None, range(1, 3)), (None, range(2))),
    "columns_of": lambda: over(columns_of, (0, 1, 3), (True, False)),
    "places": lambda: over(places, (1,), (1, 3), (True, False)),
    "curve": lambda: over(curve, ((0.0, 1.0),), ((2.0, 0.5), (3.0, 2.0)), (0.0, 0.75)),
    "u": lambda: [over(template.u_step, (0, 1, 7, 1000)), over(template.u_length, (1, 2, 48, 1024))],
    "cell_edges": lambda: over(template.cell_edges, ((1.0,), (1.0, 2.0), (0.0, 1.0, 4.0), (0.0, 0.1, 5.0, 9.9, 10.0))),
    "choose_ticks": lambda: over(
        template.choose_ticks, ([(float(i % 7), "x" * (i % 5)) for i in range(20)], [(0.0, "<b>a</b>"), (0.4, "bb")]), (0.0, 1.0), (6.0, 3.0),
        (60, 100, 300), (True, False),
    ),
    "step_axis": lambda: over(template.step_axis, ((0,), (0, 1), (5, 50, 500), (0, 1, 10, 100, 1000, 30000)), (100, 300, 900)),
    "length_axis": lambda: over(
        template.length_axis, ((5, 10), (4, 8, 16, 32, 64, 128, 256)), (31.0, 64), (None,), (100, 300), (None, (2.0, 999.0)), (True,),
    ),
    "unit_axis": lambda: over(template.unit_axis, (0.0, -1.0), (1.0, 0.5)),
    "accuracy_axis": lambda: over(template.accuracy_axis, (0.0, 0.25, 0.5)),
    "scale.of_counts": lambda: over(scale.Scale.of_counts, [np.array(one) for one in ([], [0.0, -1.0], [1.0], [3.0], [0.3, 9.0], [4.0, 16.0])]),
    "scale.spanning": lambda: over(scale.Scale.spanning, (0.0, 1.0), (0.0, 1.0, 2.5)),
    "scale": lambda: [
        [one.axis(), over(one.share, (*FEW, math.inf)), over(one.place, (*FEW, math.inf, math.nan))]
        for one in (scale.Scale(0.0, 1.0), scale.Scale(-2.0, 3.0), *(scale.Scale(-1.0, h, True) for h in (1.0, 3.0, 8.0)))
    ],
    "spark_path": lambda: over(
        sparklines.spark_path, ((0.1, 0.5, 0.9), (None, 0.5, None), (0.5,), (0.1, math.nan, 0.2, 0.3), (0.2, 0.4, None), (-1.0, 2.0), ()), (0.0, 0.2), (1.0, 0.2),
        (60.0,), (20.0,), (None,), (1.0,),
    ),
    "since of none": lambda: [since({}), told(since({1200: "scale-robust", 0: "undecided"}))],
    "last_value": lambda: over(marks.last_value, ((), (math.nan,), (0.1, 0.2, math.nan), (0.3, math.inf))),
    "runs_of": lambda: [str(marks.runs_of(np.array(one, dtype=bool))) for one in product((0, 1), repeat=4)],
    "hover": lambda: over(
        marks.hover,
        [
            {**grown("q", layer=layer, head=head, length=length, control=control, value=value, low=low, high=high, n=n, status=status, note=note), "series": series}
            for series, layer, head, length, control in (
                ("matched", None, None, 64, ""), ("L0H1", 0, 1, 64, ""), ("others", 2, 3, None, "a_control"), ("after 1", 1, None, 4, ""), ("x", -1, None, 9, ""))
            for value, low, high, n in ((0.5, 0.4, 0.6, 512), (-1.5, None, None, None), (2345.0, None, 9.0, 9))
            for status, note in (("ok", ""), ("unseen_position", "it is so"))
        ],
        (2,),
    ),
    "pool": lambda: over(
        heatmap.pool, [np.arange(35.0).reshape(5, 7), np.where(np.arange(16).reshape(4, 4) % 5 < 2, np.nan, np.arange(16).reshape(4, 4)), np.full((3, 3), np.nan)],
        (1, 2, 3, 7), ("max", "mean"),
    ),
    "pooled_edges": lambda: over(heatmap.pooled_edges, [np.arange(8.0)], (1, 2, 3, 7, 9)),
    "painted": lambda: over(heatmap_colours, [np.array([[0.0, np.nan], [0.3, 0.01]])], ("attention", "times_length", "score")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_numbers(name: str, held_rows: Held) -> None:
    held_rows(without_tags(told(CASES[name]())))


# ---- which head is spoken of --------------------------------------------------------------------------------
def drop(
    value: float, low: float | None, n: int | None, *, head: int = 0, mode: str = "mean", layer: int = 0
) -> dict[str, Any]:
    place = {"layer": layer, "head": head, "mode": mode, "length": 64, "target": "head"}
    return grown("accuracy_drop", value=value, low=low, high=value + 0.1, n=n, **place)


@pytest.mark.parametrize(
    ("value", "low", "n", "p", "shown"),
    [
        (0.3, 0.2, 100, CLAIM, True),
        (0.3, 0.2, 100, 1.01 * CLAIM, False),
        (0.0, 0.2, 100, 0.001, False),
        (-0.1, -0.2, 100, 0.001, False),
        (0.1, 0.05, 100, None, True),
        (0.1, 0.0, 100, None, False),
        (0.1, None, 100, None, False),
        (0.1, 0.01, None, None, True),
    ],
)
def test_when_an_ablation_is_shown_to_cost(
    value: float, low: float | None, n: int | None, p: float | None, shown: bool
) -> None:
    assert has_effect(drop(value, low, n), p) is shown


def test_how_many_changed_sequences_show_a_cost(held_rows: Held) -> None:
    held_rows([has_effect(drop(changed / 200, 0.001, 200)) for changed in range(12)])


def test_what_ablations_cost_in_words(held_rows: Held) -> None:
    one, two = drop(0.3, 0.2, 100), drop(0.4, 0.3, 100, mode="zero")
    fallen = {**one, "label": "falls to chance"}
    said = [
        cost_clause(rows, shown)
        for rows in ([one], [one, two], [fallen, two], [fallen, fallen])
        for shown in (True, False)
    ]
    held_rows(["".join(text for text, _ in clause) for clause in said])


# ---- marks ------------------------------------------------------------------------------------------------------
def test_marks_on_a_plot(held_rows: Held) -> None:
    """Bands with gaps, labels pushed apart and led to, the training length and cursors in and out of the range."""
    found = []
    values = (0.2, None, 0.5, 0.55, None, 0.9)
    rows = [
        {
            **grown("q", length=n, value=v, low=v and v - 0.1 if n != 16 else None, high=v and v + 0.1, n=9),
            "series": "matched",
        }
        for n, v in zip((4, 8, 16, 32, 64, 128), values, strict=True)
    ]
    data = Frame.from_rows([{**one, "value": math.nan if one["value"] is None else one["value"]} for one in rows])
    with plain_figures():
        for trained in (1, 4, 20, 500):
            axes = {"xaxis": template.length_axis((4, 128), 16), "yaxis": template.unit_axis()}
            figure = template.blank(Look("light", 11), column="length", meta={}, uirevision="x", **axes)
            end = marks.add_line(
                figure, data, "length", "#102F40", clip=(0.0, 0.8) if trained % 2 else None, shift=trained / 50
            )
            late = marks.LineEnd(0.5, 5.0)
            marks.add_end_labels(
                figure,
                [
                    ("a", end, "#000000", True),
                    ("b", 0.52, "#000000", False),
                    ("c", late, "#000000", True),
                    ("d", None, "", True),
                ],
                (-0.05, 1.05),
                11,
            )
            avoid = marks.drawn_points(data, "length")
            marks.add_training(figure, trained, Look("light", 11), avoid=avoid, label=trained != 20)
            for cursor in (None, {"length": 16}, {"length": 8}, {"step": 3}):
                marks.add_cursor(
                    figure,
                    cursor,
                    "length",
                    "light",
                    [(data, "#102F40", "circle")],
                    clip=(0.0, 0.4) if trained == 4 else None,
                )
            heatmap.add_training_edge(figure, (4, 8, 16, 32, 64, 128), trained)
            found.append(contents(figure))
    held_rows(
        [*found, marks.values_in_words(data, "length", (4, 8, 16, 4)), marks.values_in_words(data, "length", (8,))]
    )


@pytest.mark.parametrize(("lines", "columns"), [(1, 1), (3, 2), (16, 24)])
def test_strips_of_dots(lines: int, columns: int, held_rows: Held) -> None:
    dots = [
        Dot(
            f"r{i}",
            i % columns,
            i % lines,
            (i * 7 % 13) / 10 - 0.1,
            "#000000" if i % 2 else "#FFFFFF",
            i % 3 == 0,
            f"t{i}",
        )
        for i in range(40)
    ]
    with plain_figures():
        axes = {"xaxis": {"range": [0, 1]}, "yaxis": {"range": [0, 1]}}
        figure = template.blank(Look("light", 11), column="step", meta={}, uirevision="x", **axes)
        add_strips(figure, dots, lines, columns)
    held_rows(contents(figure))


# ---- pieces that cite -------------------------------------------------------------------------------------------
def test_pieces_cite_what_they_name(held_rows: Held) -> None:
    rows = [
        {
            **grown(
                "q",
                layer=layer,
                head=2,
                length=1024,
                value=0.984,
                low=low,
                high=0.99,
                n=512,
                note="some note; its tail.",
            ),
            "setting": setting,
        }
        for layer, low, setting in ((-1, None, ""), (1, 0.9, '{"fitted": 0.9}'))
    ]
    made = []
    for one in rows:
        made += [
            claims.number(one),
            claims.number(one, "low" if one["low"] else "high", "muted", 3),
            *claims.estimate(one),
            claims.count(one, "length", "at ", "!"),
        ]
        made += [claims.head(one), claims.layer(one, "so "), claims.note(one, "(", ")"), claims.note(one, tail=True)]
        made += [claims.threshold(one, "fitted"), claims.threshold(one, "robust")]
    made += [
        claims.trained_length_clause(2048),
        claims.selection_without_row("step", 3000, "at ", "."),
        claims.capital(("at length 9", "plain")),
        claims.capital(made[4]),
    ]
    made += claims.with_items([("at length 9", "plain"), claims.count(rows[0], "length", "at length ")])
    held_rows([words(made), len(claims.cites(made)), told(claims.cite_difference(rows[0], rows[1], "value", "x"))])
