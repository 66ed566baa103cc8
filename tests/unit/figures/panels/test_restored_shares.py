"""The bars of a diagnosis, from rows made by hand: each is its row, and so is every harm."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.cited import unfounded
from workbench.figures import harm_inside, restored_shares
from workbench.figures.errors import NotMeasured, Undefined
from workbench.figures.rows.diagnosis_rows import entries_over_training, failure_head, named_entry
from workbench.figures.rows.frame import Frame
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.table.schema import FIELDS, row

HERE: dict[str, Any] = {"run": "r", "step": 7, "measurement": "diagnosis", "law": "matched", "length": 128, "n": 256}
REFUSED = "accuracy drops by 0.18 at 64, less than 0.2: no cause is named"
CONTROL = "wrong_constant"
SHARES = {("P.int", ""): 0.9, ("D.beta2", ""): -0.1, ("C.pool1", ""): 0.05, ("P.int", CONTROL): 0.02}
HARMS = {("P.int", ""): 0.0, ("P.clip", ""): 0.06, ("D.beta2", ""): 0.01, ("C.pool1", ""): 0.0, ("P.int", CONTROL): 0.3}


def made(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([row(**{**HERE, **one}) for one in rows], columns=list(FIELDS))


@pytest.fixture(scope="module")
def diagnosed() -> pd.DataFrame:
    """Refused at 64, named at 128; P.clip harms at N."""
    told: list[dict[str, Any]] = [
        {"quantity": "entry", "length": 64, "status": "undefined", "note": REFUSED},
        {"quantity": "restored_share", "length": 64, "status": "undefined", "note": REFUSED},
        {"quantity": "entry", "label": "position", "target": "P.int"},
        {"quantity": "entry_grade", "label": "strong", "target": "P.int"},
        {"quantity": "failure_site", "label": "selection", "layer": 0, "head": 1},
        {
            "quantity": "restored_share",
            "target": "P.clip",
            "mode": "alone",
            "status": "not_applicable",
            "note": "harms",
        },
    ]
    for (target, control), value in SHARES.items():
        ends = {"value": value, "low": value - 0.1, "high": value + 0.2}
        told.append({"quantity": "restored_share", "target": target, "mode": "alone", "control": control, **ends})
    for (target, control), value in HARMS.items():
        told.append({"quantity": "harm_inside", "target": target, "mode": "alone", "control": control, "value": value})
    return made(*told)


def drawn(figure: Any) -> dict[tuple[str, str], tuple[float, ...]]:
    """Name of a repair and of a trace -> what is drawn there: the value, and both ends of its whisker."""
    found = {}
    for trace in figure.data:
        for i, (x, y) in enumerate(zip(trace.x, trace.y, strict=True)):
            ends = trace.error_x
            whisker = () if ends.array is None else (x - ends.arrayminus[i], x + ends.array[i])
            name = figure.layout.yaxis.ticktext[round(float(y) - 0.01)]
            found[name, trace.name] = (float(x), *map(float, whisker))
    return found


def test_every_bar_is_its_row_with_its_interval_and_its_control(diagnosed: pd.DataFrame) -> None:
    names = {"P.int": "ids interpolated", "D.beta2": "scores \u00d7 2", "C.pool1": "rows moved, block 1"}
    figure = restored_shares(diagnosed, step=7)
    wanted = {
        (names[target], "control" if control else "intervention"): pytest.approx((value, value - 0.1, value + 0.2))
        for (target, control), value in SHARES.items()
    }
    assert drawn(figure) == wanted
    bars = figure.data[0]
    assert len({*bars.marker.color[1:]}) == 1
    assert bars.marker.color[0] != bars.marker.color[1]  # the one that names the entry
    assert list(figure.layout.yaxis.ticktext) == list(names.values())  # in the order in which they are asked
    data = restored_shares.data(diagnosed, step=7)
    assert set(data["length"]) == {128}
    assert len(data) == len(SHARES)


def test_harm_at_n_is_shown_of_those_too_that_are_not_applicable(diagnosed: pd.DataFrame) -> None:
    found = drawn(harm_inside(diagnosed, step=7))
    assert found["ids clipped", "intervention"] == (0.06,)
    assert found["ids interpolated", "control"] == (0.3,)
    assert sorted(value for (value,) in found.values()) == sorted(HARMS.values())
    assert len(harm_inside.data(diagnosed, step=7)) == len(HARMS)


def test_where_nothing_is_to_be_explained_there_are_no_bars_and_it_says_why() -> None:
    refused = made({"quantity": "entry", "status": "undefined", "note": REFUSED})
    for figure in (restored_shares, harm_inside):
        with pytest.raises(Undefined, match="Accuracy"):
            figure(refused, step=7)
        with pytest.raises(NotMeasured, match="step 8"):
            figure(refused, step=8)


def test_the_site_and_the_entry_over_training_are_their_rows(diagnosed: pd.DataFrame) -> None:
    frame = Frame.of(diagnosed)
    assert failure_head(frame, step=7) == (0, 1, "selection")
    assert failure_head(frame, step=8) is None
    assert named_entry(frame, step=7)["length"] == 128
    assert entries_over_training(frame) == []
    before = row(**{**HERE, "step": 3, "quantity": "entry", "label": "not explained"})
    both = Frame.of(pd.concat([diagnosed, pd.DataFrame([before], columns=list(FIELDS))]))
    told = [(first["step"], last["step"], said) for first, last, said in entries_over_training(both)]
    assert told == [(3, 3, "not explained at 128"), (7, 7, "position at 128 (selection at L0H1)")]


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ({"label": "code", "layer": 1}, "keys at 128 (code after block 1)"),
        ({"label": "lost", "layer": 0}, "keys at 128 (lost after block 0)"),
        ({"label": "read-out"}, "keys at 128 (read-out)"),
        ({"label": "dispersion", "layer": 1, "head": 0}, "keys at 128 (dispersion at L1H0)"),
        ({"status": "not_applicable", "note": "answers are no classes"}, "keys at 128"),
        ({"label": "code", "layer": 1, "length": 64}, "keys at 128"),
        ({"label": "code", "layer": 1, "step": 3}, "keys at 128"),
    ],
)
def test_the_site_over_training_is_that_of_the_same_checkpoint_and_length(site: dict[str, Any], said: str) -> None:
    rows: list[dict[str, Any]] = [
        {"step": 2, "quantity": "entry", "label": "not explained"},
        {"quantity": "entry", "label": "keys"},
        {"quantity": "failure_site", **site},
    ]
    found = entries_over_training(Frame.of(made(*rows)))
    assert [(first["step"], text) for first, _, text in found] == [(2, "not explained at 128"), (7, said)]


def test_checkpoints_of_which_the_same_is_said_are_one_stretch() -> None:
    notes = {
        0: "not learned: class-balanced accuracy at N is 0.51, below 0.9",
        4: "not learned: class-balanced accuracy at N is 0.66, below 0.9",
        70: "accuracy drops by less than 0.1: nothing to explain at 64",
    }
    rows = [row(**{**HERE, "step": at, "quantity": "entry", "note": note}) for at, note in notes.items()]
    rows += [row(**{**HERE, "step": at, "quantity": "entry", "label": "position"}) for at in (291, 1200)]
    frame = Frame.of(pd.DataFrame(rows, columns=list(FIELDS)))
    told = [(first["step"], last["step"], said) for first, last, said in entries_over_training(frame)]
    assert told == [(0, 4, "not learned"), (70, 70, "accuracy drop below 0.1 at 128"), (291, 1200, "position at 128")]


def test_every_number_of_the_sentence_stands_in_its_row(diagnosed: pd.DataFrame) -> None:
    assert unfounded(diagnosis_sentence(diagnosed, step=7, longest=32), diagnosed, 32) == []
