"""Neutral tokens: which tasks state some, and that inserting them changes nothing that the oracle says."""

from __future__ import annotations

import random

import pytest
import torch

from workbench.tasks import make_task, task_names

STATED = {
    "flip_flop": ("i0", "i1"),
    "parity": ("0",),
    "mod_count": ("0",),
    "cycle_navigation": ("0",),
    "symmetric_group": ("e",),
    "alternating_group": ("e",),
    "abd_bc": ("b",),
    "zero_two": ("2",),
    "last_nonneutral_a": ("e",),
    "needle": tuple(f"f{i}" for i in range(16)),
    "trigger_output": tuple("abcdefghijklmnop"),
}
"""All built-in tasks, with their default options, that have a symbol of no effect."""
CASES = [(name, {}) for name in STATED] + [
    ("mod_count", {"m": 3, "increments": (0, 1, 3, 5)}),
    ("regular", {"regex": "c*ac*(bc*ac*)*"}),
    ("regular", {"regex": "a*b(a|b)*", "ask": "next"}),
    ("regular", {"regex": "c*a(a|b|c)*", "ask": "state"}),
    ("symmetric_group", {"tokens": "generators"}),
    ("needle", {"distractors": 1, "keys": 3, "values": 2, "fillers": 2}),
]


@pytest.mark.parametrize("name", task_names())
def test_a_task_states_its_neutral_tokens_or_none(name):
    task = make_task(name)
    assert tuple(task.tokens_names[i] for i in task.neutral_tokens) == STATED.get(name, ())


def test_neutral_symbols_are_those_that_move_no_state():
    named = {
        parameters["regex"]: [
            make_task(name, **parameters).tokens_names[i] for i in make_task(name, **parameters).neutral_tokens
        ]
        for name, parameters in CASES
        if "regex" in parameters
    }
    assert named == {"c*ac*(bc*ac*)*": ["c"], "a*b(a|b)*": ["a"], "c*a(a|b|c)*": ["c"]}
    increments = make_task("mod_count", m=3, increments=(0, 1, 3, 5))
    assert [increments.tokens_names[i] for i in increments.neutral_tokens] == ["0", "+3"]


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_the_oracle_says_the_same_of_all_other_tokens(name, parameters, law, seeded):
    task, deal = make_task(name, **parameters), random.Random(0)
    strings = task.sample(40, task.next_length(12), seeded(1), law, window=3).tokens[:, 1:]
    assert task.neutral_gaps(strings).any(1).all()
    for string, gaps in zip(strings.tolist(), task.neutral_gaps(strings).tolist(), strict=True):
        # One string of (token, whether it was there before), built token by token.
        made = []
        for token, gap in zip(string, gaps, strict=True):
            inserted = deal.randint(0, 3) if gap else 0
            made += [(deal.choice(task.neutral_tokens), False) for _ in range(inserted)] + [(token, True)]
        answers = task.reference([token for token, _ in made])
        assert [a for a, (_, own) in zip(answers, made, strict=True) if own] == task.reference(string)
        labelled = task.label(strings.new_tensor([[token for token, _ in made]]))
        own = [True] + [was for _, was in made]
        assert (
            labelled.output_summary[0, own].tolist()
            == task.label(strings.new_tensor([string])).output_summary[0].tolist()
        )


def test_nothing_goes_between_a_key_and_its_value_or_behind_the_separator():
    task = make_task("needle", distractors=0, keys=2, values=2, fillers=1)
    names = ["f0", "k1", "v0", "f0", "<sep>", "k1"]
    strings = task.label(torch.tensor([[task.tokens_names.index(n) for n in names]])).tokens[:, 1:]
    assert task.neutral_gaps(strings).tolist() == [[False, True, False, True, True, False]]
