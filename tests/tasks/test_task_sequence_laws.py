"""The laws inputs of sequence tasks are drawn from, and the floors under them, by enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, permutations, product
from math import factorial

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.sequences.addition import DIFFER, Layout, layouts
from workbench.tasks.sequences.copying import STAY

MANY = 20_000


def drawn(task, length, law, generator, window=None, many=MANY):
    """The inputs of a batch as strings of token names."""
    batch = task.sample(many, length, generator, law, window)
    names = task.tokens_names
    return [tuple(names[t] for t in row) for row in batch.tokens[:, 1 : batch.prompt - 1].tolist()]


@pytest.fixture
def assert_inputs(assert_law):
    """Assert that inputs follow ``{input: probability}``."""

    def check(inputs, law):
        assert sum(law.values()) == pytest.approx(1)
        place = {x: i for i, x in enumerate(law)}
        assert_law(torch.tensor([place[x] for x in inputs]), list(law.values()))

    return check


def whole(task, x):
    """The whole answer to an input as the task's oracle gives it."""
    return tuple(task.solve(list(x)))


def best_constant(task, law):
    answers = Counter()
    for x, probability in law.items():
        answers[whole(task, x)] += probability
    return max(answers.values())


# ---- laws by enumeration: {input: probability} -------------------------------------------------------
def uniform(inputs):
    return dict.fromkeys(inputs, 1 / len(inputs))


def sticky(letters, n):
    change = (1 - STAY) / (len(letters) - 1)
    law = {}
    for x in product(letters, repeat=n):
        steps = [STAY if a == b else change for a, b in pairwise(x)]
        law[x] = torch.tensor([1 / len(letters), *steps], dtype=torch.float64).prod().item()
    return law


def numbers(digits):
    return ["0", "1"] if digits == 1 else [format(n, "b") for n in range(2 ** (digits - 1), 2**digits)]


def added(a, b):
    return (*a, "+", *b)


def far_carries(n):
    law = {}
    for a in numbers(n):
        for b in numbers(n):
            differ = sum(p != q for p, q in zip(a[1:], b[1:], strict=True))
            law[added(a, b)] = 2.0 ** (1 - n) * DIFFER**differ * (1 - DIFFER) ** (n - 1 - differ)
    return law


def huang(length):
    """Sequences of this length, each first operand's length equally likely given the length of ``a+b=``."""
    law = Counter()
    for shown in range(4, length):
        for first in range(1, shown - 2):
            pairs = list(product(numbers(first), numbers(shown - 2 - first)))
            for a, b in pairs:
                if shown + len(bin(int(a, 2) + int(b, 2))) - 2 == length:
                    law[added(a, b)] += 1 / (shown - 3) / len(pairs)
    total = sum(law.values())
    return {x: p / total for x, p in law.items()}


CASES = [
    ("uf", {"symbols": 5}, 5, ("training", "challenge"), uniform(list(permutations("abcde", 2)))),
    ("ub", {"symbols": 3}, 7, ("matched",), uniform(list(permutations("abc", 3)))),
    ("sort", {"symbols": 5}, 7, ("training", "challenge"), uniform(list(permutations("abcde", 3)))),
    ("nf", {"symbols": 3}, 7, ("training", "matched"), uniform(list(product("abc", repeat=3)))),
    ("nf", {"symbols": 3}, 9, ("challenge",), sticky("abc", 4)),
    ("reverse", {}, 11, ("challenge",), sticky("ab", 5)),
    ("odds_first", {}, 11, ("challenge",), sticky("ab", 5)),
    ("duplicate_string", {}, 10, ("matched",), uniform(list(product("ab", repeat=3)))),
    ("duplicate_string", {}, 10, ("challenge",), sticky("ab", 3)),
    ("parity_scratchpad", {"jump": 2}, 7, ("training", "matched", "challenge"), uniform(list(product("01", repeat=4)))),
    ("addition", {}, 12, ("matched",), uniform([added(a, b) for a in numbers(3) for b in numbers(3)])),
    ("addition", {}, 15, ("challenge",), far_carries(4)),
]


@pytest.mark.science
@pytest.mark.parametrize(
    ("name", "parameters", "length", "laws", "law"), CASES, ids=[f"{c[0]}-{c[3][0]}-{len(c[4])}" for c in CASES]
)
def test_inputs_follow_their_law(name, parameters, length, laws, law, seeded, assert_inputs):
    for which in laws:
        assert_inputs(drawn(make_task(name, **parameters), length, which, seeded(1)), law)


