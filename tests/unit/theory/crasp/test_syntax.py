"""The syntax of C-RASP: nodes, the builder, and text there and back."""

from __future__ import annotations

import copy
import gc
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.theory.random_programs import programs
from workbench.core import interned
from workbench.theory.compiler.error_budget import error_budget
from workbench.theory.compiler.pipeline import compile
from workbench.theory.compiler.placement import Wiring
from workbench.theory.crasp import programs as p
from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.builder import MOD, TRUE, Q, all_of, any_of, count, program, where
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.normal_form import bounds, linear, magnitude, normal_program
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.printer import expression_text
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.crasp.zoo import ZOO

DYCK = """
alphabet a b   // opening and closing

V := count(Q(a)) < count(Q(b))
accept := (count(V) = 0
    and count(Q(a)) = count(Q(b)))   // a line goes on while a parenthesis is open
"""


# ---- nodes ---------------------------------------------------------------------------------------
def test_equal_expressions_are_one_object():
    one, other = ast.Counting(ast.Symbol("a"), (1, 2)), ast.Counting(ast.Symbol("a"), (2, 1, 1))
    assert one is other
    assert one.offsets == (1, 2)
    assert ast.Counting(ast.Symbol("a")) is not one
    assert ast.Constant(1) is not ast.Scale(1, ast.Constant(1))
    assert count(Q("a")).node is count(Q("a")).node


def test_nodes_survive_copying_and_pickling_as_the_same_object():
    node = ZOO["dyck_1"].program["accept"]
    assert copy.deepcopy(node) is node
    assert pickle.loads(pickle.dumps(node)) is node


def test_nodes_are_not_kept_alive():
    gc.collect()
    before = len(interned._objects)
    node = ast.Symbol("no_such_symbol_elsewhere")
    assert len(interned._objects) == before + 1
    del node
    assert len(interned._objects) == before


def test_subterms_come_once_and_after_their_parts():
    shared = count(Q("a"))
    built = program("a", {"x": (shared > 1) & (shared < 5)})
    order = built.subterms()
    assert len(order) == len(set(order)) == 7
    assert all(order.index(child) < order.index(node) for node in order for child in node.children)


def test_subterms_of_a_very_deep_expression_need_no_recursion():
    node: ast.Boolean = ast.Symbol("a")
    for _ in range(5000):
        node = ast.Not(ast.And((node, ast.Truth())))
    assert len(ast.subterms([node])) == 10_002


@pytest.mark.parametrize(
    ("lines", "fragment", "modulus", "locality", "depth"),
    [
        ({"x": Q("a")}, "C-RASP[]", 1, None, 0),
        ({"x": count(Q("a") & MOD(1, 4)) > count(MOD(1, 6))}, "C-RASP[periodic]", 12, None, 1),
        ({"x": count(Q("a"), offsets={0, 3}) > 1}, "C-RASP[local]", 1, 3, 0),
        ({"x": count(count(MOD(0, 2), offsets=[1]) >= 1) > 2}, "C-RASP[periodic, local]", 2, 1, 1),
        ({"x": count(count(count(Q("a")) > 1) > 1) > 1}, "C-RASP[]", 1, None, 3),
    ],
)
def test_a_program_knows_what_it_uses(lines, fragment, modulus, locality, depth):
    built = program("ab", lines)
    assert (built.fragment, built.modulus, built.locality, built.depth) == (fragment, modulus, locality, depth)


