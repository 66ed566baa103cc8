"""Which claims of papers are about what a run does."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.claims.claims_about_run import claims_about, describe
from workbench.claims.readable import prediction_text
from workbench.claims.similar_runs import is_similar
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained_cells import cell as make_cell


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


def test_a_claim_is_about_the_runs_of_its_own_cells() -> None:
    for suite in SUITES.values():
        for claim in suite.claims:
            for cell in claim.cells:
                gates = cell.model.get("gates")
                ids = cell.model.get("ids", {}).get("name", "arange")
                architecture = f"ssm-{gates}" if gates else "transformer"
                positions = cell.model.get("positions", "none")
                assert claim.id in ids_about(cell.task, positions, ids, architecture, dict(cell.parameters))


def test_a_claim_is_told_with_its_suite_its_words_and_its_source() -> None:
    found = next(one for one in claims_about("majority", {}, "none", "arange", "transformer") if one["claim"] == "HA02")
    suite = next(s for s in SUITES.values() if s.name == found["suite"])
    claim = next(c for c in suite.claims if c.id == "HA02")
    assert (found["prediction"], found["source"]) == (prediction_text(claim), claim.source)


def test_they_stand_beside_what_theory_says() -> None:
    said = describe("majority", {}, "none")
    assert said["verdict"] == "guaranteed"
    assert {one["claim"] for one in said["claims"]} == ids_about("majority")


def test_theory_stands_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[dict[str, str]]:
        raise ValueError("a suite is broken")

    monkeypatch.setattr("workbench.claims.claims_about_run.claims_about", broken)
    said = describe("majority", {}, "none")
    assert (said["verdict"], said["claims"]) == ("guaranteed", [])


LEARNED = make_cell("majority", "ape", 16, 10)


BARE = make_cell("tomita", "nope", 16, 10, n=2)


SCANS = make_cell("parity", "signed", 16, 10)


@pytest.mark.parametrize(
    ("one", "task", "parameters", "positions", "ids", "architecture", "said"),
    [
        (LEARNED, "majority", {}, "learned", "random_offset", "transformer", True),
        (LEARNED, "majority", {"more": 1}, {"name": "learned"}, "random_offset", "transformer", True),
        (LEARNED, "parity", {}, "learned", "random_offset", "transformer", False),
        (LEARNED, "majority", {}, "learned", "arange", "transformer", False),
        (LEARNED, "majority", {}, "rotary", "random_offset", "transformer", False),
        (LEARNED, "majority", {}, "learned", "random_offset", "ssm-signed", False),
        (BARE, "tomita", {"n": 2}, "none", "arange", "transformer", True),
        (BARE, "tomita", {"n": 4}, "none", "arange", "transformer", False),
        (BARE, "tomita", {}, "none", "arange", "transformer", False),
        (BARE, "tomita", {"n": 2}, "none", "random_offset", "transformer", False),
        (SCANS, "parity", {}, "none", "arange", "ssm-signed", True),
        (SCANS, "parity", {}, "none", "arange", "ssm-nonnegative", False),
        (SCANS, "parity", {}, "none", "arange", "transformer", False),
        (SCANS, "majority", {}, "none", "arange", "ssm-signed", False),
    ],
)
def test_what_a_cell_and_a_run_must_have_in_common(
    one: Any, task: str, parameters: dict[str, Any], positions: Any, ids: str, architecture: str, said: bool
) -> None:
    assert is_similar(one, task, parameters, positions, ids, architecture) is said
