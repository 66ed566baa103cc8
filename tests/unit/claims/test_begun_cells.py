"""Cells whose runs begin from those of another cell: trained once, kept while they are needed, found by rows alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.support.claims.somewhere import HERE
from workbench.claims.claim import Suite
from workbench.claims.claim_on_cells import above, claim_on
from workbench.claims.reproducing import plan, reproduce
from workbench.claims.trained import training_runs
from workbench.claims.trained.run_rows import RunRow, RunTable, read_runs
from workbench.claims.trained.training_runs import (
    STARTS,
    TrainingJob,
    Workers,
    is_whole,
    missing_runs,
    planned_runs,
    remove_starts,
    train_and_measure,
    train_missing,
)
from workbench.claims.trained_cells import FIT, PlannedRun, Request, TrainedCell, cell
from workbench.jobs.deadline import TimeIsUp
from workbench.runs import Run

TINY = {"width": 16, "heads": 2, "batch": 4, "requests": (FIT,), "model": {"n_ctx": 40}}
PARENT = cell("copied_text", "ape", 12, 2, low=4, symbols=8, seeds=(0, 1), **TINY)
CHILD = cell("ur", "ape", 8, 1, label="begun", low=4, seeds=(0,), start=PARENT, **TINY)
OTHER = cell("nf", "ape", 9, 1, label="begun", low=3, seeds=(0,), start=PARENT, **TINY)
SERIAL = Workers("serial")


def claim_about(name: str, *cells: TrainedCell):
    claim = claim_on(name, HERE, "It is.", "it", above("skill inside", 0.5), *cells)
    return (Suite("s", "S", (claim,)), claim)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The recipes of the runs that were trained, in order."""
    names: list[str] = []
    real: Callable[[TrainingJob], list[RunRow]] = training_runs.train_and_measure

    def noted(work: TrainingJob) -> list[RunRow]:
        rows = real(work)
        names.append(work.planned.recipe)
        return rows

    monkeypatch.setattr(training_runs, "train_and_measure", noted)
    return names


def test_what_a_run_begins_from_is_part_of_its_recipe() -> None:
    assert CHILD.recipe(0) not in (CHILD.recipe(1), replace(CHILD, start=None).recipe(0))
    longer = replace(PARENT, training={**PARENT.training, "steps": 3})
    assert replace(CHILD, start=longer).recipe(0) != CHILD.recipe(0)
    assert CHILD.scale.endswith(f"begun from the runs of {PARENT.name}")


def test_what_runs_begin_from_is_planned_with_them_and_counted() -> None:
    planned = planned_runs([CHILD, OTHER])
    assert [run.recipe for run in planned] == [CHILD.recipe(0), PARENT.recipe(0), OTHER.recipe(0)]
    assert {run.recipe: run.requests for run in missing_runs(planned, RunTable())}[PARENT.recipe(0)] == ()
    assert planned_runs([CHILD, PARENT])[1].requests == (FIT,)


def test_a_start_is_trained_once_and_goes_when_no_run_needs_it(tmp_path: Path, trained: list[str]) -> None:
    claims = [claim_about("one", PARENT.on(0), CHILD), claim_about("two", OTHER)]
    todo = plan(claims, tmp_path)
    assert len(todo.runs) == 3
    assert todo.minutes * 60 == pytest.approx(sum(one.seconds for one in (PARENT, CHILD, OTHER)))
    left = reproduce(todo, tmp_path, workers=SERIAL)
    assert (left.runs, left.problems) == ((), ())
    assert trained[0] == PARENT.recipe(0)
    assert sorted(trained) == sorted(one.recipe(0) for one in (PARENT, CHILD, OTHER))
    assert not (tmp_path / STARTS).exists()
    # Nothing is trained again: rows are found by what cells state.
    assert plan(claims, tmp_path).runs == ()


def test_a_start_stays_for_runs_that_still_lack_it(tmp_path: Path, trained: list[str]) -> None:
    table = read_runs(tmp_path)
    everything = planned_runs([CHILD, OTHER])
    only = [run for run in missing_runs(everything, table, tmp_path) if run.cell.name != OTHER.name]
    assert train_missing(only, table, tmp_path, SERIAL, None, lambda _: None) == []
    assert is_whole(tmp_path / STARTS / PARENT.recipe(0))
    (rest,) = missing_runs(everything, read_runs(tmp_path), tmp_path)
    assert rest.recipe == OTHER.recipe(0)
    # From the rows alone, elsewhere, it has to be trained for the run that is missing, and nothing else is.
    assert {run.recipe for run in missing_runs(everything, read_runs(tmp_path))} == {OTHER.recipe(0), PARENT.recipe(0)}
    assert train_missing([rest], table, tmp_path, SERIAL, None, lambda _: None) == []
    assert trained.count(PARENT.recipe(0)) == 1


