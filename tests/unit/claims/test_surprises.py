"""What is told of the claims that came out furthest from what was published is what their rows say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.claims.committed import EVIDENCE, FOLDER
from workbench.claims.claim import Row
from workbench.claims.claim_pages import figures, index_page
from workbench.claims.claims_table import Evidence, judge_stored
from workbench.claims.suites.registry import SUITES
from workbench.claims.surprises import LEFT, RIGHT, SURPRISES, WIDTH, current_surprises, drawing, short, span

CLAIMS = {claim.id: claim for suite in SUITES.values() for claim in suite.claims}
SVG = "{http://www.w3.org/2000/svg}"


TOLD = [one for one, _, _ in current_surprises(CLAIMS, EVIDENCE)]


def test_those_that_came_out_so_are_told_with_their_figures() -> None:
    decided = [one for one in SURPRISES if judge_stored(CLAIMS[one.claim], EVIDENCE).verdict == one.verdict]
    assert decided == TOLD
    assert {"HA09", "HF35"} <= {one.claim for one in TOLD}
    assert {path.name for path in FOLDER.glob("*.svg")} == set(figures(list(SUITES.values()), EVIDENCE))
    for name, text in figures(list(SUITES.values()), EVIDENCE).items():
        assert (FOLDER / name).read_text() == text
        assert f"]({name})" in index_page(list(SUITES.values()), EVIDENCE)


@pytest.mark.parametrize("one", TOLD, ids=lambda one: one.claim)
def test_every_share_of_a_paragraph_is_of_a_row(one) -> None:
    (text,) = [text for found, text, _ in current_surprises(CLAIMS, EVIDENCE) if found is one]
    rows = EVIDENCE[one.claim].rows
    ends = {short(end) for row in rows for end in (row.value, row.low, row.high) if end is not None}
    shares = re.findall(r"\u2212?\d\.\d\d\b", text)
    assert shares
    assert set(shares) <= ends
    seeds = {row.seed for row in rows if row.seed is not None}
    assert "{" not in text.replace("{0,1,2}", "")
    if seeds:
        assert f"{len(seeds)} of {len(seeds)} seeds fitted" in text


def test_what_is_said_of_induction_is_what_its_removal_does_to_the_same_runs() -> None:
    (text,) = [text for one, text, _ in current_surprises(CLAIMS, EVIDENCE) if one.claim == "HA09"]
    assert "removing it costs no accuracy at N ([BA03]" in text
    drops = [row for row in EVIDENCE["BA03"].rows if row.quantity == "induction, forwards"]
    assert {row.run for row in drops} == {row.run for row in EVIDENCE["HA09"].rows if row.quantity == "b1"}
    assert all(row.high is not None and row.high <= 0.1 for row in drops)
    needed = [row for row in EVIDENCE["BA03"].rows if row.quantity == "anti-induction, backwards"]
    assert min(row.low or 0.0 for row in needed) > 0.4, "the removal is not one that does nothing to any copy"


def test_what_did_not_come_out_so_is_not_told() -> None:
    held = EVIDENCE["HA09"]
    right = Evidence(held.version, [replace(row, value=0.99, low=0.98, high=1.0) for row in held.rows], held.complete)
    assert "HA09" not in [one.claim for one, _, _ in current_surprises(CLAIMS, {**EVIDENCE, "HA09": right})]
    assert "HA09" not in [
        one.claim for one, _, _ in current_surprises(CLAIMS, {k: v for k, v in EVIDENCE.items() if k != "HA09"})
    ]
    assert current_surprises(CLAIMS, {}) == []


def test_a_figure_puts_runs_intervals_and_papers_where_they_belong() -> None:
    one = replace(SURPRISES[0], published={"b1": 0.5})
    tree = ET.fromstring(drawing(one, [Row("b1", "", 0.25, 0.0, 1.0)]))
    _, dot = tree.findall(f"{SVG}circle")
    wide = WIDTH - LEFT - RIGHT
    assert float(dot.get("cx")) == pytest.approx(LEFT + wide / 4, abs=0.1)
    (bar,) = [line for line in tree.findall(f"{SVG}line") if line.get("stroke-width") == "2"]
    assert (float(bar.get("x1")), float(bar.get("x2"))) == (LEFT, WIDTH - RIGHT)
    mark = tree.findall(f"{SVG}path")[-1].get("d")
    assert mark.startswith(f"M{LEFT + wide / 2:.1f} ")
    below = ET.fromstring(drawing(one, [Row("b1", "", -1.0)]))
    assert float(below.findall(f"{SVG}circle")[1].get("cx")) == LEFT


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0.5, 0.4, 0.6)], "0.50 [0.40, 0.60]"),
        ([(0.5, None, None)], "0.50"),
        ([(0.5, 0.4, None)], "0.50"),
        ([(0.5, None, 0.6)], "0.50"),
        ([(0.7, 0.1, 0.9), (0.5, 0.4, 0.6)], "0.50 to 0.70"),
        ([(0.501, 0.1, 0.9), (0.499, 0.4, 0.6)], "0.50"),
        ([(-0.25, None, None), (0.0, None, None), (0.1, None, None)], "\u22120.25 to 0.10"),
    ],
)
def test_the_least_and_the_greatest_value_in_words(rows: Sequence[tuple[float, Any, Any]], said: str) -> None:
    assert span([Row("q", "", value, low, high) for value, low, high in rows]) == said
    assert short(-0.004) == "\u22120.00"
