"""The circuit graph draws what its rows say: which connections, how wide, in which colour, and how many it leaves out."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.figures.connections import DROPS, UPSET, N, connection_rows
from workbench import figures
from workbench.figures.circuit.circuit_graph import (
    FADED,
    HELPING,
    NODE,
    WIDTH,
    CircuitEdge,
    _alt,
    _hover,
    _left_to_lose,
    _silent,
    change_colours,
    size_of,
)
from workbench.figures.circuit.circuits_over_length import graph_lengths
from workbench.figures.circuit.graph_layout import curve, places
from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look
from workbench.figures.rows.connection_effects import Effect, effects_at, measured_connections, strongest
from workbench.figures.rows.frame import Frame
from workbench.figures.style.design_tokens import TOKENS
from workbench.models.base.graph import Component, connections_of
from workbench.table.schema import row

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
        "Not drawn: 2 do not lower accuracy significantly, 1 lower accuracy no more than their control · all input cut costs 0.00 (at N 0.50)"
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
    dark = edges(4 * N, look=Look("dark"))
    assert dark["embedding -> L0.0"].color == change_colours("dark")[0][1]


def test_between_measured_lengths_it_says_which_it_shows() -> None:
    drawn = figures.circuit_graph(FRAME, trained=N, step=7, length=1.5 * N + 40)
    assert drawn.layout.meta["slice"].startswith("length 64 (2 × N)")
    with pytest.raises(NotMeasured, match="step 8"):
        figures.circuit_graph(FRAME, trained=N, step=8, length=N)


def test_its_rows_are_every_connection_and_component_here_and_at_n_with_controls() -> None:
    data = figures.circuit_graph.data(FRAME, trained=N, step=7, length=4 * N)
    assert len(data) == 2 * 2 * len(DROPS)
    assert {*data["length"]} == {N, 4 * N}


def test_one_connection_over_length_is_the_chosen_one_or_the_dearest() -> None:
    def name(connection: str, length: int) -> str:
        data = figures.connection_over_length.data(FRAME, step=7, length=length, connection=connection)
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
    assert Component.from_name("L12.30").head == 30


def test_names_of_layers_stand_above_all_of_their_heads() -> None:
    drawn = figures.circuit_graph(FRAME, trained=N, step=7, length=N)
    (nodes,) = [trace for trace in drawn.data if trace.name == "components"]
    down = drawn.layout.yaxis.range[0] > drawn.layout.yaxis.range[1]
    names = [note for note in drawn.layout.annotations if note.name == "layer"]
    assert names
    assert all((note.y < min(nodes.y)) is down and note.y not in nodes.y for note in names)


# ---- more heads than one, and what is said of edges ---------------------------------------------------------
def effect(name: str, value: float, *, costs: bool = True, beyond: bool = True, length: int = N) -> Effect:
    row = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 9, "length": length}
    return Effect(name, row, None, costs, beyond)


def of_model(heads: int) -> pd.DataFrame:
    """Two layers of heads without MLPs; one edge past a column, and the one that costs most into the last head."""
    names = [
        "embedding -> unembedding",
        *(f"L0.0 -> L1.{h}" for h in range(heads)),
        "embedding",
        "L0.0",
        f"L1.{heads - 1}",
    ]
    place = {"run": "r", "step": 7, "measurement": "circuits.connections", "law": "matched", "length": N, "n": 9}
    rows = []
    for i, name in enumerate(names):
        value = -0.5 if name == f"L1.{heads - 1}" else 0.1 * (1 + i % 8)
        ends = {"value": value, "low": value - 0.05, "high": value + 0.05}
        rows.append(row(**place, quantity="connection_drop", target=name, **ends))
        rows.append(row(**place, quantity="connection_drop_p", target=name, value=1e-6))
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("heads", "pixels", "bottom"), [(1, NODE[1], 0.85), (4, NODE[1], 3.85), (5, NODE[0], 4.85)])
def test_nodes_of_up_to_four_heads_are_large(heads: int, pixels: int, bottom: float) -> None:
    drawn = figures.circuit_graph(of_model(heads), trained=N, step=7, length=N)
    (nodes,) = [trace for trace in drawn.data if trace.name == "components"]
    assert {*nodes.marker.size} == {pixels, round(1.15 * pixels)}
    assert drawn.layout.yaxis.range[0] == pytest.approx(bottom)
    assert [text for text in nodes.text if text] == 2 * [f"H{h}" for h in range(heads)]


def test_an_edge_past_a_column_bends_away_from_the_middle_of_the_heads() -> None:
    drawn = figures.circuit_graph(of_model(3), trained=N, step=7, length=N)
    (edge,) = [trace for trace in drawn.data if trace.name == "embedding -> unembedding"]
    assert min(edge.y) < 1.0 == edge.y[0] == max(edge.y), "level with the middle it bends upwards"


def test_a_node_whose_cutting_helps_or_was_not_asked_for_has_no_colour() -> None:
    drawn = figures.circuit_graph(of_model(2), trained=N, step=7, length=N)
    (nodes,) = [trace for trace in drawn.data if trace.name == "components"]
    said = {
        text.partition("<br>")[0]: (fill, text) for text, fill in zip(nodes.hovertext, nodes.marker.color, strict=True)
    }
    plain = TOKENS["light"]["surface"]
    assert {name for name, (fill, _) in said.items() if fill != plain} == {"embedding", "L0H0"}
    assert said["unembedding"][1] == "unembedding"
    assert said["L1H1"][1].startswith("L1H1<br>accuracy drop without it <b>\u22120.500")


@pytest.mark.parametrize(
    ("names", "size"),
    [
        (["embedding -> L0.0", "L0.0 -> unembedding"], (1, 1, False)),
        (["embedding -> L0.3", "L0.3 -> MLP 0", "MLP 0 -> L2.1"], (3, 4, True)),
    ],
)
def test_how_large_a_model_is(names: list[str], size: tuple[int, int, bool]) -> None:
    assert size_of({name: effect(name, 0.1) for name in names}) == size


@pytest.mark.parametrize(
    ("costs", "drawn", "said"),
    [
        ([True, False], 2, "All connections are drawn"),
        ([True, False], 1, "Not drawn: 1 do not lower accuracy significantly"),
        ([False, True], 1, "Not drawn: 1 lower accuracy no more than their control"),
        (
            [True, False, True, False, False],
            1,
            "Not drawn: 3 do not lower accuracy significantly, 1 lower accuracy no more than their control",
        ),
    ],
)
def test_why_connections_are_not_drawn(costs: list[bool], drawn: int, said: str) -> None:
    effects = {f"e{i}": effect(f"e{i}", 0.1, costs=one) for i, one in enumerate(costs)}
    assert _silent(effects, [CircuitEdge(name, one, one) for name, one in list(effects.items())[:drawn]]) == said


@pytest.mark.parametrize(
    ("here", "trained", "same", "said"),
    [
        (0.25, 0.5, False, "all input cut costs 0.25 (at N 0.50)"),
        (0.25, 0.5, True, "all input cut costs 0.25"),
        (None, 0.5, True, ""),
        (0.25, None, True, ""),
    ],
)
def test_what_there_is_to_lose(here: float | None, trained: float | None, same: bool, said: str) -> None:
    both = [{} if one is None else {"embedding": effect("embedding", one)} for one in (here, trained)]
    assert _left_to_lose(both[0], both[1], same) == said


@pytest.mark.parametrize(
    ("here", "said"),
    [
        (effect("L0.1 -> MLP 0", 0.5), ["accuracy drop without it <b>0.500 [0.400, 0.600] · n 9</b>"]),
        (effect("L0.1 -> MLP 0", 0.5, length=64), ["at N 0.200, change +0.300"]),
        (effect("L0.1 -> MLP 0", 0.5, beyond=False), ["shown at N; here no more than its control"]),
        (effect("L0.1 -> MLP 0", 0.5, costs=False, length=64), ["at N 0.200", "shown at N; here not significant"]),
    ],
)
def test_what_is_said_at_an_edge(here: Effect, said: list[str]) -> None:
    lines = _hover(CircuitEdge(here.name, here, effect(here.name, 0.2))).split("<br>")
    assert lines[0] == "L0H1 \u2192 MLP 0"
    assert all(line.startswith(wanted) for line, wanted in zip(lines[-len(said) :], said, strict=True))
    assert len(lines) == 2 + (here.row["length"] != N) + (not here.shown)


def test_up_to_twelve_edges_are_spoken_of_the_largest_first() -> None:
    edges_of = [CircuitEdge(f"e{i}", effect(f"e{i}", 0.01 * i * (-1) ** i), effect(f"e{i}", 0.0)) for i in range(1, 15)]
    gone = CircuitEdge("f", effect("f", 0.9, beyond=False), effect("f", 0.9))
    told = _alt([*edges_of, gone], 64, 7, "And so on.")
    assert told.startswith(
        "Accuracy drop without each connection at length 64, step 7: e14 0.14 (+0.14 against N); e13 \u22120.13"
    )
    assert told.endswith("e3 \u22120.03 (\u22120.03 against N). Shown at N, not here: f. And so on.")
    assert _alt([], 64, 7, "So.").endswith("step 7: none is shown. So.")


# ---- graphs side by side -----------------------------------------------------------------------------------
LOSSES = {name: tuple(2 * value for value in drops) for name, drops in DROPS.items()}


def with_losses() -> pd.DataFrame:
    """The rows, and a rise of the loss that is twice the accuracy drop."""
    place: dict[str, Any] = {
        "run": "wire",
        "step": 7,
        "measurement": "circuits.connections",
        "law": "matched",
        "n": 256,
    }
    rises = [
        row(
            quantity="connection_loss_rise",
            target=name,
            length=length,
            value=rise,
            low=rise - 0.1,
            high=rise + 0.1,
            **place,
        )
        for name, of_it in LOSSES.items()
        for length, rise in zip((N, 2 * N, 4 * N), of_it, strict=True)
    ]
    return pd.DataFrame([*ROWS, *rises])


def numbers_at(drawn: Any, name: str) -> list[str]:
    return sorted(note.text for note in drawn.layout.annotations if note.name == name)


def test_each_graph_has_the_costs_of_its_length_on_its_edges_and_nodes() -> None:
    drawn = figures.circuits_over_length(FRAME, trained=N, step=7, length=2 * N)
    effects = {n: effects_at(measured_connections(Frame.of(FRAME), step=7), n) for n in (N, 2 * N, 4 * N)}
    base = effects[N][0]
    edges = [
        f"{one.value:.2f}".replace("-", "\u2212")
        for here, _ in effects.values()
        for name, one in here.items()
        if one.shown or base[name].shown
    ]
    assert numbers_at(drawn, "edge") == sorted(edges)
    nodes = [
        f"{one.value:.2f}".replace("-", "\u2212") for _, of in effects.values() for one in of.values() if one.shown
    ]
    assert numbers_at(drawn, "node") == sorted(nodes)
    titles = [note for note in drawn.layout.annotations if note.name == "graph"]
    assert [note.text for note in titles] == [
        "N: length 32 · accuracy 1.00",
        "2 N: length 64 · accuracy 0.80",
        "4 N: length 128 · accuracy 0.60",
    ]
    assert [note.font.weight for note in titles] == [500, 650, 500], "the selected length is bold"
    (said,) = numbers_at(drawn, "not drawn")
    assert said.endswith("4 of 6 at N · 3 of 6 at 2 N · 3 of 6 at 4 N")


def test_in_loss_the_same_connections_have_the_rise_of_the_loss() -> None:
    frame = with_losses()
    drawn = figures.circuits_over_length(frame, trained=N, step=7, length=N, effect="loss")
    doubled = sorted(
        f"{2 * float(text.replace(chr(0x2212), '-')):.2f}".replace("-", "\u2212")
        for text in numbers_at(figures.circuits_over_length(frame, trained=N, step=7, length=N), "edge")
    )
    assert numbers_at(drawn, "edge") == doubled
    assert "nats" in drawn.layout.meta["slice"]
    data = figures.circuits_over_length.data(frame, trained=N, step=7, length=N, effect="loss")
    assert {*data["quantity"]} == {"connection_loss_rise"}


def test_a_length_without_rows_is_named() -> None:
    frame = FRAME[FRAME["length"] != 4 * N]
    drawn = figures.circuits_over_length(frame, trained=N, step=7, length=N)
    assert "4 N: length 128 is not measured" in [note.text for note in drawn.layout.annotations if note.name == "graph"]
    assert "not measured: 4 × N (length 128)" in drawn.layout.meta["slice"]
    assert graph_lengths(measured_connections(Frame.of(frame), step=7), N) == {1: N, 2: 2 * N, 4: None}
    assert graph_lengths(measured_connections(Frame.of(FRAME), step=7), 33)[2] == 64


def test_edges_of_other_components_than_the_pinned_are_pale() -> None:
    drawn = figures.circuits_over_length(FRAME, trained=N, step=7, length=N, pins="embedding,nowhere")
    shades = {(trace.name, trace.opacity) for trace in drawn.data if " -> " in (trace.name or "")}
    assert shades == {("embedding -> L0.0", 1), ("L0.0 -> MLP 0", 0.18), ("MLP 0 -> unembedding", 0.18)}
    assert drawn.layout.meta["pins"] == ["embedding"]
    (marks, *_) = [trace for trace in drawn.data if trace.name == "components"]
    assert "pin:embedding" in marks.customdata
    assert max(marks.marker.line.width) == 3
