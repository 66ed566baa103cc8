"""Contrasts of reach: its value, which pairs and cells enter, both tests, and the settings of the claims DB01 to DB05."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from workbench.claims.claim import Claim, Row
from workbench.claims.labels import FAILS
from workbench.claims.suites.own_training_dynamics_bridge import (
    ADAM,
    CELLS,
    LEAST,
    MIXED,
    SGD,
    SUITE,
    USUAL,
    WEAK_CODE,
    bridge_cell,
)  # fmt: skip
from workbench.claims.trained.claim_runs import runs_of
from workbench.claims.trained.reach_contrasts import FACTORS, reach, reach_contrasts
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained.run_statistics import version_of
from workbench.claims.trained_cells import FIT, REACH, TrainedCell
from workbench.claims.verdict_rule import judge
from workbench.core.reach import REACH_MULTIPLES
from workbench.training.compare_configs import config_differences

CLAIMS = {claim.id: claim for claim in SUITE.claims}
MEAN = "mean difference of reach, one length a batch less four"
TYPICAL = "difference of reach of the typical cell, one length a batch less four"


def rows_of(cell: TrainedCell, seed: int, skills: tuple[float, ...], fitted: bool = True) -> list[RunRow]:
    """What the table of runs holds of a run with these skills at the five lengths."""
    where = (cell.recipe(seed), f"{cell.name} {seed}", 200, cell.name, seed)
    fit = RunRow(*where, FIT.key, version_of(FIT), "fitted", label="pass" if fitted else "fail")
    measured = [
        RunRow(
            *where, REACH.key, version_of(REACH), f"skill at {factor:g} N", value=skill, low=skill, high=skill, n=512
        )
        for factor, skill in zip(FACTORS, skills, strict=True)
    ]
    return [fit, *measured]


def table_of(claim: Claim, reaches: Mapping[str, list[float]], unfitted: tuple[tuple[str, int], ...] = ()) -> RunTable:
    """A table in which the run of each seed of a cell has the same skill, its reach, at all lengths."""
    return RunTable(
        row
        for cell in claim.cells
        for seed, value in zip(cell.seeds, reaches[cell.name], strict=True)
        for row in rows_of(cell, seed, (value,) * 5, (cell.name, seed) not in unfitted)
    )


def by_quantity(rows: list[Row], quantity: str) -> Row:
    (row,) = (row for row in rows if row.quantity == quantity)
    return row


def reduced(claim: Claim, table: RunTable) -> list[Row]:
    return reach_contrasts(claim, table, claim.arguments["contrasts"])


def test_reach_of_claims_is_over_the_multiples_of_reach_of_runs() -> None:
    assert FACTORS == REACH_MULTIPLES


def test_reach_is_the_mean_of_clipped_skill() -> None:
    cell = USUAL[0]
    table = RunTable(rows_of(cell, 0, (1.0, 0.75, 0.25, -0.5, 0.0)))
    assert reach(runs_of(cell.on(0), table)[0]) == pytest.approx(0.4)


def test_the_request_of_a_cell_gives_the_skills_that_reach_reads() -> None:
    assert FACTORS == (1.5, 2, 3, 4, 8)
    assert all(REACH in cell.requests and FIT in cell.requests for claim in SUITE.claims for cell in claim.cells)


def test_the_difference_is_paired_by_seed_and_averaged_over_cells() -> None:
    claim = CLAIMS["DB02"]
    rng = np.random.default_rng(3)
    start = {cell.name: rng.uniform(0.2, 0.4, 6) for cell in MIXED}
    more = [0.1, 0.2, 0.3, 0.4, 0.1, 0.1]
    rises = {
        cell.name: rise + np.array([0.01, -0.01, 0.02, -0.02, 0.0, 0.0]) for cell, rise in zip(MIXED, more, strict=True)
    }
    reaches = {cell.name: list(start[cell.name]) for cell in MIXED}
    reaches |= {one.name: list(start[other.name] + rises[other.name]) for one, other in zip(USUAL, MIXED, strict=True)}
    rows = reduced(claim, table_of(claim, reaches))
    mean, typical = by_quantity(rows, MEAN), by_quantity(rows, TYPICAL)
    assert mean.value == pytest.approx(0.2)
    assert (mean.entered, mean.planned, mean.fewest) == (36, 36, 6)
    assert mean.low is not None
    assert mean.high is not None
    assert 0.19 < mean.low < 0.2 < mean.high < 0.21
    assert (typical.value, typical.low, typical.high) == pytest.approx((0.15, 0.1, 0.4))
    cells = [row for row in rows if row.quantity.startswith("difference of reach in a cell")]
    assert [row.value for row in cells] == pytest.approx(more)
    assert [row.entered for row in cells] == [6] * 6
    assert judge(claim, rows).verdict == "holds"


def test_one_cell_on_the_other_side_leaves_the_sign_test_open() -> None:
    claim = CLAIMS["DB02"]
    reaches = {cell.name: [0.2] * 6 for cell in MIXED} | {cell.name: [0.5] * 6 for cell in USUAL}
    reaches[USUAL[3].name] = [0.1] * 6
    judgement = judge(claim, reduced(claim, table_of(claim, reaches)))
    assert judgement.verdict == "undecided"


def test_no_difference_is_decided_by_the_interval_over_seeds() -> None:
    claim = CLAIMS["DB02"]
    rng = np.random.default_rng(4)
    reaches = {cell.name: list(0.5 + rng.normal(0, 0.01, 6)) for cell in claim.cells}
    rows = reduced(claim, table_of(claim, reaches))
    high = by_quantity(rows, MEAN).high
    assert high is not None
    assert high < LEAST
    assert judge(claim, rows).verdict == FAILS


def test_a_pair_enters_only_if_both_runs_solve_the_trained_lengths() -> None:
    claim = CLAIMS["DB02"]
    reaches = {cell.name: [0.2] * 6 for cell in MIXED} | {cell.name: [0.3, 0.3, 0.3, 0.3, 0.3, 0.9] for cell in USUAL}
    unfitted = ((USUAL[1].name, 5), (MIXED[2].name, 5), (MIXED[2].name, 4))
    rows = reduced(claim, table_of(claim, reaches, unfitted))
    assert by_quantity(rows, MEAN).entered == 33
    cells = [row for row in rows if row.quantity.startswith("difference of reach in a cell")]
    assert [row.entered for row in cells] == [6, 5, 4, 6, 6, 6]
    assert cells[1].value == cells[2].value == pytest.approx(0.1)


def test_with_five_cells_nothing_is_decided() -> None:
    """A cell needs three pairs, and the sign test six cells."""
    claim = CLAIMS["DB02"]
    reaches = {cell.name: [0.2] * 6 for cell in MIXED} | {cell.name: [0.9] * 6 for cell in USUAL}
    unfitted = tuple((MIXED[0].name, seed) for seed in range(4))
    rows = reduced(claim, table_of(claim, reaches, unfitted))
    assert by_quantity(rows, MEAN).ends == (-math.inf, math.inf)
    assert not by_quantity(rows, MEAN).has_value
    assert judge(claim, rows).observation.endswith(": no value"), "the 0 that stands for no value is not shown"
    assert judge(claim, rows).verdict == "undecided"
    unfitted = tuple((MIXED[0].name, seed) for seed in range(3))
    assert judge(claim, reduced(claim, table_of(claim, reaches, unfitted))).verdict == "holds"


def test_the_sign_of_the_state_space_cell_is_reversed_between_optimizers() -> None:
    claim = CLAIMS["DB03"]
    reaches = {cell.name: [0.2] * 6 for cell in ADAM} | {cell.name: [0.5] * 6 for cell in SGD}
    place = CELLS.index(("majority", "ssm"))
    reaches |= {ADAM[place].name: [0.5] * 6, SGD[place].name: [0.2] * 6}
    assert judge(claim, reduced(claim, table_of(claim, reaches))).verdict == "holds"


def test_unequal_shares_may_differ_by_little() -> None:
    claim = CLAIMS["DB01"]
    reaches = {cell.name: [0.5] * 6 for cell in claim.cells}
    reaches |= {cell.name: [0.2] * 6 for cell in claim.cells if cell.name.endswith("3 lengths")}
    assert judge(claim, reduced(claim, table_of(claim, reaches))).verdict == "holds"
    reaches |= {cell.name: [0.8] * 6 for cell in claim.cells if cell.name.endswith("unequal shares")}
    assert judge(claim, reduced(claim, table_of(claim, reaches))).verdict == FAILS


def test_levels_differ_only_in_what_they_state() -> None:
    """Both runs of a pair have the same seeds; the settings of data differ only where the lengths are the question."""
    for claim in SUITE.claims:
        assert len({cell.name for cell in claim.cells}) == len(claim.cells)
        for pairs in claim.arguments["contrasts"].values():
            assert len(pairs) == 6
            for first, second, _ in pairs:
                one, other = (claim.cells[place].config(3).as_json() for place in (first, second))
                parts = config_differences(one, other)
                assert parts in (["training"], ["model"]), claim.id
                optimizers = claim.id == "DB03" and "d_state" in one["model"]
                assert one["training"]["steps"] == other["training"]["steps"] == (800 if optimizers else 200)
                assert one["training"]["trained_length"] == other["training"]["trained_length"]
                assert one["seeds"] == other["seeds"] == {"init": 3, "data": 3, "evaluation": 0, "probe": 0}


def test_the_weak_code_and_the_small_start() -> None:
    assert [cell.model["positions"]["scale"] for cell in WEAK_CODE] == [0.1] * 6
    small = CLAIMS["DB05"].cells[0].config(0).model
    usual = bridge_cell("majority", "sinusoidal").config(0).model
    scale = small.positions.model_dump()["scale"]
    assert scale / small.initializer_range == pytest.approx(1 / usual.initializer_range)
