"""The laws the strings are drawn from: uniform counts, closed prefixes, deciding events out of sight."""

from __future__ import annotations

from math import comb

import pytest
import torch
from scipy.stats import chi2_contingency

from workbench.tasks import TaskError, make_task

CLOSED = ["flip_flop", "parity", "majority", "mod_p_mean"]
ALL = [*CLOSED, "kgram_retrieval"]
MANY = 20_000


def codes(strings: torch.Tensor, letters: int) -> torch.Tensor:
    """One number per string over the ids 1..letters."""
    weights = letters ** torch.arange(strings.shape[1])
    return ((strings - 1) * weights).sum(1)


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("length", [1, 5, 31])
def test_majority_counts_are_uniform(law, length, seeded, assert_law):
    strings = make_task("majority").sample(MANY, length, seeded(length), law).tokens[:, 1:]
    assert_law((strings == 2).sum(1), [1 / (length + 1)] * (length + 1))


def test_majority_order_is_uniform_given_the_count(seeded, assert_law):
    strings = make_task("majority").sample(MANY, 5, seeded(0), "matched").tokens[:, 1:]
    law = [1 / (6 * comb(5, code.bit_count())) for code in range(32)]
    assert_law(codes(strings, 2), law)


def test_majority_prefixes_follow_polyas_urn(seeded):
    """P(next is a one | a ones among t) = (a + 1) / (t + 2), at several t at once."""
    strings = make_task("majority").sample(60_000, 21, seeded(1), "matched").tokens[:, 1:]
    for t, ones in ((1, 0), (4, 3), (10, 2), (20, 15)):
        rows = (strings[:, :t] == 2).sum(1) == ones
        share = (strings[rows, t] == 2).double().mean().item()
        assert share == pytest.approx((ones + 1) / (t + 2), abs=4 * 0.5 / rows.sum().item() ** 0.5)


@pytest.mark.parametrize("name", ["majority", "parity"])
def test_challenge_strings_are_sorted_with_either_symbol_first(name, seeded, assert_law):
    batch = make_task(name).sample(MANY, 7, seeded(2), "challenge")
    strings = batch.tokens[:, 1:]
    assert ((strings[:, 1:] != strings[:, :-1]).sum(1) <= 1).all()
    assert_law((strings == 2).sum(1), [1 / 8] * 8)
    assert_law(strings[:, 0] - 1, [0.5, 0.5])
    assert_law(strings[:, -1] - 1, [0.5, 0.5])


@pytest.mark.parametrize("law", ["training", "matched"])
def test_parity_strings_are_uniform(law, seeded, assert_law):
    strings = make_task("parity").sample(MANY, 4, seeded(3), law).tokens[:, 1:]
    assert_law(codes(strings, 2), [1 / 16] * 16)


def test_mean_counts_in_the_class_are_uniform_and_other_classes_independent(seeded, assert_law):
    task = make_task("mod_p_mean", p=3, k=2)
    for law in ("matched", "challenge"):
        strings = task.sample(MANY, 13, seeded(4), law).tokens[:, 1:]
        counts = (strings.view(MANY, 13) == 2).long()
        in_class, others = counts[:, 1::3].sum(1), counts[:, 0::3].sum(1)
        assert in_class.max() == 4
        assert_law(in_class, [1 / 5] * 5)
        assert_law(in_class * 6 + others, [1 / 30] * 30)
    chosen = counts[:, 1::3]
    assert ((chosen[:, 1:] != chosen[:, :-1]).sum(1) <= 1).all()
    assert_law(chosen[:, 0], [0.5, 0.5])


def test_flip_flop_instructions_have_the_stated_shares(seeded, assert_law):
    task = make_task("flip_flop", write_probability=0.2, read_probability=0.3)
    strings = task.sample(2_000, 11, seeded(5), "matched").tokens[:, 1:]
    assert_law(strings[:, 0] - 1, [0.5, 0.5, 0, 0, 0])
    assert_law(strings[:, 1:].flatten() - 1, [0.1, 0.1, 0.25, 0.25, 0.3])


@pytest.mark.parametrize("name", CLOSED)
def test_prefixes_of_samples_are_samples_of_the_shorter_length(name, seeded):
    task = make_task(name)
    letters = task.d_vocab - 1
    for law in ("training", "matched"):
        assert task.prefix_closed(law)
        long = task.sample(MANY, 15, seeded(6), law).tokens[:, 1:4]
        short = task.sample(MANY, 3, seeded(7), law).tokens[:, 1:]
        table = torch.stack([torch.bincount(codes(s, letters), minlength=letters**3) for s in (long, short)])
        table = table[:, table.sum(0) > 0]
        assert chi2_contingency(table.numpy()).pvalue > 1e-3
    assert not task.prefix_closed("challenge")


