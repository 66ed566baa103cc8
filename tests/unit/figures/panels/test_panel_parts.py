"""Small parts of panels: two runs in a sentence, failure lengths, ticks of a loss, names at layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.cited import said
from workbench import figures
from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look
from workbench.figures.panels import decodability, differences, failure_length, many_seeds, plateau, restored_shares
from workbench.figures.panels import training_curves as curves
from workbench.figures.rows.frame import Frame
from workbench.figures.style.template import blank
from workbench.table.schema import FIELDS, row

NAN = math.nan


def empty(low: float = 0.0, high: float = 1.0) -> Any:
    return blank(Look("light", 11), column="length", xaxis={"range": [low, high]}, yaxis={}, meta={}, uirevision="")


# ---- two runs -------------------------------------------------------------------------------------------
def apart(*made: tuple[float, float, float], paired: str = "same length", **attrs: str) -> Frame:
    rows = [
        {"length": 2 ** (3 + i), "value": value, "low": low, "high": high} for i, (value, low, high) in enumerate(made)
    ]
    return Frame(
        {name: np.array([one[name] for one in rows]) for name in ("length", "value", "low", "high")},
        {"paired": paired, **attrs},
    )


EQUAL, A, B, NONE = (0.0, -0.1, 0.1), (0.5, 0.4, 0.6), (-0.3, -0.4, -0.2), (NAN, NAN, NAN)


@pytest.mark.parametrize(
    ("difference", "items", "sentence"),
    [
        (apart(NONE), False, "No length was measured in both."),
        (apart((0.1, 0.0, 0.2), (-0.1, -0.2, 0.0)), False, "Equal at every length up to 16."),
        (apart(EQUAL, EQUAL), True, "Equal with every number of items up to 16 items."),
        (
            apart(EQUAL, paired="same multiple"), False,
            "Equal (lengths of A; B at the same multiple of its N) at every length up to 8.",
        ),
        (apart(EQUAL, B, B), False, "Equal up to length 8; from length 16 on B is higher by 0.30 [0.20, 0.40] at 32."),
        (apart(EQUAL, EQUAL, A), True, "Equal up to 16 items; at 32 items A is higher by 0.50 [0.40, 0.60]."),
        (apart(A, A, EQUAL), False, "From length 8 to 16 A is higher by 0.50 [0.40, 0.60] at 16."),
        (apart(A, B), False, "At length 8 A is higher by 0.50 [0.40, 0.60]; at length 16 B is higher by 0.30 [0.20, 0.40]."),
        (apart(A, EQUAL, A), False, "At length 8 A is higher by 0.50 [0.40, 0.60]; at length 32 A is higher by 0.50 [0.40, 0.60]."),
        (
            apart(A, A, paired="x"), False,
            "From length 8 on A is higher by 0.50 [0.40, 0.60] at 16 (lengths of A; B at the same multiple of its N).",
        ),
        (
            apart(A, paired="x"), False,
            "At length 8 A is higher by 0.50 [0.40, 0.60] (lengths of A; B at the same multiple of its N).",
        ),
        (apart(A, law="matched"), False, "At length 8 A is higher by 0.50 [0.40, 0.60] (matched test set)."),
        (apart(EQUAL, law="matched"), False, "Equal (matched test set) at every length up to 8."),
        (
            apart(A, A, paired="x", law="matched"), False,
            "From length 8 on A is higher by 0.50 [0.40, 0.60] at 16 "
            "(matched test set; lengths of A; B at the same multiple of its N).",
        ),
    ],
)  # fmt: skip
def test_where_two_runs_differ(difference: Frame, items: bool, sentence: str) -> None:
    assert said(figures.compare_sentence(difference, items=items)) == sentence


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ([(1, 8), (1, 16)], [(1, 9), (1, 32)], "a shared length: A has lengths 8 to 16, B has 9 to 32, and none is"),
        ([(1, 8)], [(1000, 8)], "a shared step: A has steps 1 to 1, B has 1,000 to 1,000, and none is the same."),
        ([(1, 8), (2, 16)], [(1, 16), (2, 8)], "Not measured in common: there is no step and length at which both"),
    ],
)
def test_where_two_runs_were_measured_that_share_no_place(a: Any, b: Any, told: str) -> None:
    parts = (Frame({"step": np.array([s for s, _ in one]), "length": np.array([n for _, n in one])}) for one in (a, b))
    assert told in differences._apart_at(*parts)


@pytest.mark.parametrize(
    ("b", "step", "length"),
    [
        (None, "step 7", "length 7"),
        (7, "step 7", "length 7"),
        (0, "A step 7, B step 0", "same multiple of N: A 7, B 0"),
    ],
)
def test_at_which_place_two_runs_are_held_against_each_other(b: int | None, step: str, length: str) -> None:
    assert (differences._steps(7, b), differences._lengths(7, b)) == (step, length)


# ---- failure lengths ------------------------------------------------------------------------------------
def failing(**given: Any) -> dict[str, Any]:
    usual = {"series": "s", "mode": "observed", "quantity": "failure_length", "status": "ok", "note": "", "n": 9}
    return {**usual, "law": "matched", "value": 64.0, "low": 32.0, "high": 128.0, "length": None, **given}


CENSORED: dict[str, Any] = {"status": "censored", "value": NAN, "high": NAN}


@pytest.mark.parametrize(
    ("one", "tested", "spoken"),
    [
        (failing(), 32.0, "s 64"),
        (failing(value=NAN), 32.0, "s undefined"),
        (failing(length=256, **CENSORED), 256.0, "s none up to 256"),
        (failing(**CENSORED), 32.0, "s none up to 32"),
        (failing(length=256, mode="computed", **CENSORED), 32.0, "s none up to 32"),
        (failing(quantity="critical_length", mode="computed"), 32.0, "s 64 [32, 128] keys"),
        (failing(quantity="critical_length", mode="computed", **CENSORED), 32.0, "s none up to 32 keys"),
    ],
)
def test_what_is_said_of_a_failure_length(one: dict[str, Any], tested: float, spoken: str) -> None:
    assert failure_length._tested(one) == tested
    assert failure_length._alt(one) == spoken


@pytest.mark.parametrize(
    ("one", "symbol", "reach", "number"),
    [
        (failing(), "circle", (5.0, 7.0), ("64", "left", 600)),
        (failing(mode="computed"), "circle-open", (5.0, 7.0), ("64", "left", 400)),
        (failing(low=NAN), "circle", None, ("64", "left", 600)),
        (failing(high=NAN), "circle", None, ("64", "left", 600)),
        (failing(low=0.0), "circle", None, ("64", "left", 600)),
        (failing(low=2.0, high=2.0**12), "circle", (2.0, 10.0), ("64", "left", 600)),
        (failing(value=2.0**8.4), "circle", (5.0, 7.0), ("338", "left", 600)),
        (failing(value=2.0**8.5), "circle", (5.0, 7.0), ("362", "right", 600)),
        (failing(value=1024.0), "circle", (5.0, 7.0), ("1,024", "right", 600)),
        (failing(value=1025.0), "triangle-right-open", None, ("1,025", "right", 400)),
        (failing(length=256, **CENSORED), "triangle-right", (4.0, 8.35), ("> 256", "right", 600)),
        (failing(value=NAN), None, None, ("undefined", "left", 400)),
        (failing(value=NAN, note="not fitted"), None, None, ("not fitted", "left", 400)),
        (failing(value=math.inf), None, None, ("no bound", "left", 400)),
    ],
)
def test_how_a_failure_length_is_drawn(
    one: dict[str, Any], symbol: str | None, reach: tuple[float, float] | None, number: tuple[str, str, int]
) -> None:
    drawn = empty(2.0, 10.0)
    failure_length._draw(drawn, one, 0, 16.0, Look("light", 11))
    assert [trace.marker["symbol"] for trace in drawn.data] == ([symbol] if symbol else [])
    assert [x for line in drawn.layout.shapes for x in (line.x0, line.x1)] == pytest.approx(reach or [])
    (note,) = drawn.layout.annotations
    assert (note.text, note.xanchor, note.font["weight"]) == number


@pytest.mark.parametrize(
    ("one", "filled", "told"),
    [
        (failing(), True, "s, observed<br><b>64</b> (shown to hold up to 32) · n 9"),
        (failing(n=None), False, "s, observed<br><b>64</b>"),
        (failing(low=NAN, note="why"), True, "s, observed<br><b>64</b> · n 9<br>why"),
        (failing(length=256, **CENSORED), True, "s, observed<br><b>> 256</b> (shown to hold up to 32) · n 9"),
        (failing(length=32, **CENSORED), True, "s, observed<br><b>> 32</b> · n 9"),
        (failing(value=32.0), True, "s, observed<br><b>32</b> (shown to hold up to 32) · n 9"),
    ],
)
def test_what_is_said_at_a_failure_length(one: dict[str, Any], filled: bool, told: str) -> None:
    drawn = empty()
    failure_length._dot(drawn, 0.0, 0.0, one, "red", "circle", filled=filled)
    assert list(drawn.data[0].hovertext) == [told]


# ---- losses ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.2, 0.9, ["1.9", "6.8"]),
        (0.0, 0.9, ["1.2", "6.5"]),
        (0.0, 1.0, ["1", "10"]),
        (-1.0, 1.0, ["0.1", "1", "10"]),
        (-2.0, 1.0, ["0.01", "1", "10"]),
        (-2.0, 2.0, ["0.01", "1", "100"]),
        (-0.5, 3.2, ["1", "100", "1k"]),
    ],
)
def test_a_loss_has_two_or_three_ticks(low: float, high: float, ticks: list[str]) -> None:
    assert curves._log_ticks(low, high)["ticktext"] == ticks


@pytest.mark.parametrize(
    ("loss", "decades"),
    [([], (-1.0, 1.0)), ([0.0, -1.0], (-1.0, 1.0)), ([1.0], (-0.018, 0.018)), ([0.0, 10.0, 1000.0], (0.88, 3.12))],
)
def test_how_far_the_axis_of_a_loss_reaches(loss: list[float], decades: tuple[float, float]) -> None:
    assert curves._decades(np.array(loss, dtype=float)) == pytest.approx(decades)


@pytest.mark.parametrize(
    ("growth", "sentence"), [(1.5, "levels off everywhere"), (1.51, "still grows at k 1, N 8 (x 1.51)")]
)
def test_a_loss_has_levelled_off_up_to_a_growth_of_one_and_a_half(growth: float, sentence: str) -> None:
    rows = [
        {"task": "t", "knob": 1, "trained": 8, "length": n, "value": value, "low": value, "high": value}
        for n, value in ((8, 9.0), (16, 1.0), (32, 1.2), (64, growth))
    ]
    told = plateau.plateau_sentences(Frame.from_rows(rows), knobs={"t": "k"})
    assert told[0] == f"t: the loss {sentence}."
    assert told[1:] == [
        "t: its plateau falls with training length everywhere.",
        "t: its plateau rises with k everywhere.",
    ]


def test_a_plateau_that_was_not_measured_neither_falls_nor_rises() -> None:
    rows = [
        {"task": "t", "knob": knob, "trained": n, "length": 64, "value": value, "low": value, "high": value}
        for knob, n, value in ((1, 8, 0.4), (1, 16, 0.2), (2, 8, 0.5))
    ]
    told = plateau.plateau_sentences(Frame.from_rows(rows), knobs={"t": "k"})
    assert told[1:] == [
        "t: its plateau does not fall at k 2 (N 8 to 16: 0.5 to –).",
        "t: its plateau does not rise at N 16 (k 1 to 2: 0.2 to –).",
    ]


# ---- what is decodable, by layer ------------------------------------------------------------------------
def held_at(**layers: tuple[float | None, float | None]) -> Frame:
    """Values of summary and position by layer."""
    rows = [
        {"series": concept, "layer": int(layer[1:]), "value": value}
        for layer, both in layers.items()
        for concept, value in zip(("summary", "position"), both, strict=True)
    ]
    return Frame.from_rows(rows)


def test_markers_that_would_hide_each_other() -> None:
    given = held_at(l0=(0.5, 0.53), l1=(0.5, 0.55), l2=(1.2, 1.0), l3=(-3.0, 0.03), l4=(0.5, None), l5=(0.0, 0.04))
    assert decodability._hidden(given) == {0, 2, 3}


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (held_at(l0=(0.5, 0.9), l1=(0.2, 0.8)), [("summary", 1, 14, "center", 0), ("position", 1, 14, "center", 0)]),
        (held_at(l0=(0.2, 0.8), l1=(0.2, 0.8)), [("summary", 1, 14, "center", 0), ("position", 1, 14, "center", 0)]),
        (held_at(l0=(0.9, 0.1), l1=(0.2, 0.8)), [("position", 0, 14, "left", -6), ("summary", 0, 14, "right", 6)]),
        (held_at(l0=(0.15, 0.85)), [("summary", 0, 14, "center", 0), ("position", 0, 14, "center", 0)]),
        (held_at(l0=(0.5, 0.84)), [("summary", 0, 14, "center", 0), ("position", 0, -14, "center", 0)]),
        (held_at(l0=(0.5, 0.85)), [("summary", 0, 14, "center", 0), ("position", 0, 14, "center", 0)]),
        (held_at(l0=(0.5, None)), [("summary", 0, 14, "center", 0)]),
        (held_at(l0=(None, None)), []),
    ],
)
def test_names_stand_where_two_concepts_are_furthest_apart(given: Frame, notes: list[tuple[Any, ...]]) -> None:
    drawn = empty()
    decodability._dumbbell_names(drawn, given, {0: 0, 1: 1}, Look("light", 11))
    assert [(n.text, n.y, n.yshift, n.xanchor, n.xshift) for n in drawn.layout.annotations] == notes


def test_a_value_at_a_layer_is_said_or_that_there_is_none() -> None:
    given = held_at(l0=(0.5, None))
    assert [decodability._at_layer(given, name, 0) for name in ("summary", "position")] == ["0.50", "undefined"]
    assert decodability._at_layer(given, "summary", 1) == "undefined"


@pytest.mark.parametrize(
    ("layers", "named"),
    [(1, [0]), (7, [0, 1, 2, 3, 4, 5, 6]), (8, [1, 3, 5, 7]), (14, [*range(1, 14, 2)]), (15, [2, 5, 8, 11, 14])],
)
def test_up_to_seven_layers_are_named_the_last_always(layers: int, named: list[int]) -> None:
    probe = {"run": "r", "step": 1, "length": 8, "law": "matched", "mode": "transfer", "n": 9, "value": 0.5}
    probe |= {"measurement": "probes.summary", "quantity": "summary_decodability", "target": "output_summary"}
    rows = [row(**probe, layer=i, site=f"blocks.{i}.hook_resid_post") for i in range(layers)]
    drawn = figures.decodability_by_layer(pd.DataFrame(rows, columns=list(FIELDS)), step=1, length=8)
    assert list(drawn.layout.yaxis.tickvals) == named
    assert list(drawn.layout.yaxis.ticktext) == [f"after {i}" for i in named]


def test_without_probes_there_is_no_last_layer() -> None:
    rows = pd.DataFrame([row(run="r", step=1, measurement="m", quantity="q", value=1.0)], columns=list(FIELDS))
    with pytest.raises(NotMeasured, match=r"probes\.position"):
        decodability.last_layer(Frame.of(rows))


# ---- seeds and repairs ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shown", "lowest", "bottom"),
    [
        ("accuracy", 0.9, 0.5),
        ("accuracy", 0.51, 0.5),
        ("challenge", 0.42, 0.4),
        ("accuracy", 0.02, 0.0),
        ("summary", 0.9, None),
    ],
)
def test_the_axis_of_seeds_begins_below_their_lowest(shown: str, lowest: float, bottom: float | None) -> None:
    data = Frame({"length": np.array([8, 16]), "value": np.array([1.0, lowest])})
    drawn, span = many_seeds.seeds_plot(data, 8, shown, Look("light", 11), "name")
    wanted = many_seeds.unit_axis() if bottom is None else many_seeds.accuracy_axis(bottom)
    assert span == pytest.approx(list(wanted["range"]))
    assert len(drawn.data) == 0


def test_one_seed_and_several() -> None:
    assert [many_seeds._count(n) for n in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]


def test_repairs_stand_in_the_order_in_which_they_are_asked_and_pairs_last() -> None:
    known = [intervention.name for intervention in restored_shares.INTERVENTIONS]
    assert [restored_shares._place(name) for name in known] == [
        next(i for i, one in enumerate(known) if name.startswith(one)) for name in known
    ]
    assert restored_shares._place(f"{known[-1]}7") == len(known) - 1
    assert restored_shares._place(f"{known[0]} and {known[1]}") == len(known)
    assert restored_shares._place("no such") == 0
