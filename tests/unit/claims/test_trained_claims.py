"""Trained claims: what is measured of a run, on runs whose answers are known, and verdicts of rows made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.claims.committed import FOLDER
from tests.support.claims.made_by_hand import answering, made, table_for
from tests.support.claims.somewhere import HERE
from workbench.claims import reproducing
from workbench.claims.claim import Claim, Suite
from workbench.claims.claim_on_cells import REDUCTIONS, above, below, claim_on
from workbench.claims.claim_pages import suite_page
from workbench.claims.claims_table import read_evidence
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import plan, reduce_runs, reproduce, store_trained_rows
from workbench.claims.resampling import Share, contrast_of_shares
from workbench.claims.suites.registry import SUITES, claims_named
from workbench.claims.trained import run_statistics, training_runs
from workbench.claims.trained.bin_accuracy import bin_rows, bins_of, fit_rows, length_rows
from workbench.claims.trained.extreme_gates import gate_rows
from workbench.claims.trained.long_losses import loss_rows
from workbench.claims.trained.run_rows import FILE, RunRow, RunTable, read_runs, take_in
from workbench.claims.trained.run_statistics import statistic, statistics, valid_versions
from workbench.claims.trained.training_runs import Workers, missing_runs, planned_runs, train_missing
from workbench.claims.trained_cells import (
    BINS,
    CHALLENGE,
    FIT,
    LOSSES,
    STATISTIC_SECONDS,
    STILL_VALID,
    VERDICT,
    PlannedRun,
    Request,
    TrainedCell,
    cell,
)
from workbench.claims.verdict_rule import Judgement, judge
from workbench.measure.intervals import clopper_pearson
from workbench.measure.registry import make_measurement

TRAINED = [claim for suite in SUITES.values() for claim in suite.claims if claim.cells]
ONE, OTHER = (cell("majority", p, 16, 2, width=16, heads=2, reach=3) for p in ("nope", "rope"))


def verdict(claim: Claim, table: RunTable) -> Judgement:
    rows, _, complete = reduce_runs(claim, table)
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
        answering("boolean", 16, lambda batch: batch.mask, n=2).with_parameters({"n": 3})


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
    with pytest.raises(ClaimError, match="table"):
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
    with pytest.raises(ClaimError, match="file"):
        take_in(tmp_path / "nowhere", here)


def test_a_recipe_is_what_a_cell_states() -> None:
    assert ONE.recipe(0) == ONE.also(Request("losses")).recipe(0)
    assert len({ONE.recipe(0), ONE.recipe(1), OTHER.recipe(0)}) == 3
    # A task that is given a further parameter later does not move the rows that there are.
    assert ONE.recipe(0) == "0657ca0dbc8b7ccd"


def test_every_committed_row_is_of_a_run_that_some_cell_states() -> None:
    stated = {one.recipe(seed) for claim in TRAINED for one in claim.cells for seed in one.seeds}
    assert {row.recipe for row in read_runs(FOLDER)} <= stated


def test_a_suite_takes_the_time_of_each_run_once() -> None:
    """Two claims on one cell, of which the second asks it more, and an exact one of two minutes."""
    more = ONE.also(Request("copies"))
    one, two = (
        claim_on(name, HERE, "It is.", "it", above("b1", 0.9), cells) for name, cells in (("T", ONE), ("U", more))
    )
    exact = Claim("V", "E", (HERE,), "It is.", "it", (above("b1", 0.9),), "", "a:b", 2.0)
    suite = Suite("s", "S", (one, two, exact))
    assert suite.minutes == pytest.approx(2.0 + 3 * more.seconds / 60)
    assert more.seconds - ONE.seconds == pytest.approx(STATISTIC_SECONDS["copies"])
    long = replace(ONE, requests=(Request("losses"),))
    assert long.seconds - replace(ONE, requests=()).seconds == pytest.approx(LOSSES * 2 * 16)


def test_cells_of_one_name_are_one_cell() -> None:
    by_name: dict[str, TrainedCell] = {}
    for claim in TRAINED:
        for one in claim.cells:
            before = by_name.setdefault(one.name, one)
            assert before.recipe(0) == one.recipe(0), one.name


def test_the_version_of_rows_is_read_from_the_statistic_or_the_measurement() -> None:
    assert valid_versions(Request("gates")) == (statistics()["gates"].version,) == (2,)
    hardmax = make_measurement("circuits.hardmax")
    assert valid_versions(Request("circuits.hardmax")) == (hardmax.version,)
    for name, earlier in STILL_VALID.items():
        newest, *_ = valid_versions(Request(name))
        assert max(earlier) < newest


def test_every_request_of_a_cell_names_a_statistic_or_a_measurement() -> None:
    names = {request.name for claim in TRAINED for one in claim.cells for request in one.requests}
    assert len(names) > 15
    assert all(valid_versions(Request(name)) for name in names)


def test_two_functions_cannot_register_the_same_statistic() -> None:
    with pytest.raises(ClaimError, match="'gates'"):
        statistic("gates", version=3)(lambda run: iter(()))


def test_rows_of_an_earlier_version_that_is_still_valid_are_not_made_again() -> None:
    assert valid_versions(VERDICT) == (6, 4)
    assert valid_versions(FIT) == (1,)
    assert valid_versions(BINS) == valid_versions(CHALLENGE) == (2, 1)


# ---- training what is missing --------------------------------------------------------------------
def test_runs_are_trained_once_and_their_rows_stay(tmp_path: Path) -> None:
    planned = planned_runs([ONE], most_seeds=1)
    table = read_runs(tmp_path)
    told: list[str] = []
    begun = train_missing(missing_runs(planned, table), table, tmp_path, Workers("serial"), None, told.append)
    assert (begun, told) == ([], [f"{ONE.name}, seed 0 (1 of 1 runs)"])
    stored = read_runs(tmp_path)
    assert missing_runs(planned, stored) == []
    (more,) = missing_runs(planned_runs([ONE.also(Request("losses"))], 1), stored)
    assert [asked.name for asked in more.requests] == ["losses"]
    fitted = next(row for row in stored if row.quantity == "fitted")
    assert (fitted.run, fitted.step, fitted.label) == (ONE.config(0).as_json()["id"], 2, "fail")


def test_nothing_begins_once_the_time_is_up(tmp_path: Path) -> None:
    table = RunTable()
    assert train_missing(planned_runs([ONE]), table, tmp_path, Workers("serial"), 1.0, print) == []
    assert not list(table)


def test_a_suite_goes_on_from_the_rows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[str] = []

    def fake(work: training_runs.TrainingJob) -> list[RunRow]:
        run = work.planned
        trained.append(run.recipe)
        return made((replace(run.cell, seeds=(run.seed,), requests=run.requests),), lambda *_: 1.0)

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
    assert "| [BR01](#br01) | holds (3 seeds) |" in suite_page(SUITES.find("retrieval"), evidence)


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    broken = replace(ONE, name="broken", model={**ONE.model, "n_heads": 3})
    table = RunTable()
    (problem,) = train_missing(planned_runs([broken, ONE], 1), table, tmp_path, Workers("serial"), None, lambda _: None)
    assert problem.startswith("broken, seed 0: ")
    assert {row.cell for row in table} == {ONE.name}


def test_a_claim_whose_rows_cannot_be_made_is_named_and_harms_no_other(tmp_path: Path) -> None:
    asks_for_nothing_measured = claim_on("HA01", HERE, "It is.", "it", above("never measured", 0.5), ONE)
    sound = claim_on("HA02", HERE, "It is.", "it", above("b1", 0.5), ONE)
    table = table_for(sound, lambda *_: 0.9)
    (problem,) = store_trained_rows([asks_for_nothing_measured, sound], table, tmp_path)
    assert problem == f"HA01: {ONE.name}, seed 0, has no row of never measured"
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
    assert said.verdict in ("holds", "does not hold at this scale", "undecided", "depends on the seed", "described"), (
        said
    )
    assert verdict(claim, RunTable()).verdict == "not run"


PAIR = claim_on(
    "T1", HERE, "It is.", "it", above("difference of b1", 0.0), ONE, OTHER, reduce="difference", quantity="b1"
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
    found = contrast_of_shares([(Share(1.0, 512), Share(1.0, 512))] * 3, (1, -1), np.random.default_rng(0))
    assert found.low < found.value == 0.0 < found.high
    assert found.low > -0.02
    counted = contrast_of_shares([(Share(0.75, 0), Share(0.25, 0))], (1, -1), np.random.default_rng(0))
    assert (counted.value, counted.low, counted.high, counted.freedom) == (0.5, -math.inf, math.inf, 0)


def test_why_a_claim_is_undecided() -> None:
    claim = claim_on("T2", HERE, "It is.", "it", above("b1", 0.9, 0.5), ONE)
    by_seed = {0: 1.0, 1: 1.0, 2: 0.2}
    seeds = verdict(claim, table_for(claim, lambda cell, seed, told: by_seed[seed]))
    assert (seeds.verdict, seeds.cause) == ("depends on the seed", "")
    threshold = verdict(claim, table_for(claim, lambda cell, seed, told: 0.9))
    assert (threshold.verdict, threshold.cause) == ("undecided", "threshold")
    fit = verdict(claim, table_for(claim, lambda cell, seed, told: 1.0, fitted=lambda cell, seed: seed < 2))
    assert (fit.verdict, fit.cause, fit.why) == ("undecided", "fit", "2 of 3 fitted; 3 are needed")


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
    rows, _, _ = reduce_runs(claims["QT04"], table_for(claims["QT04"], law))
    assert [row.value for row in rows] == pytest.approx([2.0, 2.0], abs=1e-9)

    def flat(one: TrainedCell, seed: int, told: str) -> float:
        return 0.1

    assert verdict(claims["QT02"], table_for(claims["QT02"], flat)).verdict == "undecided"


def test_a_separation_is_that_of_the_worst_inside_and_the_best_outside() -> None:
    claim = claim_on(
        "T3", HERE, "It is.", "it", above("separation", 0.0), ONE, OTHER, reduce="separation", quantity="b2", inside=1
    )
    apart = table_for(claim, lambda cell, seed, told: 0.9 if cell.name == ONE.name else 0.5)
    (row,) = reduce_runs(claim, apart)[0]
    assert row.value == pytest.approx(0.4)
    assert row.low is not None
    assert row.low > 0.3
    assert verdict(claim, apart).verdict == "holds"
    assert verdict(claim, table_for(claim, lambda cell, seed, told: 0.5)).verdict == "undecided"


def test_runs_that_pass_the_papers_horizon_and_fail_at_8n_are_counted() -> None:
    ((_, claim),) = claims_named("HF36")
    (row,) = reduce_runs(claim, table_for(claim, lambda *_: 0.95, verdict="length-coupled"))[0]
    assert (row.value, row.n) == (1.0, sum(len(one.seeds) for one in claim.cells))
    (row,) = reduce_runs(claim, table_for(claim, lambda *_: 0.95))[0]
    assert row.value == 0.0


def test_at_most_is_as_at_least() -> None:
    claim = claim_on("T4", HERE, "It is.", "it", below("b2", 0.1), ONE, exempt=True)
    assert verdict(claim, table_for(claim, lambda *_: 0.0, fitted=lambda *_: False)).verdict == "holds"
    assert verdict(claim, table_for(claim, lambda *_: 0.5)).verdict == "does not hold at this scale"


def test_what_is_computed_again_takes_no_notice_of_the_clock() -> None:
    claim = replace(PAIR, id="T5")
    table = table_for(claim, lambda cell, seed, told: 0.6 if cell.name == ONE.name else 0.5)
    assert reduce_runs(claim, table) == reduce_runs(claim, table)
    assert reproducing.reduce_runs is reduce_runs
    assert ONE.requests == (FIT, BINS)


def test_a_run_of_two_suites_is_trained_once_with_the_first(tmp_path: Path) -> None:
    both = plan([*claims_named("crasp-formal-a"), *claims_named("inference")], tmp_path).runs
    assert len({run.recipe for run in both}) == len(both)
    first = {run.recipe for run in plan(claims_named("crasp-formal-a"), tmp_path).runs}
    assert [run.recipe in first for run in both] == sorted((run.recipe in first for run in both), reverse=True)
    shared = next(run for run in both if run.cell.name == "tomita n 4 ask next ape")
    assert [asked.name for asked in shared.requests] == ["fit", "bins", "behaviour", "circuits.positional"]
    seconds = [run.cell.seconds for run in both if run.recipe in first]
    assert seconds == sorted(seconds, reverse=True)


ONE_CELL = cell("majority", "ape", 16, 10, requests=(FIT,))


LONG = cell("majority", "nope", 16, 1000, requests=(FIT, BINS), seeds=(0, 5))


ROW = RunRow("r", "run", 9, "c", 0, "fit", 1, "skill", value=0.5)


@pytest.mark.parametrize(("most", "seeds"), [(None, [0, 1, 2]), (2, [0, 1]), (1, [0]), (9, [0, 1, 2])])
def test_so_many_seeds_of_a_cell_are_planned(most: int | None, seeds: list[int]) -> None:
    planned = planned_runs([ONE_CELL, ONE_CELL.also(BINS)], most)
    assert [(run.seed, run.requests) for run in planned] == [(seed, (FIT, BINS)) for seed in seeds]


def test_of_runs_what_was_not_measured_is_missing_and_the_longest_begins() -> None:
    planned = planned_runs([ONE_CELL.on(0), LONG])
    done = [replace(ROW, recipe=LONG.recipe(0), asked=FIT.key), replace(ROW, recipe=LONG.recipe(5), asked=FIT.key)]
    table = RunTable([*done, replace(done[1], asked=BINS.key)])
    assert [(run.cell.name, run.seed, run.requests) for run in missing_runs(planned, table)] == [
        (LONG.name, 0, (BINS,)),
        (ONE_CELL.name, 0, (FIT,)),
    ]


@pytest.mark.parametrize("several", [0, 1, 2])
def test_what_gives_no_number_is_known_as_asked(monkeypatch: pytest.MonkeyPatch, several: int) -> None:
    given = [{"quantity": f"q{i}", "value": float(i)} for i in range(several)]
    known = run_statistics.statistics()
    monkeypatch.setattr(known, "find", lambda name: run_statistics.Statistic(1, lambda run: iter(given)))
    run: Any = SimpleNamespace(run=SimpleNamespace(id="name", steps=[0, 3, 9]))
    rows = run_statistics.measure(run, FIT, PlannedRun("recipe", ONE_CELL, 2, (FIT,)))
    assert [row.quantity for row in rows] == ([f"q{i}" for i in range(several)] or ["nothing"])
    assert {(r.recipe, r.run, r.step, r.cell, r.seed, r.asked, r.version) for r in rows} == {
        ("recipe", "name", 9, ONE_CELL.name, 2, "fit", 1)
    }


def test_what_a_claim_takes_over_from_its_cells() -> None:
    def made(**more: Any) -> Claim:
        return claim_on("T", HERE, "so", "it", above("b1", 0.5), ONE_CELL, LONG, LONG, **more)

    one = made()
    assert one.seeds == 2
    assert [made(seeds=seeds).seeds for seeds in (0, 1, 5)] == [0, 1, 5]
    assert one.minutes == round((3 * ONE_CELL.seconds + 4 * LONG.seconds) / 60, 1) > 0.0
    assert made(shared=True).minutes == 0.0
    assert (one.scale, made(scale="as said").scale) == (f"{ONE_CELL.scale}; {LONG.scale}", "as said")
    assert (one.rows, made(reduce="difference").rows) == (f"{REDUCTIONS}:values", f"{REDUCTIONS}:difference")
    assert made(reduce="elsewhere:rows").rows == "elsewhere:rows"
    assert (one.kind, one.exempt, one.settings_tried, one.trained) == ("T", False, 1, True)
    assert len(claim_on("T", HERE, "so", "it", [above("b1", 0.5)] * 2, ONE_CELL).conditions) == 2
    # Each run of a suite is counted once, with the most that any claim asks of it.
    exact = replace(one, kind="E", cells=(), minutes=2.0)
    whole = Suite("s", "S", (made(), claim_on("U", HERE, "so", "it", above("b1", 0.5), LONG.also(FIT)), exact))
    assert whole.minutes == pytest.approx(2.0 + (3 * ONE_CELL.seconds + 2 * LONG.seconds) / 60)


def test_no_stored_row_of_positional_is_of_equal_scores() -> None:
    """Version 4 calls the ratios of equal scores undefined, which version 3 wrote as 0; all other rows are the same."""
    rows = [row for row in read_runs(FOLDER) if row.quantity == "translation_variance" and row.version == 3]
    assert len(rows) > 100
    assert [row for row in rows if row.value == 0] == []
