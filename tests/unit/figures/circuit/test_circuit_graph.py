"""The circuit graph draws what its rows say: which connections, how wide, in which colour, and how many it leaves out."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.figures.connections import DROPS, UPSET, N, connection_rows
from workbench import figures
from workbench.figures.circuit.circuit_graph import FADED, HELPING, WIDTH, change_colours
from workbench.figures.circuit.graph_layout import curve, places
from workbench.figures.errors import NotMeasured
from workbench.figures.rows.components import Component, connections_of
from workbench.figures.rows.connection_effects import effects_at, measured_connections, strongest
from workbench.figures.rows.frame import Frame

ROWS = connection_rows("wire", 7)
FRAME = pd.DataFrame(ROWS)


def edges(length: float, frame: pd.DataFrame = FRAME, **options: Any) -> dict[str, Any]:
    drawn = figures.circuit_graph(frame, trained=N, step=7, length=length, **options)
    return {trace.name: trace.line for trace in drawn.data if " -> " in (trace.name or "")}


def test_a_connection_is_drawn_where_it_is_told_from_chance_and_from_its_control() -> None:
    assert {*edges(N)} == {"embedding -> L0.0", "L0.0 -> MLP 0"}
    past = edges(4 * N)
    assert {*past} == {"embedding -> L0.0", "L0.0 -> MLP 0", "MLP 0 -> unembedding"}
    dashes = {name: line.dash for name, line in past.items()}
    assert dashes == {
        "embedding -> L0.0": FADED, "L0.0 -> MLP 0": "solid", "MLP 0 -> unembedding": HELPING
    }  # fmt: skip
    drawn = figures.circuit_graph(FRAME, trained=N, step=7, length=4 * N)
    (said,) = [note.text for note in drawn.layout.annotations if note.name == "not drawn"]
    assert said == (
        "Not drawn: 2 not shown to cost anything, 1 no more than their control · all input cut costs 0.00 (at N 0.50)"
    )
    assert "2 of 6 connections shown" in drawn.layout.meta["slice"]
    assert "accuracy 0.60" in drawn.layout.meta["slice"]


def test_many_that_are_asked_at_once_need_more_than_one_alone() -> None:
    effects, nodes = effects_at(measured_connections(Frame.of(FRAME), step=7), N)
    assert {*effects} | {*nodes} == {*DROPS}
    assert effects["embedding -> L0.0"].shown
    assert (effects[UPSET].costs, effects[UPSET].beyond) == (True, False)
    weak = FRAME.assign(value=FRAME["value"].where(FRAME["quantity"] != "connection_drop_p", 0.02))
    asked, _ = effects_at(measured_connections(Frame.of(weak), step=7), N)
    assert not any(one.costs for one in asked.values()), "six at once, of which .05 would show one by chance"
    assert strongest(effects) == "embedding -> L0.0"


def test_width_is_what_is_lost_here_and_colour_what_has_changed_since_n() -> None:
    near, far = edges(N), edges(4 * N)
    middle = change_colours("light")[1][1]
    assert {line.color for line in near.values()} == {middle}
    assert near["embedding -> L0.0"].width == pytest.approx(WIDTH[0] + 0.5 * (WIDTH[1] - WIDTH[0]))
    assert far["L0.0 -> MLP 0"].width == pytest.approx(WIDTH[0] + 0.4 * (WIDTH[1] - WIDTH[0]))
    assert far["embedding -> L0.0"].color == change_colours("light")[0][1], "the largest change has the end"
    assert far["L0.0 -> MLP 0"].color != middle
    dark = edges(4 * N, theme="dark")
    assert dark["embedding -> L0.0"].color == change_colours("dark")[0][1]


def test_between_measured_lengths_it_says_which_it_shows() -> None:
    drawn = figures.circuit_graph(FRAME, trained=N, step=7, length=1.5 * N + 40)
    assert drawn.layout.meta["slice"].startswith("length 64 (2 × N)")
    with pytest.raises(NotMeasured, match="not measured at training step 8"):
        figures.circuit_graph(FRAME, trained=N, step=8, length=N)


def test_its_rows_are_every_connection_and_component_here_and_at_n_with_controls() -> None:
    data = figures.circuit_graph_data(FRAME, trained=N, step=7, length=4 * N)
    assert len(data) == 2 * 2 * len(DROPS)
    assert {*data["length"]} == {N, 4 * N}


def test_one_connection_over_length_is_the_chosen_one_or_the_dearest() -> None:
    def name(connection: str, length: int) -> str:
        data = figures.connection_over_length_data(FRAME, step=7, length=length, connection=connection)
        assert [*data["series"].unique()][1:] == ["control"]
        return str(data["series"].iloc[0])

    assert name("", N) == "embedding -> L0.0"
    assert name("", 4 * N) == "L0.0 -> MLP 0"
    assert name("no such -> thing", N) == "embedding -> L0.0"
    assert name("MLP 0 -> unembedding", N) == "MLP 0 -> unembedding"
    drawn = figures.connection_over_length(FRAME, trained=N, step=7, length=N, connection="MLP 0 -> unembedding")
    assert "0.00 at length 32, −0.20 at length 128" in drawn.layout.meta["alt"]
    assert drawn.layout.yaxis.range[0] < -0.25


def test_every_part_of_a_large_model_has_a_place_of_its_own_and_edges_run_to_the_right() -> None:
    where = places(3, 8, mlps=True)
    assert len({*where.values()}) == len(where) == 3 * 8 + 3 + 2
    for one in connections_of(3, 8, mlps=True):
        x, y = curve(where[one.sender], where[one.receiver], 3.5)
        assert (x[1:] > x[:-1]).all()
        assert (x[0], y[0], x[-1], y[-1]) == pytest.approx((*where[one.sender], *where[one.receiver]))
    assert len(connections_of(3, 8, mlps=True)) == 322
    assert Component.named("L12.30").head == 30


def test_names_of_layers_stand_above_all_of_their_heads() -> None:
    drawn = figures.circuit_graph(FRAME, trained=N, step=7, length=N)
    (nodes,) = [trace for trace in drawn.data if trace.name == "components"]
    down = drawn.layout.yaxis.range[0] > drawn.layout.yaxis.range[1]
    names = [note for note in drawn.layout.annotations if note.name == "layer"]
    assert names
    assert all((note.y < min(nodes.y)) is down and note.y not in nodes.y for note in names)
