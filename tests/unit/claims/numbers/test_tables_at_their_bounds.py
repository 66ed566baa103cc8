"""Small rules of the tables of claims and of runs on both sides of their bounds, with rows and runs by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.claims.claim import Claim, Row, Suite
from workbench.claims.claim_on_cells import REDUCTIONS, above, claim_on
from workbench.claims.errors import ClaimError
from workbench.claims.judging import _counted
from workbench.claims.suites.registry import SUITES, claims_named
from workbench.claims.trained import measured, standard_rows
from workbench.claims.trained.ambiguous_transitions import _ratio
from workbench.claims.trained.in_text.text_losses import fit_by_bigrams
from workbench.claims.trained.position_products import FUNCTIONS, OFFSET, THRESHOLD, _distances, errors_of
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained.training_runs import missing_runs, planned_runs
from workbench.claims.trained_cells import BINS, FIT, PlannedRun, cell

ONE = cell("majority", "ape", 16, 10, asked=(FIT,))
LONG = cell("majority", "nope", 16, 1000, asked=(FIT, BINS), seeds=(0, 5))
ROW = RunRow("r", "run", 9, "c", 0, "fit", 1, "skill", value=0.5)


# ---- rows of runs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(None, None, (0.5, 0.5)), (0.4, None, (0.4, 0.5)), (None, 0.6, (0.5, 0.6)), (0.0, 0.0, (0.0, 0.0))],
)
def test_the_ends_of_a_number_are_its_own_where_it_has_none(
    low: float | None, high: float | None, ends: tuple[float, float]
) -> None:
    assert replace(ROW, low=low, high=high).ends == ends
    assert replace(ROW, value=0.0).ends == (0.0, 0.0)
    with pytest.raises(ClaimError, match="skill of c, seed 0, has no value"):
        assert replace(ROW, value=None, low=low, high=high).ends


def test_a_table_knows_rows_by_recipe_and_by_what_was_asked_in_which_version() -> None:
    table = RunTable([ROW, replace(ROW, quantity="fitted"), replace(ROW, recipe="s", version=2)])
    assert len(table) == len(list(table)) == 3
    for key, there in ((("r", "fit", 1), True), (("r", "fit", 2), False), (("r", "bins", 1), False),
                       (("s", "fit", 2), True), (("t", "fit", 1), False)):  # fmt: skip
        assert table.has(*key) is there
    assert [row.quantity for row in table.of("r")] == ["skill", "fitted"]
    table.add([replace(ROW, quantity="new"), replace(ROW, asked="bins", quantity="b0")])
    assert [row.quantity for row in table.of("r")] == ["new", "b0"]
    assert len(table) == 3
    assert [replace(ROW, setting=setting).told for setting in ("", "k 2")] == ["skill", "skill, k 2"]


@pytest.mark.parametrize(("most", "seeds"), [(None, [0, 1, 2]), (2, [0, 1]), (1, [0]), (9, [0, 1, 2])])
def test_so_many_seeds_of_a_cell_are_planned(most: int | None, seeds: list[int]) -> None:
    planned = planned_runs([ONE, ONE.also(BINS)], most)
    assert [(run.seed, run.asked) for run in planned] == [(seed, (FIT, BINS)) for seed in seeds]


def test_of_runs_what_was_not_measured_is_missing_and_the_longest_begins() -> None:
    planned = planned_runs([ONE.on(0), LONG])
    done = [replace(ROW, recipe=LONG.recipe(0), asked=FIT.key), replace(ROW, recipe=LONG.recipe(5), asked=FIT.key)]
    table = RunTable([*done, replace(done[1], asked=BINS.key)])
    assert [(run.cell.name, run.seed, run.asked) for run in missing_runs(planned, table)] == [
        (LONG.name, 0, (BINS,)),
        (ONE.name, 0, (FIT,)),
    ]


@pytest.mark.parametrize("several", [0, 1, 2])
def test_what_gives_no_number_is_known_as_asked(monkeypatch: pytest.MonkeyPatch, several: int) -> None:
    given = [{"quantity": f"q{i}", "value": float(i)} for i in range(several)]
    monkeypatch.setitem(measured.MEASURED, "fit", lambda run: iter(given))
    run: Any = SimpleNamespace(run=SimpleNamespace(id="name", steps=[0, 3, 9]))
    rows = measured.measure(run, FIT, PlannedRun("recipe", ONE, 2, (FIT,)))
    assert [row.quantity for row in rows] == ([f"q{i}" for i in range(several)] or ["nothing"])
    assert {(r.recipe, r.run, r.step, r.cell, r.seed, r.asked, r.version) for r in rows} == {
        ("recipe", "name", 9, ONE.name, 2, "fit", 1)
    }


STORED = [
    {"measurement": name, "quantity": quantity, "control": control, "length": length, "value": 0.5, "low": None,
     "high": None, "n": 9, "layer": None, "head": None, "law": "matched", "mode": "", "target": "", "label": "",
     "status": "ok"}
    for name in ("behaviour", "other") for quantity in ("skill", "verdict") for control in ("", "shuffled")
    for length in (16, 32, None)
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ["skill", "skill", "skill", "verdict", "verdict", "verdict"]),
        ({"only": ["skill"]}, ["skill", "skill", "skill"]),
        ({"lengths": [2]}, ["skill", "skill at 2 N", "skill", "verdict", "verdict", "verdict"]),
        ({"lengths": [2], "inside": False}, ["skill at 2 N", "skill", "verdict", "verdict"]),
        ({"lengths": [1.75], "inside": False, "only": ["verdict"]}, ["verdict"]),
        ({"inside": False}, ["skill", "verdict"]),
    ],
)
def test_which_rows_of_a_measurement_are_kept(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], kept: list[str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(standard_rows, "plan", lambda paths, **how: asked.append(how))
    monkeypatch.setattr(standard_rows, "execute", lambda todo, how: [])
    stored = SimpleNamespace(rows=SimpleNamespace(to_pylist=lambda: STORED))
    monkeypatch.setattr(standard_rows, "read_run", lambda path: stored)
    run: Any = SimpleNamespace(
        run=SimpleNamespace(path="here"), task=SimpleNamespace(next_length=lambda n: n), longest=16
    )
    rows = list(standard_rows.standard_rows("behaviour", run, **options))
    assert [row["quantity"] for row in rows] == kept
    lengths = options.get("lengths")
    assert asked[0]["lengths"] == (None if lengths is None else [int(16 * factor) for factor in lengths])
    assert asked[0]["settings"] is None
    monkeypatch.setattr(standard_rows, "execute", lambda todo, how: ["it is broken", "and more"])
    with pytest.raises(ClaimError, match=r"^it is broken$"):
        list(standard_rows.standard_rows("behaviour", run, settings={"a": 1}))
    assert asked[1]["settings"] == {"behaviour": {"a": 1}}


# ---- figures of runs -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("better", "worse", "fitted"), [(6, 0, True), (5, 0, False), (0, 0, False), (0, 6, False), (20, 8, True), (20, 12, False)]
)  # fmt: skip
def test_a_model_of_text_beats_bigrams_by_more_than_chance(better: int, worse: int, fitted: bool) -> None:
    """Beside those on which they differ, two texts on which both are right and one on which none is."""
    model = torch.tensor([True] * better + [False] * worse + [True, True, False])
    bigram = torch.tensor([0.0] * better + [1.0] * worse + [1.0, 1.0, 0.0])
    run: Any = SimpleNamespace(
        right=lambda batch: (model, None), task=SimpleNamespace(shortcuts=lambda batch, k: {"bigram": bigram})
    )
    one, other, said = fit_by_bigrams(run, SimpleNamespace(length=8))  # type: ignore[arg-type]
    n = better + worse + 3
    assert (one["value"], other["value"]) == pytest.approx(((better + 2) / n, (worse + 2) / n))
    assert {(row["length"], row["n"]) for row in (one, other)} == {(8, n)}
    assert (said["quantity"], said["value"], said["label"]) == ("fitted", float(fitted), "pass" if fitted else "fail")


def test_a_ratio_of_errors_has_half_an_error_and_one_transition_more_on_either_side() -> None:
    counts = np.array([[[1, 3], [0, 1]], [[0, 0], [0, 0]], [[2, 4], [1, 9]]], dtype=float)
    assert _ratio(counts).tolist() == pytest.approx([1.5, 1.0, 0.5 / 0.15])


def test_squared_errors_by_distance_of_a_product_that_says_nothing() -> None:
    of_lag = [90 - lag for lag in range(30)]
    nothing = torch.zeros(90, 90)
    assert errors_of(nothing, OFFSET, 30) == pytest.approx([of_lag[1] / sum(of_lag), 0.0, 0.0])
    assert errors_of(nothing, THRESHOLD, 30) == pytest.approx([sum(of_lag[25:]) / sum(of_lag), 1.0, 1.0])
    assert len(errors_of(torch.zeros(89, 89), THRESHOLD, 30)) == 2
    lags = torch.tensor([0, 1, 2, 24, 25, 26])
    assert FUNCTIONS[OFFSET](lags).int().tolist() == [0, 1, 0, 0, 0, 0]
    assert FUNCTIONS[THRESHOLD](lags).int().tolist() == [0, 0, 0, 0, 1, 1]
    assert [_distances(place, 50) for place in (1, 3)] == ["distances 50 to 99", "distances 150 to 199"]


# ---- claims ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([], (0, 0)),
        ([(None, 5), (0, 3)], (0, 0)),
        ([(3, 3), (4, 2)], (4, 2)),
        ([(4, 2), (3, 3)], (4, 2)),
        ([(2, 1), (4, 2)], (4, 2)),
        ([(4, 2), (2, 1)], (4, 2)),
        ([(3, None), (4, 1)], (3, 0)),
        ([(9, 4), (2, 1)], (9, 4)),
        ([(2, 1), (9, 5)], (2, 1)),
    ],
)
def test_runs_are_counted_where_the_fewest_of_those_planned_entered(
    counts: Sequence[tuple[int | None, int | None]], said: tuple[int, int]
) -> None:
    assert _counted([Row("q", "", 0.5, entered=entered, planned=planned) for planned, entered in counts]) == said


def test_what_a_claim_takes_over_from_its_cells() -> None:
    def made(**more: Any) -> Claim:
        return claim_on("T", "here", "so", "it", above("b1", 0.5), ONE, LONG, LONG, **more)

    one = made()
    assert one.seeds == 2
    assert [made(seeds=seeds).seeds for seeds in (0, 1, 5)] == [0, 1, 5]
    assert one.minutes == round((3 * ONE.seconds + 4 * LONG.seconds) / 60, 1) > 0.0
    assert made(shared=True).minutes == 0.0
    assert (one.scale, made(scale="as said").scale) == (f"{ONE.scale}; {LONG.scale}", "as said")
    assert (one.rows, made(reduce="difference").rows) == (f"{REDUCTIONS}:values", f"{REDUCTIONS}:difference")
    assert made(reduce="elsewhere:rows").rows == "elsewhere:rows"
    assert (one.kind, one.exempt, one.settings_tried, one.trained) == ("T", False, 1, True)
    assert len(claim_on("T", "here", "so", "it", [above("b1", 0.5)] * 2, ONE).conditions) == 2
    # Each run of a suite is counted once, with the most that any claim asks of it.
    exact = replace(one, kind="E", cells=(), minutes=2.0)
    whole = Suite("s", "S", (made(), claim_on("U", "here", "so", "it", above("b1", 0.5), LONG.also(FIT)), exact))
    assert whole.minutes == pytest.approx(2.0 + (3 * ONE.seconds + 2 * LONG.seconds) / 60)


@pytest.mark.parametrize(("name", "ids"), [("HA01", ["HA01"]), ("ha01", ["HA01"]), ("Qb15b", ["QB15b"])])
def test_a_claim_is_named_however_its_letters_are_written(name: str, ids: list[str]) -> None:
    assert [claim.id for _, claim in claims_named(name)] == ids
    suite = SUITES.find("tractable")
    assert claims_named("tractable") == [(suite, claim) for claim in suite.claims]


@pytest.mark.parametrize(
    ("name", "advice"), [("tractabel", "did you mean"), ("HA0l", "did you mean"), ("nothing like it", "suites: bounds-exact, ")]
)  # fmt: skip
def test_a_name_that_there_is_not_is_refused_with_advice(name: str, advice: str) -> None:
    with pytest.raises(ClaimError) as said:
        claims_named(name)
    assert f"; {advice}" in str(said.value)
    assert str(said.value).endswith("; `lengthlens reproduce --list`")
