"""A claim names where each of its numbers comes from: a row, two of them, a setting, a threshold, a run or a cursor."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from workbench.core import thresholds
from workbench.figures.rows import claims, select_rows
from workbench.figures.rows.claims import Cite, Claim

ROW: dict[str, Any] = {
    "run": "a",
    "step": 1200,
    "law": "matched",
    "length": 64,
    "site": "",
    "layer": 1.0,
    "head": 3.0,
    "measurement": "m",
    "quantity": "q",
    "target": "",
    "mode": "",
    "control": "",
    "value": 0.456,
    "low": 0.4,
    "high": 0.5,
    "note": "one; two; three.",
    "setting": "{}",
}
PLACE = {name: ROW[name] for name in select_rows.PLACE}


def test_what_begins_a_sentence_keeps_what_it_cites() -> None:
    claim = Claim("at 64", "muted", [Cite("64", "length", {})])
    assert claims.capital(claim) == ("At 64", "muted")
    assert claims.cites([claims.capital(claim), claims.plain("x"), claim]) == [*claim.cites] * 2
    assert claims.capital(("one word", "position")) == ("One word", "position")
    assert claims.capital(("", "plain")) == ("", "plain")
    assert type(claims.capital(("x", "plain"))) is tuple


def test_lengths_in_items_keep_what_they_cite() -> None:
    claim = Claim("at length 64", "muted", [Cite("64", "length", {})])
    found = claims.with_items([claim, ("at length", "plain")])
    assert claims.cites(found) == [*claim.cites]
    assert [type(one) for one in found] == [Claim, tuple]
    assert [one[1] for one in found] == ["muted", "plain"]
    assert found[0][0] != claim[0]


def test_a_number_is_cited_with_its_place() -> None:
    found = claims.number(ROW)
    assert found == ("0.46", "plain")
    assert found.cites == (Cite("0.46", "value", {**PLACE, "value": 0.456}, "table"),)
    assert claims.number(ROW, "low", "muted", 3) == ("0.400", "muted")


def test_a_difference_is_cited_with_both_places() -> None:
    found = claims.cite_difference(ROW, ROW | {"run": "b"}, "value", "0.10")
    assert found == Cite("0.10", "value", {"a": PLACE, "b": PLACE | {"run": "b"}}, "difference")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.4, 0.5, [(" [0.40, 0.50]", "muted")]),
        (None, 0.5, []),
        (0.4, math.nan, []),
        (None, None, []),
    ],
)
def test_an_interval_is_said_where_both_ends_are_known(low: Any, high: Any, said: list[tuple[str, str]]) -> None:
    row = ROW | {"low": low, "high": high}
    found = claims.limits(row)
    assert found == said
    assert claims.estimate(row) == [("0.46", "plain"), *said]
    assert [(one.text, one.column) for one in claims.cites(found)] == [("0.40", "low"), ("0.50", "high")] * len(said)


@pytest.mark.parametrize(("text", "role"), [("n 1,200.", "plain")])
def test_counts_heads_and_layers_stand_between_their_words(text: str, role: str) -> None:
    found = claims.count(ROW, "step", "n ", ".")
    assert found == (text, role)
    assert [one.text for one in found.cites] == ["1,200"]
    head = claims.head(ROW)
    assert head == ("L1H3", "plain")
    assert [(one.text, one.column) for one in head.cites] == [("1", "layer"), ("3", "head")]


@pytest.mark.parametrize(("layer", "cited"), [(-1, []), (0, ["0"]), (1, ["1"])])
def test_the_embedding_is_said_without_a_number(layer: float, cited: list[str]) -> None:
    found = claims.layer(ROW | {"layer": float(layer)}, "so ")
    assert [one.text for one in found.cites] == cited
    assert found[0].startswith("so ")
    assert any(digit.isdigit() for digit in found[0]) == bool(cited)


@pytest.mark.parametrize(("tail", "text"), [(False, "<one; two; three>"), (True, "<three>")])
def test_a_note_is_told_whole_or_from_its_last_semicolon(tail: bool, text: str) -> None:
    found = claims.note(ROW, "<", ">", tail=tail)
    assert found[0] == text
    assert [(one.text, one.column) for one in found.cites] == [(text[1:-1], "note")]
    assert claims.note(ROW | {"note": "alone"}, tail=True)[0] == "alone"


def test_what_no_row_holds_is_cited_from_the_run_and_the_cursor() -> None:
    assert claims.trained_length_clause(1024.0).cites == (
        Cite("1,024", "trained_length", {"trained_length": 1024.0}, "run"),
    )
    asked = claims.selection_without_row("step", 2000.0, "at ", "?")
    assert asked[0] == "at 2,000?"
    assert asked.cites == (Cite("2,000", "step", {"step": 2000.0}, "cursor"),)


@pytest.mark.parametrize("name", ["fitted", "robust"])
def test_a_threshold_is_the_one_a_row_was_made_with_or_todays(name: str) -> None:
    today = getattr(thresholds, name.upper())
    assert claims.bar(ROW, name) == today
    now = claims.threshold(ROW, name)
    assert now.cites == (Cite(f"{today:g}", name, {name: today}, "threshold"),)
    told = ROW | {"setting": json.dumps({name: 0.625})}
    assert claims.bar(told, name) == 0.625
    found = claims.threshold(told, name)
    assert found[0] == "0.625"
    assert found.cites == (Cite("0.625", name, {**PLACE, "setting": told["setting"]}, "setting"),)
