"""SimpleTask: a sine of the mean."""

from __future__ import annotations

import math

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.best_constant import in_best_reach
from workbench.tasks.sampling import urn_counts


@pytest.mark.parametrize("omega", [0.5, 2.0, 10.0])
def test_simple_agrees_with_the_oracle_on_every_string(omega, every_string):
    """All 2^10 strings."""
    task = make_task("simple", omega=omega)
    strings = every_string(2, 10)
    batch = task.label(strings)
    assert batch.mask[:, 1:].all()
    for string, target in zip(strings.tolist(), batch.targets[:, 1:, 0].tolist(), strict=True):
        assert target == pytest.approx(task.reference(string), abs=1e-5)
    assert torch.allclose((omega * batch.output_summary[:, 1:]).sin(), batch.targets[:, 1:, 0])
    zeros, ones = batch.update_summary[:, 1:].unbind(2)
    assert torch.allclose((zeros - ones) / (zeros + ones), batch.output_summary[:, 1:])


@pytest.mark.parametrize(("omega", "tolerance"), [(2.0, 0.1), (10.0, 0.1), (3.0, 0.4)])
@pytest.mark.parametrize("length", [1, 7, 30])
def test_simple_chance_is_that_of_the_best_constant(omega, tolerance, length):
    values = [math.sin(omega * (length - 2 * j) / length) for j in range(length + 1)]
    best = max(sum(low <= v <= low + 2 * tolerance + 1e-6 for v in values) for low in values)
    task = make_task("simple", omega=omega, tolerance=tolerance)
    for law in ("matched", "challenge"):
        assert task.chance(law, length) == pytest.approx(best / (length + 1))


def test_vector_answers_count_as_right_when_every_component_is(seeded):
    """Through the base: four answers in two dimensions, tolerance .1; the best constant is right for two."""
    task = make_task("in_context_kgram", symbols=2)
    values = torch.tensor([[0.0, 1.0], [0.05, 0.95], [0.5, 0.5], [1.0, 0.0]])
    assert in_best_reach(values, task.tolerance_, task._within).tolist() == [True, True, False, False]
    assert task._within(values, values + 0.1).tolist() == [True] * 4
    assert task._within(values, values + torch.tensor([0.0, 0.11])).tolist() == [False] * 4


def test_a_mean_is_a_constant_too():
    """No value is within .1 of all others, their mean is."""
    task = make_task("in_context_kgram", symbols=2)
    values = torch.tensor([[0.4, 0.6], [0.6, 0.4]])
    assert in_best_reach(values, task.tolerance_, task._within).all()


def test_impossible_parameters_are_refused():
    with pytest.raises(TaskError, match="simple"):
        make_task("simple", omega=0)


# ---- priors of token shares, and one query a string -----------------------------------------------
def urn(length: int, prior: int) -> list[float]:
    """Polya's urn by hand: with so many balls of each colour, add one of the colour drawn; law of the ones drawn."""
    law = [1.0]
    for n in range(length):
        grown = [0.0] * (n + 2)
        for ones, odds in enumerate(law):
            up = (prior + ones) / (2 * prior + n)
            grown[ones + 1] += odds * up
            grown[ones] += odds * (1 - up)
        law = grown
    return law


@pytest.mark.parametrize("prior", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_counts_of_ones_are_those_of_an_urn(length, prior):
    assert urn_counts(length, float(prior)).tolist() == pytest.approx(urn(length, prior))


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize(("name", "parameters"), [("simple", {}), ("mod_p_mean", {"p": 2, "k": 0})])
def test_a_prior_is_the_law_of_the_share(name, parameters, law, seeded):
    task = make_task(name, **parameters, prior=3.0)
    batch = task.sample(4000, 12, seeded(3), law)
    counted = batch.tokens.gather(1, batch.meta["counted"])
    ones = (counted == 2).sum(1).bincount(minlength=counted.shape[1] + 1) / 4000
    assert ones.tolist() == pytest.approx(urn(counted.shape[1], 3), abs=0.03)


@pytest.mark.parametrize("prior", [0.5, 1.0, 4.0])
def test_chance_under_a_prior_is_that_of_the_best_constant(prior):
    """By every window over the answers of 9 coins, with tolerance .1."""
    odds = urn_counts(9, prior).tolist()
    values = [math.sin(2.0 * (9 - 2 * j) / 9) for j in range(10)]
    shares = [j / 9 for j in range(10)]

    def best(answers):
        return max(
            sum(p for p, v in zip(odds, answers, strict=True) if low <= v <= low + 0.2 + 1e-9) for low in answers
        )

    assert make_task("simple", prior=prior).chance("matched", 9) == pytest.approx(best(values))
    mean = make_task("mod_p_mean", p=1, k=0, tolerance=0.1, prior=prior)
    assert mean.chance("matched", 9) == pytest.approx(best(shares))


def test_the_class_that_counts_is_named(seeded):
    batch = make_task("mod_p_mean", p=3, k=2).sample(2, 9, seeded(0), "matched")
    assert batch.meta["counted"].tolist() == [[2, 5, 8]] * 2
    assert make_task("simple").sample(1, 3, seeded(0), "challenge").meta["counted"].tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("name", ["simple", "majority"])
def test_the_last_query_alone(name, seeded):
    every, last = make_task(name), make_task(name, queries="last")
    string = [1, 2, 2, 1, 2]
    assert last.reference(string) == [None] * 4 + every.reference(string)[-1:]
    batch = last.sample(3, 5, seeded(1), "matched")
    assert batch.mask.sum(1).tolist() == [1, 1, 1]
    assert torch.equal(batch.targets, every.sample(3, 5, seeded(1), "matched").targets)
    assert not last.prefix_closed("matched")


def test_parameters_that_came_later_leave_runs_their_ids():
    """Of each task with such parameters: what its runs were written with before there were any."""
    written = {
        "simple": {"omega": 2.0, "tolerance": 0.1},
        "mod_p_mean": {"p": 3, "k": 1, "tolerance": 0.05},
        "majority": {},
        "letter_majority": {"letters": 26, "shares": "any"},
        "sparse_parity": {"k": 4, "least": 1, "values": 20},
        "planted": {"k": 3, "modulus": 5, "fillers": 8, "span": 8},
        "uf": {"symbols": 256},
        "variable_assignment": {"depth": 2, "variables": 256},
    }
    assert {name: make_task(name).parameters for name in written} == written
    assert make_task("simple", prior=2).parameters == {**written["simple"], "prior": 2.0}
    assert make_task("majority", queries="last").parameters == {"queries": "last"}