def test_a_start_stays_where_only_a_claim_that_was_not_asked_for_needs_it(
    tmp_path: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = claim_about("one", PARENT.on(0)), claim_about("two", CHILD)
    monkeypatch.setattr("workbench.claims.reproducing.every_claim", lambda: [("s", one[1]), ("s", two[1])])
    reproduce(plan([one], tmp_path), tmp_path, workers=SERIAL)
    assert is_whole(tmp_path / STARTS / PARENT.recipe(0))
    reproduce(plan([two], tmp_path), tmp_path, workers=replace(SERIAL, runs=tmp_path / "kept"))
    assert trained == [PARENT.recipe(0), CHILD.recipe(0)]
    assert not (tmp_path / STARTS).exists()
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {PARENT.recipe(0), CHILD.recipe(0)}


def test_weights_are_those_of_the_run_of_the_same_seed(tmp_path: Path) -> None:
    """At a rate of nothing, a run ends with what it began from, its tokens found by name."""
    still = replace(CHILD, training={**CHILD.training, "learning_rate": 1e-30})
    table = RunTable()
    todo = missing_runs(planned_runs([still, PARENT]), table)
    train_missing(todo, table, tmp_path, replace(SERIAL, runs=tmp_path / "kept"), None, lambda _: None)
    parent = Run.open(tmp_path / STARTS / PARENT.recipe(0))
    child = Run.open(tmp_path / "kept" / still.recipe(0))
    assert child.config["training"]["start"]["run"] == parent.id
    assert child.config["seeds"]["init"] == parent.config["seeds"]["init"] == 0
    one, other = (run.load(run.steps[-1]).state_dict() for run in (parent, child))
    names = [child.task.tokens_names, parent.task.tokens_names]
    places = [names[1].index(name) for name in names[0]]
    torch.testing.assert_close(other["embed.W_E"], one["embed.W_E"][places])
    torch.testing.assert_close(other["pos_embed.W_pos"], one["pos_embed.W_pos"])
    rows = {row.recipe: row for row in table if row.quantity == "fitted"}
    assert rows[still.recipe(0)].run == child.id


def test_nothing_begins_from_a_run_that_failed(tmp_path: Path) -> None:
    broken = replace(PARENT, name="broken", model={**PARENT.model, "n_heads": 3})
    table = RunTable()
    todo = missing_runs(planned_runs([replace(CHILD, start=broken), OTHER]), table)
    (problem,) = train_missing(todo, table, tmp_path, SERIAL, None, lambda _: None)
    assert problem.startswith("broken, seed 0: ")
    assert {row.cell for row in table} == {OTHER.name}


LEARNED = cell("majority", "ape", 16, 10)


@pytest.mark.parametrize(("until", "begins"), [(None, True), (106.5, True), (105.0, False), (100.5, False)])
def test_a_run_begins_that_will_end_in_time(monkeypatch: pytest.MonkeyPatch, until: float | None, begins: bool) -> None:
    class Begun(Exception):
        """Training has begun."""

    def begin(work: TrainingJob) -> None:
        raise Begun

    monkeypatch.setattr(training_runs, "time", SimpleNamespace(time=lambda: 100.0, monotonic=lambda: 0.0))
    monkeypatch.setattr(training_runs, "PACE", SimpleNamespace(estimate=lambda seconds: 5.0))
    monkeypatch.setattr(training_runs, "_starting_weights", begin)
    with pytest.raises(Begun if begins else TimeIsUp):
        train_and_measure(TrainingJob(PlannedRun("r", LEARNED, 0, (Request("fit"),)), until=until))


@pytest.mark.parametrize(
    ("needed", "kept", "there", "beside"),
    [
        ((), False, ["b"], []),
        ((), True, ["a", "b"], []),
        (("a",), True, ["b"], ["a"]),
        (("a", "b"), False, ["b"], ["a", "b"]),
        (("b",), False, ["b"], ["b"]),
    ],
)
def test_runs_that_none_begins_from_go_to_where_runs_are_kept(
    tmp_path: Path, needed: Sequence[str], kept: bool, there: list[str], beside: list[str]
) -> None:
    runs = tmp_path / "kept" / "runs"
    (runs / "b").mkdir(parents=True)
    (runs / "b" / "run.json").write_text("its own")
    for name in ("a", "b"):
        (tmp_path / STARTS / name).mkdir(parents=True)
        (tmp_path / STARTS / name / "run.json").write_text("a start")
    remove_starts(tmp_path, needed, runs if kept else None)
    assert sorted(path.name for path in runs.iterdir()) == there
    assert (runs / "b" / "run.json").read_text() == "its own"
    home = tmp_path / STARTS
    assert home.exists() is bool(beside)
    assert sorted(path.name for path in home.iterdir() if beside) == beside if beside else True
    remove_starts(tmp_path / "nowhere", (), None)


def test_where_runs_are_kept_is_made_with_the_first_of_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / STARTS / name).mkdir(parents=True)
    runs = tmp_path / "new" / "runs"
    remove_starts(tmp_path, (), runs)
    assert sorted(path.name for path in runs.iterdir()) == ["a", "b"]
