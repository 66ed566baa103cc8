"""Verdicts on the suite ``asymmetry`` from rows whose verdict is known, and rows of models whose circuit is known."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.claims.made_by_hand import SEEDS, table_for, with_seeds
from workbench.claims.errors import ClaimError
from workbench.claims.suites.jobanputra_asymmetry import (
    ANTI,
    EDGES,
    INDUCTION,
    PRETRAINED,
    SCORES,
    SUITE,
    SURE,
    scores_of_handmade_heads,
)
from workbench.claims.trained import standard_rows as rows_of_standards
from workbench.claims.trained.standard_rows import standard_rows
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained.two_sides import zero_shot_copies
from workbench.claims.trained.two_sides.zero_shot_copies import copy_prompts, zero_shot_rows
from workbench.claims.verdict_rule import judge
from workbench.models.handmade.attention_heads import induction_model, left_neighbour_model
from workbench.tasks import make_task

CLAIMS = {claim.id: claim for claim in SUITE.claims}
SYMBOLS, N = 8, 24


def verdict(name, value):
    claim = with_seeds(CLAIMS[name])
    module, _, name = claim.rows.partition(":")
    found = getattr(import_module(module), name)(claim, table_for(claim, value), **claim.arguments)
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
    assert len(rows) == 4 * len(SEEDS)
    assert verdict("BA04", lambda *_: 0.7)[0].verdict == "does not hold at this scale"


def test_scores_of_heads_made_by_hand_are_what_they_must_be() -> None:
    rows = scores_of_handmade_heads()
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


# ---- right and left without fine-tuning ----------------------------------------------------------
def pretrained(model, **text) -> TrainedRun:
    """A run of text whose model is made by hand; its tokens are BOS, the symbols and the separator."""
    return TrainedRun(SimpleNamespace(trained_length=N), model, make_task("copied_text", symbols=SYMBOLS, **text))


@pytest.mark.parametrize(("make", "right", "left"), [(induction_model, 1.0, 0.0), (left_neighbour_model, 0.0, 1.0)])
def test_copies_gone_on_with_by_heads_made_by_hand(make, right, left) -> None:
    """Induction answers what stands behind the symbol written last, its mirror what stands before it."""
    rows = list(zero_shot_rows(pretrained(make(SYMBOLS + 1, 12.0)), [3, 8]))
    found = {row["quantity"] + ", " + row["setting"]: row for row in rows}
    assert {told: row["value"] for told, row in found.items()} == {
        f"zero-shot {side}, n {n}": value for n in (3, 8) for side, value in (("right", right), ("left", left))
    }
    assert {row["length"] for row in rows} == {5, 10}
    assert found["zero-shot right, n 8"]["low"] < 1.0 or right == 0.0
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


def test_what_is_no_symbol_is_no_answer() -> None:
    """The separator that a model puts first of all says nothing about the symbols."""
    model = induction_model(SYMBOLS + 1, 12.0)
    with torch.no_grad():
        model.unembed.b_U[-1] = 100.0
    (right, _) = zero_shot_rows(pretrained(model), [8])
    assert right["value"] == 1.0


@pytest.mark.parametrize("step", [1, -1])
def test_prompts_are_copies_of_different_symbols(step) -> None:
    prompts, answers = copy_prompts(SYMBOLS, 64, 6, 2, step)
    starts = set()
    for prompt, answer in zip(prompts.tolist(), answers.tolist(), strict=True):
        x, (one, two) = prompt[:6], prompt[6:]
        assert len(set(x)) == 6
        first = x.index(one)
        assert (x[first + step], x[first + 2 * step]) == (two, answer + 1)
        starts.add(first)
    assert len(starts) == 4


def test_prompts_that_there_are_not_are_refused() -> None:
    run = pretrained(induction_model(SYMBOLS + 1, 12.0))
    for sizes in ([], [2], [SYMBOLS + 1]):
        with pytest.raises(ClaimError, match="symbols"):
            list(zero_shot_rows(run, sizes))
    with pytest.raises(ClaimError, match="copied_text"):
        list(zero_shot_rows(TrainedRun(run.run, run.model, make_task("ur")), [4]))


def by_side(forwards, mixed):
    """Zero-shot shares of the two pretrained cells: each a right and a left one."""
    return lambda cell, seed, told: (mixed if "backward" in cell.parameters else forwards)["left" in told]


def test_a_lead_to_the_right_is_seen() -> None:
    said, rows = verdict("BA05", by_side((0.9, 0.2), (0.5, 0.5)))
    assert (said.verdict, len(rows)) == ("holds", 3)
    assert [row.value for row in rows] == pytest.approx([0.7] * 3)
    assert verdict("BA05", by_side((0.2, 0.9), (0.5, 0.5)))[0].verdict == "does not hold at this scale"
    assert verdict("BA05", by_side((0.5, 0.5), (0.5, 0.5)))[0].verdict == "undecided"


def test_a_lead_that_vanishes_is_none_here_and_one_there() -> None:
    said, rows = verdict("BA11", by_side((0.9, 0.2), (0.5, 0.5)))
    assert said.verdict == "holds"
    assert [row.value for row in rows if row.quantity == "lead there less here"] == pytest.approx([0.7] * 3)
    for forwards, mixed in (((0.9, 0.2), (0.6, 0.3)), ((0.2, 0.9), (0.5, 0.5))):
        assert verdict("BA11", by_side(forwards, mixed))[0].verdict == "does not hold at this scale"
    assert verdict("BA11", by_side((0.5, 0.5), (0.5, 0.5)))[0].verdict == "undecided"
    # A model that goes on with nothing has no lead either, and says nothing.
    assert verdict("BA11", by_side((0.9, 0.04), (0.04, 0.04)))[0].verdict == "undecided"


def test_the_greatest_heads_are_those_of_random_repeats() -> None:
    def value(cell, seed, told):
        return {"induction at 1 N, repeats, L1H1": 0.8, "anti_induction at 1 N, repeats, L0H0": 0.3}.get(
            told, 1.0 if "task" in told else 0.0
        )

    said, rows = verdict("BA06", value)
    assert said.verdict == "holds"
    assert [row.value for row in rows] == pytest.approx([0.5] * len(SEEDS))
    weaker = verdict("BA06", lambda cell, seed, told: 0.1 if told.startswith("induction") else 0.4)
    assert weaker[0].verdict == "does not hold at this scale"


def test_what_fine_tuning_mends_and_what_it_does_not() -> None:
    assert verdict("BA07", lambda *_: 0.97)[0].verdict == "holds"
    apart = verdict("BA07", lambda cell, seed, told: 1.0 if cell.task == "ur" else 0.92)
    assert apart[0].verdict == "does not hold at this scale"
    assert verdict("BA08", lambda *_: 0.1)[0].verdict == "holds"
    assert verdict("BA08", lambda cell, seed, told: 0.9 if cell.task == "nb" else 0.1)[0].verdict != "holds"
    assert verdict("BA08", lambda cell, seed, told: 0.9 if told == "b2 skill, challenge" else 0.1)[0].verdict != "holds"


def test_what_is_left_without_the_matching_circuit() -> None:
    own = {("ur", "induction edges"), ("ul", "anti-induction edges")}

    def value(cell, seed, told):
        return 0.2 if (cell.task, told.rpartition(", ")[2]) in own else 0.9

    said, rows = verdict("BA09", value)
    assert (said.verdict, {row.value for row in rows}) == ("holds", {0.2})
    assert verdict("BA09", lambda *_: 0.9)[0].verdict == "does not hold at this scale"


def test_the_runs_that_begin_from_the_pretrained_ones() -> None:
    begun = {cell.name: cell for claim in SUITE.claims for cell in claim.cells if cell.start}
    assert {cell.task for cell in begun.values()} == {"ur", "ul", "nr_last", "nl_last", "nf", "nb"}
    assert {cell.start.recipe(0) for cell in begun.values()} == {PRETRAINED.recipe(0)}
    for cell in begun.values():
        held, own = PRETRAINED.config(0), cell.config(0)
        assert set(own.task.tokens_names) <= set(held.task.tokens_names)
        assert set(own.task.output_names) <= set(held.task.output_names)
        assert own.model.n_ctx == held.model.n_ctx >= 3 * cell.longest + 1


COPIED_SYMBOLS = 8


@pytest.fixture(scope="module")
def of_text() -> TrainedRun:
    run: Any = SimpleNamespace(trained_length=24)
    return TrainedRun(run, induction_model(COPIED_SYMBOLS + 1, 12.0), make_task("copied_text", symbols=COPIED_SYMBOLS))


@pytest.mark.parametrize(
    ("sizes", "shown", "refused"),
    [
        ([], 2, True), ([3, 9], 2, True), ([9, 3], 2, True), ([2, 8], 2, True), ([8, 2], 2, True), ([3, 5], 3, True),
        ([3], 0, True), ([1], 0, True), ([1], 1, True), ([3, 8], 2, False), ([2], 1, False), ([8], 7, False),
        ([8, 4, 5], 3, False),
    ],
)  # fmt: skip
def test_copies_need_more_symbols_than_are_shown_and_no_more_than_there_are(
    of_text: TrainedRun, monkeypatch: pytest.MonkeyPatch, sizes: Sequence[int], shown: int, refused: bool
) -> None:
    monkeypatch.setattr(zero_shot_copies, "STRINGS", 3)
    if not refused:
        rows = list(zero_shot_copies.zero_shot_rows(of_text, sizes, shown))
        assert [(row["setting"], row["length"], row["n"]) for row in rows[::2]] == [
            (f"n {size}", size + shown, 3) for size in sizes
        ]
        return
    with pytest.raises(ClaimError) as said:
        list(zero_shot_copies.zero_shot_rows(of_text, sizes, shown))
    told = ", ".join(map(str, sizes))
    assert str(said.value) == (
        f"if {shown} symbols of a copy are given, the prompt needs {shown + 1} to {COPIED_SYMBOLS} different symbols, not {told}"
    )


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
    requests: list[Any] = []
    monkeypatch.setattr(rows_of_standards, "plan", requests.append)
    monkeypatch.setattr(rows_of_standards, "execute", lambda todo: [])
    stored = SimpleNamespace(rows=SimpleNamespace(to_pylist=lambda: STORED))
    monkeypatch.setattr(rows_of_standards, "read_run", lambda path: stored)
    run: Any = SimpleNamespace(
        run=SimpleNamespace(path="here"), task=SimpleNamespace(next_length=lambda n: n), longest=16
    )
    rows = list(rows_of_standards.standard_rows("behaviour", run, **options))
    assert [row["quantity"] for row in rows] == kept
    lengths = options.get("lengths")
    assert requests[0].lengths == (None if lengths is None else [int(16 * factor) for factor in lengths])
    assert requests[0].settings == {}
    monkeypatch.setattr(rows_of_standards, "execute", lambda todo: ["it is broken", "and more"])
    with pytest.raises(ClaimError, match="broken"):
        list(rows_of_standards.standard_rows("behaviour", run, settings={"a": 1}))
    assert requests[1].settings == {"behaviour": {"a": 1}}
