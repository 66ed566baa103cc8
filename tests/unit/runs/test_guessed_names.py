"""Names that a user guesses in a notebook: Run.list, model, verdict, table, measurements, to_pandas, load(-1)."""

from __future__ import annotations

import pytest

import lengthlens
from tests.support.places import GALLERY
from workbench.models.base.lens_interface import LensUseError
from workbench.models.handmade.transformers import majority
from workbench.runs import Run, RunError, find_runs

NAME = "flip_flop_rotary_s0"


@pytest.fixture(scope="module")
def run() -> Run:
    return lengthlens.Run.open(GALLERY / NAME)


def test_runs_of_a_folder_are_listed() -> None:
    assert [run.name for run in Run.list(GALLERY)] == [run.name for run in find_runs(GALLERY)]
    with pytest.raises(RunError, match="no folder"):
        Run.list(GALLERY / "missing")


def test_a_notebook_shows_runs_with_their_verdicts() -> None:
    shown = Run.list(GALLERY)._repr_html_()
    assert "12 runs" in shown
    for run in find_runs(GALLERY):
        assert f">{run.name}<" in shown
    assert ">length-coupled at step 1,200<" in shown
    assert ">4096<" in shown


def test_a_verdict_of_an_earlier_step(run: Run) -> None:
    rows = run.table().frame(quantity="verdict").set_index("step")
    for step in (70, 400):
        assert (run.verdict(step).step, run.verdict(step).label) == (step, rows.loc[step, "label"])
    assert run.verdict(-1) == run.verdict()
    with pytest.raises(RunError, match="no checkpoint at step 5"):
        run.verdict(5)


def test_a_measured_result_states_what_it_is(run: Run) -> None:
    batches = [run.task.batch(16, length) for length in (16, 32, 64)]
    shown = lengthlens.hardmax_statistics(run.load(), batches, trained=32)._repr_html_()
    for text in ("circuits.hardmax", NAME, "1,200", "16, 32, 64", "hardmax_distance", ".figure()"):
        assert text in shown


def test_a_verdict_is_that_of_the_table(run: Run) -> None:
    verdict = run.verdict()
    row = run.table().frame(quantity="verdict").sort_values("step").iloc[-1]
    assert (verdict.label, verdict.step, verdict.length, verdict.note) == (
        row["label"],
        row["step"],
        row["length"],
        row["note"],
    )
    assert str(verdict).startswith(f"{NAME}: length-coupled at step 1,200: ")
    for shown in ("length-coupled", "1,200", "lengthlens info"):
        assert shown in verdict._repr_html_()
    assert verdict.to_pandas()["label"].tolist() == ["length-coupled"]


def test_tables_become_pandas(run: Run) -> None:
    table = run.table()
    assert len(table.to_pandas()) == len(table)
    assert "behaviour" in table._repr_html_()
    found = run.measurements()
    assert found["rows"].sum() == len(table)
    assert set(found["measurement"]) == set(table.to_pandas()["measurement"])
    assert ".verdict()" in run._repr_html_()


def test_a_step_counts_from_the_end(run: Run) -> None:
    assert run.model().loaded_from == run.load("last").loaded_from == run.load(-1).loaded_from
    assert run.load(-2).loaded_from.step == run.steps[-2]  # type: ignore[union-attr]
    with pytest.raises(RunError, match=r"-99 from the end"):
        run.load(-99)


def test_only_a_model_of_tokens_generates() -> None:
    model = Run.open(GALLERY / "majority_nope_s0").model()
    with pytest.raises(LensUseError, match="argmax"):
        model.generate([1, 2, 1], 2)
    assert majority().cfg.d_vocab_out != majority().cfg.d_vocab


@pytest.mark.parametrize("name", ["flip_flop_rotary_s0", "majority_learned"])
def test_a_model_shows_where_it_is_from_and_its_sizes(name: str) -> None:
    run = Run.open(GALLERY / name)
    model = run.load()
    page = model._repr_html_()
    parameters = sum(values.numel() for values in model.parameters())
    for fact in (name, f"{run.steps[-1]:,}", f"{parameters:,}", "run_with_cache"):
        assert fact in page
