"""The laws inputs of sequence tasks are drawn from, and the floors under them, by enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import factorial

import pytest
import torch

from tests.support.tasks.sequence_laws import CASES, MANY, drawn, huang
from workbench.tasks import make_task
from workbench.tasks.sequences.copying import STAY


@pytest.fixture
def assert_inputs(assert_law):
    """Assert that inputs follow ``{input: probability}``."""

    def check(inputs, law):
        assert sum(law.values()) == pytest.approx(1)
        place = {x: i for i, x in enumerate(law)}
        assert_law(torch.tensor([place[x] for x in inputs]), list(law.values()))

    return check


@pytest.mark.parametrize(
    ("name", "parameters", "length", "laws", "law"), CASES, ids=[f"{c[0]}-{c[3][0]}-{len(c[4])}" for c in CASES]
)
def test_inputs_follow_their_law(name, parameters, length, laws, law, seeded, assert_inputs):
    for which in laws:
        assert_inputs(drawn(make_task(name, **parameters), length, which, seeded(1)), law)


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


# ---- floors ----------------------------------------------------------------------------------------
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


def test_runs_of_the_challenge_law_are_guessed_by_their_neighbour(seeded):
    task = make_task("nf", symbols=3)
    found = task.shortcuts(task.sample(MANY, 13, seeded(8), "challenge"), 9)
    assert found["first_window"].mean().item() == pytest.approx(STAY**2, abs=0.015)
    assert found["last_window"].mean().item() == pytest.approx(STAY**2, abs=0.015)
    assert found["position_only"].mean().item() == pytest.approx(task.chance("challenge", 13), abs=0.015)


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


def test_local_carries_do_for_uniform_digits_and_not_for_far_carries(seeded):
    task = make_task("addition")
    near, far = (task.shortcuts(task.sample(512, 408, seeded(10), law), 51) for law in ("matched", "challenge"))
    assert near["local_carry"].mean() > 0.98
    assert far["local_carry"].mean() < 0.3
    for oracle in ("position_only", "last_token", "last_window", "first_window"):
        assert near[oracle].sum() == far[oracle].sum() == 0, oracle