@pytest.mark.parametrize(
    ("name", "parameters", "length", "laws", "law"),
    [*CASES, ("addition", {}, 9, ("challenge",), far_carries(2)), ("addition", {}, 21, ("challenge",), far_carries(6))],
    ids=[f"{c[0]}-{c[3][0]}-{len(c[4])}" for c in CASES] + ["addition-challenge-4", "addition-challenge-1024"],
)
def test_chance_is_the_best_constant_whole_answer(name, parameters, length, laws, law):
    task = make_task(name, **parameters)
    for which in laws:
        assert task.chance(which, length) == pytest.approx(best_constant(task, law), rel=1e-9)


@pytest.mark.parametrize("length", [9, 12, 15])
def test_training_layouts_of_sums_by_enumeration(length):
    law, exact = huang(length), Counter()
    for x, probability in law.items():
        plus = x.index("+")
        exact[Layout(plus, len(x) - plus - 1, length - len(x) - 1)] += probability
    assert layouts(length) == pytest.approx(dict(exact))
    assert make_task("addition").chance("training", length) == pytest.approx(best_constant(make_task("addition"), law))


@pytest.mark.science
def test_training_sums_follow_the_published_law(seeded, assert_inputs, assert_law):
    """One layout a batch, so many batches; 12 tokens admit 70 inputs in 5 layouts."""
    task, generator = make_task("addition"), seeded(2)
    batches = [drawn(task, 12, "training", generator, many=8) for _ in range(800)]
    exact: dict[tuple[int, int], dict[tuple[str, ...], float]] = {}
    for x, probability in huang(12).items():
        exact.setdefault((len(x), x.index("+")), {})[x] = probability
    found = [{(len(x), x.index("+")) for x in batch} for batch in batches]
    assert all(len(kinds) == 1 for kinds in found)
    place = {layout: i for i, layout in enumerate(exact)}
    assert_law(torch.tensor([place[kinds.pop()] for kinds in found]), [sum(law.values()) for law in exact.values()])
    for layout, law in exact.items():  # within a layout, rows are independent
        inputs = [x for batch in batches for x in batch if (len(x), x.index("+")) == layout]
        assert_inputs(inputs, {x: p / sum(law.values()) for x, p in law.items()})


@pytest.mark.parametrize("length", [63, 66, 99])
def test_long_layouts_can_be_drawn(length, seeded):
    """Carrying out of an operand far longer than the other is rare; the layouts that need it are drawn all the same."""
    from workbench.tasks.sequences.addition import _operands

    for layout in layouts(length):
        a, b = _operands(layout, 3, seeded(0))
        for p, q in zip(a.tolist(), b.tolist(), strict=True):
            first, second = (int("".join(map(str, digits)), 2) for digits in (p, q))
            assert (len(p), len(q)) == (layout.first, layout.second)
            assert len(bin(first + second)) - 2 == layout.total
            assert first.bit_length() == len(p) or len(p) == 1
            assert second.bit_length() == len(q) or len(q) == 1


# ---- assignments -----------------------------------------------------------------------------------
def places_of_the_chain(x, depth):
    """Which assignments of the input make up the chain asked about."""
    left = list(x[2::3])
    edges = dict(zip(x[2::3], x[4::3], strict=True))
    variable, places = x[0], []
    for _ in range(depth):
        places.append(left.index(variable))
        variable = edges[variable]
    return tuple(places)


@pytest.mark.science
@pytest.mark.parametrize(("chains", "depth"), [(2, 2), (2, 3), (3, 2)])
def test_chains_are_interleaved_uniformly(chains, depth, seeded, assert_law):
    task = make_task("variable_assignment", depth=depth, variables=chains * (depth + 1) + 2)
    length = 3 + 3 * depth * (chains + 1)
    inputs = drawn(task, length, "matched", seeded(3), many=6_000)
    patterns = Counter()
    for x in inputs:
        assert len(set(x[2::3]) | set(x[4::3])) == chains * (depth + 1)
        assert places_of_the_chain(x, depth) == tuple(sorted(places_of_the_chain(x, depth)))
        # Name each chain by its last variable, the only ones that nothing follows, in order of appearance.
        edges = dict(zip(x[2::3], x[4::3], strict=True))
        ends = []
        for variable in x[2::3]:
            while variable in edges:
                variable = edges[variable]
            ends.append(variable)
        order = {end: i for i, end in enumerate(dict.fromkeys(ends))}
        patterns[tuple(order[end] for end in ends)] += 1
    expected = factorial(chains * depth) // factorial(depth) ** chains // factorial(chains)
    assert len(patterns) == expected
    assert_law(
        torch.repeat_interleave(torch.arange(expected), torch.tensor(list(patterns.values()))),
        [1 / expected] * expected,
    )
    counts = Counter(places_of_the_chain(x, depth) for x in inputs)
    choices = list(combinations(range(chains * depth), depth))
    found = torch.repeat_interleave(torch.arange(len(choices)), torch.tensor([counts[c] for c in choices]))
    assert_law(found, [1 / len(choices)] * len(choices))