# ---- the builder ---------------------------------------------------------------------------------
def test_operators_build_what_they_say():
    a, b = count(Q("a")), count(Q("b"))
    cases = {
        "count(Q(a)) + count(Q(b)) - 1 >= 2 * count(Q(a))": a + b - 1 >= 2 * a,
        "1 - count(Q(a)) < -1 * count(Q(b))": 1 - a < -b,
        "2 + count(Q(a)) != 3": 2 + a != 3,
        "not (Q(a) or Q(b)) and MOD(1, 2)": ~(Q("a") | Q("b")) & MOD(1, 2),
        "Q(a) and Q(b) and true": Q("a") & Q("b") & TRUE,
        "Q(a) and Q(b) or true": any_of([all_of([Q("a"), Q("b")]), TRUE]),
        "where(Q(a), count(Q(a)), 0) > count[0, 2](Q(b))": where(Q("a"), a, 0) > count(Q("b"), offsets={2, 0}),
    }
    for text, made in cases.items():
        assert expression_text(made.node) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: count(count(Q("a"))), "Boolean"),
        (lambda: count(Q("a")) + Q("b"), "Boolean"),
        (lambda: count(Q("a")) > True, "integer"),
        (lambda: 1.5 * count(Q("a")), "factor"),
        (lambda: Q("a") & True, "Boolean"),
        (lambda: 1 <= count(Q("a")) <= 3, "truth"),
        (lambda: Q("a") and Q("b"), "truth"),
        (lambda: count(Q("a"), offsets=iter([1])), "unbounded"),
        (lambda: count(Q("a"), offsets={-1}), "at least 0"),
        (lambda: count(Q("a"), offsets=()), "offset"),
        (lambda: MOD(3, 3), "0..2"),
        (lambda: MOD(0, 0), "modulus"),
        (lambda: Q("a b"), "without spaces"),
        (lambda: program("ab", {"x": Q("c")}), "alphabet"),
        (lambda: program("aa", {"x": Q("a")}), "distinct"),
        (lambda: program("a", {}), "line"),
        (lambda: program("a", {"x": True}), "expression"),
        (lambda: program("a", {"count": Q("a")}), "'count'"),
        (lambda: program("a", {"x": count(Q("a"))}), "count"),
        (lambda: program("a", {"first": Q("a")}, outputs=["frist"]), "did you mean first"),
        (lambda: program("a", {"x": Q("a")}).ids("ab"), "'b'"),
        (lambda: ast.And((ast.Truth(),)), "at least two"),
        (lambda: ast.Compare(ast.Constant(1), "=>", ast.Constant(2)), "'=>'"),
        (lambda: ast.Conditional(ast.Constant(1), ast.Constant(1), ast.Constant(1)), "condition"),
    ],
)
def test_what_is_no_program_is_refused_in_one_sentence(make, message):
    with pytest.raises(CraspError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_comparisons_cannot_be_put_into_sets_by_accident():
    with pytest.raises(TypeError):
        {count(Q("a"))}


# ---- text ----------------------------------------------------------------------------------------
def test_text_and_builder_make_the_same_program():
    a, b = count(Q("a")), count(Q("b"))
    below = a < b
    built = program("ab", {"V": below, "accept": (count(below) == 0) & (a == b)})
    assert parse(DYCK) == built
    assert parse(str(built)) == built


@pytest.mark.parametrize("name", ZOO)
def test_every_program_of_the_zoo_is_read_back_from_its_text(name):
    case = ZOO[name].program
    assert parse(str(case)) == case
    assert str(parse(str(case))) == str(case)


@settings(max_examples=30)
@given(made=programs())
def test_random_programs_are_read_back_from_their_text(made: Program):
    assert parse(str(made)) == made


def test_symbols_that_are_no_words_are_quoted():
    made = parse('alphabet "(" ")" 0\nx := Q("(") or Q(0)')
    assert made.alphabet == ("(", ")", "0")
    assert str(made) == 'alphabet "(" ")" 0\nx := Q("(") or Q(0)'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("count[1..3, 7](Q(a)) == 2", "count[1, 2, 3, 7](Q(a)) = 2"),
        ("-count(Q(a)) - -3 > 2 * 3 * count(Q(a))", "-1 * count(Q(a)) - -3 > 2 * 3 * count(Q(a))"),
        ("count(Q(a)) * 3 > (1 + 2) * 4", "3 * count(Q(a)) > 4 * (1 + 2)"),
        ("1 - (2 - 3) > (1 - 2) - 3", "1 - (2 - 3) > 1 - 2 - 3"),
        ("(((Q(a))))", "Q(a)"),
    ],
)
def test_text_is_printed_with_as_few_parentheses_as_it_needs(text, printed):
    assert str(parse(f"alphabet a\nx := {text}")).splitlines()[1] == f"x := {printed}"


