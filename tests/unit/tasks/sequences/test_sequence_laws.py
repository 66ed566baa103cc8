"""The laws inputs of sequence tasks are drawn from, and the floors under them, by enumeration."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from tests.support.tasks.sequence_laws import CASES, drawn, far_carries, huang
from workbench.tasks import make_task
from workbench.tasks.sequences.addition import Layout, layouts


def whole(task, x):
    """The whole answer to an input as the task's oracle gives it."""
    return tuple(task.solve(list(x)))


def best_constant(task, law):
    answers = Counter()
    for x, probability in law.items():
        answers[whole(task, x)] += probability
    return max(answers.values())


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


def test_variables_are_equally_likely(seeded, assert_law):
    task = make_task("variable_assignment", depth=2, variables=9)
    inputs = drawn(task, 15, "training", seeded(6), many=2_000)
    assert_law(torch.tensor([int(x[0][1:]) for x in inputs]), [1 / 9] * 9)
    assert_law(torch.tensor([int(x[4][1:]) for x in inputs]), [1 / 9] * 9)
    assert task.chance("matched", 15) == pytest.approx(1 / (9 * 8 * 7))


@pytest.mark.parametrize("name", ["nf", "nb", "reverse"])
def test_long_runs_stay_with_the_share_that_the_law_says(name: str, seeded) -> None:
    """Challenge strings repeat the symbol before with probability .9, and else another one: 20,000 steps, +- .01."""
    task = make_task(name)
    length = next(n for n in range(40, 60) if task.input_length(n))
    strings = task.sample(2_000, length, seeded(3), "challenge").tokens[:, 1 : 1 + task.input_length(length)]
    stays = (strings[:, 1:] == strings[:, :-1]).double().mean().item()
    assert strings[:, 1:].numel() >= 20_000
    assert stays == pytest.approx(0.9, abs=0.01)
