"""The vectorised evaluator against plain Python, a per-position interpreter, and the counts that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.peers.crasp_interpreter import interpret
from tests.support.theory.evaluator import accepted, agree_with_the_oracle, letters, many_strings, to_length
from tests.support.theory.random_programs import ALPHABET, programs
from workbench.claims.exact.language_oracles import ORACLES
from workbench.theory.compiler.placement import total
from workbench.theory.crasp import evaluator, syntax
from workbench.theory.crasp.builder import MOD, TRUE, Q, count, program, where
from workbench.theory.crasp.evaluator import accepts, evaluate, every_string, trace, trace_table
from workbench.theory.crasp.normal_form import Linear, bounds, linear, normal_program
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.crasp.zoo import ZOO, Case


# ---- the zoo -------------------------------------------------------------------------------------
def test_every_case_has_an_oracle():
    assert set(ORACLES) == set(ZOO)


@pytest.mark.parametrize("case", [case for case in ZOO.values() if not many_strings(case)], ids=to_length)
def test_as_many_strings_are_accepted_as_are_known_to_be(case: Case):
    assert accepted(case) == case.accepted


@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: case.name)
def test_programs_agree_with_plain_python_on_short_strings(case: Case):
    for length in range(1, case.length + 1):
        if letters(case) ** length <= 700:
            agree_with_the_oracle(case, every_string(letters(case), length))


@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: case.name)
def test_near_misses_lie_on_both_sides_of_the_edge(case: Case):
    strings = case.near_misses(36)
    assert strings.shape[1] == 36
    assert len(np.unique(strings, axis=0)) == len(strings)
    some = [values[:, 11:].any() and not values[:, 11:].all() for values in evaluate(case.program, strings).values()]
    assert any(some)
    assert all(some) or case.name == "interleaved_majority"
    agree_with_the_oracle(case, strings)


def test_near_misses_have_lengths_that_suit_every_language():
    with pytest.raises(CraspError, match=r"\b100\b"):
        ZOO["anbncn"].near_misses(100)


@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: case.name)
def test_a_program_uses_at_least_what_its_language_needs(case: Case):
    def features(fragment: str) -> set[str]:
        return set(fragment.removeprefix("C-RASP[").removesuffix("]").split(", ")) - {""}

    assert features(case.fragment) <= features(case.program.fragment)


def test_two_programs_of_one_language_agree():
    strings = every_string(2, 14)
    one, other = ZOO["tomita_2"].program, ZOO["tomita_2_local"].program
    assert np.array_equal(evaluate(one, strings)["accept"], evaluate(other, strings)["accept"])


def test_two_ways_to_say_that_three_zeros_follow_each_other_agree():
    zero = Q("0")
    other = program("01", {"accept": count(zero & (count(zero, {1}) == 1) & (count(zero, {2}) == 1)) == 0})
    strings = every_string(2, 12)
    assert np.array_equal(evaluate(ZOO["tomita_4"].program, strings)["accept"], evaluate(other, strings)["accept"])


# ---- the semantics -------------------------------------------------------------------------------
@settings(max_examples=25)
@given(made=programs(), string=st.lists(st.integers(1, 3), min_size=1, max_size=9))
def test_random_programs_agree_with_the_interpreter(made: Program, string: list[int]):
    values = trace(made, [string])
    for position, lines in enumerate(interpret(made, string)):
        assert {name: int(values[name][0, position]) for name in values} == {k: int(v) for k, v in lines.items()}


@settings(max_examples=25)
@given(made=programs())
def test_the_normal_form_means_the_same(made: Program):
    strings = every_string(len(ALPHABET), 5)
    found, wanted = evaluate(normal_program(made), strings), evaluate(made, strings)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("count(Q(a)) = 0", "-1 * count(Q(a)) >= 0"),
        ("count(Q(a)) >= 0", "true"),
        ("count(Q(a)) < 0", "not true"),
        ("count[1](Q(a)) = 1", "count[1](Q(a)) - 1 >= 0"),
        ("count[1, 2](Q(a)) <= 2", "true"),
        ("count(Q(a)) - count(Q(b)) < 2 * count(Q(a)) - 3", "count(Q(a)) + count(Q(b)) - 4 >= 0"),
        ("count(Q(a)) != count(Q(a))", "not true"),
        ("where(Q(a), 1, 3) >= 1", "true"),
        ("where(MOD(0, 1), count(Q(a)), 7) >= 1", "count(Q(a)) - 1 >= 0"),
        ("Q(a) and (Q(b) and true) and Q(a)", "Q(a) and Q(b)"),
        ("Q(a) or not not not Q(a)", "Q(a) or not Q(a)"),
        ("Q(a) or 1 = 1", "true"),
        ("count(Q(a) and 1 > 2) >= 1", "not true"),
        (
            "count(Q(a)) = count(Q(b))",
            "count(Q(a)) - count(Q(b)) >= 0 and -1 * count(Q(a)) + count(Q(b)) >= 0",
        ),
    ],
)
def test_normal_forms_by_hand(text, normal):
    assert str(normal_program(parse(f"alphabet a b\nx := {text}"))).splitlines()[1] == f"x := {normal}"


def test_bounds_hold_every_value():
    one, other = count(Q("a"), offsets={0, 1}), where(Q("a"), 2, -1)
    node = (2 * one - 3 * other + 1).node
    low, high = bounds(linear(node))
    assert (low, high) == (-5, 8)
    values = trace(program("ab", {"d": 2 * one - 3 * other + 1, "x": TRUE}), every_string(2, 6))["d"]
    assert values.min() >= low
    assert values.max() <= high


def test_a_trace_by_hand():
    table = trace_table(ZOO["dyck_1"].program, "())(")
    assert list(table.columns) == ["1 (", "2 )", "3 )", "4 ("]
    assert table.loc["V"].tolist() == [0, 0, 1, 0]
    assert table.loc["accept"].tolist() == [0, 1, 0, 0]
    made = program(
        "ab",
        {
            "odd": MOD(1, 2),
            "here": count(Q("a"), offsets={0, 2}),
            "far": count(Q("a"), offsets={9}),
            "pick": where(Q("a"), count(TRUE), -count(Q("b"))),
            "x": Q("a"),
        },
    )
    values = trace(made, [made.ids("abaab")])
    assert values["odd"][0].tolist() == [True, False, True, False, True]
    assert values["here"][0].tolist() == [1, 0, 2, 1, 1]
    assert values["far"][0].tolist() == [0] * 5
    assert values["pick"][0].tolist() == [1, -1, 3, 4, -2]


def test_values_depend_on_the_prefix_alone():
    rng = np.random.default_rng(0)
    for case in ZOO.values():
        strings = rng.integers(1, len(case.program.alphabet) + 1, (20, 30))
        whole = evaluate(case.program, strings)
        for length in (1, 2, 17):
            part = evaluate(case.program, strings[:, :length])
            assert all(np.array_equal(part[name], whole[name][:, :length]) for name in part)


def test_blocks_of_strings_do_not_show(monkeypatch):
    made = ZOO["ur"].program
    strings = np.random.default_rng(1).integers(1, 5, (50, 40))
    whole = evaluate(made, strings)
    monkeypatch.setattr(evaluator, "BLOCK", 7 * 40)
    assert all(np.array_equal(whole[name], values) for name, values in evaluate(made, strings).items())


def test_great_numbers_do_not_overflow():
    big = 2**30
    made = program("a", {"value": big * count(Q("a")), "x": big * count(Q("a")) > 0})
    assert trace(made, np.ones((1, 9), dtype=int))["value"][0].tolist() == [big * n for n in range(1, 10)]
    assert evaluate(made, np.ones((1, 9), dtype=int))["x"].all()


def test_each_shared_expression_is_computed_once(monkeypatch):
    calls = []
    local = evaluator._local
    monkeypatch.setattr(evaluator, "_local", lambda *args: calls.append(1) or local(*args))
    shared = lambda: count(Q("a"), offsets={1}) == 1  # noqa: E731  # made anew each time
    made = program("ab", {"x": shared() & (count(shared()) > 1), "y": shared() | (count(shared() & Q("b")) > 1)})
    trace(made, every_string(2, 4))
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        ([[0, 1]], "BOS"),
        ([[1, 3]], "not 3"),
        ([1, 2], "shape"),
        ([[1.0, 2.0]], "float64"),
    ],
)
def test_wrong_strings_are_refused(strings, message):
    with pytest.raises(CraspError, match=message):
        evaluate(ZOO["dyck_1"].program, strings)


def test_acceptance_needs_one_output_and_a_last_position():
    with pytest.raises(CraspError, match="use evaluate"):
        accepts(ZOO["ur"].program, [[1]])
    with pytest.raises(CraspError, match="position"):
        accepts(ZOO["dyck_1"].program, np.zeros((1, 0), dtype=int))
    assert evaluate(ZOO["dyck_1"].program, np.zeros((0, 3), dtype=int))["accept"].shape == (0, 3)
    assert accepts(ZOO["dyck_1"].program, [[1, 2], [2, 1]]).tolist() == [True, False]


@pytest.mark.parametrize(("largest", "whole"), [(2**31 - 1, np.int32), (2**31, np.int64), (1, np.int32)])
def test_counts_are_held_in_what_their_largest_value_fits_into(largest: int, whole: type) -> None:
    assert evaluator._whole([syntax.Constant(largest)], 1) is whole
    assert evaluator._whole([syntax.Constant(-largest)], 1) is whole


A, B = count(Q("a")), count(Q("b"))


def test_linear_combinations_add_and_cancel() -> None:
    one, other = linear((2 * A + 3).node), linear((B - 2 * A - 1).node)
    assert (one + other).constant == 2
    assert [k for k, _ in (one + other).terms] == [1]
    assert (one * 0) == Linear(0, ())
    assert total((2, {"x": 1.0, "y": 1.0}), (-1, {"y": 2.0, "z": 3.0})) == {"x": 2.0, "z": -3.0}