@pytest.mark.science
def test_challenge_hides_the_chain_from_both_windows(seeded, assert_law):
    """Length 57, N = 15: of the 16 assignments those that lie at positions 16 to 42 are numbers 5 to 12, from 0 on."""
    task = make_task("variable_assignment", depth=2, variables=30)
    inputs = drawn(task, 57, "challenge", seeded(4), window=15, many=8_000)
    counts = Counter(places_of_the_chain(x, 2) for x in inputs)
    choices = list(combinations(range(5, 13), 2))
    assert set(counts) == set(choices)
    found = torch.repeat_interleave(torch.arange(len(choices)), torch.tensor([counts[c] for c in choices]))
    assert_law(found, [1 / len(choices)] * len(choices))
    # Up to length 2N there is no such place; just beyond, two would fit, which would give the chain away.
    for window in (14, 12):
        anywhere = drawn(task, 27, "challenge", seeded(5), window, many=500)
        assert {places_of_the_chain(x, 2) for x in anywhere} == set(combinations(range(6), 2))


def test_variables_are_equally_likely(seeded, assert_law):
    task = make_task("variable_assignment", depth=2, variables=9)
    inputs = drawn(task, 15, "training", seeded(6), many=2_000)
    assert_law(torch.tensor([int(x[0][1:]) for x in inputs]), [1 / 9] * 9)
    assert_law(torch.tensor([int(x[4][1:]) for x in inputs]), [1 / 9] * 9)
    assert task.chance("matched", 15) == pytest.approx(1 / (9 * 8 * 7))


# ---- floors ----------------------------------------------------------------------------------------
@pytest.mark.science
@pytest.mark.parametrize(
    ("name", "parameters", "length", "window", "expected"),
    [
        ("nf", {"symbols": 2}, 13, 9, 1 / 4),  # 6 tokens, 4 seen
        ("odds_first", {"symbols": 3}, 13, 9, 1 / 9),
        ("duplicate_string", {}, 19, 13, 1 / 4),
        ("uf", {"symbols": 6}, 9, 5, 1 / 12),  # two hidden ones of four symbols left, in one of 4 x 3 orders
        ("sort", {"symbols": 6}, 9, 5, 1 / 6),
        ("parity_scratchpad", {"jump": 1}, 13, 9, 1 / 4),
    ],
)
def test_windows_guess_what_is_hidden(name, parameters, length, window, expected, seeded):
    task = make_task(name, **parameters)
    found = task.shortcuts(task.sample(MANY, length, seeded(7), "matched"), window)
    assert found["first_window"].mean().item() == pytest.approx(expected, abs=0.015)
    assert found["last_window"].mean().item() == pytest.approx(expected, abs=0.015)


@pytest.mark.science
def test_runs_of_the_challenge_law_are_guessed_by_their_neighbour(seeded):
    task = make_task("nf", symbols=3)
    found = task.shortcuts(task.sample(MANY, 13, seeded(8), "challenge"), 9)
    assert found["first_window"].mean().item() == pytest.approx(STAY**2, abs=0.015)
    assert found["last_window"].mean().item() == pytest.approx(STAY**2, abs=0.015)
    assert found["position_only"].mean().item() == pytest.approx(task.chance("challenge", 13), abs=0.015)


@pytest.mark.science
@pytest.mark.parametrize(
    "name", ["uf", "ub", "nf", "nb", "reverse", "duplicate_string", "odds_first", "sort", "parity_scratchpad",
             "variable_assignment"],
)  # fmt: skip
def test_shortcuts_are_near_chance_far_beyond_training(name, seeded):
    task = make_task(name)
    trained = task.next_length(50)
    length = task.next_length(8 * trained)
    found = task.shortcuts(task.sample(512, length, seeded(9), "challenge", trained), trained)
    assert set(found) == {"position_only", "last_token", "last_window", "first_window"}
    for oracle, hits in found.items():
        assert hits.mean().item() == pytest.approx(task.chance("challenge", length), abs=0.01), oracle


@pytest.mark.science
def test_local_carries_do_for_uniform_digits_and_not_for_far_carries(seeded):
    task = make_task("addition")
    near, far = (task.shortcuts(task.sample(512, 408, seeded(10), law), 51) for law in ("matched", "challenge"))
    assert near["local_carry"].mean() > 0.98
    assert far["local_carry"].mean() < 0.3
    for oracle in ("position_only", "last_token", "last_window", "first_window"):
        assert near[oracle].sum() == far[oracle].sum() == 0, oracle
