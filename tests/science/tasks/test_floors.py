"""Chance levels by enumeration, and shortcut oracles against closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
import torch
from scipy.stats import betabinom

from workbench.tasks import TaskError, make_task

MANY = 20_000
WINDOW = 50


def share(values: torch.Tensor) -> float:
    return values.double().mean().item()


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_parity_chance_is_that_of_the_best_constant(length):
    task = make_task("parity")
    strings = list(product((0, 1), repeat=length))
    assert task.chance("matched", length) == sum(sum(s) % 2 == 0 for s in strings) / len(strings)
    counts = [c % 2 for c in range(length + 1)]
    best = max(counts.count(0), counts.count(1)) / len(counts)
    assert task.chance("challenge", length) == pytest.approx(best)


@pytest.mark.parametrize("length", [1, 3, 9])
def test_majority_chance_is_that_of_the_best_constant(length):
    ones_lead = [2 * count > length for count in range(length + 1)]  # each count equally likely
    assert sum(ones_lead) / len(ones_lead) == make_task("majority").chance("matched", length) == 0.5


@pytest.mark.parametrize("tolerance", ["0.01", "0.05", "0.125", "0.3"])
@pytest.mark.parametrize("size", [1, 2, 4, 5, 10, 20, 33])
def test_mean_chance_is_that_of_the_best_constant(size, tolerance):
    """Brute force in exact fractions: some best constant has a value on the edge of its reach."""
    reach = Fraction(tolerance)
    values = [Fraction(j, size) for j in range(size + 1)]
    best = max(sum(abs(v - (low + reach)) <= reach for v in values) for low in values)
    task = make_task("mod_p_mean", p=3, k=0, tolerance=float(tolerance))
    for law in ("matched", "challenge"):
        assert task.chance(law, 3 * size) == pytest.approx(best / (size + 1))


def test_mean_has_no_chance_where_nothing_is_asked():
    with pytest.raises(TaskError, match="length 2"):
        make_task("mod_p_mean", p=4, k=0).chance("matched", 2)


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("flip_flop", {}),
        ("parity", {}),
        ("majority", {}),
        ("mod_p_mean", {"p": 3, "k": 1}),
        ("kgram_retrieval", {"symbols": 5}),
    ],
)
def test_chance_agrees_with_the_best_constant_on_samples(name, parameters, law, seeded):
    task = make_task(name, **parameters)
    for length in (9, 30):
        length = task.next_length(length)
        batch = task.sample(MANY, length, seeded(length), law, window=4)
        found = task.shortcuts(batch, window=length)
        assert set(found) == {"position_only", "last_token"}
        assert share(found["position_only"]) == pytest.approx(task.chance(law, length), abs=0.015)


def test_majority_shortcuts_on_the_matched_law(seeded):
    """First 50 of 401: .945, as the Beta-binomial law of what comes after 50 tokens says."""
    length = 401
    exact = 0.0
    for ones in range(WINDOW + 1):
        rest = betabinom(length - WINDOW, ones + 1, WINDOW - ones + 1)
        leads = rest.sf(length // 2 - ones)
        exact += (leads if 2 * ones > WINDOW else 1 - leads if 2 * ones < WINDOW else 0.5) / (WINDOW + 1)
    assert exact == pytest.approx(0.945, abs=0.005)

    task = make_task("majority")
    found = task.shortcuts(task.sample(10_000, length, seeded(0), "matched"), WINDOW)
    assert share(found["first_window"]) == pytest.approx(exact, abs=0.008)
    assert share(found["last_window"]) == pytest.approx(exact, abs=0.008)


def test_majority_shortcuts_on_the_challenge_law(seeded):
    """Sorted, c of the first symbol: a window of 50 is wrong exactly when 25 < c <= 200."""
    task = make_task("majority")
    found = task.shortcuts(task.sample(10_000, 401, seeded(1), "challenge"), WINDOW)
    exact = (25 + 0.5 + 201) / 402
    assert share(found["first_window"]) == pytest.approx(exact, abs=0.014)
    assert share(found["last_window"]) == pytest.approx(exact, abs=0.014)
    assert share(found["last_token"]) == pytest.approx(0.5, abs=0.02)
    assert share(found["position_only"]) == pytest.approx(0.5, abs=0.02)


def test_flip_flop_shortcuts(seeded):
    task = make_task("flip_flop")
    challenge = task.shortcuts(task.sample(6_000, 400, seeded(2), "challenge", WINDOW), WINDOW)
    assert torch.equal(challenge["last_window"], torch.full((6_000,), 0.5, dtype=torch.float64))
    for name in ("first_window", "last_token", "position_only"):
        assert share(challenge[name]) == pytest.approx(0.5, abs=0.02), name
    matched = task.shortcuts(task.sample(6_000, 400, seeded(3), "matched"), WINDOW)
    assert share(matched["last_window"]) == pytest.approx(1 - 0.9**WINDOW / 2, abs=0.003)


def test_parity_shortcuts_are_plain_guesses_on_the_matched_law(seeded):
    task = make_task("parity")
    found = task.shortcuts(task.sample(MANY, 100, seeded(4), "matched"), WINDOW)
    for name in ("first_window", "last_window", "last_token", "position_only"):
        assert share(found[name]) == pytest.approx(0.5, abs=0.015), name


def test_retrieval_shortcuts(seeded):
    """k = 1 over 398 places of 400: the last window holds the copy and its answer at 48 of them."""
    task = make_task("kgram_retrieval")
    seen = 48 / 398
    matched = task.shortcuts(task.sample(4_000, 400, seeded(5), "matched"), WINDOW)
    assert share(matched["last_window"]) == pytest.approx(seen + (1 - seen) / 16, abs=0.02)
    challenge = task.shortcuts(task.sample(4_000, 400, seeded(6), "challenge", WINDOW), WINDOW)
    assert torch.equal(challenge["last_window"], torch.full((4_000,), 1 / 16, dtype=torch.float64))
    assert share(challenge["first_window"]) == pytest.approx(1 / 16, abs=0.015)


def test_mean_last_window_counts_the_right_residue_class():
    """Positions 3, 6, 9 hold 1 0 1; the last five tokens (6..10) show 0 1, so they answer 1/2."""
    task = make_task("mod_p_mean", p=3, k=0, tolerance=0.2)
    string = torch.tensor([[1, 1, 2, 2, 2, 1, 2, 2, 2, 1]])
    found = task.shortcuts(task.label(string), window=5)
    assert found["last_window"].tolist() == [1.0]  # |1/2 - 2/3| <= .2; shifted by one it would read 1
    assert found["first_window"].tolist() == [0.0]  # position 3 alone reads 1


def test_the_best_constant_of_a_real_task_may_lie_between_two_values(seeded):
    """Shares j/10 and tolerance 1/20: no constant equal to a share reaches two of them, .05 does."""
    task = make_task("mod_p_mean", p=1, k=0, tolerance=0.05)
    assert task.chance("matched", 10) == pytest.approx(2 / 11)
    batch = task.sample(4_000, 10, seeded(7), "matched")
    assert share(task.shortcuts(batch, 10)["position_only"]) == pytest.approx(2 / 11, abs=0.02)


@pytest.mark.parametrize(
    ("name", "tokens", "expected"),
    [
        ("majority", [1, 2, 2], [0, 1]),
        ("majority", [1, 2], [0.5, 0.5]),
        ("parity", [2, 1, 2], [1, 0]),
        ("flip_flop", [1, 4, 5], [1, 0]),
        ("flip_flop", [4, 3, 5], [0.5, 0.5]),
    ],
)
def test_answers_from_visible_tokens_alone(name, tokens, expected):
    assert make_task(name).answer(torch.tensor([tokens])).tolist() == [expected]


def test_retrieval_answers_from_visible_tokens_alone():
    task = make_task("kgram_retrieval", k=2, symbols=3)
    tokens = torch.tensor([[1, 2, 3, 1, 2], [1, 1, 2, 3, 3]])
    weights = task.answer(tokens)
    assert (weights / weights.sum(1, keepdim=True)).tolist() == [[0, 0, 1], pytest.approx([1 / 3] * 3)]
    assert task.answer(tokens[:, :2]).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_mean_guesses_one_half_where_it_sees_nothing():
    assert make_task("mod_p_mean", p=4, k=0).answer(torch.tensor([[2, 2], [1, 2]])).tolist() == [[0.5], [0.5]]