def test_retrieval_is_prefix_closed_under_no_law():
    task = make_task("kgram_retrieval")
    assert not any(task.prefix_closed(law) for law in ("training", "matched", "challenge"))


@pytest.mark.parametrize(
    ("length", "window", "margin"),
    [(1, 50, 0), (2, 50, 0), (40, 50, 0), (100, 50, 0), (104, 50, 39), (200, 50, 50), (200, None, 25)],
)
def test_flip_flop_challenge_writes_last_outside_both_windows(length, window, margin, seeded, assert_law):
    batch = make_task("flip_flop").sample(MANY // 4, length, seeded(8), "challenge", window)
    strings, deciding = batch.tokens[:, 1:], batch.meta["deciding_position"]
    place = torch.arange(1, length + 1)
    writes = strings <= 2
    assert torch.equal((writes * place).max(1).values, deciding)
    assert writes[:, 0].all()
    assert batch.mask.sum(1).eq(1).all()
    assert batch.mask[:, -1].all()
    room = length - 2 * margin
    assert_law(deciding - margin - 1, [1 / room] * room)
    if length == 200:
        after = strings[place > deciding[:, None]]
        assert_law(after - 1, [0, 0, 4 / 9, 4 / 9, 1 / 9])
        before = strings[(place > 1) & (place < deciding[:, None])]
        assert_law(before - 1, [0.05, 0.05, 0.4, 0.4, 0.1])
        assert_law(batch.targets[:, -1], [0.5, 0.5])


@pytest.mark.parametrize(("k", "length"), [(1, 3), (1, 12), (3, 7), (3, 20)])
def test_retrieval_places_the_copy_uniformly(k, length, seeded, assert_law):
    task = make_task("kgram_retrieval", k=k, symbols=12)
    places = length - 2 * k
    for law in ("training", "matched"):
        batch = task.sample(4_000, length, seeded(9), law)
        assert_law(batch.meta["key_position"] - k, [1 / places] * places)
        assert_law(batch.targets[:, -1], [1 / 12] * 12)


@pytest.mark.parametrize(("k", "length", "window", "margin"), [(1, 200, 50, 50), (2, 200, 50, 50), (2, 210, 99, 78)])
def test_retrieval_challenge_hides_copy_and_answer_from_both_windows(k, length, window, margin, seeded, assert_law):
    batch = make_task("kgram_retrieval", k=k).sample(4_000, length, seeded(10), "challenge", window)
    first, answer = batch.meta["key_position"] - k + 1, batch.meta["answer_position"]
    last = length - max(margin, k)  # the answer lies before the key, however small the margin
    assert first.min() == margin + 1
    assert answer.max() == last
    places = last - margin - k
    assert_law(first - margin - 1, [1 / places] * places)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_retrieval_challenge_exists_at_the_shortest_lengths(k, seeded):
    task = make_task("kgram_retrieval", k=k)
    for length in range(2 * k + 1, 2 * k + 30):
        batch = task.sample(50, length, seeded(length), "challenge", window=200)
        assert batch.mask[:, -1].all()


def test_retrieval_says_when_the_alphabet_is_too_small(seeded):
    """Without "ab" in between, a binary string is b..ba..a: redrawing cannot get there."""
    with pytest.raises(TaskError, match="2 symbols"):
        make_task("kgram_retrieval", k=2, symbols=2).sample(16, 300, seeded(11))


@pytest.mark.parametrize("law", ["training", "challenge"])
@pytest.mark.parametrize("name", ALL)
def test_the_generator_is_the_only_source_of_randomness(name, law, seeded):
    task = make_task(name)
    state = torch.get_rng_state()
    once, again, other = (task.sample(8, 41, seeded(s), law, window=10) for s in (0, 0, 1))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(once.tokens, again.tokens)
    assert not torch.equal(once.tokens, other.tokens)
    assert once.law == law


@pytest.mark.parametrize("name", ALL)
def test_training_and_matched_are_the_same_law(name, seeded):
    task = make_task(name)
    assert torch.equal(
        task.sample(8, 41, seeded(0), "training").tokens, task.sample(8, 41, seeded(0), "matched").tokens
    )


@pytest.mark.parametrize("name", ["flip_flop", "kgram_retrieval"])
def test_a_window_must_be_a_length(name, seeded):
    with pytest.raises(TaskError, match="window"):
        make_task(name).sample(4, 41, seeded(0), "challenge", window=0)
