"""Claims on determinacy follow from families with planted correlation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.claims.claim import Claim
from workbench.claims.claim_on_function import claim_of
from workbench.claims.determinacy import forecast_rows
from workbench.claims.determinacy.cells import FORK_STEPS, MORE_CELLS, StudyCell, cell_named, planned_cells
from workbench.claims.determinacy.families import determinacy_by_step, families_at
from workbench.claims.determinacy.forecast_rows import CellForecast
from workbench.claims.determinacy.of_run import KindDeterminacy, determinacy_of_kind
from workbench.claims.determinacy.statistics import determinacy, difference_of_means, paired_difference
from workbench.claims.determinacy.study import StudyTable
from workbench.claims.determinacy.switches import Change
from workbench.claims.suites import own_determinacy
from workbench.claims.verdict_rule import judge

Correlation = Callable[[StudyCell, int], float]


def rows_of(correlation: Correlation, families: int = 48) -> list[dict[str, object]]:
    """Rows of a study whose families correlate as given, by cell and step."""
    rng = np.random.default_rng(5)
    rows = []
    for cell in planned_cells():
        shared = rng.normal(size=families)
        for seed in range(families):
            rows.append(_row(cell, seed, 0, 0, shared[seed]))
            for step in FORK_STEPS:
                rho = correlation(cell, step)
                for child in (1, 2, 3):
                    value = rho * shared[seed] + np.sqrt(1 - rho**2) * rng.normal()
                    rows.append(_row(cell, seed, step, child, value))
    return rows


def _row(cell: StudyCell, seed: int, step: int, child: int, value: float) -> dict[str, object]:
    reach = 0.5 + 0.2 * value
    return {
        "cell": cell.name, "schedule": cell.schedule, "parent": seed, "step": step, "child": child, "reach": reach,
        "reach_again": None if child else reach + 1e-3,
    }  # fmt: skip


def verdict(rows: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch, number: str) -> str:
    monkeypatch.setattr(own_determinacy, "_families", lambda: rows)
    function = next(
        value for value in vars(own_determinacy).values() if hasattr(value, "claim") and value.claim.id == number
    )
    claim: Claim = claim_of(function)
    return judge(claim, function()).verdict


@pytest.mark.parametrize(
    ("number", "holding", "failing"),
    [
        ("DF01", 0.97, 0.1),
        ("DF02", 0.1, 0.97),
        ("DF03", 0.97, 0.1),
    ],
)
def test_a_claim_on_limits_can_hold_and_fail(
    number: str, holding: float, failing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(rows_of(lambda cell, step: holding), monkeypatch, number) == "holds"
    assert verdict(rows_of(lambda cell, step: failing), monkeypatch, number) == "does not hold at this scale"


def test_a_schedule_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    cosine = rows_of(lambda cell, step: 0.95 if cell.schedule == "cosine" else 0.1)
    constant = rows_of(lambda cell, step: 0.1 if cell.schedule == "cosine" else 0.95)
    assert verdict(cosine, monkeypatch, "DF04") == "holds"
    assert verdict(constant, monkeypatch, "DF04") == "does not hold at this scale"
    assert verdict(rows_of(lambda cell, step: 0.6), monkeypatch, "DF04") == "undecided"


def test_positions_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(rows_of(lambda cell, step: 0.3 + 0.6 * (cell.positions != "none")), monkeypatch, "DF05") == "holds"
    none = rows_of(lambda cell, step: 0.9 - 0.6 * (cell.positions != "none"))
    assert verdict(none, monkeypatch, "DF05") == "does not hold at this scale"


def test_claims_without_a_whole_study_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("DF01", "DF02", "DF03", "DF04", "DF05", "DF06"):
        assert verdict([], monkeypatch, number) == "not run"


def forecast(label: str, p_holm: float) -> CellForecast:
    return CellForecast("bounded_dyck_2-none", "cosine", 150, label, "loss_gap", 0.7, 0.5, 0.001, p_holm, 24)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([forecast("decided", 0.01), forecast("open", 0.4)], "holds"),
        ([forecast("decided", 0.01), forecast("undecided", 0.01)], "does not hold at this scale"),
        ([forecast("decided", 0.4), forecast("open", 0.4)], "undecided"),
    ],
)
def test_forecasts_count_where_reach_is_not_decided(
    found: list[CellForecast], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast_rows, "forecasts_by_cell", lambda families: found)
    assert verdict([], monkeypatch, "DF06") == expected


def test_a_family_with_a_missing_child_gives_no_families() -> None:
    cell = planned_cells()[0]
    rows = rows_of(lambda cell, step: 0.9, families=4)
    assert len(families_at(rows, cell, 150)) == 4
    assert set(determinacy_by_step(rows, cell)) == set(FORK_STEPS)
    assert families_at([row for row in rows if (row["step"], row["child"]) != (150, 2)], cell, 150) == {}


def test_differences_of_determinacy_by_hand() -> None:
    """Cells with perfect and without correlation."""
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(40, 1))
    alike = shared + 0.01 * rng.normal(size=(40, 4))
    unlike = rng.normal(size=(40, 4))
    for found in (paired_difference(alike, unlike), difference_of_means([alike], [unlike])):
        assert found.value == pytest.approx(1.0, abs=0.2)
        assert 0.7 < found.low < found.value < found.high
    assert paired_difference(alike, alike) == (0.0, 0.0, 0.0)


def test_the_kind_of_a_run_and_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of the study has its own kind; another task, schedule or position encoding has none."""
    rows = rows_of(lambda cell, step: 0.2 if step < 300 else 0.98)
    table = StudyTable(Path(), "", rows)
    monkeypatch.setattr(StudyTable, "read", staticmethod(lambda *file: table))
    config = cell_named("flip_flop-rotary").config(7).as_json()
    kind = determinacy_of_kind(config)
    assert kind is not None
    assert kind.cell.name == "flip_flop-rotary"
    assert (kind.last_undecided, kind.decided_from) == (200, 300)
    assert (
        "in runs of this kind, reach is decided between step 200 and step 300 of 500 (determinacy 0.9" in kind.sentence
    )
    for part, name, value in (
        ("training", "rate_law", "linear"),
        ("task", "name", "parity"),
        ("model", "positions", "alibi"),
    ):
        other = {**config, part: {**config[part], name: value}}
        assert determinacy_of_kind(other) is None


