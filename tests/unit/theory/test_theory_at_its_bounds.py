"""Theory at its thresholds: values that are just enough and just too little, the empty and the single case."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from workbench.tasks.automata.dfa import Automaton
from workbench.theory import average_sensitivity as sensitivity
from workbench.theory import communication
from workbench.theory.compiler import pipeline
from workbench.theory.compiler.error_budget import ErrorBudget, error_budget
from workbench.theory.compiler.pipeline import compile
from workbench.theory.compiler.placement import Wiring, total
from workbench.theory.crasp import programs as p
from workbench.theory.crasp.builder import MOD, TRUE, Q, count, program, where
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.normal_form import Linear, bounds, linear, magnitude, normal_program
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers import head_estimates as estimates
from workbench.theory.limit_transformers import precision
from workbench.theory.limit_transformers.bounds import (
    one_layer_average_case,
    one_layer_worst_case,
    sparse_attention_error,
    two_layers,
)
from workbench.theory.limit_transformers.limit_heads import LimitHead, margins
from workbench.theory.limit_transformers.one_layer_simulation import shorten_counts, simulate
from workbench.theory.limit_transformers.two_layer_subsequence import SubsetErrors, error_slope, markov_subset
from workbench.theory.prediction.rules import Positions
from workbench.theory.regular import deciders, exclusion, monoid
from workbench.theory.sparse import functional_attention as sparse
from workbench.theory.sparse.position_coupling import CoupledAttention, is_local_coupling

PARITY = Automaton.from_regex("(b*ab*a)*b*", "ab")


# ---- precision ----------------------------------------------------------------------------------------------
def test_one_key_to_all_keys_may_be_the_best() -> None:
    assert precision.argmax_mass(4, 1.0, 4) == 1.0
    assert precision.argmax_mass(1, 0.3) == 1.0
    assert precision.argmax_mass(4, 1.0, 1) == pytest.approx(1 / (1 + 3 / 4))
    for size in (0.99, 4.01, 0):
        with pytest.raises(TheoryError, match="best ones"):
            precision.argmax_mass(4, 1.0, size)


def test_no_bits_round_at_every_length_and_one_key_is_seen() -> None:
    assert precision.log10_p_bit_length(0, 0.5) == 0.0
    assert precision.log10_p_bit_length(0, 0.0) == math.inf
    with pytest.raises(TheoryError, match="cannot be negative"):
        precision.log10_p_bit_length(-1, 0.5)
    assert precision.local_share(2.5, 1) == 1.0
    with pytest.raises(TheoryError, match="at least one key"):
        precision.local_share(2.5, 0.5)


@pytest.mark.parametrize(
    ("gap", "bits", "kept"), [(1.0, 3.0, False), (1.0, 3.01, True), (0.0, 0.5, True), (2.0, 6.0, False)]
)
def test_weights_of_exactly_so_many_bits_are_rounded_away(gap: float, bits: float, kept: bool) -> None:
    """Among 8 keys a weight at the gap 1 is 2^-3 of the best one."""
    assert (precision.p_bit_weights([gap, 0.0], 8, bits)[1] > 0) == kept


def test_scores_within_the_tie_are_tied() -> None:
    assert precision.hardmax_weights([1.0, 0.5, 0.25], tie=0.5).tolist() == [0.5, 0.5, 0.0]
    assert precision.hardmax_weights([1.0, 1.0, 0.0]).tolist() == [0.5, 0.5, 0.0]


# ---- bounds ---------------------------------------------------------------------------------------------------
WORST = {"lipschitz": 1.0, "period": 1, "alphabet": 1, "locality": 1, "epsilon": 1.0, "gamma": math.inf, "bits": 8.0}


@pytest.mark.parametrize(("change", "log10"), [
    ({}, 0.0), ({"lipschitz": 10.0}, 2.0), ({"period": 10}, 7.0), ({"alphabet": 10}, 6.0), ({"locality": 10}, 2.0), ({"locality": 0}, 0.0),
    ({"epsilon": 0.1}, 2.0), ({"gamma": 2.0}, 4 * math.log10(2)), ({"gamma": 0.0}, math.inf), ({"lipschitz": 0.0, "gamma": 8.0}, math.log10(2)),
])  # fmt: skip
def test_each_exponent_of_theorem_4_1(change: dict[str, float], log10: float) -> None:
    assert one_layer_worst_case(**{**WORST, **change}).log10 == pytest.approx(log10)  # type: ignore[arg-type]


def test_exponents_of_the_other_theorems() -> None:
    assert one_layer_average_case(epsilon=0.1, prior=1.0).log10 == pytest.approx(4)
    assert one_layer_average_case(epsilon=0.1, prior=0.5).log10 == pytest.approx(6)
    for gamma, power in ((1.0, 3), (1 / 3, 3), (0.25, 4), (0.1, 10), (math.inf, 3)):
        assert two_layers(log10_complexity=2.0, epsilon=0.1, gamma=gamma).log10 == pytest.approx(3 * power)
        assert two_layers(log10_complexity=2.0, epsilon=0.1, gamma=gamma, reading="outside").log10 == pytest.approx(
            2 + power
        )
    assert two_layers(log10_complexity=0.0, epsilon=0.1, gamma=0.0).log10 == math.inf
    assert two_layers(log10_complexity=100.0, epsilon=0.1, gamma=1.0).value == pytest.approx(1e303)
    assert two_layers(log10_complexity=308 / 3 - 1, epsilon=0.1, gamma=1.0).value in (math.inf, pytest.approx(1e308))
    assert two_layers(log10_complexity=102.0, epsilon=0.1, gamma=1.0).value == math.inf


@pytest.mark.parametrize(("change", "refused"), [
    ({}, ""), ({"length": 23}, "L >= 4 L_local"), ({"local": 0}, "L >= 4 L_local"), ({"longest": 24}, ""), ({"longest": 23}, "multiple"),
    ({"longest": 31}, "multiple"), ({"coverage": 1.0}, ""), ({"coverage": 0.99}, "eta"), ({"coverage_longest": 0.99}, "eta"),
    ({"realizability": 0.0}, ""), ({"realizability": -0.01}, "loss"), ({"length": 4, "local": 1, "longest": 5}, ""),
])  # fmt: skip
def test_what_theorem_4_3_asks_for(change: dict[str, Any], refused: str) -> None:
    given = {
        "length": 24,
        "longest": 30,
        "local": 6,
        "coverage": 2.0,
        "coverage_longest": 3.0,
        "realizability": 0.5,
        **change,
    }
    if refused:
        with pytest.raises(TheoryError, match=refused):
            sparse_attention_error(**given)
        return
    found = sparse_attention_error(**given)
    wanted = (
        given["coverage"] * given["coverage_longest"] * given["length"] * given["longest"] ** 2 * given["realizability"]
    )
    assert found.log10 == (pytest.approx(math.log10(wanted)) if wanted else -math.inf)


# ---- estimates -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("shares", "period"), [
    ({1: 0.0099, 2: 0.0}, 1), ({1: 0.01, 2: 0.0}, 2), ({1: 1.0, 2: 0.5, 3: 0.01, 6: 0.0}, 3), ({1: 1.0, 2: 0.11, 4: 0.0}, 4), ({1: 0.5, 2: 0.5}, 1),
])  # fmt: skip
def test_the_least_period_that_explains_nearly_as_much(shares: dict[int, float], period: int) -> None:
    assert estimates._least_period(shares) == period


@pytest.mark.parametrize(("phi", "negligible", "locality"), [
    ([1.0, 0.0, 0.0], 0.0, 0), ([1.0, 0.1, 0.0], 0.0, 0), ([1.0, 0.11, 0.0], 0.0, 1), ([0.0, 0.0, 0.0], 0.0, 0), ([1.0, 1.0, 1.0], 0.0, None),
    ([1.0, 1.0, 1.0], 1.01, 1), ([1.0, 1.0, 1.0], 2.0, 0), ([0.0, 3.0, 0.0, 0.0], 0.0, 1), ([0.0, 0.0, 3.0, 0.0], 0.0, 2),
])  # fmt: skip
def test_the_lag_after_which_a_local_term_is_negligible(
    phi: list[float], negligible: float, locality: int | None
) -> None:
    assert estimates._locality(np.array(phi), negligible) == locality


def test_probing_needs_two_strings_and_one_token_more_than_it_reads() -> None:
    from tests.support.theory.limit_models import limit_model, strings

    model = limit_model(1, 0, n_heads=1, d_model=4)
    needed = estimates.LARGEST_LAG + max(estimates.PERIODS) + estimates.QUERIES
    assert needed == 28
    assert len(estimates.estimate_heads(model, strings(2, needed + 1), 0)) == 1
    for count_, length in ((1, needed + 1), (2, needed)):
        with pytest.raises(TheoryError, match="2 strings or more of over 28 tokens"):
            estimates.estimate_heads(model, strings(count_, length), 0)


def test_gaps_of_exactly_the_tie_are_ties() -> None:
    head = LimitHead(np.array([0.0, 0.5, 2.0]).reshape(1, 1, 3, 1).repeat(3, 0), np.zeros(1))
    assert (margins(head, 0.25).pair, margins(head, 0.25).top) == (0.5, 1.5)
    assert (margins(head, 0.5).pair, margins(head, 0.5).top) == (1.5, 1.5)
    assert (margins(head, 1.5).pair, margins(head, 1.5).top_query) == (math.inf, (0, 0))
    assert margins(head, 2.0).top == math.inf
    assert margins(head, 0.25).top_query == margins(head, 0.25).pair_query == (0, 0)


def test_scores_of_a_string_shorter_than_the_local_term() -> None:
    head = LimitHead(np.zeros((2, 1, 2, 1)), np.array([1.0, 2.0, 3.0]))
    assert head.scores(np.array([1])).tolist() == [1.0]
    assert head.scores(np.array([1, 1])).tolist() == [2.0, 1.0]
    assert head.scores(np.array([1, 1, 0, 1])).tolist() == [0.0, 3.0, 2.0, 1.0]
    scaled = LimitHead(head.content + 1, head.phi, scaling="local")
    assert scaled.scores(np.array([1, 1]), keys=8).tolist() == pytest.approx([1 + 2 * math.log(8), 1 + math.log(8)])
    every = LimitHead(head.content + 1, head.phi, scaling="all")
    assert every.scores(np.array([1, 1])).tolist() == pytest.approx([3 * math.log(2), 2 * math.log(2)])


# ---- subsequences and simulations --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("length", "size", "run", "refused"), [
    (10, 0, None, "between 1 and 9, not 0"), (10, 10, None, "between 1 and 9, not 10"), (10, 1, 1.0, ""), (10, 5, 1.0, ""),
    (10, 6, 1.0, "cannot make up 0.6"), (10, 6, 1.5, ""), (10, 5, 0.99, "runs of mean length 0.99"), (2, 1, None, ""),
])  # fmt: skip
def test_subsets_that_can_be_drawn(length: int, size: int, run: float | None, refused: str) -> None:
    rng = np.random.default_rng(0)
    if refused:
        with pytest.raises(TheoryError, match=refused):
            markov_subset(length, size, rng, run)
    else:
        assert markov_subset(length, size, rng, run).shape == (length,)


def test_runs_of_one_that_make_up_half_alternate() -> None:
    kept = markov_subset(9, 4, np.random.default_rng(1), 9 / (9 - 4) * 4 / 4)
    assert 0 < kept.sum() < 9
    even = markov_subset(10, 5, np.random.default_rng(1), 1.0)
    assert even.tolist() in ([True, False] * 5, [False, True] * 5)


def test_a_slope_needs_two_sizes_and_errors_above_zero() -> None:
    def one(length: float, median: float) -> SubsetErrors:
        return SubsetErrors(1, length, median, median, 1, np.zeros(1, dtype=np.int64))

    assert error_slope([one(8.0, 0.5), one(64.0, 0.25)]) == pytest.approx(-1 / 3)
    for errors in ([one(8.0, 0.5)], [one(8.0, 0.5), one(64.0, 0.0)]):
        with pytest.raises(TheoryError, match="two sizes or more"):
            error_slope(errors)


def test_strings_of_one_free_token_are_the_shortest_to_be_simulated() -> None:
    head = LimitHead(np.zeros((3, 1, 3, 1)), np.zeros(2), bos=0)
    x = np.array([0, 1, 2, 1])
    assert len(simulate([head], x, 0.9).tokens) <= 4
    with pytest.raises(TheoryError, match="of 3 tokens is no longer than what is kept of it, 3"):
        simulate([head], x[:3], 0.9)
    with pytest.raises(TheoryError, match="epsilon must be positive, not 0"):
        shorten_counts([3, 4], [[1.0, 1.0]], 0.0)
    assert shorten_counts([4, 4], [[1.0, 1.0]], 1e-6)[0].tolist() == [1, 1]
    assert shorten_counts([3, 6], [[1.0, 1.0]], 0.01)[0].tolist() == [1, 2]
    assert shorten_counts([3, 6], [[1.0, 0.0]], 0.01)[0].tolist() == [1, 0], "what no head weighs may go"


# ---- limits on size, at exactly the limit ----------------------------------------------------------------------------------
def test_what_is_gone_through_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(x: tuple[str, ...], y: tuple[str, ...]) -> bool:
        return x == y

    monkeypatch.setattr(communication, "LARGEST_MATRIX", 16)
    assert communication.rows(both, "ab", 2) == 4
    monkeypatch.setattr(communication, "LARGEST_MATRIX", 15)
    with pytest.raises(TheoryError, match=r"2\^4 strings"):
        communication.rows(both, "ab", 2)
    monkeypatch.setattr(sensitivity, "LARGEST_CUBE", 3)
    assert sensitivity.average_sensitivity(lambda x: x.sum(1) % 2, 3) == 3
    assert sensitivity.average_sensitivity(lambda x: x[:, 0], 1) == 1
    for n in (0, 4):
        with pytest.raises(TheoryError, match="1 to 3 bits"):
            sensitivity.average_sensitivity(lambda x: x[:, 0], n)
    assert sensitivity.regular_sensitivity(PARITY, 1) == 1
    with pytest.raises(TheoryError, match="at least one bit"):
        sensitivity.regular_sensitivity(PARITY, 0)


def test_products_and_monoids_of_exactly_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(deciders.product(PARITY, 3, 0).states) == 6  # type: ignore[union-attr]
    monkeypatch.setattr(deciders, "LARGEST_PRODUCT", 6)
    assert deciders.product(PARITY, 3, 0) is not None
    monkeypatch.setattr(deciders, "LARGEST_PRODUCT", 5)
    assert deciders.product(PARITY, 3, 0) is None
    for period, locality in ((0, 0), (1, -1)):
        with pytest.raises(TheoryError, match="at least 1 and a locality at least 0"):
            deciders.product(PARITY, period, locality)
    assert len(monoid.syntactic_monoid(PARITY, 2)) == 2  # type: ignore[arg-type]
    assert monoid.syntactic_monoid(PARITY, 1) is None
    assert exclusion.exclude(PARITY, 2) is not None
    assert exclusion.exclude(PARITY, 1) is None
    monkeypatch.setattr(monoid, "LARGEST_IDENTITY", 2)
    assert monoid.profile(PARITY).r_omega == "no"
    monkeypatch.setattr(monoid, "LARGEST_IDENTITY", 1)
    assert monoid.profile(PARITY).r_omega == "not decided"
    monkeypatch.setattr(deciders, "LARGEST_AUTOMATON", 2)
    assert deciders.in_crasp(PARITY, "last_position").decision == "no"
    monkeypatch.setattr(deciders, "LARGEST_AUTOMATON", 1)
    assert deciders.in_crasp(PARITY, "last_position").decision == "not decided"


def test_programs_and_models_of_exactly_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = p.majority()
    assert pipeline.written_out([made["accept"]]) == 7
    for name, limit, says in (
        ("LARGEST_PROGRAM", 7, "7 expressions"),
        ("MOST_NUMBERS", compile(made, 5).model.cfg.least_numbers, "numbers"),
    ):
        monkeypatch.setattr(pipeline, name, limit)
        compile(made, 5)
        monkeypatch.setattr(pipeline, name, limit - 1)
        with pytest.raises(CraspError, match=says):
            compile(made, 5)
        monkeypatch.undo()
    turning = program("ab", {"accept": MOD(1, 4) | MOD(2, 3)})
    monkeypatch.setattr(pipeline, "LARGEST_REACH", 12)
    compile(turning, 5)
    monkeypatch.setattr(pipeline, "LARGEST_REACH", 11)
    with pytest.raises(CraspError, match="after 12 positions"):
        compile(turning, 5)


def test_first_keys_from_the_first_position_to_the_last() -> None:
    for keys in (1, 5):
        compile(p.majority(), 5, first_keys=keys)
    for keys in (0, 6):
        with pytest.raises(CraspError, match=r"1\.\.5"):
            compile(p.majority(), 5, first_keys=keys)
    compiled = compile(p.majority(), 5, first_keys=5)
    assert compiled.tokens(every_string(2, 5)).shape == (32, 6)
    with pytest.raises(CraspError, match="has 5 positions"):
        compiled.tokens(every_string(2, 6))
    with pytest.raises(CraspError, match="at least 1, not 0"):
        compile(p.majority(), 0)
    assert compile(p.majority(), 1).n_max == 1


@pytest.mark.parametrize(("largest", "depth", "n_max", "dtype", "longest"), [
    (2.0, 1, 100, "float32", 2**23 // 32 - 1), (0.0, 0, 1, "float32", 2**23 // 16 - 1), (1.0, 1, 2**19 - 1, "float32", 2**19 - 1),
    (1.0, 1, 2**19, "float64", 2**19 - 1), (8.0, 2, 2**16 - 1, "float32", 2**16 - 1), (8.0, 2, 2**16, "float64", 2**16 - 1),
])  # fmt: skip
def test_budgets_that_are_just_met(largest: float, depth: int, n_max: int, dtype: str, longest: int) -> None:
    budget = ErrorBudget(n_max, largest, depth)
    assert (budget.dtype, budget.longest) == (dtype, longest)
    assert budget.coarse_error("float64") == pytest.approx(4 * (n_max + 1) * largest * 2.0**-52)
    assert (
        budget.coarse_error() == budget.coarse_error("float32") == pytest.approx(4 * (n_max + 1) * largest * 2.0**-23)
    )
    assert budget.gain * budget.margin == pytest.approx(2)


# ---- normal forms --------------------------------------------------------------------------------------------------------
A, B = count(Q("a")), count(Q("b"))
NEAR_A = count(Q("a"), {0, 2})


@pytest.mark.parametrize(("term", "low", "high", "size", "local"), [
    (A, 0, math.inf, 1, False), (2 * A - 3 * B + 1, -math.inf, math.inf, 6, False), (NEAR_A, 0, 2, 1, True), (NEAR_A * -2 + 5, 1, 5, 7, True),
    (NEAR_A + A, 0, math.inf, 2, False), (A + NEAR_A, 0, math.inf, 2, False), (where(Q("a"), NEAR_A, 7), 0, 7, 7, False),
    (where(Q("a"), -1, 2 * NEAR_A - 3) * -1, -1, 3, 5, False), (A - A, 0, 0, 0, True), (where(Q("a"), A, 2) + NEAR_A, 0, math.inf, 3, False),
])  # fmt: skip
def test_ranges_sizes_and_what_is_local(term: Any, low: float, high: float, size: float, local: bool) -> None:
    combination = linear(term.node)
    assert bounds(combination) == (low, high)
    assert magnitude(combination) == size
    assert magnitude(term.node) == size
    assert combination.local is local


@pytest.mark.parametrize(("line", "text"), [
    (NEAR_A <= 2, "true"), (NEAR_A <= 1, "-1 * count[0, 2](Q(a)) + 1 >= 0"), (NEAR_A > 2, "not true"), (NEAR_A >= 0, "true"), (NEAR_A < 1, ""),
    (A >= 0, "true"), (A < 0, "not true"), (A > 0, "count(Q(a)) - 1 >= 0"), (A == 0, "-1 * count(Q(a)) >= 0"), (A != 0, "not -1 * count(Q(a)) >= 0"),
    (A - A == 0, "true"), (MOD(0, 1), "true"), (~~Q("a"), "Q(a)"), (Q("a") & TRUE & Q("a"), "Q(a)"), (Q("a") & ~TRUE, "not true"),
    (Q("a") | ~TRUE, "Q(a)"), (Q("a") | TRUE, "true"), (where(TRUE, A, B) >= 1, "count(Q(a)) - 1 >= 0"), (where(~TRUE, A, B) >= 1, "count(Q(b)) - 1 >= 0"),
    (count(~TRUE) + A >= 1, "count(Q(a)) - 1 >= 0"), (2 * A + 3 * A - 5 * B > 0, "5 * count(Q(a)) - 5 * count(Q(b)) - 1 >= 0"),
])  # fmt: skip
def test_normal_forms_of_lines(line: Any, text: str) -> None:
    made = program("ab", {"accept": line})
    found = str(normal_program(made)).splitlines()[-1].removeprefix("accept := ")
    strings = every_string(2, 6)
    assert np.array_equal(evaluate(made, strings)["accept"], evaluate(normal_program(made), strings)["accept"])
    assert found == text or not text, found


@pytest.mark.parametrize(
    "line", [NEAR_A + A >= 3, A + NEAR_A >= 3, NEAR_A - A + 1 > 0, where(Q("a"), NEAR_A, 2) + NEAR_A >= 3]
)
def test_local_counts_beside_others_are_no_local_comparison(line: Any) -> None:
    made, strings = program("ab", {"accept": line}), every_string(2, 7)
    compiled = compile(made, 7)
    assert np.array_equal(compiled.evaluate(strings)["accept"], evaluate(made, strings)["accept"])
    assert error_budget(made, 7).magnitude > 0, "it reads means"


def test_a_comparison_of_local_counts_alone_costs_no_precision() -> None:
    assert error_budget(program("ab", {"accept": NEAR_A * 3 >= 4}), 7).magnitude == 0
    assert error_budget(program("ab", {"accept": (NEAR_A * 30 >= 4) & (A >= B + 2)}), 7).magnitude == 4


def test_linear_combinations_add_and_cancel() -> None:
    one, other = linear((2 * A + 3).node), linear((B - 2 * A - 1).node)
    assert (one + other).constant == 2
    assert [k for k, _ in (one + other).terms] == [1]
    assert (one * 0) == Linear(0, ())
    assert total((2, {"x": 1.0, "y": 1.0}), (-1, {"y": 2.0, "z": 3.0})) == {"x": 2.0, "z": -3.0}


def test_a_model_has_a_layer_even_where_it_needs_none() -> None:
    assert Wiring(program("ab", {"accept": Q("a")}), 5).layers == 1
    assert compile(program("ab", {"accept": Q("a")}), 5).sizes.mlp == (0,)
    assert Wiring(program("ab", {"accept": ~Q("a") & (A >= 2)}), 5).gain == 24.0


@pytest.mark.parametrize(("text", "fragment", "modulus", "locality", "depth"), [
    ("alphabet a b\naccept := Q(a)", "C-RASP[]", 1, None, 0), ("alphabet a b\naccept := MOD(1, 4) or MOD(2, 6)", "C-RASP[periodic]", 12, None, 0),
    ("alphabet a b\naccept := count[0](Q(a)) = 1", "C-RASP[local]", 1, 0, 0),
    ("alphabet a b\naccept := count(count[3, 1](MOD(0, 2)) = 1) >= count(count(Q(a)) = 2)", "C-RASP[periodic, local]", 2, 3, 2),
])  # fmt: skip
def test_what_programs_use(text: str, fragment: str, modulus: int, locality: int | None, depth: int) -> None:
    made = parse(text)
    assert (made.fragment, made.modulus, made.locality, made.depth) == (fragment, modulus, locality, depth)


# ---- positions and what they offer ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "settings", "offered", "lacking"), [
    ("none", {}, [(1, 0)], [(2, 0), (1, 1)]), ("learned", {}, [(7, 9)], []), ("rotary", {}, [], [(1, 0)]),
    ("limit", {"period": 4, "locality": 2}, [(1, 0), (2, 2), (4, 2)], [(3, 0), (8, 0), (1, 3)]), ("limit", {"period": 4}, [(4, 99)], [(3, 0)]),
    ("limit", {"locality": 2}, [(99, 2)], [(1, 3)]), ("relative", {"buckets": 8, "max_distance": 16}, [(1, 0)], [(2, 0), (1, 99)]),
])  # fmt: skip
def test_what_positions_offer(
    name: str, settings: dict[str, int], offered: list[tuple[int, int]], lacking: list[tuple[int, int]]
) -> None:
    at = Positions(name, "arange", settings)
    assert [at.offers(*pair) for pair in offered + lacking] == [True] * len(offered) + [False] * len(lacking)
    assert at.blind == (name == "none")


# ---- sparse functions ----------------------------------------------------------------------------------------------------------
def test_sets_of_places_from_the_smallest_string_on(monkeypatch: pytest.MonkeyPatch) -> None:
    anywhere: sparse.SparseAttention[int] = sparse.SparseAttention(2, lambda s, z: z == (2, 2), lambda z: F(sum(z)))
    assert anywhere((2, 2)) == 4
    assert anywhere((1, 2)) == 3, "where none is admitted all are"
    assert anywhere((1, 2, 2)) == 4
    with pytest.raises(TheoryError, match="a string of 1 tokens has no 2 places"):
        anywhere((2,))
    assert sparse.pairs_at(4, 2) == [(1, 3), (2, 4)]
    assert sparse.pairs_at(2, 2) == []
    assert sparse.span((2, 3, 7)) == 5
    assert sparse.uniform([(1,), (2,)]) == {(1,): F(1, 2), (2,): F(1, 2)}
    assert len(sparse.counterexamples(3)) == 4
    with pytest.raises(TheoryError, match="at least 3, not 2"):
        sparse.counterexamples(2)
    law = sparse.Planted(
        lambda n: sparse.uniform(sparse.pairs_at(n, 1)), {(2, 2): F(1)}, {(0,): F(1, 2), (1,): F(1, 2)}, lambda z: F(1)
    )
    monkeypatch.setattr(sparse, "LARGEST_BACKGROUND", 4)
    assert sum(chance for chance, *_ in law.outcomes(4)) == 1
    with pytest.raises(TheoryError, match="2 background tokens at 3 places"):
        list(law.outcomes(5))


@pytest.mark.parametrize(("psi", "local", "holds"), [
    ({1: 1, 2: 2, 3: 3, 4: 4}, 3, True), ({1: 1, 2: 2, 3: 3, 4: 4}, 2, False), ({1: 1, 2: 2, 3: 3, 4: 1}, 0, True), ({1: 1, 2: 2, 3: 2, 4: 1}, 0, False),
    ({1: 1, 2: 1, 3: 3, 4: 4}, 3, False),
])  # fmt: skip
def test_local_couplings(psi: dict[int, int], local: int, holds: bool) -> None:
    """The answer depends on places 1 and 4 of 4."""
    assert is_local_coupling(psi.__getitem__, (1, 4), 4, local) == holds


def test_coupled_attention_admits_one_token_of_each_rank_within_its_span() -> None:
    inner: sparse.SparseAttention[int] = sparse.SparseAttention(2, lambda s, z: True, lambda z: F(10 * z[0] + z[1]))
    far = CoupledAttention(inner, 2, 1, F(-1))
    assert far((((1, 3),), ((2, 4),))) == 34
    assert far((((1, 3),), ((1, 9),), ((2, 4),))) == F(94)
    assert far((((1, 3),), ((1, 5),))) == -1
    assert CoupledAttention(inner, 1, 0)((((1, 3), (2, 4)), ((1, 7),))) == 34
