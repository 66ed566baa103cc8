"""Counting modulo m, cycles and permutation groups: labels, laws and floors against independent arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
import torch

from workbench.tasks import TaskError, make_task

MODULAR = [
    ("mod_count", {"m": 2}, 10),
    ("mod_count", {"m": 3}, 10),
    ("mod_count", {"m": 7}, 10),
    ("mod_count", {"m": 4, "increments": (0, 1, -2)}, 6),
    ("mod_count", {"m": 5, "increments": (3, 1)}, 9),
    ("cycle_navigation", {}, 6),
    ("cycle_navigation", {"places": 2}, 6),
]
GROUPS = [
    ("symmetric_group", {"degree": 3}, 6, 4),
    ("symmetric_group", {"degree": 3, "tokens": "generators"}, 3, 6),
    ("symmetric_group", {"degree": 4, "tokens": "generators"}, 3, 6),
    ("symmetric_group", {"degree": 4}, 24, 2),
    ("alternating_group", {"degree": 3, "tokens": "generators"}, 2, 8),
    ("alternating_group", {"degree": 4, "tokens": "generators"}, 3, 6),
    ("alternating_group", {"degree": 5, "tokens": "generators"}, 3, 6),
    ("alternating_group", {"degree": 5}, 60, 2),
]


def matrix(name: str, points: int) -> np.ndarray:
    """The permutation matrix of a product of disjoint cycles, ``M[j, i] = 1`` where i goes to j."""
    found = np.eye(points, dtype=int)
    for cycle in name.strip("e()").split(")("):
        digits = [int(c) - 1 for c in cycle]
        for place, following in zip(digits, digits[1:] + digits[:1], strict=True):
            found[:, place] = np.eye(points, dtype=int)[following]
    return found


@pytest.mark.parametrize(("name", "parameters", "length"), MODULAR)
def test_sums_agree_with_the_reference_and_with_numpy_on_every_string(name, parameters, length, every_string):
    """Between 64 and 1024 strings each."""
    task = make_task(name, **parameters)
    strings = every_string(len(task.tokens_names) - 1, length)
    batch = task.label(strings)
    values = np.array([int(t) for t in task.tokens_names[1:]])
    assert (batch.targets[:, 1:].numpy() == np.cumsum(values[strings.numpy() - 1], 1) % task.d_vocab_out).all()
    assert batch.targets[:, 1:].tolist() == [task.reference(string) for string in strings.tolist()]
    assert torch.equal(batch.output_summary, batch.update_summary)
    assert batch.mask[:, 1:].all()


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), GROUPS)
def test_products_agree_with_the_reference_and_with_matrices_on_every_string(
    name, parameters, letters, length, every_string
):
    """Between 256 and 3600 strings each."""
    task = make_task(name, **parameters)
    assert len(task.tokens_names) == letters + 1
    strings = every_string(letters, length)
    batch = task.label(strings)
    matrices = np.stack([matrix(token, task.points) for token in task.tokens_names[1:]])
    elements = np.stack([matrix(element, task.points) for element in task.output_names])
    held = np.broadcast_to(np.eye(task.points, dtype=int), (len(strings), task.points, task.points))
    for place in range(length):
        held = matrices[strings[:, place].numpy() - 1] @ held  # what comes later acts on what came before
        assert (elements[batch.targets[:, 1 + place].numpy()] == held).all()
    some = slice(None, None, max(1, len(strings) // 300))
    assert batch.targets[some, 1:].tolist() == [task.reference(string) for string in strings[some].tolist()]


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), GROUPS)
def test_groups_are_whole_and_generated(name, parameters, letters, length):
    task = make_task(name, **parameters)
    order = {"symmetric_group": {3: 6, 4: 24}, "alternating_group": {3: 3, 4: 12, 5: 60}}[name][task.degree]
    assert len(set(task.output_names)) == order
    assert task.output_names[0] == task.tokens_names[1] == "e"
    reached, waiting = {0}, [0]
    while waiting:
        fresh = set(task.automaton().table[waiting.pop()].tolist()) - reached
        reached |= fresh
        waiting += fresh
    assert len(reached) == order


@pytest.mark.parametrize(("name", "parameters", "length"), MODULAR)
def test_modular_chance_is_that_of_the_best_constant(name, parameters, length):
    """Exactly, by enumeration: a string of k symbols has the probability 1 / (compositions x arrangements)."""
    task = make_task(name, **parameters)
    values = [int(t) for t in task.tokens_names[1:]]
    for n in (1, 2, length - 1):
        law = dict.fromkeys(range(task.d_vocab_out), Fraction(0))
        for counts in product(range(n + 1), repeat=len(values)):
            if sum(counts) == n:
                remainder = sum(c * v for c, v in zip(counts, values, strict=True)) % task.d_vocab_out
                law[remainder] += Fraction(1, comb(n + len(values) - 1, len(values) - 1))
        assert sum(law.values()) == 1
        for name_of_law in ("matched", "challenge"):
            assert task.chance(name_of_law, n) == pytest.approx(float(max(law.values())))


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), GROUPS)
def test_group_chance_is_that_of_the_best_constant(name, parameters, letters, length):
    """By enumeration of all strings, which are equally likely."""
    task = make_task(name, **parameters)
    strings = torch.cartesian_prod(*[torch.arange(1, letters + 1)] * length)
    targets = task.label(strings).targets
    for n in {1, length}:
        assert task.chance("matched", n) == pytest.approx((targets[:, n].bincount().max() / len(strings)).item())


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("mod_count", {"m": 1}, "mod_count: m must be an integer at least 2 and at most 64, not 1"),
        (
            "mod_count",
            {"m": 3, "increments": (1, 4)},
            "mod_count: increments must be different integers, not all equal modulo m = 3, which 1, 4 are not",
        ),
        (
            "mod_count",
            {"increments": (1, 1, 0)},
            "mod_count: increments must be different integers, not all equal modulo m = 3, which 1, 1, 0 are not",
        ),
        ("cycle_navigation", {"places": 1}, "cycle_navigation: places must be an integer at least 2 and at most 64, not 1"),
        ("symmetric_group", {"degree": 6}, "symmetric_group: degree must be an integer at least 3 and at most 5, not 6"),
        (
            "alternating_group",
            {"tokens": "all"},
            "alternating_group: tokens must be 'elements' or 'generators', not 'all'",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


def test_token_ids_are_fixed():
    assert make_task("mod_count", m=5, increments=(0, 2, -1)).tokens_names == ("<bos>", "0", "+2", "-1")
    assert make_task("cycle_navigation").tokens_names == ("<bos>", "-1", "0", "+1")
    assert make_task("alternating_group", degree=4, tokens="generators").tokens_names == (
        "<bos>",
        "e",
        "(123)",
        "(234)",
    )
    assert make_task("alternating_group", degree=3, tokens="generators").tokens_names == ("<bos>", "e", "(123)")
