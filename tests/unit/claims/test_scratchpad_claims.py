"""What claims on scratchpads ask of runs, on models and rows whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.claims.made_by_hand import Answering, table_for, with_seeds
from tests.support.claims.somewhere import HERE
from workbench.claims.claim import Claim, Row
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import reduce_runs
from workbench.claims.suites.registry import SUITES, claims_named
from workbench.claims.trained import answer_steps
from workbench.claims.trained.answer_steps import at_risk, slope_of_error, step_rows, token_rows
from workbench.claims.trained.run_rows import RunTable
from workbench.claims.trained.training_runs import TrainingJob, planned_runs, train_and_measure
from workbench.claims.trained_cells import FIT, Request, TrainedCell, cell
from workbench.claims.verdict_rule import Judgement, judge
from workbench.models.positions import Arange
from workbench.tasks import make_task
from workbench.tasks.base import Batch


class Writing:
    """Writes parities: the one before, as it was fed, and the next bit.

    Args:
        slips: steps, from 1 on, that are wrong in strings whose first two bits are 1: a quarter of all.
        ends: tokens after which the answer ends too early.
    """

    cfg = SimpleNamespace(ids=Arange(), n_ctx=64)

    def __init__(self, slips: tuple[int, ...] = (), ends: int | None = None) -> None:
        self.slips, self.ends = slips, ends

    def __call__(self, tokens: Tensor, ids: Tensor | None = None) -> Tensor:
        place = int((tokens[0] == 3).nonzero()[0, 0])
        bits = tokens[:, 1:place] - 1
        answer = torch.full_like(tokens, 2)
        for i in range(place, min(place + bits.shape[1], tokens.shape[1])):
            step = i - place
            before = (tokens[:, i] - 1) if step else torch.zeros(len(tokens), dtype=torch.long)
            wrong = bits[:, :2].all(1).long() if step + 1 in self.slips else 0
            answer[:, i] = 2 if step == self.ends else (before + bits[:, step] + wrong) % 2
        return torch.nn.functional.one_hot(answer, 3).double()


class Written(Answering):
    """A run whose model writes scratchpads."""

    def answers(self, batch: Batch) -> dict[str, Tensor]:
        return {"logits": self.model(batch.tokens)}


def written(model: Writing, trained: int = 17, **parameters: Any) -> Written:
    task = make_task("parity_scratchpad", **parameters)
    return Written(SimpleNamespace(trained_length=trained), model, task, lambda batch: batch.mask)  # type: ignore[arg-type]


def rows_of(model: Writing) -> dict[str, dict[str, Any]]:
    return {row["quantity"]: row for row in step_rows(written(model), [1])}


# ---- what is measured ----------------------------------------------------------------------------
def test_a_perfect_scratchpad_has_no_error_and_no_slope() -> None:
    found = rows_of(Writing())
    assert {name: row["value"] for name, row in found.items()} == {
        "answer token at 1 N": 1.0, "step error at 1 N": 0.0, "slope of step error at 1 N": 0.0,
    }  # fmt: skip
    assert {row["length"] for row in found.values()} == {17}
    assert {row["n"] for row in found.values()} == {512}


def test_a_slip_is_counted_once_and_every_step_after_it_is_not_taken() -> None:
    """Of 8 steps the 4th is wrong in a share w of strings, whose parities are wrong from then on, the last one too."""
    found = rows_of(Writing(slips=(4,)))
    w = 1 - found["answer token at 1 N"]["value"]
    assert w == pytest.approx(1 / 4, abs=0.07)
    assert found["step error at 1 N"]["value"] == pytest.approx(w / (8 - 4 * w))
    # A second slip makes parities right again, but these steps come after an error.
    again = rows_of(Writing(slips=(4, 6)))
    assert again["answer token at 1 N"]["value"] == 1.0
    assert again["step error at 1 N"]["value"] == found["step error at 1 N"]["value"]


def test_an_answer_that_ends_early_has_no_last_token() -> None:
    assert rows_of(Writing(ends=3))["answer token at 1 N"]["value"] == 0.0


def test_the_slope_of_errors_by_hand() -> None:
    """Of 4 strings one errs at step 2 and two at step 3: errors 0, 1/4, 2/3 of 4, 4, 3 strings."""
    right = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 0]], dtype=bool)
    taken, wrong = at_risk(right)
    assert taken.tolist() == [[True, True, True], [True, True, False], [True, True, True], [True, True, True]]
    x = np.concatenate([np.arange(1, 4)[row] for row in taken])
    y = np.concatenate([row[used] for row, used in zip(wrong, taken, strict=True)])
    found = slope_of_error(right)
    assert found["value"] == pytest.approx(np.polyfit(x, y.astype(float), 1)[0])
    assert found["low"] < found["value"] < found["high"]
    assert slope_of_error(right[:, :1]) == {"value": 0.0, "low": 0.0, "high": 0.0}
    steady = np.random.default_rng(0).random((2000, 6)) > 0.1
    assert slope_of_error(steady)["low"] < 0 < slope_of_error(steady)["high"]
    worse = np.random.default_rng(0).random((2000, 6)) > np.linspace(0, 0.3, 6)
    assert slope_of_error(worse)["low"] > 0.03


def test_tokens_are_counted_at_inputs_and_at_answers() -> None:
    """Shown what comes before, a model that slips once in w of strings has one of m + 1 tokens wrong in these."""
    found = {row["quantity"]: row for row in token_rows(written(Writing(slips=(2,))), read=[6], written=[12])}
    assert [(name, row["length"]) for name, row in found.items()] == [
        ("tokens right, 6 read", 13), ("tokens right, 12 written", 25),
    ]  # fmt: skip
    assert found["tokens right, 6 read"]["value"] == pytest.approx(1 - 1 / 4 / 7, abs=0.01)
    assert found["tokens right, 12 written"]["value"] == pytest.approx(1 - 1 / 4 / 13, abs=0.01)
    row = found["tokens right, 6 read"]
    assert row["low"] < row["value"] < row["high"] <= 1
    chains = replace(written(Writing()), task=make_task("variable_assignment", depth=2))
    with pytest.raises(ClaimError, match="9 tokens"):
        list(token_rows(chains, written=[9]))
    with pytest.raises(ClaimError, match="sequence"):
        list(token_rows(replace(written(Writing()), task=make_task("majority")), read=[4]))
    with pytest.raises(ClaimError, match="step by step"):
        list(step_rows(replace(written(Writing()), task=make_task("majority")), [1]))


@pytest.mark.parametrize("task", ["parity_scratchpad", "variable_assignment"])
def test_a_run_that_predicts_ids_is_asked_for_steps_and_tokens(task: str) -> None:
    """Hardly trained, it errs at once: no answer is right, and step 1 is the only one that is taken often."""
    asked = (Request("steps", {"factors": [1]}), Request("tokens", {"written": [6]}))
    more: dict[str, Any] = {"variables": 24, "scratchpad": True} if task == "variable_assignment" else {}
    one = cell(task, "ppc", 15, 2, low=15, width=16, heads=2, requests=asked, **more)
    (planned,) = planned_runs([one], 1)
    rows = {row.quantity: row for row in train_and_measure(TrainingJob(planned))}
    assert rows.keys() == {
        "answer token at 1 N", "step error at 1 N", "slope of step error at 1 N", "tokens right, 6 written",
    }  # fmt: skip
    assert rows["step error at 1 N"].value is not None
    assert rows["step error at 1 N"].value > 0.5
    assert {row.seed for row in rows.values()} == {0}


# ---- relations over runs -------------------------------------------------------------------------
def said(claim: Claim, table: RunTable) -> tuple[list[Row], Judgement]:
    rows, _, complete = reduce_runs(claim, table)
    return list(rows), judge(claim, rows, complete)


JUMPS = tuple(
    cell("parity_scratchpad", "ppc", 17, 2, width=16, heads=2, jump=jump, requests=(FIT, Request("lengths", {"factors": [2]})))
    for jump in (1, 2, 3, 4)
)  # fmt: skip


def by_jump(*of_jump: float) -> Callable[[TrainedCell, int, str], float]:
    return lambda one, seed, told: of_jump[one.parameters["jump"] - 1]


def test_shares_that_fall_from_cell_to_cell() -> None:
    claim = claim_on(
        "T11", HERE, "It is.", "it",
        (below("correlation with the place", 0.0, 0.0), above("first less last", 0.0)), *JUMPS,
        reduce=f"{RELATIONS}:falls_along_cells", quantities=["accuracy at 2 N"],
    )  # fmt: skip
    (falls, ends), judged = said(claim, table_for(claim, by_jump(0.9, 0.7, 0.5, 0.3)))
    assert (falls.value, falls.item, falls.entered) == (pytest.approx(-1.0), "accuracy at 2 N", 12)
    assert (ends.value, ends.planned, judged.verdict) == (pytest.approx(0.6), 3, "holds")
    (falls, ends), judged = said(claim, table_for(claim, by_jump(0.3, 0.5, 0.7, 0.9)))
    assert (falls.value, judged.verdict) == (pytest.approx(1.0), "does not hold at this scale")
    assert ends.value == pytest.approx(-0.6)
    # A fall in between does not make the ends differ, and cells that are all alike have no correlation.
    assert said(claim, table_for(claim, by_jump(0.5, 0.9, 0.1, 0.5)))[1].verdict == "undecided"
    assert said(claim, table_for(claim, by_jump(0.5, 0.5, 0.5, 0.5)))[0][0].entered == 0


def test_how_far_a_run_is_right() -> None:
    one = replace(JUMPS[0], requests=(FIT, Request("lengths", {"factors": [1, 2, 3, 4]})))
    claim = claim_on(
        "T12", HERE, "It is.", "it", above("largest multiple of N", 2.0), one,
        reduce=f"{RELATIONS}:largest_factor", factors=[1, 2, 3, 4], least=0.5,
    )  # fmt: skip
    claim = with_seeds(claim)

    def right(**shares: float) -> Callable[[TrainedCell, int, str], float]:
        return lambda one, seed, told: shares[f"at_{told.split()[2]}"]

    rows, judged = said(claim, table_for(claim, right(at_1=1.0, at_2=0.9, at_3=0.2, at_4=0.9)))
    assert {(row.value, row.low, row.high) for row in rows} == {(2.0, 2.0, 2.0)}
    assert judged.verdict == "holds"
    rows, judged = said(claim, table_for(claim, right(at_1=1.0, at_2=0.51, at_3=0.49, at_4=0.2)))
    assert {(row.value, row.low, row.high) for row in rows} == {(2.0, 1.0, 3.0)}
    assert judged.verdict == "holds"  # by the sign test: all ten seeds reach 2 N by their values
    rows, judged = said(claim, table_for(claim, right(at_1=0.1, at_2=0.9, at_3=0.9, at_4=0.9)))
    assert ({row.value for row in rows}, judged.verdict) == ({0.0}, "does not hold at this scale")
    everywhere = said(claim, table_for(claim, lambda *_: 1.0))[0]
    assert {row.value for row in everywhere} == {4.0}


@pytest.mark.parametrize(("gaps", "verdict"), [
    ((0.5, 0.5), "holds"), ((0.5, 0.3), "undecided"), ((0.5, 0.0), "does not hold at this scale"),
])  # fmt: skip
def test_differences_at_several_lengths_must_all_be_there(gaps: tuple[float, float], verdict: str) -> None:
    ((_, claim),) = claims_named("PP04")
    claim = with_seeds(claim)
    first = claim.cells[0].name

    def value(one: TrainedCell, seed: int, told: str) -> float:
        gap = gaps[0] if told == "accuracy at 1.5 N" else gaps[1]
        return 0.3 + gap * (one.name == first)

    rows, judged = said(claim, table_for(claim, value))
    assert [row.value for row in rows] == pytest.approx(gaps)
    assert judged.verdict == verdict


# ---- the suite -----------------------------------------------------------------------------------
def test_every_run_of_the_suite_can_be_begun_and_reads_what_it_is_asked() -> None:
    for claim in SUITES.find("ppc").claims:
        for one in claim.cells:
            config = one.config(one.seeds[0])
            factors = [factor for asked in one.requests for factor in asked.settings.get("factors", ())]
            longest = config.task.next_length(max(factors) * config.training.trained_length)
            assert config.task.positions(longest) <= config.model.n_ctx, (claim.id, one.name)


def test_a_run_that_does_not_fit_speaks_against_the_first_claim_and_not_for_it() -> None:
    ((_, claim),) = claims_named("PP01")
    claim = with_seeds(claim)
    table = table_for(claim, lambda one, seed, told: 0.2, fitted=lambda one, seed: False)
    assert said(claim, table)[1].verdict == "does not hold at this scale"
    assert said(claim, table_for(claim, lambda one, seed, told: 0.99))[1].verdict == "holds"


@pytest.mark.parametrize(("written", "most", "found"), [(0, 7, 1), (1, 7, 2), (2, 7, 5), (3, 7, 6), (3, 6, None)])
def test_the_shortest_input_with_such_an_answer(
    monkeypatch: pytest.MonkeyPatch, written: int, most: int, found: int | None
) -> None:
    monkeypatch.setattr(answer_steps, "MOST_READ", most)
    task: Any = SimpleNamespace(name="halves", answer_length=lambda n: n // 2, drawable=lambda n: n != 4)
    if found is None:
        with pytest.raises(ClaimError, match="3 tokens"):
            answer_steps._input_of(task, written)
    else:
        assert answer_steps._input_of(task, written) == found
