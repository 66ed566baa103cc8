"""Small parts of what is said and drawn of heads: numbers, names of series, ranges, ticks, and how many lines are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures.errors import NotMeasured
from workbench.figures.heads import head_facts as facts
from workbench.figures.heads.head_curves import scale_of, title_of
from workbench.figures.heads.head_maps import _box, _ticks
from workbench.figures.rows.frame import Frame
from workbench.figures.style.scale import Scale
from workbench.table.schema import FIELDS, row

GIVEN: dict[str, Any] = {
    "run": "r", "step": 1, "law": "matched", "length": 8, "measurement": "circuits.hardmax",
    "quantity": "hardmax_distance", "n": 9, "layer": 0, "head": 0,
}  # fmt: skip


def frame(*made: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([row(**{**GIVEN, **one}) for one in made], columns=list(FIELDS))


def rows(*made: dict[str, Any]) -> Frame:
    return Frame.of(frame(*made))


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        ("drop_p", 0.001, "< 0.01"), ("drop_p", 20.0, "20.00"), ("q", 9.994, "9.99"), ("q", 10.0, "10"), ("q", -9.99, "−9.99"),
        ("q", -10.0, "−10"), ("tie_size", 2.0, "2"), ("tie_size", 0.5, "0.5"),
    ],
)  # fmt: skip
def test_how_a_number_of_a_head_is_written(quantity: str, value: float, text: str) -> None:
    assert facts._number(quantity, value) == text
    assert facts._limits({"quantity": quantity, "low": value, "high": value}) == f"[{text}, {text}]"
    assert facts._limits({"quantity": quantity, "low": None, "high": value}) == ""
    assert facts._limits({"quantity": quantity, "low": value, "high": None}) == ""


@pytest.mark.parametrize(
    ("scale", "value", "share"),
    [
        (Scale(0.0, 4.0), 1.0, 0.25),
        (Scale(-2.0, 1.0), -1.0, 0.5),
        (Scale(-2.0, 1.0), 1.0, 0.5),
        (Scale(-1.0, 4.0), -2.0, 0.5),
        (Scale(-1.0, 4.0), 9.0, 1.0),
        (Scale(-1.0, 3.0, True), 2.0, 0.5),
    ],
)
def test_how_long_a_bar_is(scale: Scale, value: float, share: float) -> None:
    assert facts._length_of_bar(scale, value) == pytest.approx(share)


@pytest.mark.parametrize(
    ("quantity", "values", "ends"),
    [
        ("q", (0.0, 1.0), (0.0, 1.0)),
        ("q", (0.2, 0.4), (0.0, 1.0)),
        ("q", (), (0.0, 1.0)),
        ("q", (-3.0, -1.0), (-3.0, 0.0)),
        ("q", (2.0, 5.0), (0.0, 5.0)),
        ("q", (-1.0, 0.5), (-1.0, 0.5)),
    ],
)
def test_what_the_values_of_heads_span(quantity: str, values: tuple[float, ...], ends: tuple[float, float]) -> None:
    given = rows(*({"quantity": quantity, "value": value} for value in values), {"status": "undefined", "value": 99.0})
    found = facts._scale(quantity, given)
    assert (found.low, found.high) == pytest.approx((Scale(*ends).low, Scale.spanning(*ends).high))
    assert not found.log
    assert facts._scale("tie_size", given).log


def test_an_axis_that_is_neither_a_share_nor_a_count_has_round_numbers() -> None:
    for scale in (Scale(0.0, 1.0), Scale(-1.0, 3.0, True)):
        assert facts._axis(scale) == scale.axis()
    assert facts._axis(Scale(0.0, 2.3))["ticktext"] == ["0", "1", "2"]
    assert facts._axis(Scale(0.0, 2.3))["range"] == Scale(0.0, 2.3).axis()["range"]
    assert facts._axis(Scale(-1.0, 1.0))["ticktext"][0].startswith("−")


def test_a_quantity_has_target_and_mode_in_its_name_where_it_has_several() -> None:
    given = rows(
        {"quantity": "a", "target": "x", "mode": "one"},
        {"quantity": "a", "target": "x", "mode": "two"},
        {"quantity": "a", "target": "x", "mode": ""},
        {"quantity": "b", "target": "x", "mode": "one"},
        {"quantity": "b", "target": "y", "mode": "one"},
        {"quantity": "c", "target": "x", "mode": "one"},
        {"quantity": "d", "target": "x", "mode": "one"},
        {"quantity": "d", "target": "y", "mode": "two"},
    )
    assert facts._series(given) == ["a · one", "a · two", "a", "b · x", "b · y", "c", "d · x · one", "d · y · two"]


def test_leading_quantities_come_first_in_their_variants_and_ps_last() -> None:
    given = frame(
        {"quantity": "zeal", "value": 1.0}, {"quantity": "accuracy_drop_p", "value": 1.0}, {"quantity": "art", "value": 1.0},
        {"quantity": "induction", "mode": "same", "value": 1.0}, {"quantity": "induction", "mode": "task", "value": 1.0},
        {"quantity": "induction", "mode": "other", "value": 1.0}, {"quantity": "hardmax_distance", "value": 1.0},
        {"quantity": "mute"}, {"quantity": "word", "value": 1.0, "label": "hardmax"}, {"quantity": "stream", "value": 1.0, "layer": -1},
        {"quantity": "tie_size", "value": 1.0, "label": "all keys"}, {"quantity": "whole", "value": 1.0, "head": None},
        {"quantity": "shuffled", "value": 1.0, "control": "c"}, {"quantity": "hard", "value": 1.0, "law": "challenge"},
    )  # fmt: skip
    assert figures.series_names(given, step=1) == [
        "hardmax_distance", "induction · task", "induction · same", "induction · other", "tie_size", "art", "zeal",
        "accuracy_drop_p",
    ]  # fmt: skip
    table = figures.head_table(given, step=1, length=8)
    assert list(table["series"]) == [
        "hardmax_distance",
        "induction · task",
        "tie_size",
        "art",
        "zeal",
        "accuracy_drop_p",
    ]
    assert len(figures.head_table(given, step=1, length=8, columns=2)) == 2


def test_a_table_has_six_columns_unless_more_are_asked_for() -> None:
    given = frame(*({"quantity": f"q{i}", "value": 1.0} for i in range(8)))
    assert list(figures.head_table(given, step=1, length=8)["series"]) == [f"q{i}" for i in range(6)]
    assert len(figures.head_table(given, step=1, length=8, columns=8)) == 8


def test_rows_of_another_length_are_not_of_this_one_and_of_none_they_are() -> None:
    given = frame({"value": 0.1}, {"quantity": "own", "length": None, "value": 0.2}, {"length": 16, "value": 0.3})
    assert figures.head_rows(given, step=1, length=8)["value"].tolist() == [0.1, 0.2]
    assert figures.head_rows(given, step=1)["value"].tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(NotMeasured, match="length 9") as there:
        figures.head_table(given.query("length > 0"), step=1, length=9)
    with pytest.raises(NotMeasured, match="step 2") as nowhere:
        figures.head_table(given, step=2, length=9)
    assert (there.value.helps, nowhere.value.helps) == (False, True)
    for step, helps in ((1, False), (2, True)):
        with pytest.raises(NotMeasured, match="L3") as nobody:
            figures.heads_over_length(given, step=step, layer=3, head=0, trained=8)
        assert nobody.value.helps is helps


@pytest.mark.parametrize(
    ("status", "value", "label", "text", "interval"),
    [
        ("ok", 0.5, "", "0.50", "[0.40, 0.60]"),
        ("ok", None, "", "–", "[0.40, 0.60]"),
        ("ok", None, "soft", "soft", ""),
        ("censored", 0.5, "", "0.50", "[0.40, 0.60]"),
        ("undefined", 0.5, "", "–", "[0.40, 0.60]"),
        ("undefined", None, "soft", "–", ""),
    ],
)
def test_what_is_told_of_one_quantity(status: str, value: float | None, label: str, text: str, interval: str) -> None:
    given = frame({"status": status, "value": value, "label": label, "low": 0.4, "high": 0.6})
    one = figures.head_facts(given, step=1, length=8, layer=0, head=0).iloc[0]
    assert (one["text"], one["interval"], one["name"]) == (text, interval, "Hardmax distance")


@pytest.mark.parametrize(
    ("verdict", "kind", "does"),
    [
        ("hardmax", "point", "L0H0 averages evenly over a set of keys at length 8."),
        ("hardmax", "sink", "L0H0 rests on the first token at length 8."),
        ("soft", "point", "L0H0 weights its keys unevenly at length 8."),
        ("", "point", "L0H0: what its attention picks is not measured at length 8."),
    ],
)
def test_what_a_head_does(verdict: str, kind: str, does: str) -> None:
    given = frame(
        {"value": 0.5}, {"quantity": "hardmax_verdict", "label": verdict}, {"quantity": "hardmax_kind", "label": kind}
    )
    said, _ = figures.head_sentence(given, step=1, length=8, layer=0, head=0)
    assert "".join(text for text, _ in said) == does


@pytest.mark.parametrize(
    ("made", "numbers"),
    [
        ([], ""),
        ([{"quantity": "argmax_mass", "value": 0.5}], "0.50 of its mass is on its tie set."),
        ([{"quantity": "argmax_mass", "status": "undefined"}], ""),
        ([{"quantity": "argmax_mass", "value": 1.0, "label": "all keys"}], "its tie set is all keys."),
        (
            [{"quantity": "argmax_mass", "value": 0.5}, {"quantity": "tie_size", "value": 4.0, "low": 3.0, "high": 5.0}],
            "0.50 of its mass is on its tie set.",
        ),
        (
            [{"quantity": "tie_size", "value": 4.0}, {"quantity": "accuracy_drop", "mode": "mean", "value": 0.0, "low": -0.1, "high": 0.1}],
            "without it, accuracy is not shown to drop in every mode (0.00 [−0.10, 0.10] with its mean output in its place; screening, 9 sequences).",
        ),
        (
            [{"quantity": "accuracy_drop", "mode": m, "value": 0.2, "low": lo, "high": 0.3, "n": 90} for m, lo in (("mean", 0.1), ("zero", 0.1))],
            "without it, accuracy drops by 0.20 [0.10, 0.30] with its mean output in its place and by 0.20 [0.10, 0.30] with "
            "zeros in its place (screening, 90 sequences).",
        ),
    ],
)  # fmt: skip
def test_the_numbers_behind_what_a_head_does(made: list[dict[str, Any]], numbers: str) -> None:
    _, told = figures.head_sentence(
        frame({"quantity": "other", "value": 1.0}, *made), step=1, length=8, layer=0, head=0
    )
    assert "".join(text for text, _ in told) == numbers


# ---- grids, lines and maps ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("count", "texts"),
    [
        (1, ["head 0"]),
        (8, [f"head {i}" for i in range(8)]),
        (9, ["head 0", *map(str, range(1, 9))]),
        (16, ["head 0", *map(str, range(1, 16))]),
        (17, ["head 0", *map(str, range(2, 17, 2))]),
        (32, ["head 0", *map(str, range(2, 32, 2))]),
        (33, ["head 0", *map(str, range(3, 33, 3))]),
    ],
)
def test_names_of_maps(count: int, texts: list[str]) -> None:
    found = _ticks(count, "head", 0.5)
    assert found["ticktext"] == texts
    assert found["tickvals"][-1] == float(texts[-1].removeprefix("head ")) + 0.25


def test_a_box_stands_around_its_map_whichever_way_layers_run() -> None:
    box = _box((1, 4), False, 0.75, 0.125)
    assert (box["x0"], box["x1"], box["y0"], box["y1"]) == (3.875, 4.875, 0.875, 1.875)
    box = _box((1, 4), True, 0.75)
    assert (box["x0"], box["x1"], box["y0"], box["y1"]) == (1, 1.75, 4, 4.75)


@pytest.mark.parametrize(("heads", "written"), [(96, True), (97, False)])
def test_cells_of_up_to_96_heads_have_their_values(heads: int, written: bool) -> None:
    given = frame(*({"head": h, "value": 0.5} for h in range(heads)))
    drawn = figures.figure_by_name("head_grid_figure").plain(given, step=1, length=8, layer=0, head=3)
    assert len(drawn.layout.annotations) == (heads if written else 0)
    assert [i for i, cell in enumerate(drawn.layout.shapes) if cell.line.width] == [3]


@pytest.mark.parametrize(("others", "lines"), [(0, False), (32, True), (33, False)])
def test_more_than_32_other_heads_are_a_band(others: int, lines: bool) -> None:
    given = frame(*({"head": h, "length": n, "value": h / 40} for h in range(others + 1) for n in (8, 16)))
    drawn = figures.head_over_length(given, step=1, layer=0, head=0, trained=8)
    grey = [trace for trace in drawn.data if trace.name == "others"]
    assert len(grey) == (others > 0)
    assert ("nine tenths of 33 others" in drawn.layout.meta["slice"]) is (others == 33)
    if lines:
        assert len(grey[0].x) == 3 * others
    elif others:
        assert list(grey[0].y) == pytest.approx([17 / 40] * 2)
        assert grey[0].hovertext[0].startswith("median of 33 other heads")


@pytest.mark.parametrize(
    ("quantity", "values", "ends"),
    [
        ("argmax_mass", (0.3, 0.4), (0.0, 1.0)),
        ("gap", (2.0, 4.0), (0.0, 4.0)),
        ("gap", (-2.0, 4.0), (-2.0, 4.0)),
        ("gap", (), (0.0, 1.0)),
    ],
)
def test_what_a_quantity_of_heads_spans(quantity: str, values: tuple[float, ...], ends: tuple[float, float]) -> None:
    found = scale_of(
        rows({"quantity": "x", "value": 9.0}, *({"quantity": quantity, "value": v} for v in values)), quantity
    )
    wanted = Scale(*ends) if ends == (0.0, 1.0) else Scale.spanning(*ends)
    assert (found.low, found.high, found.log) == (wanted.low, wanted.high, False)
    assert title_of("tie_size") == "Tie size"
    assert np.isfinite(found.high)