def test_a_state_space_model_is_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(lambda cell, step: 0.98)
    table = StudyTable(Path(), "", rows)
    monkeypatch.setattr(StudyTable, "read", staticmethod(lambda *file: table))
    same_task = cell_named("bounded_dyck_2-none")
    found = determinacy_of_kind(same_task.config(7).as_json())
    assert found is not None
    assert found.cell == same_task
    state_space = MORE_CELLS[-1].config(7).as_json()
    assert state_space["model"]["architecture"] == "ssm"
    assert determinacy_of_kind(state_space) is None, "these rows have no families of it"


def test_cells_state_all_parameters_as_a_run_stores_them() -> None:
    for cell in planned_cells():
        assert cell.config(0).as_json()["task"] == {"name": cell.task, "parameters": dict(cell.parameters)}


def test_sentences_of_kinds_that_are_always_or_never_decided() -> None:
    cell = cell_named("dyck_1-none")
    rng = np.random.default_rng(2)
    shared = rng.normal(size=(30, 1))
    decided = determinacy(shared + 0.05 * rng.normal(size=(30, 4)), shared[:, 0])
    undecided = determinacy(rng.normal(size=(30, 4)), shared[:, 0] * 0 + rng.normal(size=30))
    uniform = determinacy(0.001 * rng.normal(size=(30, 4)), rng.normal(size=30))
    assert "is decided by step 150 of 500" in KindDeterminacy(cell, {150: decided, 300: decided}).sentence
    assert uniform.label == "too uniform"
    assert "all reach about equally far" in KindDeterminacy(cell, {150: uniform, 300: uniform}).sentence
    assert "is not decided by step 300 of 500" in KindDeterminacy(cell, {150: decided, 300: undecided}).sentence
    rescues = [Change(step, 0.31, 0.2, 0.42, 8, step < 300, 0.1) for step in (100, 200, 300)]
    rescued = KindDeterminacy(cell, {150: decided, 300: decided}, rescues).sentence
    assert rescued.endswith(
        "; adding sequences of length 2 N from step 200 on raises skill at 3 to 8 N by 0.31 [0.20, 0.42]"
    )
    lowered = [Change(100, -0.31, -0.42, -0.2, 8, True, 0.1)]
    assert "raises" not in KindDeterminacy(cell, {150: decided, 300: decided}, lowered).sentence
