"""SimpleTask: a sine of the mean."""

from __future__ import annotations

import math

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.best_constant import in_best_reach


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
    with pytest.raises(TaskError, match="simple: omega must be a number above 0 and at most 64, not 0"):
        make_task("simple", omega=0)
