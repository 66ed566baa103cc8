"""The published claims as data: every verdict is that of the rule, and every number is a stored row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT
from workbench.claims import published
from workbench.claims.claims_table import FILE, judge_stored, read_evidence
from workbench.claims.published import published_claims, published_folder
from workbench.claims.suites.registry import SUITES

MAJORITY = {"task": "majority", "parameters": {}, "positions": "none", "ids": "arange"}
LEARNED = {**MAJORITY, "positions": {"name": "learned"}, "ids": "random_offset"}
OF_A_FILE = {**MAJORITY, "source": {"path": "tasks.py"}}


@pytest.fixture(scope="module")
def claims() -> dict[str, dict[str, Any]]:
    return {claim["claim"]: claim for claim in published_claims([MAJORITY, LEARNED, OF_A_FILE])}


def test_all_claims_are_there_in_the_order_of_the_suites(claims: dict[str, dict[str, Any]]) -> None:
    assert list(claims) == [claim.id for suite in SUITES.values() for claim in suite.claims]
    json.dumps(list(claims.values()), allow_nan=False)


def test_verdicts_and_numbers_are_those_of_the_table(claims: dict[str, dict[str, Any]]) -> None:
    evidence = read_evidence(ROOT / "docs" / "claims")
    for suite in SUITES.values():
        for claim in suite.claims:
            judgement, data = judge_stored(claim, evidence), claims[claim.id]
            assert (data["verdict"], data["suite"]) == (judgement.verdict, suite.name)
            stored = evidence[claim.id].rows if claim.id in evidence else ()
            named = {condition.quantity for condition in claim.conditions} or {row.quantity for row in stored}
            expected = sorted(
                (row.run, row.seed or 0, row.value) for row in stored if row.quantity in named and row.has_value
            )
            drawn = [row for part in data["parts"] for row in part["rows"]]
            # A quantity with two conditions is drawn once for each.
            assert {(row["run"], row["seed"] or 0, row["value"]) for row in drawn if row["value"] is not None} == {
                one for one in expected if one[2] == one[2] and abs(one[2]) != float("inf")
            }


def test_the_part_of_the_decisive_number_comes_first(claims: dict[str, dict[str, Any]]) -> None:
    first = claims["HF04"]["parts"][0]
    assert (first["at_most"], first["at_least"], first["of_seeds"]) == (0.5, None, True)
    assert [row["seed"] for row in first["rows"]] == [0, 1, 2, 3, 4, 5]
    assert {row["side"] for row in first["rows"]} == {"fails"}
    assert first["median"]["value"] == pytest.approx(0.8720703125)


def test_similar_runs_are_those_with_the_task_and_positions_of_a_cell(claims: dict[str, dict[str, Any]]) -> None:
    assert claims["HA02"]["similar"] == [0]
    assert claims["HA01"]["similar"] == [1]
    assert claims["QB01"]["similar"] == [], "an exact claim has no runs"


def test_a_wheel_has_a_copy_of_the_table_and_a_checkout_the_one_of_the_documentation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert published_folder() == ROOT / "docs" / "claims"
    wheel = tmp_path / "published_claims"
    monkeypatch.setattr(published, "PLACES", (wheel, *published.PLACES))
    assert published_folder() == ROOT / "docs" / "claims"
    wheel.mkdir()
    (wheel / FILE).write_bytes(b"")
    assert published_folder() == wheel


def test_without_a_table_every_claim_is_not_run(tmp_path: Path) -> None:
    some = published_claims(folder=str(tmp_path))
    assert {(claim["verdict"], len(claim["parts"])) for claim in some} == {("not run", 0)}


def test_a_number_without_runs_is_not_drawn(claims: dict[str, dict[str, Any]]) -> None:
    """With SGD no state-space model of DB03 solves its trained lengths, so its mean has no value."""
    rows = read_evidence(ROOT / "docs" / "claims")["DB03"].rows
    assert not all(row.has_value for row in rows)
    assert claims["DB03"]["parts"] == []
