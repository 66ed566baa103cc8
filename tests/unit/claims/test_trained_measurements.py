"""What claims ask of runs beside bins and losses, on models and rows whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.claims.made_by_hand import Answering, answering, table_for, with_seeds
from tests.support.claims.somewhere import HERE
from workbench.claims.claim import Claim, Row
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import reduce_runs
from workbench.claims.resampling import cell_correlation, each_draw, over_seeds
from workbench.claims.suites.registry import claims_named
from workbench.claims.trained import retrieval_copies
from workbench.claims.trained.ambiguous_transitions import _ratio, ambiguous, transition_rows
from workbench.claims.trained.class_attention import APART, OFF, class_rows
from workbench.claims.trained.extreme_gates import PLACES, gate_rows, window_means, windows_of
from workbench.claims.trained.position_products import FUNCTIONS, OFFSET, THRESHOLD, _distances, error_rows, errors_of
from workbench.claims.trained.retrieval_copies import copy_rows
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import FIT, Request, TrainedCell, cell
from workbench.claims.verdict_rule import Judgement, judge
from workbench.models.architectures import make_config, make_model
from workbench.tasks import make_task
from workbench.tasks.base import Batch


# ---- attention on the class that counts ------------------------------------------------------------
def uniform_attention(task: str, **parameters: Any) -> Any:
    """A run of a model whose only head spreads its attention evenly over all keys."""
    run = answering(task, 8, lambda batch: batch.mask, **parameters)
    shape = {"n_layers": 1, "d_model": 8, "n_heads": 1, "n_ctx": 80, "positions": {"name": "none"}}
    made = make_model(make_config({**shape, "d_vocab": run.task.d_vocab, "d_vocab_out": run.task.d_vocab_out}), seed=0)
    made.blocks[0].attn.W_Q.data.zero_()
    made.blocks[0].attn.b_Q.data.zero_()
    return replace(run, model=made)


def test_uniform_attention_has_the_rest_of_its_mass_off_the_class() -> None:
    """After n tokens and BOS, n/2 of n + 1 keys count, or (n - 1)/2 of an odd n: so much of the mass is elsewhere.

    The total variation from uniform attention on the class is the same mass: what is elsewhere is missing there.
    """
    found = {row["quantity"]: row for row in class_rows(uniform_attention("mod_p_mean", p=2, k=0), factors=(1, 4))}
    for factor, n in ((1, 8), (4, 32)):
        lengths = [m for m in range(max(1, n - 15), n + 1) if m >= 2]
        off = float(np.mean([1 - (m // 2) / (m + 1) for m in lengths]))
        assert found[f"{OFF} at {factor} N"]["value"] == pytest.approx(off, abs=1e-5)
        assert found[f"{APART} at {factor} N"]["value"] == pytest.approx(off, abs=1e-5)
        assert found[f"{OFF} at {factor} N"]["label"] == "L0H0"


def test_attention_on_all_that_simple_counts_lies_off_it_on_bos_alone() -> None:
    found = {row["quantity"]: row["value"] for row in class_rows(uniform_attention("simple"), factors=(1,))}
    assert found[f"{OFF} at 1 N"] == pytest.approx(np.mean([1 / (m + 1) for m in range(1, 9)]), abs=1e-5)


def test_a_task_that_averages_nothing_is_refused() -> None:
    with pytest.raises(ClaimError, match="average"):
        list(class_rows(uniform_attention("majority"), factors=(1,)))


# ---- copies by retrieval ---------------------------------------------------------------------------
def copying(task: str, right_at: Callable[[Batch], Tensor]) -> Answering:
    """A run of retrieval over 64 symbols that answers as is said, wrong answers being the next class."""

    class Retrieving(Answering):
        def answers(self, batch: Batch) -> dict[str, Tensor]:
            answer = torch.where(self.right_at(batch), batch.targets, (batch.targets + 1) % 64)
            return {"logits": torch.nn.functional.one_hot(answer, 64).double()}

    known = answering(task, 16, right_at, symbols=64)
    return Retrieving(known.run, None, known.task, right_at)


@pytest.mark.parametrize("task", ["ur", "ul"])
def test_a_copy_is_right_where_every_neighbour_is(task: str) -> None:
    found = {row["quantity"]: row for row in copy_rows(copying(task, lambda batch: torch.ones_like(batch.mask)))}
    assert [(name, row["value"]) for name, row in found.items()] == [(f"b{i} copied", 1.0) for i in range(3)]
    assert found["b1 copied"]["n"] >= 512


@pytest.mark.parametrize("task", ["ur", "ul"])
def test_one_symbol_that_is_not_found_spoils_the_copies_that_ask_for_it(task: str) -> None:
    """Token 1 is asked about in the copies of inputs that have it, but for those that it ends (ur) or begins (ul)."""

    def but_1(batch: Batch) -> Tensor:
        return (batch.tokens[:, -1] != 1)[:, None].expand_as(batch.mask)

    found = {row["quantity"]: row["value"] for row in copy_rows(copying(task, but_1))}
    asked = np.mean([(n - 3) / 64 for n in range(17, 33)])  # of n - 2 places of the input all but one
    assert found["b1 copied"] == pytest.approx(1 - asked, abs=0.06)


def test_only_retrieval_can_be_iterated_and_only_with_symbols_enough() -> None:
    with pytest.raises(ClaimError, match="retrieval"):
        list(copy_rows(answering("majority", 15, lambda batch: batch.mask)))
    with pytest.raises(ClaimError, match=r"\b14\b"):
        list(copy_rows(answering("ur", 16, lambda batch: batch.mask)))


# ---- ambiguous transitions -------------------------------------------------------------------------
def test_what_is_ambiguous_by_hand() -> None:
    """In a b a c: a occurs twice, b and c once, and no two neighbours recur; in a b a b a b does."""
    assert ambiguous(torch.tensor([[1, 2, 1, 3]]), 1).tolist() == [[True, False, True, False]]
    assert ambiguous(torch.tensor([[1, 2, 1, 3]]), 2).tolist() == [[False, False, False]]
    assert ambiguous(torch.tensor([[1, 2, 1, 2, 1]]), 2).tolist() == [[True, True, True, True]]


class Copying(Answering):
    """Copies with repeats over 3 symbols; a wrong answer is the next class."""

    def answers(self, batch: Batch) -> dict[str, Tensor]:
        answer = torch.where(self.right_at(batch), batch.targets, (batch.targets + 1) % 4)
        return {"logits": torch.nn.functional.one_hot(answer, 4).double()}


def test_errors_at_ambiguous_transitions_alone_and_everywhere_alike() -> None:
    def lost(batch: Batch) -> Tensor:
        """Wrong just where the last two written symbols occur again in the input."""
        right = torch.ones_like(batch.mask)
        assert batch.prompt is not None
        x = batch.tokens[:, 1 : batch.prompt - 1]
        right[:, batch.prompt + 1 : batch.prompt - 1 + x.shape[1]] = ~ambiguous(x, 2)[:, :-1]
        return right

    def rows(right_at: Callable[[Batch], Tensor]) -> dict[str, dict[str, Any]]:
        known = answering("nf", 17, right_at, symbols=3)
        return {
            f"{r['quantity']}, {r['setting']}": r
            for r in transition_rows(Copying(known.run, None, known.task, right_at))
        }

    found = rows(lost)
    assert found["error at ambiguous transitions, m 2"]["value"] == 1.0
    assert found["error at other transitions, m 2"]["value"] == 0.0
    n = found["error at other transitions, m 2"]["n"]
    many = found["error at ambiguous transitions, m 2"]["n"]
    assert found["ratio of errors, m 2"]["value"] == pytest.approx((many + 0.5) / (many + 1) / (0.5 / (n + 1)))
    assert found["ratio of errors with its interval, m 2"]["low"] > 5
    alike = rows(lambda batch: torch.zeros_like(batch.mask))
    assert [alike[f"ratio of errors, m {m}"]["value"] for m in (1, 2, 3)] == pytest.approx([1.0] * 3, abs=0.2)


# ---- gates -----------------------------------------------------------------------------------------
def by_hand(task: str, model: Any) -> Any:
    return replace(answering(task, 16, lambda batch: batch.mask), model=model)


def test_gates_on_several_tokens_count_as_one() -> None:
    from workbench.models.handmade.state_space import parity

    found = {row["quantity"]: row["value"] for row in gate_rows(by_hand("parity", parity()), "0 1")}
    assert found["least gate on 0 1"] == -1.0
    assert -1 < found["steady gate on 0 1"] < 1, "1 on a 0, and -1 on a 1"
    alone = {row["quantity"]: row["value"] for row in gate_rows(by_hand("parity", parity()), "0")}
    assert list(alone.values()) == [1.0, 1.0]


def test_what_is_ignored_is_kept_by_the_channel_that_carries_the_answer() -> None:
    from workbench.models.handmade.state_space import flip_flop

    found = list(gate_rows(by_hand("flip_flop", flip_flop()), "i0 i1"))
    assert [row["value"] for row in found] == [1.0, 1.0]
    # A channel with other gates that nothing reads is looked at by nobody.
    model = parity_with_idle_channel()
    run = by_hand("parity", model)
    (least, steady) = gate_rows(run, "1")
    assert (least["label"], least["value"], steady["value"]) == ("L0 channel 0", -1.0, -1.0)


def parity_with_idle_channel() -> Any:
    """Parity by hand, whose second channel writes nothing and turns the gates of the first alone."""
    from workbench.models.handmade.state_space import parity

    model = parity()
    with torch.no_grad():
        model.blocks[0].mixer.W_dt[:, 1] = 0.0  # its own gates stay at 1
    return model


def test_places_are_taken_together_where_the_whole_window_is_the_same() -> None:
    """A state that turns at every 1 behind a 0: its gates on a 1 are -1 there and 1 at the others, and 1/3 in the mean."""
    tokens = torch.tensor([[0, 2, 1, 2, 2, 1, 2, 2, 2]] * PLACES)
    windows = windows_of(tokens, 2)
    assert windows[0].tolist() == [[0, -1], [2, 0], [1, 2], [2, 1], [2, 2], [1, 2], [2, 1], [2, 2], [2, 2]]
    here = tokens == 2
    gates = torch.where((windows == torch.tensor([2, 1])).all(-1), -1.0, 1.0)[..., None].double()
    assert float(gates[here].mean()) == pytest.approx(1 / 3)
    means = window_means(gates, windows, here)
    assert sorted(means[:, 0].tolist()) == [-1.0, 1.0, 1.0]
    # A window that comes up too rarely is not looked at.
    once = gates.clone()
    once[0, 1] = -9.0
    first = torch.zeros_like(here)
    first[0, 1] = True
    few = window_means(once, windows, (here & (windows[..., 1] != 0)) | first)
    assert sorted(few[:, 0].tolist()) == [-1.0, 1.0]


# ---- products of positions -------------------------------------------------------------------------
def test_errors_of_a_product_by_distance() -> None:
    """A product that says 0 everywhere errs on lag 1 within the window, and on all lags of 25 and more."""
    nothing = torch.zeros(90, 90)
    within = sum(90 - lag for lag in range(30))
    assert errors_of(nothing, OFFSET, 30) == pytest.approx([89 / within, 0.0, 0.0])
    assert errors_of(nothing, THRESHOLD, 30) == pytest.approx([sum(90 - lag for lag in range(25, 30)) / within, 1, 1])


def test_a_small_product_learns_an_offset_within_its_window() -> None:
    rows = error_rows(12, 4, 16, 400)
    found = {row.quantity: row for row in rows}
    assert found[f"squared error within the window, {OFFSET}"].value < 0.01
    assert len([row for row in rows if row.quantity == "threshold over offset"]) == 3 * 2
    ((_, claim),) = claims_named("HR08")
    assert judge(claim, rows).verdict in ("holds", "does not hold at this scale")
    assert claim.minutes > 0
    assert {row.item for row in rows if row.quantity == "threshold over offset"} == {
        f"distances {low} to {low + 3}, seed {seed}" for low in (4, 8) for seed in range(3)
    }


# ---- relations over runs ---------------------------------------------------------------------------
def said(claim: Claim, table: RunTable) -> tuple[list[Row], Judgement]:
    rows, _, complete = reduce_runs(claim, table)
    return list(rows), judge(claim, rows, complete)


def some_cells(*asked: Request, task: str = "majority", count: int = 4, **more: Any) -> tuple[TrainedCell, ...]:
    return tuple(
        cell(task, "nope", 15, 2, width=8 * (i + 1), heads=2, label=str(i), requests=(FIT, *asked), **more)
        for i in range(count)
    )


def test_the_slope_of_failure_lengths_on_gates() -> None:
    """Gates 1 - 1/m fail at 3 m^s: the slope on log m is s; runs that never fail do not enter."""
    cells = some_cells(Request("gates", {"token": "1"}), Request("behaviour", {}))
    claim = claim_on(
        "T6", HERE, "It is.", "it", above("slope", 0.7), *cells, reduce=f"{RELATIONS}:slope_by_gate",
        gate="steady gate on 1", failure=["failure_length", "failure_length, challenge"],
    )  # fmt: skip

    def value(power: float) -> Callable[[TrainedCell, int, str], float]:
        def of(one: TrainedCell, seed: int, told: str) -> float:
            memory = 2.0 ** (cells.index(one) + seed + 1)
            if told.startswith("steady"):
                return 1 - 1 / memory
            if not told.startswith("failure"):
                return 0.5
            return 3 * memory**power * (2 if told.endswith("challenge") else 1)

        return of

    (row,), judged = said(claim, table_for(claim, value(1.0)))
    assert (row.value, row.low, row.high) == pytest.approx((1.0, 1.0, 1.0))
    assert (judged.verdict, row.entered, row.planned) == ("holds", 12, 12)
    assert said(claim, table_for(claim, value(0.5)))[1].verdict == "does not hold at this scale"
    never = RunTable(
        replace(one, value=None, low=99.0, high=None) if one.quantity.startswith("failure") else one
        for one in table_for(claim, value(1.0))
    )
    assert said(claim, never)[1].verdict == "undecided"


def test_the_slope_of_keys_needed_where_runs_fail_less_where_they_hold() -> None:
    """Keys 2 in runs that hold, n / N in those that fail: slopes 0 and 1."""
    keys = Request("circuits.sparsity", {"only": ["keys_needed"]})
    cells = some_cells(keys, Request("lengths", {"factors": [4]}))
    claim = claim_on(
        "T7", HERE, "It is.", "it", above("difference of slopes", 0.0), *cells, reduce=f"{RELATIONS}:keys_slopes",
        factors=[1, 2, 4], holds="skill at 4 N", least=0.9,
    )  # fmt: skip

    def value(one: TrainedCell, seed: int, told: str) -> float:
        holds = cells.index(one) < 2
        if told.startswith("keys_needed"):
            return 2.0 if holds else float(told.split()[2])
        return 0.95 if holds else 0.3

    (row,), judged = said(claim, table_for(claim, value))
    assert (row.value, judged.verdict) == (pytest.approx(1.0), "holds")
    (row,), judged = said(claim, table_for(claim, lambda one, seed, told: 0.95))
    assert (row.entered, judged.verdict) == (0, "undecided")


def test_tau_is_of_pairs_of_one_task() -> None:
    """Within each task a larger penalty goes with a smaller b2; over both tasks together it would not."""
    penalty = Request("circuits.positional", {"only": ["positional_regularizer"]})
    cells = (
        *some_cells(penalty, Request("bins"), count=2),
        *some_cells(penalty, Request("bins"), task="parity", count=2),
    )
    claim = claim_on(
        "T8", HERE, "It is.", "it", below("tau", 0.0, 0.0), *cells, reduce=f"{RELATIONS}:tau_within_tasks",
        one="positional_regularizer", other="b2",
    )  # fmt: skip

    def value(one: TrainedCell, seed: int, told: str) -> float:
        high = one.task == "parity"
        place = cells.index(one) % 2 * 3 + seed
        return 0.1 * place + 5 * high if told.startswith("positional") else 0.45 - 0.05 * place + 0.5 * high

    (row,), judged = said(claim, table_for(claim, value))
    assert (row.value, row.low, row.high) == (-1.0, -1.0, -1.0)
    assert (judged.verdict, row.entered) == ("holds", 12)


def test_curricula_in_the_order_in_which_their_runs_fail() -> None:
    factors = [1, 2, 4]
    laws: tuple[dict[str, Any], ...] = ({"law": "fixed"}, {"law": "few_long", "short": 4}, {"law": "uniform"})
    cells = tuple(
        cell("majority", "nope", 15, 2, label=law["law"], requests=(FIT, Request("lengths", {"factors": factors})),
             training={"curriculum": {"low": 1, "high": 15, **law}})
        for law in laws
    )  # fmt: skip
    places = {"fixed": 0, "few_long": 1, "uniform": 2}
    claim = claim_on(
        "T9", HERE, "It is.", "it", above("correlation", 0.0), *cells, reduce=f"{RELATIONS}:follows_order",
        factors=factors, places=places, exempt=True,
    )  # fmt: skip

    def right_to(reach: dict[str, int]) -> Callable[[TrainedCell, int, str], float]:
        return lambda one, seed, told: (
            0.97 if float(told.split()[2]) <= reach[one.training["curriculum"]["law"]] else 0.2
        )

    (row,), judged = said(claim, table_for(claim, right_to({"fixed": 0, "few_long": 1, "uniform": 4})))
    assert (row.item, row.value, judged.verdict) == ("majority", pytest.approx(1.0), "holds")
    (row,), judged = said(claim, table_for(claim, right_to({"fixed": 4, "few_long": 1, "uniform": 0})))
    assert (row.value, judged.verdict) == (pytest.approx(-1.0), "does not hold at this scale")
    (row,), judged = said(claim, table_for(claim, right_to({"fixed": 1, "few_long": 1, "uniform": 1})))
    assert (row.entered, judged.verdict) == (0, "undecided")


def test_the_share_of_heads_of_a_kind() -> None:
    """Of two heads none is of the kind after the short training, and one or both after the long one."""
    cells = some_cells(Request("circuits.hardmax"), count=2)
    claim = claim_on(
        "T10", HERE, "It is.", "it", above("rise", 0.05), *cells, reduce=f"{RELATIONS}:share_of_kind", exempt=True,
        quantity="hardmax_kind at 4 N", label="class", told="rise", groups=[[0, 1]],
    )  # fmt: skip
    claim = with_seeds(claim, range(6))
    plain = table_for(claim, lambda *_: 0.0)

    def labelled(row: RunRow) -> RunRow:
        long = row.cell == cells[1].name
        of_class = long and row.quantity.startswith("hardmax") and (row.setting == "L0H0" or row.seed == 2)
        return replace(row, label="class") if of_class else row

    (row,), judged = said(claim, RunTable(map(labelled, plain)))
    rises = [0.5, 0.5, 1.0, 0.5, 0.5, 0.5]
    half = 2.5706 * np.std(rises, ddof=1) / math.sqrt(6)  # of t with five degrees of freedom
    assert row.value == pytest.approx(np.mean(rises))
    assert (row.low, row.high) == pytest.approx((row.value - half, row.value + half), abs=0.02)
    assert judged.verdict == "holds"
    assert said(claim, plain)[1].verdict == "does not hold at this scale"


def test_the_order_of_curricula_is_that_of_the_linear_readers() -> None:
    """TR06's order against the exact errors of TR03: fixed most, then few long, then uniform and growing alike."""
    from workbench.claims.suites.own_linear_readers import errors_by_curriculum

    ((_, claim),) = claims_named("TR06")
    places = claim.arguments["places"]
    for row in errors_by_curriculum():
        if row.quantity == "error beyond N":
            scales, _, law = row.item.rpartition(", ")
            others = {
                one.item.rpartition(", ")[2].replace(" ", "_"): one.value
                for one in errors_by_curriculum()
                if one.quantity == "error beyond N" and one.item.startswith(scales + ",")
            }
            order = sorted(others, key=lambda name: (-round(others[name], 9), name))
            assert [places[name] for name in order] == [0, 1, 2, 2], (row.item, law)
            break


