"""What changing heads does over items, and what layers hold: which rows, their controls, and what is said of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said
from workbench.figures import (
    NotMeasured,
    changed_heads_over_length,
    held_by_layer,
)
from workbench.figures.errors import NotApplicable, Undefined
from workbench.figures.in_context.changed_heads import ALL, OTHERS, READERS, changed_rows
from workbench.figures.look import Look
from workbench.figures.rows.frame import Frame
from workbench.figures.style.template import DASH
from workbench.figures.text.in_context_sentence import in_context_rail
from workbench.measure.rows import missing_row
from workbench.table.schema import row

ITEMS = (8, 64)
GAINS = {("held", READERS): 0.3, ("held", OTHERS): 0.1, ("logn", ALL): -0.2, ("logn", READERS): 0.05,
         ("ablated", READERS): -0.4, ("ablated", OTHERS): -0.02, ("sharper", ALL): 0.6}  # fmt: skip


def changed(**instead: Any) -> pd.DataFrame:
    own: dict[str, Any] = {"run": "real", "step": 1, "measurement": "circuits.in_context", "law": "matched", "n": 32}
    rows = []
    for n in ITEMS:
        for (mode, target), gain in GAINS.items():
            value = gain * n / 64
            here = {**own, "length": n, "mode": mode, "target": target}
            rows.append(row(quantity="changed_gain", value=value, low=value - 0.1, high=value + 0.1, **here))
            rows.append(row(quantity="changed_accuracy", value=0.5, low=0.4, high=0.6, **here))
    return pd.DataFrame(rows).assign(**instead)


def held() -> pd.DataFrame:
    own: dict[str, Any] = {"run": "real", "step": 1, "measurement": "probes.in_context", "law": "matched", "n": 32}
    rows = []
    for n in ITEMS:
        for layer in (3, 29):
            at = {**own, "length": n, "layer": layer}
            rows.append(row(quantity="lens_accuracy", value=layer / 58, low=0.0, high=0.6, **at))
            rows.append(row(quantity="item_position_r2", target="items", value=1 - n / 100, low=0.1, high=1.0, **at))
            rows.append(row(quantity="item_position_transfer_r2", target="tokens", value=-2.0, **at))
        control = {**own, "length": n, "target": "items", "control": "embedding"}
        rows.append(row(quantity="item_position_r2", value=-0.25, **control))
    return pd.DataFrame(rows)


def test_each_line_is_the_gain_of_its_change_and_heads_with_their_signs() -> None:
    data = changed_heads_over_length.data(changed(), step=1)
    got = {name: part["value"].tolist() for name, part in data.groupby("series", sort=False)}
    assert got == {
        "readers forced": [0.3 / 8, 0.3],
        "others forced": [0.1 / 8, 0.1],
        "all, log K": [-0.2 / 8, -0.2],
        "readers, log K": [0.05 / 8, 0.05],
        "readers out": [-0.4 / 8, -0.4],
        "others out": [-0.02 / 8, -0.02],
    }
    assert set(data["quantity"]) == {"changed_gain"}
    drawn = changed_heads_over_length(changed(), trained=4096, step=1)
    assert {trace.name: trace.line.dash for trace in drawn.data if trace.mode == "lines+markers"} == {
        "readers forced": "solid", "others forced": DASH, "all, log K": "solid", "readers, log K": "solid",
        "readers out": "solid", "others out": DASH,
    }  # fmt: skip
    assert "readers forced 0.30 at length 64; others forced 0.10 at length 64" in drawn.layout.meta["alt"]
    assert tuple(drawn.layout.yaxis.range) == (-0.54, 0.54)


def test_the_axis_reaches_1_where_an_interval_leaves_the_half() -> None:
    drawn = changed_heads_over_length(changed(high=0.7), trained=4096, step=1, look=Look("dark"))
    assert tuple(drawn.layout.yaxis.range) == (-1.08, 1.08)
    assert list(drawn.layout.yaxis.ticktext) == ["\u22121.00", "\u22120.50", "0.00", "+0.50", "+1.00"]


def test_where_there_is_no_reader_the_rest_is_drawn_and_nothing_where_nothing_has_a_value() -> None:
    frame = changed()
    bare = frame[frame["target"] == ALL]
    why = {"run": "real", "step": 1, "measurement": "circuits.in_context", "law": "matched", "quantity": "changed_gain"}
    none = [
        missing_row("not_applicable", "there is no reader", mode="held", target=READERS, length=n, **why) for n in ITEMS
    ]
    data = changed_heads_over_length.data(pd.concat([bare, pd.DataFrame(none)]), step=1)
    assert list(dict.fromkeys(data["series"])) == ["all, log K"]
    with pytest.raises(NotApplicable, match="reader"):
        changed_heads_over_length(pd.DataFrame(none), trained=4096, step=1)
    with pytest.raises(NotMeasured):
        changed_heads_over_length(held(), trained=4096, step=1)


def test_the_rail_says_the_gain_of_readers_with_its_control_at_the_items_of_the_cursor() -> None:
    told = said(in_context_rail(Frame.of(changed()), "in-context-use", 1, 64, 0, 0))
    assert told == (
        "Accuracy changes at 64 items: by 0.30 [0.20, 0.40] with all weight of the reading heads put on the keys that "
        "hold the answer, 0.10 [0.00, 0.20] with that of as many other heads put there (control), "
        "\u22120.20 [\u22120.30, \u22120.10] with the scores of all heads scaled by log K."
    )
    told = said(in_context_rail(Frame.of(changed()), "in-context-use", 1, 16, 0, 0))
    assert told == "Changed heads are not measured at these items and step 1."


def test_layers_stand_in_their_order_with_the_control_of_place() -> None:
    data = held_by_layer.data(held(), step=1, length=64)
    got = {name: list(zip(part["layer"], part["value"], strict=True)) for name, part in data.groupby("series")}
    assert got["answer"] == [(3.0, 3 / 58), (29.0, 0.5)]
    assert got["place"] == [(3.0, 1 - 0.64), (29.0, 1 - 0.64)]
    assert [value for _, value in got["embedding"]] == [-0.25]
    drawn = held_by_layer(held(), step=1, length=64)
    assert [trace.name for trace in drawn.data if trace.mode == "lines+markers"] == ["place", "answer"]
    assert [list(trace.x) for trace in drawn.data if trace.mode == "lines+markers"] == [[3, 29], [3, 29]]
    edge = 0.04 * (29 - 3)  # more than 1, of so many layers
    assert list(drawn.layout.xaxis.range) == pytest.approx([3 - edge, 29 + edge])
    assert drawn.layout.meta["slice"] == "at length 64 \u00b7 n 32 \u00b7 95 % CI"
    assert drawn.layout.meta["alt"].endswith("answer 0.50 after layer 29; place 0.36 after layer 29")
    with pytest.raises(NotMeasured, match="64"):
        held_by_layer(held(), step=1, length=16)


def test_a_change_without_a_value_is_no_line_and_of_none_with_one_it_is_said() -> None:
    rows = changed()
    gone = (rows["mode"] == "held") & (rows["quantity"] == "changed_gain")
    rows.loc[gone, ["value", "status"]] = [None, "undefined"]
    data = changed_heads_over_length.data(rows, step=1)
    assert list(dict.fromkeys(data["series"])) == ["all, log K", "readers, log K", "readers out", "others out"]
    found = changed_rows(Frame.of(rows), step=1, length=64)
    assert {name: one["value"] for name, one in found.items()} == {"all, log K": -0.2}
    assert set(changed_rows(Frame.of(changed()), step=1, length=8)) == {"readers forced", "others forced", "all, log K"}
    assert changed_rows(Frame.of(changed()), step=1, length=9) == {}
    rows[["value", "status"]] = [None, "undefined"]
    with pytest.raises(Undefined, match="changing"):
        changed_heads_over_length(rows, trained=64, step=1)


@pytest.mark.parametrize(("layers", "edge"), [((3, 29), 0.04 * 26), ((3, 28), 1.0), ((5,), 1.0)])
def test_layers_have_room_at_both_ends(layers: tuple[int, ...], edge: float) -> None:
    rows = held()
    rows["layer"] = rows["layer"].map({3: layers[0], 29: layers[-1]})
    rows = rows.drop_duplicates(["quantity", "layer", "length", "control", "target"])
    drawn = held_by_layer(rows, step=1, length=8)
    assert list(drawn.layout.xaxis.range) == pytest.approx([layers[0] - edge, layers[-1] + edge])
    assert list(drawn.layout.xaxis.tickvals) == list(layers)


@pytest.mark.parametrize(("value", "drawn_at"), [(-0.25, 0.0), (0.5, 0.5), (1.5, 1.0)])
def test_the_control_of_place_is_drawn_at_the_edge_where_it_leaves_the_axis(value: float, drawn_at: float) -> None:
    rows = held()
    rows.loc[rows["control"] == "embedding", "value"] = value
    drawn = held_by_layer(rows, step=1, length=8)
    assert any(trace.y is not None and {*trace.y} == {drawn_at} for trace in drawn.data)
