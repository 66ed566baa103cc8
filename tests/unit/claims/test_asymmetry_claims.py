"""Verdicts on the suite ``asymmetry`` from rows whose verdict is known, and rows of models whose circuit is known."""

from __future__ import annotations

import pytest
import torch

from tests.support.claims.made_by_hand import table_for
from workbench.claims.exact.handmade_heads import SURE, head_scores
from workbench.claims.judging import judge
from workbench.claims.suites.asymmetry_trained import ANTI, EDGES, INDUCTION, SCORES, SUITE
from workbench.claims.trained import reductions
from workbench.claims.trained.standard_rows import standard_rows
from workbench.claims.trained.trained_run import TrainedRun
from workbench.models.handmade.attention_heads import induction_model, left_neighbour_model
from workbench.tasks import make_task

CLAIMS = {claim.id: claim for claim in SUITE.claims}
SYMBOLS, N = 8, 24


def verdict(name, value):
    claim = CLAIMS[name]
    found = getattr(reductions, claim.rows.rpartition(":")[2])(claim, table_for(claim, value), **claim.arguments)
    return judge(claim, found), found


@pytest.mark.parametrize(
    ("name", "lost", "kept"),
    [("BA01", ("ur", INDUCTION), ("ul", INDUCTION)), ("BA02", ("ul", ANTI), ("ur", ANTI))],
)
def test_a_removal_has_to_destroy_one_task_and_leave_the_other(name, lost, kept) -> None:
    def value(cell, seed, told):
        return 0.9 if (cell.task, told) == lost else 0.0 if (cell.task, told) == kept else 0.5

    said, rows = verdict(name, value)
    assert said.verdict == "holds"
    assert sorted({row.value for row in rows}) == [0.0, 0.9]
    assert verdict(name, lambda *_: 0.9)[0].verdict == "does not hold at this scale"
    assert verdict(name, lambda *_: 0.0)[0].verdict == "does not hold at this scale"


def test_both_removals_of_copying_are_asked() -> None:
    own = {("uf", INDUCTION), ("ub", ANTI)}
    assert verdict("BA03", lambda cell, seed, told: 0.9 * ((cell.task, told) in own))[0].verdict == "holds"
    for one in own:
        left = own - {one}
        said, _ = verdict("BA03", lambda cell, seed, told, left=left: 0.9 * ((cell.task, told) in left))
        assert said.verdict == "does not hold at this scale"


def test_the_best_head_of_each_run_is_taken() -> None:
    own = {"ur": "induction", "ul": "anti_induction"}

    def value(cell, seed, told):
        return 0.7 if told == f"{own[cell.task]} at 1 N, task, L1H1" else 0.1

    said, rows = verdict("BA04", value)
    assert said.verdict == "holds"
    assert {(row.quantity, row.value) for row in rows} == {("fitting score", 0.7), ("other score", 0.1)}
    assert len(rows) == 4 * 3
    assert verdict("BA04", lambda *_: 0.7)[0].verdict == "does not hold at this scale"


def test_scores_of_heads_made_by_hand_are_what_they_must_be() -> None:
    rows = head_scores()
    assert len(rows) == 2 * 3 * 3
    assert max(abs(row.value - row.expected) for row in rows) < 1e-12
    assert {row.expected for row in rows if row.quantity == "own score"} == {1.0}
    assert all(row.expected < 0 for row in rows if row.quantity != "own score")
    assert SURE == 60.0


@pytest.mark.parametrize(
    ("task", "make", "lost", "kept"),
    [("ur", induction_model, INDUCTION, ANTI), ("ul", left_neighbour_model, ANTI, INDUCTION)],
)
def test_circuits_made_by_hand_are_destroyed_by_their_own_removal(make_run, task, make, lost, kept) -> None:
    model = make(SYMBOLS + 1, 12.0)  # the separator is a token too, and no answer
    with torch.no_grad():
        model.unembed.W_U.data = model.unembed.W_U[:, :SYMBOLS].clone()
        model.unembed.b_U.data = model.unembed.b_U[:SYMBOLS].clone()
    model.cfg = model.cfg.model_copy(update={"d_vocab_out": SYMBOLS})
    asked = TrainedRun.of(make_run(model, make_task(task, symbols=SYMBOLS), N))
    rows = {}
    for one in (EDGES, SCORES):
        for row in standard_rows(one.name, asked, sequences=32, **one.settings):
            rows[f"{row['quantity']}, {row['setting']}"] = row["value"]
    assert rows[lost] > 0.6
    assert rows[kept] == 0.0
    best = {
        kind: max(value for told, value in rows.items() if told.startswith(f"{kind} at 1 N, task, "))
        for kind in ("induction", "anti_induction")
    }
    assert best["induction" if task == "ur" else "anti_induction"] > 0.9
