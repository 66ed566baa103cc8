"""In-context k-grams and Markov chains: labels by counting, laws by Polya's rule, Bayes baselines."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from workbench.tasks import TaskError, make_task
from workbench.tasks.in_context.chains import follower_counts, stationary, transition_counts
from workbench.tasks.sampling import flat_shares


def agree(task, strings: torch.Tensor) -> None:
    """Labels are those of the reference: the same queries, the same vectors."""
    batch = task.label(strings)
    assert not batch.mask[:, 0].any()
    rows = zip(strings.tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        for found, asked, expected in zip(target, mask, task.reference(string), strict=True):
            assert asked == (expected is not None)
            assert not asked or found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("k", "symbols", "length"), [(1, 2, 7), (2, 2, 8), (3, 2, 7), (1, 3, 5), (2, 4, 4)])
def test_kgram_labels_agree_with_the_oracle_on_every_string(k, symbols, length, every_string):
    """All 2^7, 2^8, 2^7, 3^5 and 4^4 strings."""
    agree(make_task("in_context_kgram", k=k, symbols=symbols), every_string(symbols, length))


@pytest.mark.parametrize(("states", "length"), [(2, 7), (3, 5)])
def test_markov_labels_agree_with_the_oracle_on_every_string(states, length, every_string):
    """All 2^7 and 3^5 strings."""
    agree(make_task("markov_chain", states=states), every_string(states, length))


@settings(max_examples=30)
@given(k=st.integers(1, 3), symbols=st.integers(2, 6), length=st.integers(1, 40), seed=st.integers(0, 99))
def test_followers_are_those_that_a_loop_counts(k, symbols, length, seed):
    string = torch.randint(symbols, (1, length), generator=torch.Generator().manual_seed(seed))
    counts, letters = follower_counts(string, k, symbols)[0].tolist(), string[0].tolist()
    for n in range(1, length + 1):
        key = letters[n - k : n]
        tally = Counter(letters[t] for t in range(k, n) if n >= k and letters[t - k : t] == key)
        assert counts[n - 1] == [tally[s] for s in range(symbols)]


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize(("name", "parameters"), [("in_context_kgram", {"k": 2, "symbols": 3}), ("markov_chain", {})])
def test_long_samples_agree_with_the_oracle(name, parameters, law, seeded):
    task = make_task(name, **parameters)
    for length in (3, 60):
        batch = task.sample(4, length, seeded(length), law, window=10)
        assert batch.mask[:, -1].all()
        agree(task, batch.tokens[:, 1:])


@pytest.mark.parametrize(
    ("name", "parameters", "letters"),
    [("in_context_kgram", {"k": 1, "symbols": 3}, 3), ("in_context_kgram", {"k": 2, "symbols": 2}, 2), ("markov_chain", {}, 3)],
)  # fmt: skip
def test_update_summary_can_be_carried_on_and_determines_the_answer(name, parameters, letters, every_string):
    batch = make_task(name, **parameters).label(every_string(letters, 6))
    state, tokens = batch.update_summary[:, 1:], batch.tokens[:, 1:, None]

    def kinds(*columns: torch.Tensor) -> int:
        return len(torch.cat([c.reshape(-1, c.shape[-1]).double() for c in columns], 1).unique(dim=0))

    assert kinds(state[:, :-1], tokens[:, 1:]) == kinds(state[:, :-1], tokens[:, 1:], state[:, 1:])
    assert kinds(state) == kinds(state, batch.targets[:, 1:], batch.mask[:, 1:, None])
    assert torch.equal(batch.output_summary, batch.targets)


def test_counts_by_hand():
    string = torch.tensor([[0, 1, 0, 0]])
    assert transition_counts(string, 1, 2)[0].tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 2], [0, 1, 1, 0, 1], [1, 1, 1, 0, 1]]  # fmt: skip
    assert transition_counts(torch.zeros(1, 3, dtype=torch.long), 2, 8) is None
    assert follower_counts(string, 1, 2)[0].tolist() == [[0, 0], [0, 0], [0, 1], [1, 1]]


def test_the_stationary_distribution_is_the_true_one():
    """[[.9, .1], [.5, .5]] has (5/6, 1/6); the mean of the rows of a high power is it too, that of its columns is not."""
    chain = torch.tensor([[0.9, 0.1], [0.5, 0.5]], dtype=torch.float64)
    assert stationary(chain).tolist() == pytest.approx([5 / 6, 1 / 6])
    rows = flat_shares((50, 6, 6), torch.Generator().manual_seed(0))
    found = stationary(rows)
    assert torch.allclose((found[:, None] @ rows)[:, 0], found)
    assert torch.allclose(found, torch.linalg.matrix_power(rows, 200)[:, 0])
    assert (found > 0).all()


# ---- Markov chains as a prediction task ----------------------------------------------------------
def test_baselines_by_hand():
    task = make_task("markov_chain", states=2)
    found = task.baselines(task.label(torch.tensor([[1, 2, 1, 1]])))
    assert {name: x.shape for name, x in found.items()} == dict.fromkeys(("uniform", "unigram", "bigram"), (1, 5, 2))
    assert found["uniform"].eq(0.5).all()
    assert found["unigram"][0, :, 0].tolist() == pytest.approx([1 / 2, 2 / 3, 2 / 4, 3 / 5, 4 / 6])
    assert found["bigram"][0, :, 0].tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1 / 3, 2 / 4])


def test_the_loss_is_that_of_the_next_state():
    task = make_task("markov_chain", states=2)
    batch = task.label(torch.tensor([[1, 2, 1]]))
    outputs = torch.tensor([[[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 0.0]]])
    log_likely = outputs.log_softmax(-1)[0]
    last = -(0.5 * log_likely[3, 1] * 2 * batch.targets[0, 3, 1] + batch.targets[0, 3, 0] * log_likely[3, 0])
    expected = [-log_likely[0, 0], -log_likely[1, 1], -log_likely[2, 0], last]
    assert task.losses(outputs, batch)[0].tolist() == pytest.approx([float(e) for e in expected])
    assert task.loss(outputs, batch).item() == pytest.approx(float(sum(expected[1:])) / 3)


def test_an_answer_is_right_within_the_tolerance_in_total_variation():
    task = make_task("markov_chain", states=2, tolerance=0.1)
    batch = task.label(torch.tensor([[1, 2]]))  # the target is even
    for share, right in ((0.59, True), (0.61, False), (0.405, True)):
        outputs = torch.tensor([share, 1 - share]).log().expand(1, 3, 2)
        assert task.correct(outputs + 5.0, batch)[0, 1:].tolist() == [right, right]


def test_training_pulls_towards_the_next_state(seeded):
    task = make_task("markov_chain")
    batch = task.sample(4, 9, seeded(10))
    outputs = torch.zeros(4, 10, 3, requires_grad=True)
    task.loss(outputs, batch).backward()
    following = F.one_hot(batch.tokens[:, 2:] - 1, 3)
    assert torch.allclose(outputs.grad[:, 1:-1] * 36, 1 / 3 - following.float(), atol=1e-6)


def test_impossible_parameters_are_refused_in_one_sentence():
    with pytest.raises(TaskError) as caught:
        make_task("in_context_kgram", k=8, symbols=4)
    assert str(caught.value) == "in_context_kgram: k must be an integer from 1 to 4 where symbols is 4, not 8"
    assert make_task("in_context_kgram", k=4, symbols=4).lengths(1, 6) == [5, 6]
