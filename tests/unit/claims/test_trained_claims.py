"""Trained claims: what is measured of a run, on runs whose answers are known, and verdicts of rows made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.claims.committed import FOLDER
from tests.support.claims.made_by_hand import answering, made, table_for
from workbench.claims import reproducing
from workbench.claims.claim import Claim, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.claim_pages import suite_page
from workbench.claims.claims_table import read_evidence
from workbench.claims.errors import ClaimError
from workbench.claims.judging import Judgement, judge
from workbench.claims.reproducing import keep_trained, plan, reduced, reproduce
from workbench.claims.resampling import Share, difference_of_shares
from workbench.claims.suites.registry import SUITES, claims_named
from workbench.claims.trained import training_runs
from workbench.claims.trained.bin_accuracy import bin_rows, bins_of, fit_rows, length_rows
from workbench.claims.trained.extreme_gates import gate_rows
from workbench.claims.trained.long_losses import loss_rows
from workbench.claims.trained.measured import MEASURED
from workbench.claims.trained.run_rows import FILE, RunRow, RunTable, read_runs, take_in
from workbench.claims.trained.training_runs import Workers, missing_runs, planned_runs, train_missing
from workbench.claims.trained_cells import ASKING, BINS, FIT, LOSSES, VERSIONS, Asked, TrainedCell, cell
from workbench.measure.intervals import clopper_pearson
from workbench.measure.registry import make_measurement

TRAINED = [claim for suite in SUITES.values() for claim in suite.claims if claim.cells]
ONE, OTHER = (cell("majority", p, 16, 2, width=16, heads=2, reach=3) for p in ("nope", "rope"))


def verdict(claim: Claim, table: RunTable) -> Judgement:
    rows, _, complete = reduced(claim, table)
    return judge(claim, rows, complete)


# ---- what is measured ----------------------------------------------------------------------------
def test_bins_are_those_of_the_papers() -> None:
    assert bins_of(16) == {"b0": (8, 16), "b1": (17, 32), "b2": (33, 48)}
    assert bins_of(25)["b0"] == (13, 25)


def test_bins_of_a_run_that_is_right_to_length_20() -> None:
    run = answering("majority", 15, lambda batch: (torch.arange(batch.mask.shape[1]) <= 20).expand_as(batch.mask))
    found = {row["quantity"]: row for row in bin_rows(run)}
    lengths = run.task.lengths(16, 30)
    share = sum(n <= 20 for n in lengths) / len(lengths)
    assert (found["b0"]["value"], found["b1"]["value"], found["b2"]["value"]) == (1.0, pytest.approx(share), 0.0)
    assert found["b1 every prefix"]["value"] == found["b1"]["value"]
    assert (found["b1"]["low"], found["b1"]["high"]) == clopper_pearson(
        round(share * found["b1"]["n"]), found["b1"]["n"]
    )
    assert found["b1 skill"]["value"] < found["b1"]["value"]


def test_every_prefix_sees_a_wrong_answer_before_the_end() -> None:
    run = answering("majority", 15, lambda batch: (torch.arange(batch.mask.shape[1]) != 3).expand_as(batch.mask))
    found = {row["quantity"]: row["value"] for row in bin_rows(run)}
    assert (found["b1"], found["b1 every prefix"]) == (1.0, 0.0)


def test_where_there_is_one_string_per_length_lengths_are_counted() -> None:
    def right(batch: Any) -> torch.Tensor:
        return (torch.arange(batch.mask.shape[1]) <= 24).expand_as(batch.mask)

    found = {row["quantity"]: row for row in bin_rows(answering("aa_star", 16, right))}
    assert (found["b1"]["value"], found["b1"]["n"], "low" in found["b1"]) == (0.5, 16, False)
    assert found["b1 every prefix"]["value"] == 0.5


@pytest.mark.parametrize(("first_wrong", "label"), [(99, "pass"), (8, "fail")])
@pytest.mark.parametrize("task", ["majority", "aa_star"])
def test_fitted_means_right_at_the_trained_lengths(task: str, first_wrong: int, label: str) -> None:
    def right(batch: Any) -> torch.Tensor:
        return (torch.arange(batch.mask.shape[1]) < first_wrong).expand_as(batch.mask)

    assert list(fit_rows(answering(task, 16, right)))[-1]["label"] == label


def test_losses_of_a_sure_answer() -> None:
    run = answering("majority", 8, lambda batch: torch.ones_like(batch.mask))
    found = list(loss_rows(run, factors=[1, 4]))
    assert [row["quantity"] for row in found] == ["loss at 1 N", "loss at 4 N"]
    assert all(row["value"] == pytest.approx(math.log1p(math.exp(-9))) for row in found)
    assert all(row["spread"] == pytest.approx(0.0, abs=1e-9) for row in found)


def test_another_task_of_the_same_tokens_can_be_asked_and_no_other() -> None:
    run = answering("flip_flop", 16, lambda batch: torch.ones_like(batch.mask))
    rows = list(length_rows(run, [2], task={"write_probability": 0.3}, told="writes 0.3"))
    assert {row["setting"] for row in rows} == {"writes 0.3"}
    with pytest.raises(ValueError, match="other tokens"):
        answering("boolean", 16, lambda batch: batch.mask, n=2).asked({"n": 3})


def test_the_gates_of_a_hand_made_parity_are_minus_one_on_a_1() -> None:
    from workbench.models.handmade.state_space import parity

    run = replace(answering("parity", 16, lambda batch: batch.mask), model=parity())
    found = {row["quantity"]: row["value"] for row in gate_rows(run, "1")}
    assert found["least gate on 1"] == pytest.approx(-1.0)


# ---- the rows of runs ----------------------------------------------------------------------------
def test_rows_of_runs_come_back_and_are_replaced_not_doubled(tmp_path: Path) -> None:
    row = RunRow("recipe", "run", 5, "cell", 0, "bins", 1, "b1", value=0.1 + 0.2, low=0.0, high=1.0, n=4)
    table = RunTable([row])
    table.add([replace(row, value=0.5)])
    table.write(tmp_path)
    assert list(read_runs(tmp_path)) == [replace(row, value=0.5)]
    first = (tmp_path / FILE).read_bytes()
    read_runs(tmp_path).write(tmp_path)
    assert (tmp_path / FILE).read_bytes() == first
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(ClaimError, match="no table of runs"):
        read_runs(tmp_path)


def test_rows_made_elsewhere_are_taken_in(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, seed in ((here, 0), (there, 1)):
        folder.mkdir()
        RunTable(made((ONE.on(seed),), lambda *_: 1.0)).write(folder)
    rows = len(list(read_runs(there)))
    assert take_in(there / FILE, here) == rows
    assert {row.seed for row in read_runs(here)} == {0, 1}
    assert take_in(there / FILE, here) == rows
    assert len(list(read_runs(here))) == 2 * rows
    with pytest.raises(ClaimError, match="there is no file"):
        take_in(tmp_path / "nowhere", here)


def test_a_recipe_is_what_a_cell_states() -> None:
    assert ONE.recipe(0) == ONE.also(Asked("losses")).recipe(0)
    assert len({ONE.recipe(0), ONE.recipe(1), OTHER.recipe(0)}) == 3
    # A task that is given a further parameter later does not move the rows that there are.
    assert ONE.recipe(0) == "0657ca0dbc8b7ccd"


def test_every_committed_row_is_of_a_run_that_some_cell_states() -> None:
    stated = {one.recipe(seed) for claim in TRAINED for one in claim.cells for seed in one.seeds}
    assert {row.recipe for row in read_runs(FOLDER)} <= stated


def test_a_suite_takes_the_time_of_each_run_once() -> None:
    """Two claims on one cell, of which the second asks it more, and an exact one of two minutes."""
    more = ONE.also(Asked("copies"))
    one, two = (
        claim_on(name, "here", "It is.", "it", above("b1", 0.9), cells) for name, cells in (("T", ONE), ("U", more))
    )
    exact = Claim("V", "E", "here", "It is.", "it", (above("b1", 0.9),), "", "a:b", 2.0)
    suite = Suite("s", "S", (one, two, exact))
    assert suite.minutes == pytest.approx(2.0 + 3 * more.seconds / 60)
    assert more.seconds - ONE.seconds == pytest.approx(ASKING["copies"])
    long = replace(ONE, asked=(Asked("losses"),))
    assert long.seconds - replace(ONE, asked=()).seconds == pytest.approx(LOSSES * 2 * 16)


def test_cells_of_one_name_are_one_cell() -> None:
    by_name: dict[str, TrainedCell] = {}
    for claim in TRAINED:
        for one in claim.cells:
            before = by_name.setdefault(one.name, one)
            assert before.recipe(0) == one.recipe(0), one.name


def test_versions_are_those_of_the_measurements() -> None:
    ours = set(MEASURED)
    assert {name: make_measurement(name).version for name in VERSIONS if name not in ours} == {
        name: version for name, version in VERSIONS.items() if name not in ours
    }


# ---- training what is missing --------------------------------------------------------------------
def test_runs_are_trained_once_and_their_rows_stay(tmp_path: Path) -> None:
    planned = planned_runs([ONE], most_seeds=1)
    table = read_runs(tmp_path)
    told: list[str] = []
    begun = train_missing(missing_runs(planned, table), table, tmp_path, Workers("serial"), None, told.append)
    assert (begun, told) == ([], [f"{ONE.name}, seed 0 (1 of 1 runs)"])
    stored = read_runs(tmp_path)
    assert missing_runs(planned, stored) == []
    (more,) = missing_runs(planned_runs([ONE.also(Asked("losses"))], 1), stored)
    assert [asked.name for asked in more.asked] == ["losses"]
    fitted = next(row for row in stored if row.quantity == "fitted")
    assert (fitted.run, fitted.step, fitted.label) == (ONE.config(0).as_json()["id"], 2, "fail")


def test_nothing_begins_once_the_time_is_up(tmp_path: Path) -> None:
    table = RunTable()
    assert train_missing(planned_runs([ONE]), table, tmp_path, Workers("serial"), 1.0, print) == []
    assert not list(table)


def test_a_suite_goes_on_from_the_rows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[str] = []

    def fake(work: training_runs.RunWork) -> list[RunRow]:
        run = work.planned
        trained.append(run.recipe)
        return made((replace(run.cell, seeds=(run.seed,), asked=run.asked),), lambda *_: 1.0)

    monkeypatch.setattr(training_runs, "train_and_measure", fake)
    claims = claims_named("retrieval")
    todo = plan(claims, tmp_path)
    assert len(todo.runs) == len({run.recipe for run in todo.runs}) > 30
    few = reproduce(plan(claims, tmp_path, seeds=1), tmp_path, workers=Workers("serial"))
    assert 0 < len(trained) < len(todo.runs)
    assert few.runs == ()
    assert read_evidence(tmp_path)["BR01"].complete is False
    left = reproduce(plan(claims, tmp_path), tmp_path, workers=Workers("serial"))
    assert (left.runs, left.missing) == ((), ())
    assert sorted(trained) == sorted(run.recipe for run in todo.runs)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    reproduce(plan(claims, tmp_path), tmp_path, workers=Workers("serial"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    evidence = read_evidence(tmp_path)
    assert evidence["BR01"].complete
    assert "| [BR01](#br01) | holds |" in suite_page(SUITES.find("retrieval"), evidence)


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    broken = replace(ONE, name="broken", model={**ONE.model, "n_heads": 3})
    table = RunTable()
    (problem,) = train_missing(planned_runs([broken, ONE], 1), table, tmp_path, Workers("serial"), None, lambda _: None)
    assert problem.startswith("broken, seed 0: ")
    assert {row.cell for row in table} == {ONE.name}


def test_a_claim_whose_rows_cannot_be_made_is_named_and_harms_no_other(tmp_path: Path) -> None:
    asks_for_nothing_measured = claim_on("HA01", "here", "It is.", "it", above("never measured", 0.5), ONE)
    sound = claim_on("HA02", "here", "It is.", "it", above("b1", 0.5), ONE)
    table = table_for(sound, lambda *_: 0.9)
    (problem,) = keep_trained([asks_for_nothing_measured, sound], table, tmp_path)
    assert problem == f"HA01: ClaimError: {ONE.name}, seed 0, has no row of never measured"
    stored = read_evidence(tmp_path)
    assert (stored["HA01"].rows, stored["HA01"].complete) == ((), False)
    assert (len(stored["HA02"].rows), stored["HA02"].complete) == (len(ONE.seeds), True)


# ---- verdicts of rows made by hand ---------------------------------------------------------------
@pytest.mark.parametrize("claim", TRAINED, ids=lambda claim: claim.id)
def test_every_trained_claim_can_be_judged(claim: Claim) -> None:
    """Whatever its reduction asks for is measured of its cells, and every condition has rows."""
    rng = np.random.default_rng(0)
    table = table_for(claim, lambda cell, seed, told: float(rng.uniform(0.3, 0.9)))
    said = verdict(claim, table)
    assert said.verdict in ("holds", "does not hold at this scale", "undecided", "described"), said
    assert verdict(claim, RunTable()).verdict == "not run"


PAIR = claim_on(
    "T1", "here", "It is.", "it", above("difference of b1", 0.0), ONE, OTHER, reduce="difference", quantity="b1"
)


@pytest.mark.parametrize(
    ("gap", "fitted", "says"),
    [
        (0.2, True, ("holds", "")),
        (-0.2, True, ("does not hold at this scale", "")),
        (0.0, True, ("undecided", "threshold")),
        (0.2, False, ("undecided", "fit")),
    ],
)
def test_the_sign_of_a_paired_difference(gap: float, fitted: bool, says: tuple[str, str]) -> None:
    table = table_for(
        PAIR, lambda cell, seed, told: 0.5 + (gap if cell.name == ONE.name else 0), fitted=lambda cell, seed: fitted
    )
    said = verdict(PAIR, table)
    assert (said.verdict, said.cause) == says
    assert (said.seeds, said.fitted) == (3, 3 if fitted else 0)


def test_an_interval_of_a_difference_has_a_width_where_all_were_right() -> None:
    value, low, high = difference_of_shares([(Share(1.0, 512), Share(1.0, 512))] * 3, np.random.default_rng(0))
    assert low < value == 0.0 < high
    assert low > -0.01
    assert difference_of_shares([(Share(0.75, 0), Share(0.25, 0))], np.random.default_rng(0)) == (0.5, 0.5, 0.5)


def test_why_a_claim_is_undecided() -> None:
    claim = claim_on("T2", "here", "It is.", "it", above("b1", 0.9, 0.5), ONE)
    by_seed = {0: 1.0, 1: 1.0, 2: 0.2}
    seeds = verdict(claim, table_for(claim, lambda cell, seed, told: by_seed[seed]))
    assert (seeds.verdict, seeds.cause) == ("undecided", "seeds")
    threshold = verdict(claim, table_for(claim, lambda cell, seed, told: 0.9))
    assert (threshold.verdict, threshold.cause) == ("undecided", "threshold")
    fit = verdict(claim, table_for(claim, lambda cell, seed, told: 1.0, fitted=lambda cell, seed: seed < 2))
    assert (fit.verdict, fit.cause, fit.why) == ("undecided", "fit", "2 of 3 fitted")


def test_the_law_of_a_plateau() -> None:
    """Losses c w^2 / N beyond training level off, fall with N, rise with w, and need N in proportion to w^2."""

    def law(one: TrainedCell, seed: int, told: str) -> float:
        return float(one.parameters["omega"]) ** 2 / one.longest

    def rising(one: TrainedCell, seed: int, told: str) -> float:
        return law(one, seed, told) * (2.0 if told == "loss at 32 N" else 1.0)

    claims = {claim.id: claim for claim in SUITES.find("bounds-trained").claims}
    for name in ("QT01", "QT02", "QT03", "QT04"):
        assert verdict(claims[name], table_for(claims[name], law)).verdict == "holds", name
    assert verdict(claims["QT01"], table_for(claims["QT01"], rising)).verdict == "does not hold at this scale"
    rows, _, _ = reduced(claims["QT04"], table_for(claims["QT04"], law))
    assert [row.value for row in rows] == pytest.approx([2.0, 2.0], abs=1e-9)

    def flat(one: TrainedCell, seed: int, told: str) -> float:
        return 0.1

    assert verdict(claims["QT02"], table_for(claims["QT02"], flat)).verdict == "undecided"


def test_a_separation_is_that_of_the_worst_inside_and_the_best_outside() -> None:
    claim = claim_on(
        "T3", "here", "It is.", "it", above("separation", 0.0), ONE, OTHER, reduce="separation", quantity="b2", inside=1
    )
    apart = table_for(claim, lambda cell, seed, told: 0.9 if cell.name == ONE.name else 0.5)
    (row,) = reduced(claim, apart)[0]
    assert row.value == pytest.approx(0.4)
    assert row.low is not None
    assert row.low > 0.3
    assert verdict(claim, apart).verdict == "holds"
    assert verdict(claim, table_for(claim, lambda cell, seed, told: 0.5)).verdict == "undecided"


def test_runs_that_pass_the_papers_horizon_and_fail_at_8n_are_counted() -> None:
    ((_, claim),) = claims_named("HF36")
    (row,) = reduced(claim, table_for(claim, lambda *_: 0.95, verdict="length-coupled"))[0]
    assert (row.value, row.n) == (1.0, sum(len(one.seeds) for one in claim.cells))
    (row,) = reduced(claim, table_for(claim, lambda *_: 0.95))[0]
    assert row.value == 0.0


def test_at_most_is_as_at_least() -> None:
    claim = claim_on("T4", "here", "It is.", "it", below("b2", 0.1), ONE, exempt=True)
    assert verdict(claim, table_for(claim, lambda *_: 0.0, fitted=lambda *_: False)).verdict == "holds"
    assert verdict(claim, table_for(claim, lambda *_: 0.5)).verdict == "does not hold at this scale"


def test_what_is_computed_again_takes_no_notice_of_the_clock() -> None:
    claim = replace(PAIR, id="T5")
    table = table_for(claim, lambda cell, seed, told: 0.6 if cell.name == ONE.name else 0.5)
    assert reduced(claim, table) == reduced(claim, table)
    assert reproducing.reduced is reduced
    assert ONE.asked == (FIT, BINS)


def test_a_run_of_two_suites_is_trained_once_with_the_first(tmp_path: Path) -> None:
    both = plan([*claims_named("crasp-formal-a"), *claims_named("inference")], tmp_path).runs
    assert len({run.recipe for run in both}) == len(both)
    first = {run.recipe for run in plan(claims_named("crasp-formal-a"), tmp_path).runs}
    assert [run.recipe in first for run in both] == sorted((run.recipe in first for run in both), reverse=True)
    shared = next(run for run in both if run.cell.name == "tomita n 4 ask next ape")
    assert [asked.name for asked in shared.asked] == ["fit", "bins", "behaviour", "circuits.positional"]
    seconds = [run.cell.seconds for run in both if run.recipe in first]
    assert seconds == sorted(seconds, reverse=True)