def test_outputs_are_the_last_line_or_those_named():
    text = "alphabet a b\nx := Q(a)\ny := Q(b)\nz := count(x)\n"
    assert parse(text + "w := z > 1").outputs == ("w",)
    several = parse(text + "outputs x y")
    assert several.outputs == ("x", "y")
    assert str(several).endswith("outputs x y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: a program begins with its alphabet"),
        ("\n\nx := Q(a)", "line 3, column 1: a program begins with its alphabet"),
        ("alphabet", "line 1, column 9: alphabet is followed by at least one symbol, but the end was found"),
        ("alphabet a b a\nx := Q(a)", "line 1, column 14: the symbol a is listed twice"),
        (
            "alphabet a (\nx := Q(a)",
            "line 1, column 12: the line should end here, but '(' follows; a symbol that is no",
        ),
        ("alphabet a\n", "line 2, column 1: a program needs at least one line"),
        ("alphabet a\nx = Q(a)", "line 2, column 3: ':=' is needed here, but '=' was found"),
        ("alphabet a\n7 := Q(a)", "line 2, column 1: a line begins with a name and :=, and '7' is no name"),
        ("alphabet a\nx := Q(a)\nx := Q(a)", "line 3, column 1: two lines are called x"),
        ("alphabet a\nx := ", "line 2, column 6: an expression is needed here, but the end was found"),
        (
            "alphabet a\nx := Q(a) and\ny := Q(a)",
            "line 2, column 14: an expression is needed here, but the end of the l",
        ),
        ("alphabet a\nx := (Q(a)", "line 2, column 11: ')' is needed here, but the end was found"),
        ("alphabet a\nx := Q(a) Q(a)", "line 2, column 11: the line should end here, but 'Q' follows"),
        ("alphabet a\nx := Q(b)", "line 2, column 8: unknown symbol 'b'; the alphabet is a"),
        ("alphabet a\nx := a", "line 2, column 6: 'a' is a symbol; write Q(a)"),
        (
            "alphabet a\nfirst := Q(a)\nx := frist",
            "line 3, column 6: unknown name 'frist'; a line may use the lines before it, did you mean first?",
        ),
        ("alphabet a\nx := y\ny := Q(a)", "line 2, column 6: unknown name 'y'; a line may use the lines before it"),
        ("alphabet a\nx := count(count(Q(a))) > 1", "line 2, column 6: count takes a Boolean, but a count was given"),
        ("alphabet a\nx := Q(a) + 1 > 0", "line 2, column 11: + takes counts, but a Boolean was given"),
        ("alphabet a\nx := Q(a) > 0", "line 2, column 11: > takes counts, but a Boolean was given"),
        ("alphabet a\nx := Q(a) and\n", "line 2, column 14: an expression is needed here, but the end of the line"),
        ("alphabet a\nx := not 3", "line 2, column 6: not joins Booleans, but a count was given"),
        ("alphabet a\nx := Q(a) and (\n  1 + 1)", "line 2, column 11: and joins Booleans, but a count was given"),
        ("alphabet a\nx := where(1, 2, 3) > 1", "line 2, column 6: the condition of where is a Boolean"),
        ("alphabet a\nx := count(Q(a))", "line 2, column 1: the output x is a count; outputs are Booleans"),
        ("alphabet a\nx := Q(a)\noutputs x y", "line 3, column 11: the output 'y' is no line of the program"),
        ("alphabet a\nx := 1 < 2 < 3", "line 2, column 12: comparisons do not chain"),
        ("alphabet a\nx := count(Q(a)) * count(Q(a)) > 1", "line 2, column 18: * multiplies a count by an integer"),
        ("alphabet a\nx := count[1..](Q(a)) > 0", "line 2, column 13: the local predicate 1.. is unbounded"),
        ("alphabet a\nx := count[3..1](Q(a)) > 0", "line 2, column 13: the range 3..1 is empty"),
        ("alphabet a\nx := count[-1](Q(a)) > 0", "line 2, column 6: an offset i - j must be at least 0, not -1"),
        ("alphabet a\nx := MOD(4, 4)", "line 2, column 6: a remainder modulo 4 is in 0..3"),
        ("alphabet a\nx := MOD(a, 4)", "line 2, column 10: an integer is needed here, but 'a' was found"),
        ("alphabet a\nx := #[j<=i] Q(a) > 1", "line 2, column 6: # is not read here; write count(P)"),
        ("alphabet a\nx := " + "b" * 5000, "line 2, column 6: unknown name 'bbbbbbbb"),
        ('alphabet a\nx := Q("a)', 'line 2, column 8: a symbol in quotes must end with " on the same line'),
    ],
)
def test_a_wrong_text_is_refused_with_line_and_column(text, message):
    with pytest.raises(CraspError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_what_binds_how():
    program_of = parse("alphabet a b\nx := not Q(a) and Q(b) or Q(a) and not Q(b)").boolean("x")
    a, b = ast.Symbol("a"), ast.Symbol("b")
    assert program_of is ast.Or((ast.And((ast.Not(a), b)), ast.And((a, ast.Not(b)))))
    values = evaluate(parse("alphabet a b\nx := 3 - 2 - 1 = 0 and 2 * 2 + 1 = 5"), every_string(2, 2))
    assert values["x"].all()


@pytest.mark.parametrize(
    ("text", "largest"),
    [("count[{}](Q(a)) > 0", 4_096), ("count[0..{}](Q(a)) > 0", 4_096), ("count(Q(a)) > {}", 1_000_000)],
)
def test_numbers_are_taken_up_to_their_bound_and_not_beyond(text, largest):
    assert parse("alphabet a\nx := " + text.format(largest)).outputs == ("x",)
    with pytest.raises(CraspError, match=f"{largest:,} is the largest number"):
        parse("alphabet a\nx := " + text.format(largest + 1))


def test_first_keys_from_the_first_position_to_the_last() -> None:
    for keys in (1, 5):
        compile(p.majority(), 5, first_keys=keys)
    for keys in (0, 6):
        with pytest.raises(CraspError, match=r"1\.\.5"):
            compile(p.majority(), 5, first_keys=keys)
    compiled = compile(p.majority(), 5, first_keys=5)
    assert compiled.tokens(every_string(2, 5)).shape == (32, 6)
    with pytest.raises(CraspError, match="5 positions"):
        compiled.tokens(every_string(2, 6))
    with pytest.raises(CraspError, match="at least 1, not 0"):
        compile(p.majority(), 0)
    assert compile(p.majority(), 1).n_max == 1


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
