"""No claim changes what it says, asks for or runs unseen: every claim of every suite, and every run of its cells, is held."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.support.held import Held
from tests.support.printed import outcome, printed, told
from workbench.claims.bearing import claims_about
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained_cells import TrainedCell, encoding
from workbench.core.canonical import canonical

CELLS = {cell.name: cell for suite in SUITES.values() for claim in suite.claims for cell in claim.cells}
FAMILIES = sorted({cell.task for cell in CELLS.values()})


@pytest.mark.parametrize("name", SUITES)
def test_every_claim_says_and_asks_for_what_it_did(name: str, held: Held) -> None:
    suite, found = SUITES.find(name), {}
    for claim in suite.claims:
        stated = {key: one for key, one in told(claim).items() if key != "cells"}
        asked = [[cell.name, [one.key for one in cell.asked], list(cell.seeds)] for cell in claim.cells]
        found[claim.id] = f"{printed([stated, asked])} {claim.holds_if} {claim.minutes:g} {claim.version}"
    held([suite.title, round(suite.minutes, 6), found])


@pytest.mark.parametrize("task", FAMILIES)
def test_every_cell_states_the_runs_it_did(task: str, held: Held) -> None:
    """The recipe of each seed, by which rows of runs are found; the config that it makes; and what it is thought to take."""
    held({cell.name: _stated(cell) for cell in CELLS.values() if cell.task == task})


def _stated(cell: TrainedCell) -> str:
    config = cell.config(cell.seeds[-1])
    recipes = printed([cell.recipe(seed) for seed in cell.seeds])
    made = printed(canonical(config.model_dump(mode="json")))
    return f"{recipes} {made} {printed([cell.scale, cell.longest])} {cell.seconds:.6g}"


def test_how_positions_are_told(held: Held) -> None:
    names = (
        "nope",
        "ape",
        "arange",
        "rope",
        "rope500",
        "pose",
        "alibi",
        "sinusoidal",
        "lim 3 1",
        "ppc",
        "ppc_fixed",
        "coupled",
        "none such",
    )
    made = [outcome(lambda one=one: encoding(*one)) for one in product(names, (16,), (3, 8))]
    held({"all": printed(made), "rooms": [one["n_ctx"] for one in made if isinstance(one, dict)][:2]})


@pytest.mark.parametrize("positions", ["none", "learned", "rotary", "limit"])
def test_which_claims_are_about_a_run(positions: str, held: Held) -> None:
    found: dict[str, Any] = {}
    for task in FAMILIES:
        for ids, architecture in (
            ("arange", "transformer"),
            ("random_offset", "transformer"),
            ("arange", "ssm-signed"),
        ):
            parameters = {
                key: value for cell in CELLS.values() if cell.task == task for key, value in cell.parameters.items()
            }
            about = [one["claim"] for one in claims_about(task, parameters, positions, ids, architecture)]
            if about:
                found[f"{task} {ids} {architecture}"] = " ".join(about)
    held(printed(found) if len(str(found)) > 1500 else found)
