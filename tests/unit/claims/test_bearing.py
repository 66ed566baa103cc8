"""Which claims of papers are about what a run does."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.claims.bearing import claims_about, describe
from workbench.claims.suites.registry import SUITES


def ids_about(
    task: str,
    positions: Any = "none",
    ids: str = "arange",
    architecture: str = "transformer",
    parameters: dict[str, Any] | None = None,
) -> set[str]:
    return {one["claim"] for one in claims_about(task, parameters or {}, positions, ids, architecture)}


def test_task_positions_and_ids_decide() -> None:
    without = ids_about("majority")
    assert "HA02" in without
    assert "HA01" not in without, "that one is about learned positions"
    learned = ids_about("majority", {"name": "learned"}, "random_offset")
    assert "HA01" in learned
    assert "HA02" not in learned
    assert "HA01" not in ids_about("majority", "learned", "arange"), "no offset in training"
    assert ids_about("nothing") == set()


def test_parameters_that_a_claim_states_must_be_the_runs() -> None:
    stated = {"n": 2, "ask": "next"}
    assert "HF02" in ids_about("tomita", "none", parameters={**stated, "other": 1})
    assert "HF02" not in ids_about("tomita", "none", parameters={**stated, "n": 4})
    assert "HF02" not in ids_about("tomita", "none", parameters={})


def test_the_gates_of_a_state_space_model_decide() -> None:
    cells = {
        (claim.id, cell.task, cell.model["gates"]): cell
        for suite in SUITES.values() for claim in suite.claims for cell in claim.cells
        if cell.model.get("architecture") == "ssm"
    }  # fmt: skip
    assert cells
    for (claim, task, gates), cell in cells.items():
        given: dict[str, Any] = dict(cell.parameters)
        assert claim in ids_about(task, "none", "arange", f"ssm-{gates}", given)
        assert claim not in ids_about(task, "none", "arange", "transformer", given) or any(
            "architecture" not in one.model for one in next(
                c for s in SUITES.values() for c in s.claims if c.id == claim
            ).cells
        )  # fmt: skip


def test_a_claim_is_told_with_its_suite_its_words_and_its_source() -> None:
    found = next(one for one in claims_about("majority", {}, "none", "arange", "transformer") if one["claim"] == "HA02")
    suite = next(s for s in SUITES.values() if s.name == found["suite"])
    claim = next(c for c in suite.claims if c.id == "HA02")
    assert (found["prediction"], found["source"]) == (claim.prediction, claim.source)


def test_they_stand_beside_what_theory_says() -> None:
    said = describe("majority", {}, "none")
    assert said["verdict"] == "guaranteed"
    assert {one["claim"] for one in said["claims"]} == ids_about("majority")


def test_theory_stands_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[dict[str, str]]:
        raise ValueError("a suite is broken")

    monkeypatch.setattr("workbench.claims.bearing.claims_about", broken)
    said = describe("majority", {}, "none")
    assert (said["verdict"], said["claims"]) == ("guaranteed", [])
