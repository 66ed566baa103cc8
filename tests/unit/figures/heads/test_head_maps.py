"""The maps of all heads: each at its place, framed by what ablation costs exactly there, at any number of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.measure.edits.reading import HeadMaps
from workbench.table.schema import row


def found(layers: int, heads: int, cells: int = 3) -> HeadMaps:
    """A map of head (l, h) holds (l * heads + h + 1) / 1000 wherever a key is seen."""
    value = (np.arange(layers * heads) + 1).reshape(layers, heads, 1, 1) / 1000
    seen = np.tril(np.ones((cells, cells), dtype=bool))
    maps = np.where(seen, value, np.nan).astype(np.float32)
    return HeadMaps(maps, ["<bos>", *"01" * cells][:cells], True, cells - 1, 1, 3000)


def cost(layer: int, head: int, quantity: str, value: float, **more: Any) -> Any:
    at = {"run": "a", "step": 3000, "law": "matched", "length": 64, "measurement": "circuits.ablation"}
    at |= {"mode": "zero", "target": "head", "n": 512} | more
    return row(**at, layer=layer, head=head, quantity=quantity, value=value)


ROWS = pd.DataFrame(
    [
        cost(0, 0, "accuracy_drop", 0.4, low=0.35, high=0.45),
        cost(0, 0, "accuracy_drop_p", 1e-9),
        cost(0, 0, "accuracy_drop", 0.6, low=0.55, high=0.65, mode="mean"),
        cost(0, 0, "accuracy_drop_p", 1e-9, mode="mean"),
        cost(1, 2, "accuracy_drop", 0.01, low=-0.01, high=0.03),
        cost(1, 2, "accuracy_drop_p", 0.6),
        cost(1, 1, "accuracy_drop", 0.9, low=0.8, high=1.0, length=128),
        cost(1, 1, "accuracy_drop_p", 1e-9, length=128),
        cost(0, 0, "accuracy_drop", 0.2, low=0.1, high=0.3, target="mlp"),
    ]
)


@pytest.mark.parametrize(("layers", "heads", "rows", "columns"), [(2, 2, 2, 2), (2, 4, 2, 4), (30, 16, 16, 30)])
def test_every_head_has_its_place(layers: int, heads: int, rows: int, columns: int) -> None:
    figure = figures.head_maps(found(layers, heads))
    (trace,) = figure.data
    told = figure.layout.meta["maps"]
    z, side = np.asarray(trace.z) ** 2, round(3 / told["fill"])
    assert z.shape == (rows * side, columns * side)
    for layer in range(layers):
        for head in range(heads):
            down, right = (head, layer) if told["across"] else (layer, head)
            own = z[down * side : down * side + 3, right * side : right * side + 3]
            assert np.isnan(own[np.triu_indices(3, 1)]).all()
            assert own[np.tril_indices(3)] == pytest.approx((layer * heads + head + 1) / 1000, rel=1e-4)
    data = figures.head_maps.data(found(layers, heads))
    assert len(data) == layers * heads * 6
    assert list(data.iloc[-1])[:4] == [layers - 1, heads - 1, 2, 2]


def test_costs_are_those_of_this_length_alone_and_the_mode_that_costs_least_counts() -> None:
    costs = figures.ablation_costs(ROWS, step=3000, length=64)
    assert {place: (one["value"], one["mode"], one["shown"]) for place, one in costs.items()} == {
        (0, 0): (0.4, "zero", True),
        (1, 2): (0.01, "zero", False),
    }
    assert costs[0, 0]["text"] == (
        "accuracy drops by 0.60 [0.55, 0.65] with its mean output in its place and by 0.40 [0.35, 0.45] with zeros in its "
        "place (screening, 512 sequences)"
    )
    assert costs[1, 2]["text"].startswith("accuracy is not shown to drop in every mode (0.01")
    assert figures.ablation_costs(ROWS, step=3000, length=50) == {}
    assert figures.ablation_costs(ROWS, step=1, length=64) == {}


def test_a_frame_stands_around_what_costs_and_is_as_thick_as_it_costs() -> None:
    costs = figures.ablation_costs(ROWS, step=3000, length=64)
    figure = figures.head_maps(found(2, 4), costs, layer=1, head=3)
    frames = [shape for shape in figure.layout.shapes if shape.name == "cost"]
    (ring,) = [shape for shape in figure.layout.shapes if shape.name == "chosen"]
    assert [(one.x0, one.y0) for one in frames] == [(0, 0)]
    assert frames[0].line.width == pytest.approx(1.5 + 0.4 * 2.5)
    assert (round(ring.x0), round(ring.y0)) == (3, 1)
    data = figures.head_maps.data(found(2, 4), costs)
    told = data.drop_duplicates(["layer", "head"]).set_index(["layer", "head"])["accuracy_drop"].dropna()
    assert told.to_dict() == {(0, 0): 0.4, (1, 2): 0.01}
