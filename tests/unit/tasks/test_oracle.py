"""Vectorised labels against the plain-Python oracle, and what the summaries promise."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.tasks import Task, make_task

# (task, parameters, letters, length up to which all strings are tried)
CASES = [
    ("parity", {}, 2, 12),
    ("majority", {}, 2, 12),
    ("flip_flop", {}, 5, 6),
    ("mod_p_mean", {"p": 1, "k": 0}, 2, 10),
    ("mod_p_mean", {"p": 2, "k": 0}, 2, 11),
    ("mod_p_mean", {"p": 3, "k": 1}, 2, 12),
    ("mod_p_mean", {"p": 5, "k": 4}, 2, 11),
]
RETRIEVAL = [({"k": 1, "symbols": 3}, 7), ({"k": 2, "symbols": 2}, 10), ({"k": 3, "symbols": 2}, 11)]
ALL = ["flip_flop", "parity", "majority", "mod_p_mean", "kgram_retrieval"]


def asked(task: Task, tokens: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor) -> None:
    """Assert that labels agree with the oracle: the same queries asked, the same answers."""
    for string, target, row in zip(tokens.tolist(), targets.tolist(), mask.tolist(), strict=True):
        found = [(t[0] if task.real else t) if supervised else None for t, supervised in zip(target, row, strict=True)]
        expected = task.reference(string)
        assert [f is None for f in found] == [e is None for e in expected], string
        assert all(f is None or abs(f - e) < 1e-6 for f, e in zip(found, expected, strict=True)), string


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), CASES)
def test_labels_agree_with_the_oracle_on_every_string(name, parameters, letters, length, every_string):
    task = make_task(name, **parameters)
    strings = every_string(letters, length)
    batch = task.label(strings)
    asked(task, strings, batch.targets[:, 1:], batch.mask[:, 1:])
    assert not batch.mask[:, 0].any()


@pytest.mark.parametrize(("parameters", "length"), RETRIEVAL)
def test_retrieval_agrees_with_the_oracle_on_every_string_of_every_length(parameters, length, every_string):
    task = make_task("kgram_retrieval", **parameters)
    for n in range(1, length + 1):
        strings = every_string(parameters["symbols"], n)
        batch = task.label(strings)
        asked(task, strings, batch.targets[:, 1:], batch.mask[:, 1:])


@pytest.mark.parametrize(("parameters", "length"), RETRIEVAL)
def test_retrieval_summary_is_the_answer_of_every_prefix(parameters, length, every_string):
    task = make_task("kgram_retrieval", **parameters)
    strings = every_string(parameters["symbols"], length)
    summary = task.label(strings).output_summary[:, 1:]
    for n in range(1, length + 1):
        prefix = task.label(strings[:, :n])
        answer = prefix.targets[:, -1].where(prefix.mask[:, -1], task.symbols)
        assert torch.equal(summary[:, n - 1], answer)


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("name", ALL)
def test_sampled_strings_agree_with_the_oracle(name, law, seeded):
    task = make_task(name)
    for length in (3, 5, 41, 301):
        batch = task.sample(20, length, seeded(length), law, window=50)
        assert batch.mask[:, -1].all(), "the last query of an admissible length is always asked"
        for tokens, target, row in zip(batch.tokens[:, 1:], batch.targets[:, 1:], batch.mask[:, 1:], strict=True):
            expected = task.reference(tokens.tolist())
            for i in row.nonzero()[:, 0].tolist():
                assert target[i].flatten()[0].item() == pytest.approx(expected[i], abs=1e-6)


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), CASES)
def test_update_summary_can_be_carried_on(name, parameters, letters, length, every_string):
    """s(xw) = F(s(x), w), and s alone says whether and what is answered, over all strings."""
    task = make_task(name, **parameters)
    length = min(length, 5 if letters == 5 else 9)
    batch = task.label(every_string(letters, length))
    state = batch.update_summary.reshape(len(batch), length + 1, -1)[:, 1:]
    tokens = batch.tokens[:, 1:]

    def codes(*columns: torch.Tensor) -> torch.Tensor:
        stacked = torch.cat([c.reshape(-1, c.shape[-1]) if c.dim() == 3 else c.reshape(-1, 1) for c in columns], 1)
        return stacked.unique(dim=0)

    before = codes(state[:, :-1], tokens[:, 1:])
    transitions = codes(state[:, :-1], tokens[:, 1:], state[:, 1:])
    assert len(before) == len(transitions)

    answer = batch.targets[:, 1:].reshape(len(batch), length).double() * batch.mask[:, 1:]
    states = codes(state)
    assert len(states) == len(codes(state.double(), answer, batch.mask[:, 1:].double()))
    assert len(states) == len(codes(state.double(), batch.output_summary[:, 1:].double()))


@pytest.mark.parametrize(("name", "parameters", "letters", "length"), CASES)
def test_output_summary_determines_the_answer(name, parameters, letters, length, every_string):
    batch = make_task(name, **parameters).label(every_string(letters, min(length, 5 if letters == 5 else 9)))
    pairs = {}
    for summary, target in zip(
        batch.output_summary[batch.mask].tolist(), batch.targets[batch.mask].flatten().tolist(), strict=True
    ):
        assert pairs.setdefault(summary, target) == target


def test_summaries_of_one_string_by_hand():
    majority = make_task("majority").label(torch.tensor([[1, 2, 2, 2, 1, 1]]))
    assert majority.update_summary.tolist() == [[0, -1, 0, 1, 2, 1, 0]]
    assert majority.output_summary.tolist() == [[0, 0, 2, 1, 1, 1, 2]]
    mean = make_task("mod_p_mean", p=2, k=0).label(torch.tensor([[2, 2, 2, 1]]))
    assert mean.update_summary.tolist() == [[[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [1, 2, 0]]]
    assert mean.output_summary.tolist() == [[0, 0, 1, 1, 0.5]]
    assert mean.mask.tolist() == [[False, False, True, True, True]]
    flip_flop = make_task("flip_flop").label(torch.tensor([[4, 5, 2, 3, 1]]))
    assert flip_flop.update_summary.tolist() == [[0, 2, 2, 1, 1, 0]]
    assert make_task("kgram_retrieval").label(torch.tensor([[1, 2, 1]])).update_summary is None


@settings(max_examples=40)
@given(
    k=st.integers(1, 4),
    symbols=st.integers(4, 130 - 2),
    extra=st.integers(0, 60),
    window=st.integers(1, 40),
    law=st.sampled_from(["training", "challenge"]),
)
def test_retrieval_always_has_exactly_one_earlier_occurrence(k, symbols, extra, window, law):
    task = make_task("kgram_retrieval", k=k, symbols=symbols)
    length = 2 * k + 1 + extra
    batch = task.sample(6, length, torch.Generator().manual_seed(extra), law, window)
    for row, string in enumerate(batch.tokens[:, 1:].tolist()):
        grams = [tuple(string[s : s + k]) for s in range(length - k + 1)]
        assert grams.count(grams[-1]) == 2
        start = grams.index(grams[-1])
        assert batch.meta["key_position"][row] == start + k
        assert batch.meta["answer_position"][row] == start + k + 1
        assert batch.targets[row, -1] == string[start + k] - 1
