"""Arithmetic modulo a number and even pairs: labels, laws and floors against Python itself."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import pytest
import torch

from tests.support.tasks.arithmetic import MANY
from workbench.tasks import TaskError, make_task


# ---- expressions ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("modulus", "length"), [(2, 5), (3, 4), (5, 3)])
def test_values_agree_with_python_on_every_string(modulus, length, every_string):
    """All 3125, 1296 and 512 strings, well formed or not, against ``eval`` and against the reference."""
    task = make_task("modular_arithmetic", modulus=modulus)
    strings = every_string(modulus + 3, length)
    batch = task.label(strings)
    for string, target, mask in zip(strings.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True):
        text = "".join(task.tokens_names[i] for i in string)
        found = [t if asked else None for t, asked in zip(target, mask, strict=True)][1:]
        assert found == task.reference(string), text
        for end in range(1, length + 1):
            well_formed = re.fullmatch(r"\d([-+*]\d)*", text[:end])
            assert found[end - 1] == (eval(text[:end]) % modulus if well_formed else None), text


def test_long_expressions_agree_with_python(seeded):
    task = make_task("modular_arithmetic", modulus=7)
    for law in ("matched", "challenge"):
        batch = task.sample(8, 101, seeded(0), law, window=20)
        for row in range(8):
            text = "".join(task.tokens_names[i] for i in batch.tokens[row, 1:])
            assert eval(text) % 7 == batch.targets[row, -1]
            assert task.reference(batch.tokens[row, 1:].tolist())[-1] == batch.targets[row, -1]


@pytest.mark.parametrize("length", [1, 3, 5])
def test_chance_of_values_is_that_of_the_best_constant(length):
    """In fractions, over all expressions modulo 3 of up to three digits, which are equally likely."""
    turns = [("012", "+-*")[place % 2] for place in range(length)]
    law = dict.fromkeys(range(3), Fraction(0))
    expressions = list(product(*turns))
    for expression in expressions:
        law[eval("".join(expression)) % 3] += Fraction(1, len(expressions))
    task = make_task("modular_arithmetic", modulus=3)
    assert task.chance("matched", length) == pytest.approx(float(max(law.values())))


def test_both_ends_of_challenge_expressions_are_neutral(seeded):
    task = make_task("modular_arithmetic")
    for length, window in ((101, 20), (101, 21), (7, 3), (5, 2)):
        batch = task.sample(200, length, seeded(1), "challenge", window=window)
        digits = -(-(min(window, 3 * length // 8)) // 2)
        assert (batch.targets[:, 1 : 2 * digits : 2] == 0).all()
        after = batch.targets[:, length - 2 * digits :: 2]
        assert (after == after[:, :1]).all()
        assert len(batch.targets[:, -1].unique()) == 5
    short = task.sample(200, 3, seeded(1), "challenge", window=2).tokens
    assert torch.equal(short, task.sample(200, 3, seeded(1), "matched").tokens)


def test_windows_leave_out_an_operator_at_their_end():
    task = make_task("modular_arithmetic")
    plus, minus, times = 6, 7, 8
    assert task.answer(torch.tensor([[3, plus, 4, minus]])).argmax().item() == 0
    assert task.answer(torch.tensor([[times, 3, plus, 2]])).argmax().item() == 3
    assert task.answer(torch.tensor([[times]])).tolist() == [[1] * 5]


def test_lengths_of_expressions_are_odd(seeded):
    task = make_task("modular_arithmetic")
    assert task.lengths(1, 6) == [1, 3, 5]
    with pytest.raises(TaskError, match="length 4"):
        task.sample(2, 4, seeded(0))
    with pytest.raises(TaskError, match="modulus"):
        make_task("modular_arithmetic", modulus=11)


# ---- even pairs ----------------------------------------------------------------------------------
def test_even_pairs_are_those_of_strings_that_end_as_they_begin(every_string):
    """All 512 strings of 9 symbols, every prefix; and against counting both kinds of pair."""
    task = make_task("even_pairs")
    strings = every_string(2, 9)
    batch = task.label(strings)
    for string, targets in zip(strings.tolist(), batch.targets[:, 1:].tolist(), strict=True):
        word = "".join("ab"[i - 1] for i in string)
        assert targets == task.reference(string)
        assert targets == [(word[: n + 1].count("ab") + word[: n + 1].count("ba")) % 2 for n in range(9)]
        assert targets == [int(word[0] != symbol) for symbol in word]


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 30])
def test_chance_of_even_pairs_is_that_of_the_best_constant(law, length, seeded):
    task = make_task("even_pairs")
    batch = task.sample(MANY, length, seeded(4), law, window=None)
    even = (batch.targets[:, -1] == 0).double().mean().item()
    assert task.chance(law, length) == pytest.approx(max(even, 1 - even), abs=0.012)
