"""Published claims about trained networks: small networks by hand and in training, and planted faults that must fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import ttest_1samp

from workbench.claims.claim import Row
from workbench.claims.exact import (
    counting_readers,
    largest_item,
    norm_growth,
    parity_networks,
    return_words,
    set_complement,
)
from workbench.claims.exact.side_by_side import adam, lower_end_of_mean, round_to_digits
from workbench.claims.suites.registry import claims_named
from workbench.claims.verdict_rule import judge


def verdict(name: str, rows: Sequence[Row]) -> str:
    """The verdict on a claim with these rows."""
    ((_, claim),) = claims_named(name)
    return judge(claim, rows).verdict


# ---- tools ---------------------------------------------------------------------------------------
def test_adam_is_that_of_torch() -> None:
    start = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    theirs = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([theirs], lr=0.1)
    ours, moments = start.clone(), (torch.zeros_like(start), torch.zeros_like(start))
    for step in range(1, 5):
        (slope,) = torch.autograd.grad((theirs**3).sum(), [theirs])
        theirs.grad = slope
        ours, moments = adam(ours, 3 * ours**2, moments, step, 0.1)
        optimizer.step()
    assert ours.numpy() == pytest.approx(theirs.detach().numpy(), abs=1e-12)


def test_the_lower_end_of_a_mean_and_four_digits() -> None:
    values = [0.1, 0.3, -0.1, 0.2]
    assert lower_end_of_mean(values) == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.95).low)
    assert round_to_digits(0.123456) == 0.1235
    assert round_to_digits(-12345.6) == -12350.0


# ---- DP18: norms ---------------------------------------------------------------------------------
def course(norms: np.ndarray, squares: np.ndarray, cosines: np.ndarray) -> norm_growth.Course:
    """A course with the same numbers for each schedule, and one seed."""
    columns = [np.tile(each[:, None], (1, len(norm_growth.SCHEDULES))) for each in (norms, squares, cosines)]
    checkpoints = np.linspace(1, len(norms) - 1, len(cosines)).round().astype(int)
    return norm_growth.Course(columns[0], columns[1], columns[2], checkpoints, np.zeros(len(norm_growth.SCHEDULES)))


def test_steps_at_right_angles_hold_and_aligned_steps_fail() -> None:
    steps = np.arange(200.0)
    rising = np.linspace(0, 1, 20)
    for norms, label in ((np.sqrt(9 + steps), "holds"), (1e-3 + steps, "does not hold")):
        assert verdict("DP18", norm_growth.norm_rows(course(norms, steps, rising), seeds=1)) == label


def test_a_cosine_that_falls_with_the_norm_fails() -> None:
    steps = np.arange(200.0)
    for cosines, label in ((np.linspace(0, 1, 20), "holds"), (np.linspace(1, 0, 20), "does not hold")):
        rows = norm_growth.saturation_rows(course(np.sqrt(9 + steps), steps, cosines), seeds=1)
        assert verdict("DP18c", rows) == label


@pytest.mark.parametrize(
    ("constant", "falling", "label"),
    [(0.3, 0.5, "holds"), (0.5, 0.5, "does not hold"), (0.3, 0.25, "does not hold")],
)
def test_a_wrong_power_of_time_fails(constant: float, falling: float, label: str) -> None:
    steps = np.arange(1, 201.0)
    whole = course(steps, steps, steps[:20])
    powers = [
        {"constant rate": constant, "falling rate": falling}.get(each.name, 0.3) for each in norm_growth.SCHEDULES
    ]
    norms = np.concatenate([np.ones((1, len(powers))), steps[:, None] ** np.array(powers)])
    assert verdict("DP18b", norm_growth.slope_rows(replace(whole, norms=norms), seeds=1)) == label


def test_training_is_that_of_torch_with_decay_and_a_falling_rate() -> None:
    schedule = norm_growth.Schedule("both", 0.01, power=0.5, decay=0.1)
    ours = norm_growth.train([schedule], 1, 3, measure=False)
    weights = torch.from_numpy(norm_growth.start(1)).requires_grad_()
    optimizer = torch.optim.AdamW([weights], weight_decay=0.1)
    draws = norm_growth.sequences_of_source(
        3 * norm_growth.BATCH, norm_growth.POSITIONS + 1, np.random.default_rng([0])
    )
    norms = [float(weights.detach().norm())]
    for step in range(3):
        optimizer.param_groups[0]["lr"] = 0.01 / math.sqrt(step + 1)
        batch = torch.from_numpy(draws.reshape(3, norm_growth.BATCH, -1)[step])[None]
        _, logits = norm_growth.states(weights, batch[..., :-1])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits.flatten(0, 2), batch[..., 1:].flatten()).backward()
        optimizer.step()
        norms.append(float(weights.detach().norm()))
    assert ours.norms[:, 0] == pytest.approx(norms, abs=1e-7)  # a dropped decay changes them by 0.02


def test_the_factor_gives_the_saturated_network() -> None:
    weights = torch.from_numpy(norm_growth.start(1))
    letters = torch.from_numpy(norm_growth.sequences_of_source(4, 16, np.random.default_rng(0)))[None]
    far, farther = (norm_growth.states(factor * weights, letters)[0] for factor in (1e3, 1e5))
    assert float(torch.cosine_similarity(far, farther, dim=-1).min()) > 0.999
    assert float(torch.cosine_similarity(norm_growth.states(weights, letters)[0], far, dim=-1).mean()) < 0.99


# ---- DP12: counting readers ----------------------------------------------------------------------
@pytest.mark.parametrize("compared", [0, 1, 2])
def test_readers_count_what_follows_the_last_letters(compared: int) -> None:
    letters = np.array([[0, 1, 2, 0, 1, 1, 0, 2, 0, 1]])
    codes = torch.eye(3).double()[torch.from_numpy(letters)]
    answer = counting_readers.last_answer(counting_readers.reader(compared, 10, 30.0), codes)[0]
    suffix = tuple(letters[0, 10 - compared :])
    counts = np.zeros(3)
    for place in range(compared, 10):
        if tuple(letters[0, place - compared : place]) == suffix:
            counts[letters[0, place]] += 1
    expected = (counts + (1 / 3 if compared == 0 else 0)) / (counts.sum() + (compared == 0))
    assert answer.numpy() == pytest.approx(expected, abs=1e-9)


def test_the_gradient_is_that_of_the_dense_model() -> None:
    letters, following = counting_readers.draw(1, 12, np.random.default_rng(0))
    weights = counting_readers.reader(1, 13, 2.0)
    tensors = [weights.distances.requires_grad_(), weights.pairs.requires_grad_()]
    extended = torch.from_numpy(np.concatenate([letters, letters[:, :1]], 1))[None]  # the last letter is not read
    answer = counting_readers.all_answers(counting_readers.Weights(*tensors), extended)[0, :, -1]
    slopes = torch.autograd.grad(-(torch.from_numpy(following) * answer.log()).sum(), tensors)
    dense = math.sqrt(sum(float(slope.square().sum()) for slope in slopes))
    norms = counting_readers.gradient_norms(counting_readers.reader(1, 13, 2.0), letters, following)
    assert norms == pytest.approx((dense, dense))
    both = [np.concatenate([each, each]) for each in (letters, following)]
    assert counting_readers.gradient_norms(counting_readers.reader(1, 13, 2.0), *both) == pytest.approx((dense, dense))


def test_a_head_that_holds_a_letter_which_is_not_compared_is_no_stationary_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slopes() -> list[float]:
        rows = counting_readers.gradient_rows(lengths=(16, 64, 256), sequences=64, fixed=())
        return [row.value for row in rows if row.quantity.startswith("slope") and row.item == "one letter"]

    right = counting_readers.reader
    assert slopes()[0] < -0.3

    def holds_a_letter(compared: int, length: int, logit: float) -> counting_readers.Weights:
        weights = right(compared, length, logit)
        weights.distances[0, 0, 0] = logit
        return weights

    monkeypatch.setattr(counting_readers, "reader", holds_a_letter)
    assert slopes()[0] > -0.2


def test_a_model_whose_heads_are_not_trained_counts_one_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting_readers, "TRAINED_LENGTH", 24)
    rows = counting_readers.training_rows(seeds=1, steps=60, trained_heads=0)
    assert verdict("DP12b", rows) == "does not hold"
    (share,) = [row.value for row in rows if row.quantity == "share of checkpoints nearest to one letter"]
    assert share == 1.0


def test_a_reader_is_nearest_to_itself() -> None:
    letters = torch.from_numpy(counting_readers.draw(16, 32, np.random.default_rng(1))[0])
    for compared in counting_readers.READERS.values():
        own = counting_readers.reader(compared, 32, 2 * math.log(32))
        places, table = counting_readers.nearest(counting_readers.all_answers(own, letters[None]), letters)
        assert places == [compared]
        assert float(table[compared]) == pytest.approx(0.0, abs=1e-12)


# ---- DP13: automata ------------------------------------------------------------------------------
def parity_by_hand(drift: float = 1.0) -> parity_networks.Networks:
    """A network of five units whose states are even and odd, each twice; all but the fifth start too large.

    With e = a + d - f and o = b + c - 2f: a = relu(e - x), b = relu(o - x), c = relu(e + x - 1), d = relu(o + x - 1).
    """
    even, odd = [1.0, 0.0, 0.0, 1.0, -1.0], [0.0, 1.0, 1.0, 0.0, -2.0]
    recurrent = torch.tensor([[even, odd, even, odd, [0.0] * 5]]).double() * drift
    inputs = torch.tensor([[[0.0, -1.0], [0.0, -1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]).double()
    bias = torch.tensor([[0.0, 0.0, -1.0, -1.0, 0.0]]).double()
    outputs = torch.tensor([[even, odd]]).double()
    return parity_networks.Networks(recurrent, inputs, bias, outputs, torch.zeros(1, 2).double())


def test_a_network_by_hand_is_a_finite_automaton_that_is_right_at_all_lengths() -> None:
    network = parity_by_hand()
    machine = parity_networks.automaton(network, 0.01)
    assert machine.finite
    assert machine.minimal_states == 2
    assert len(machine.answers) > 2
    assert parity_networks.long_accuracies(network, length=500, sequences=8) == pytest.approx([1.0])
    drifting = parity_networks.automaton(parity_by_hand(drift=0.999), 1e-6, most=50)
    assert not drifting.finite


def trained_by_hand(networks: Sequence[parity_networks.Networks]) -> object:
    """A function in place of training that returns these networks in turn, with no error."""

    def train(start: object, shares: Sequence[float], *arguments: object) -> tuple[parity_networks.Networks, object]:
        chosen = [networks[at % len(networks)] for at in range(len(shares))]
        tensors = zip(*(each.tensors for each in chosen), strict=True)
        return parity_networks.Networks(*(torch.cat(each) for each in tensors)), torch.zeros(len(shares))

    return train


def test_a_right_network_without_a_finite_automaton_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity_networks, "MOST_STATES", 50)
    finite, drifting = parity_by_hand(), parity_by_hand(drift=0.999)
    for networks, merge, label in (([finite], 0.01, "holds"), ([finite, drifting], 1e-7, "does not hold")):
        monkeypatch.setattr(parity_networks, "train", trained_by_hand(networks))
        monkeypatch.setattr(parity_networks, "automaton", _at_most_50)
        assert verdict("DP13", parity_networks.automaton_rows(repeats=1, length=40, merge=merge)) == label


AUTOMATON = parity_networks.automaton


def _at_most_50(network: parity_networks.Networks, merge: float) -> parity_networks.Automaton:
    return AUTOMATON(network, merge, 50)


def test_training_is_that_of_torch_on_each_sequence() -> None:
    gains, seeds = [0.8, 1.0], [3, 4]
    ours, _ = parity_networks.train(parity_networks.start(gains, seeds), [1.0, 1.0], seeds, steps=3, longest=3)
    first = parity_networks.start(gains, seeds).of_run(1)
    leaves = [tensor.clone().requires_grad_() for tensor in first.tensors]
    optimizer = torch.optim.SGD(leaves, lr=parity_networks.RATE, momentum=parity_networks.MOMENTUM)
    sequences = [[index >> at & 1 for at in range(length)] for length in (1, 2, 3) for index in range(2**length)]
    for _ in range(3):
        optimizer.zero_grad()
        network, total = parity_networks.Networks(*leaves), torch.zeros(()).double()
        for letters in sequences:
            state = network.first
            for letter in letters:
                state = network.after(state, torch.tensor([letter]))
            target = torch.eye(2).double()[sum(letters) % 2]
            total = total + (network.answers(state)[0, 0] - target).square().mean() / len(sequences)
        total.backward()
        optimizer.step()
    for ours_of_run, theirs in zip(ours.of_run(1).tensors, leaves, strict=True):
        assert ours_of_run.numpy() == pytest.approx(theirs.detach().numpy(), abs=1e-12)


def test_minimal_states_of_known_automata() -> None:
    turns = np.array([[0, 1], [1, 2], [2, 0]])
    assert parity_networks.Automaton(turns, np.array([0, 1, 1]), True).minimal_states == 3
    doubled = np.array([[2, 1], [1, 2], [0, 3], [3, 0]])
    assert parity_networks.Automaton(doubled, np.array([0, 1, 0, 1]), True).minimal_states == 2


# ---- DP09 and DP16: the largest item -------------------------------------------------------------
def test_the_bounds_hold_and_a_logit_that_grows_with_n_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = 1.5 * largest_item.start([0, 1])
    rows = largest_item.dispersion_rows(weights, sizes=(16, 64, 256))
    slopes = [row.value for row in rows if row.quantity == "slope of the spread on log n"]
    assert max(row.value for row in rows if row.quantity == "largest excess over the bounds") <= 1e-12
    right = largest_item.logits_of

    def growing(weights: torch.Tensor, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, items = right(weights, features)
        return 3 * math.log(features.shape[1]) * logits, items

    monkeypatch.setattr(largest_item, "logits_of", growing)
    scaled = largest_item.dispersion_rows(weights, sizes=(16, 64, 256))
    grown = [row.value for row in scaled if row.quantity == "slope of the spread on log n"]
    assert all(new > 0.1 > 0 and new > old for old, new in zip(slopes, grown, strict=True))
    assert verdict("DP09", scaled) == "does not hold"


def test_a_norm_after_attention_removes_the_scale_of_the_values() -> None:
    weights = largest_item.start([0, 0])
    features, _ = largest_item.sets(8, 6, np.random.default_rng(0))
    at = sum(a * b for _, (a, b) in largest_item.SHAPES[:5])
    scaled = weights.clone()
    scaled[:, at : at + largest_item.WIDTH**2] *= 7
    normed = torch.tensor([False, True])
    before, after = (largest_item.answers(each, features, normed) for each in (weights, scaled))
    assert float((before[1] - after[1]).abs().max()) < 1e-3
    assert float((before[0] - after[0]).abs().max()) > 0.1


def test_training_learns_and_large_sets_are_harder() -> None:
    weights = largest_item.train([0], [False], steps=150)
    before, near, far = (
        largest_item.accuracies(each, [False], size)[0]
        for each, size in ((largest_item.start([0]), 16), (weights, 16), (weights, 256))
    )
    assert near > before + 0.2
    assert far < near


def test_gains_are_paired_by_seed() -> None:
    before, after = np.array([0.5, 0.6, 0.7]), np.array([0.55, 0.66, 0.74])
    for old, new, label in ((before, after, "holds"), (after, before, "does not hold")):
        assert verdict("DP09b", largest_item._gains("adaptive temperature", 64, old, new)) == label
        assert verdict("DP16b", largest_item._gains("norm after attention", 128, old, new)) == label


def test_the_variance_of_attention_falls_unless_letters_depend_on_each_other() -> None:
    for independent, label in ((True, "holds"), (False, "does not hold")):
        assert verdict("DP16", largest_item.variance_rows(seeds=2, sequences=500, independent=independent)) == label


# ---- DP11: set complement ------------------------------------------------------------------------
def complement_by_hand(strength: float) -> torch.Tensor:
    """Weights of a layer that attends equally and lowers the logits of what it attends to."""
    unit, zero = np.eye(set_complement.WIDTH), np.zeros((set_complement.WIDTH, set_complement.WIDTH))
    codes = unit[: set_complement.LETTERS]
    parts = (codes, zero, zero, -strength * unit, codes.T)
    return torch.from_numpy(np.concatenate([each.ravel() for each in parts]))[None]


def test_a_balanced_layer_is_right_at_all_lengths_and_a_weak_one_is_not() -> None:
    for strength, label in ((1_000.0, "holds"), (5.0, "does not hold")):
        rows = set_complement.separation_rows(complement_by_hand(strength), lengths=(1, 2, 8, 12))
        assert verdict("DP11", rows) == label
    (slope,) = [
        row.value
        for row in set_complement.separation_rows(complement_by_hand(1_000.0))
        if row.quantity == "slope of log difference on log length"
    ]
    assert slope == pytest.approx(-1, abs=0.01)


def test_the_divergence_of_known_answers() -> None:
    nothing = torch.zeros(1, sum(a * b for _, (a, b) in set_complement.SHAPES)).double()
    uniform = set_complement.divergences(nothing, [False], 12, 8)
    assert uniform == pytest.approx([math.log(16 / 4)])
    assert set_complement.divergences(complement_by_hand(1_000.0), [False], 4, 8) == pytest.approx([0.0], abs=1e-9)


def test_targets_and_averages_of_weights() -> None:
    letters = set_complement.sequences(5, 4, np.random.default_rng(0))
    assert all(len(set(row)) == 4 for row in letters.tolist())
    goal = set_complement.targets(letters)
    assert np.take_along_axis(goal, letters, 1).max() == 0
    assert goal.sum(1) == pytest.approx(np.ones(5))
    trained = set_complement.train([0], [False], (1, 2), steps=1)
    start = set_complement.train([0], [False], (1, 2), steps=0).last
    expected = 0.99 * start + 0.01 * trained.last
    assert float((trained.averaged - expected).abs().max()) < 1e-12
    assert float((trained.last - start).abs().max()) > 1e-3


# ---- DP14: return words --------------------------------------------------------------------------
@pytest.mark.parametrize("name", return_words.GROUPS)
def test_codes_follow_the_group_and_return_words_lead_back(name: str) -> None:
    table, rng = return_words.GROUPS[name], np.random.default_rng(0)
    own = return_words.tracker(table, rng)
    for element in range(len(table)):
        for letter in range(len(table)):
            assert own.after(own.codes[element], [letter]) == pytest.approx(own.codes[table[letter, element]])
        word = return_words.return_word(table, rng)
        assert own.after(own.codes[element], word) == pytest.approx(own.codes[element])


def test_s3_is_not_commutative() -> None:
    table = return_words.GROUPS["S3"]
    assert (table != table.T).any()
    assert all(sorted(row) == list(range(6)) for row in table.tolist())


def test_a_leaking_affine_map_and_a_relu_network_without_merging_fail() -> None:
    exact = return_words.affine_rows(words=20)
    merged = [Row("error along the difference, ReLU", "run 0", 0.1)]
    assert verdict("DP14", [*exact, *merged]) == "holds"
    assert verdict("DP14", [*return_words.affine_rows(words=20, leak=0.97), *merged]) == "does not hold"
    by_hand = return_words.relu_rows(parity_by_hand())
    assert by_hand[0].value > 0.9
    assert verdict("DP14", [*exact, *by_hand]) == "does not hold"