def test_statistics_that_some_draws_do_not_give() -> None:
    """Draws without the rare run are drawn again, and a statistic that no run gives is none."""
    some = each_draw(lambda i: float(i.sum()) if 0 in i else None)
    found = over_seeds([0, 0, 0, 1], some, np.random.default_rng(0))
    assert found is not None
    assert (found.value, found.fewest) == (6.0, 1)
    assert -math.inf < found.low < 6.0 < found.high < math.inf
    assert over_seeds([0, 1, 2], each_draw(lambda i: None), np.random.default_rng(0)) is None
    with pytest.raises(ClaimError, match="quantities"):
        cell_correlation([1, 2, 3], [1, 1, 1], [0, 1, 2], np.random.default_rng(0))
    assert math.isclose(cell_correlation([1, 2, 3], [1, 2, 4], [0, 1, 2], np.random.default_rng(0)).value, 1.0)


def test_a_claim_that_asks_for_a_row_of_another_name_is_no_undecided_one() -> None:
    cells = some_cells(Request("lengths", {"factors": [32]}), count=3)
    claim = claim_on(
        "T9", HERE, "It is.", "it", above("tau", 0.0), *cells, reduce="bound_tau", exempt=True,
        quantity="training_length_bound_log10", target="theorem 9",
    )  # fmt: skip
    with pytest.raises(LookupError, match="training_length_bound_log10"):
        said(claim, table_for(claim, lambda one, seed, told: 0.5))


@pytest.mark.parametrize(("symbols", "refused"), [(3, "4"), (4, ""), (5, "")])
def test_a_copy_is_of_as_many_symbols_as_there_are_at_most(
    monkeypatch: pytest.MonkeyPatch, symbols: int, refused: str
) -> None:
    asked: list[tuple[int, int]] = []

    def right(run: object, task: object, length: int, count: int) -> torch.Tensor:
        asked.append((length, count))
        return torch.arange(count) < 2

    monkeypatch.setattr(retrieval_copies, "_right", right)
    monkeypatch.setattr(retrieval_copies, "lengths_in", lambda run, low, high: [5, 6] if low < 7 else [])
    monkeypatch.setattr(retrieval_copies, "STRINGS", 7)
    run: Any = SimpleNamespace(task=make_task("ur", symbols=symbols), longest=6)
    if refused:
        with pytest.raises(ClaimError, match=f"{refused}"):
            list(retrieval_copies.copy_rows(run, 2))
        return
    (row,) = retrieval_copies.copy_rows(run, 2)
    assert asked == [(5, 4), (6, 4)]
    assert (row["quantity"], row["length"], row["n"], row["value"]) == ("b0 copied", 6, 8, 0.5)


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
