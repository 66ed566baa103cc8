"""Published claims about training dynamics: formulas against training, and planted faults that must fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from workbench.claims.claim import Row
from workbench.claims.exact import (
    diagonal_students,
    distinguishing_sequences,
    even_pairs_training,
    overparameterized_recurrences,
    random_transformers,
    recurrent_flow,
    trigger_output,
)
from workbench.claims.suites.registry import claims_named
from workbench.claims.verdict_rule import judge


def verdict(name: str, rows: Sequence[Row]) -> str:
    """The verdict on a claim with these rows."""
    ((_, claim),) = claims_named(name)
    return judge(claim, rows).verdict


# ---- DP21: sums and means ------------------------------------------------------------------------
def test_sums_and_means_hold_by_flow() -> None:
    assert verdict("DP21", recurrent_flow.integration_rows()) == "holds"


@pytest.mark.parametrize(("task", "answer"), [("sum", 1.0), ("mean", 1 / 16)])
def test_descent_on_drawn_sequences_learns_the_weights_of_the_flow(task: str, answer: float) -> None:
    rng = np.random.default_rng(0)
    target, lags = recurrent_flow.task_response(task, 16), np.arange(16)
    w = u = v = 0.3
    rate = 3e-4 if task == "sum" else 3e-2
    for _ in range(12_000):
        inputs = rng.standard_normal((32, 16))
        error = inputs @ (u * v * w**lags - target) / 32
        by_w, by_product = (
            float(error @ inputs @ slope) for slope in (u * v * lags * w ** np.maximum(lags - 1, 0), w**lags)
        )
        w, u, v = w - rate * by_w, u - rate * v * by_product, v - rate * u * by_product
    assert (w, u * v) == pytest.approx((1.0, answer), abs=2e-3)
    flow = recurrent_flow.flow(target, np.full(3, 0.3))
    assert (w, u * v) == pytest.approx((flow[0], flow[1] * flow[2]), abs=2e-3)


def test_sums_fail_from_a_saddle_after_a_short_time_and_with_a_wrong_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("DP21", recurrent_flow.integration_rows(starts=(0.0,))) == "does not hold"
    assert verdict("DP21", recurrent_flow.integration_rows(time=3.0)) == "does not hold"
    right = recurrent_flow.negative_gradient
    monkeypatch.setattr(recurrent_flow, "negative_gradient", lambda weights, target: right(weights, target**2))
    assert verdict("DP21", recurrent_flow.integration_rows()) == "does not hold"  # 1/T^2 in place of 1/T


# ---- DP10: automata ------------------------------------------------------------------------------
def test_the_length_complexity_of_automata_holds() -> None:
    assert verdict("DP10", distinguishing_sequences.complexity_rows()) == "holds"


def test_too_few_sequences_do_not_distinguish_the_languages() -> None:
    assert verdict("DP10", distinguishing_sequences.complexity_rows(longest=4)) == "does not hold"


def test_automata_that_are_not_minimal_are_languages_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    right = distinguishing_sequences.minimal_automata

    def with_a_copy(states: int) -> tuple[np.ndarray, np.ndarray]:
        transitions, accepting = right(states)
        return np.concatenate([transitions, transitions[:1]]), np.concatenate([accepting, accepting[:1]])

    monkeypatch.setattr(distinguishing_sequences, "minimal_automata", with_a_copy)
    assert verdict("DP10", distinguishing_sequences.complexity_rows()) == "does not hold"


def test_two_states_against_a_search_of_pairs() -> None:
    """The same number by breadth-first search over pairs of states, for all automata, minimal or not."""
    automata = [
        (table, accepting)
        for states in (1, 2)
        for table in product(product(range(states), repeat=2), repeat=states)
        for accepting in product((False, True), repeat=states)
    ]
    longest = 0
    for (table, accepting), (other, other_accepting) in product(automata, automata):
        layer, seen, length = {(0, 0)}, {(0, 0)}, 0
        while layer:
            if any(accepting[one] != other_accepting[two] for one, two in layer):
                longest = max(longest, length)
                break
            layer = {(table[one][letter], other[two][letter]) for one, two in layer for letter in (0, 1)} - seen
            seen |= layer
            length += 1
    assert longest == distinguishing_sequences.longest_shortest_distinguisher(2)[0] == 2


# ---- DP08: one more sequence ---------------------------------------------------------------------
def test_one_more_sequence_raises_the_error() -> None:
    assert verdict("DP08", diagonal_students.poison_rows(diagonal_students.SMALL, seeds=3)) == "holds"


@pytest.mark.parametrize(
    ("student", "seed", "clean", "poisoned"),
    [
        (diagonal_students.SMALL, 242, 0.00118320, 0.04918062),
        (diagonal_students.SMALL, 243, 0.00122506, 0.04583650),
        (diagonal_students.LARGE, 342, 0.00728106, 0.03501051),
    ],
)
def test_errors_are_those_that_the_authors_published(
    student: diagonal_students.Student, seed: int, clean: float, poisoned: float
) -> None:
    """Their notebook draws the start with numpy's older generator and divides by the number of states."""
    start = np.sort(student.scale * np.random.RandomState(seed).rand(student.states))[::-1].copy()
    start[1] = start[0] - student.gap
    power = student.length - 1
    assert diagonal_students.largest_error(
        diagonal_students.end_of_one_lag(start, power)
    ) / student.states == pytest.approx(clean, rel=3e-3)
    assert diagonal_students.largest_error(
        diagonal_students.end_of_flow(start, (power, 1), student.time)
    ) / student.states == pytest.approx(poisoned, rel=3e-3)


def test_the_conserved_differences_give_the_end_of_the_flow() -> None:
    start = np.array([0.3, 0.2, 0.1])
    for power in (3, 6):
        by_formula = diagonal_students.end_of_one_lag(start, power)
        assert by_formula == pytest.approx(diagonal_students.end_of_flow(start, (power,), 1e4), rel=1e-6)
        inverse = by_formula ** (2.0 - power) - start ** (2.0 - power)
        assert inverse == pytest.approx(inverse[0], rel=1e-6)
        wrong = diagonal_students.end_of_one_lag(start, power + 1)
        assert wrong != pytest.approx(by_formula, rel=1e-3)


def test_a_large_start_and_a_short_flow_fail() -> None:
    large = replace(diagonal_students.SMALL, scale=0.5)
    assert verdict("DP08", diagonal_students.poison_rows(large, seeds=2)) == "does not hold"
    short = replace(diagonal_students.SMALL, time=0.01)
    assert verdict("DP08", diagonal_students.poison_rows(short, seeds=2)) == "does not hold"


# ---- DP03 to DP05: even pairs --------------------------------------------------------------------
@pytest.mark.parametrize("summed", [False, True])
def test_steps_are_those_of_automatic_differentiation(summed: bool) -> None:
    longest, factor, steps = 4, 3.0, 40
    course_layer = _layer_after(longest, factor, steps, summed)
    scores = torch.zeros(8, 8, dtype=torch.float64, requires_grad=True)
    linear = torch.zeros(8, dtype=torch.float64, requires_grad=True)
    for step in range(steps):
        total = torch.zeros((), dtype=torch.float64)
        for length in range(1, longest + 1):
            letters = even_pairs_training.sequences(length)
            places = torch.from_numpy(even_pairs_training.codes(letters))
            attention = torch.softmax(scores[places, places[:, -1:]], 1)
            signs = torch.from_numpy(np.where(letters[:, 0] == letters[:, -1], 1.0, -1.0))
            losses = torch.nn.functional.softplus(-signs * (attention * linear[places]).sum(1))
            total = total + (losses.mean() if summed else losses.sum() / (2 ** (longest + 1) - 2))
        slopes = torch.autograd.grad(total, [scores, linear])
        with torch.no_grad():
            scores -= 0.1 * (factor if step < 10 else 1.0) * slopes[0]
            linear -= 0.1 * slopes[1]
    assert course_layer.linear == pytest.approx(linear.detach().numpy(), abs=1e-12)
    assert course_layer.scores == pytest.approx(scores.detach().numpy(), abs=1e-12)


def _layer_after(longest: int, factor: float, steps: int, summed: bool) -> even_pairs_training.Layer:
    checkpoints = even_pairs_training.CHECKPOINTS
    even_pairs_training.CHECKPOINTS = (steps,)  # type: ignore[assignment]
    try:
        return even_pairs_training.train(longest, factor, steps, 10, summed=summed).layers[steps]
    finally:
        even_pairs_training.CHECKPOINTS = checkpoints


def _course(exponent: float, change: float, layer: even_pairs_training.Layer) -> even_pairs_training.Training:
    steps = np.geomspace(20_000, 200_000, 9)
    layers = dict.fromkeys(even_pairs_training.CHECKPOINTS, layer)
    return even_pairs_training.Training(steps, steps**-exponent, np.log(steps), np.full(9, change), layers)


@pytest.mark.parametrize(
    ("exponent", "change", "label"),
    [(1.0, 0.1, "holds"), (0.5, 0.1, "does not hold"), (2.0, 0.1, "does not hold"), (1.0, 0.5, "does not hold")],
)
def test_a_wrong_exponent_of_the_loss_or_moving_attention_fails(
    monkeypatch: pytest.MonkeyPatch, exponent: float, change: float, label: str
) -> None:
    course = _course(exponent, change, even_pairs_training.Layer(np.zeros((10, 10)), np.zeros(10)))
    monkeypatch.setattr(even_pairs_training, "train", lambda *arguments, **more: course)
    assert verdict("DP03", even_pairs_training.phase_rows()) == label


def first_and_last(longest: int, sharpness: float = 30.0) -> even_pairs_training.Layer:
    """A layer by hand: it attends to the first letter, and half of the weight to the last one if the two differ."""
    scores, linear = np.zeros((2 * longest, 2 * longest)), np.full(2 * longest, -1.0)
    linear[:2] = 2.0
    scores[:2] = sharpness
    for place in range(2, 2 * longest):
        scores[place, place] = sharpness
        scores[1 - place % 2, place] = sharpness - 5  # a different first letter has less weight than the last letter
        scores[place % 2, place] = sharpness + 5
    return even_pairs_training.Layer(scores, linear)


def test_parity_follows_from_even_pairs_and_from_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = first_and_last(7)
    for length in range(1, 8):
        letters = even_pairs_training.sequences(length)
        assert (layer.answers(letters) == (letters[:, 0] == letters[:, -1])).all()
    for used, label in (
        (layer, "holds"),
        (even_pairs_training.Layer(np.zeros((14, 14)), layer.linear), "does not hold"),  # attention is not trained
        (even_pairs_training.Layer(layer.scores, -layer.linear), "does not hold"),
    ):
        course = replace(_course(1.0, 0.1, used), layers={even_pairs_training.STEPS: used})
        monkeypatch.setattr(even_pairs_training, "train", lambda *arguments, course=course, **more: course)
        assert verdict("DP05", even_pairs_training.parity_rows()) == label


def test_the_separator_of_known_points() -> None:
    points = np.array([[1.0, 3.0], [1.0, -1.0], [4.0, 0.0]])
    direction, margin = even_pairs_training.largest_margin(points, np.array([1.0, 0.1]))
    assert direction == pytest.approx([1.0, 0.0], abs=1e-7)
    assert margin == pytest.approx(1.0)


def test_a_turned_linear_layer_is_not_max_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = first_and_last(7)
    points = [
        np.where(letters[:, 0] == letters[:, -1], 1.0, -1.0)[:, None] * hand.attention_output(letters)
        for letters in map(even_pairs_training.sequences, range(1, 8))
    ]
    best, _ = even_pairs_training.largest_margin(np.unique(np.concatenate(points), axis=0), hand.linear)
    for linear, label in ((best, "holds"), (hand.linear + 2 * np.eye(14)[0], "does not hold")):
        course = _course(1.0, 0.1, even_pairs_training.Layer(hand.scores, linear))
        monkeypatch.setattr(even_pairs_training, "train", lambda *arguments, course=course, **more: course)
        monkeypatch.setattr(even_pairs_training, "SETTINGS", ((7, 2.0),))
        monkeypatch.setattr(even_pairs_training, "PILOT", (7, 1.0))
        assert verdict("DP04", even_pairs_training.margin_rows()) == label


# ---- DP01 and DP02: trigger output ---------------------------------------------------------------
def test_the_two_steps_are_those_of_automatic_differentiation() -> None:
    shares = {2: 0.5, 4: 0.5}
    layer = trigger_output.train(shares, 2, np.random.default_rng(0), 64, (1.0, 10.0))
    rng = np.random.default_rng(0)
    counts = rng.multinomial(64, [0.5, 0.5])
    sets = [trigger_output.draw(d, d, 2, count, rng) for d, count in zip((2, 4), counts, strict=True)]
    size = layer.codes.size
    values = torch.zeros(trigger_output.LETTERS, size, dtype=torch.float64, requires_grad=True)
    scores = torch.zeros(size, size, dtype=torch.float64, requires_grad=True)

    def loss() -> torch.Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for letters, answers in sets:
            codes = torch.zeros(*letters.shape, size, dtype=torch.float64)
            codes.scatter_(2, torch.from_numpy(layer.codes.of(letters)), 1.0)
            attention = torch.softmax(torch.einsum("npk,kq,nq->np", codes, scores, codes[:, -1]), 1)
            logits = torch.einsum("np,npk,ok->no", attention, codes, values)
            total = total + torch.nn.functional.cross_entropy(logits, torch.from_numpy(answers), reduction="sum") / 64
        return total

    (slope,) = torch.autograd.grad(loss(), [values])
    values = (values - slope).detach().requires_grad_()
    assert layer.values == pytest.approx(values.detach().numpy(), abs=1e-14)
    (slope,) = torch.autograd.grad(loss(), [scores])
    assert layer.scores == pytest.approx(-10 * slope.numpy(), abs=1e-14)
    trained = trigger_output.Layer(layer.codes, layer.values, 1e4 * layer.scores)
    letters, _ = sets[1]
    codes = torch.zeros(*letters.shape, size, dtype=torch.float64)
    codes.scatter_(2, torch.from_numpy(layer.codes.of(letters)), 1.0)
    attention = torch.softmax(torch.einsum("npk,kq,nq->np", codes, torch.from_numpy(trained.scores), codes[:, -1]), 1)
    logits = torch.einsum("np,npk,ok->no", attention, codes, torch.from_numpy(trained.values))
    assert (trained.answers(letters) == logits.argmax(1).numpy()).all()


EVERY_DISTRIBUTION = dict(trigger_output.distributions())


def few_distributions() -> list[tuple[str, dict[int, float]]]:
    """Seven of the distributions, with R from 0.1 to 1."""
    names = ("uniform on 6 to 13", "uniform on 12 to 27", "uniform on 2 to 2", "uniform on 12 to 12", "uniform on 6 to 9",
             "share 0.9 on the shortest of 8", "share 0.5 on the longest of 8")  # fmt: skip
    return [(name, shares) for name, shares in EVERY_DISTRIBUTION.items() if name in names]


def test_thresholds_scale_with_the_number_of_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(EVERY_DISTRIBUTION) == 34
    monkeypatch.setattr(trigger_output, "distributions", few_distributions)
    rows = trigger_output.threshold_rows(triggers=(1, 2))
    values = {(row.quantity, row.item): row.value for row in rows}
    assert values["worst accuracy", "N_trg 1, uniform on 12 to 27"] > 0.5
    assert values["worst accuracy", "N_trg 2, uniform on 12 to 12"] < 0.5
    assert values["distributions that fail", "N_trg 1"] >= 1
    assert values["worst accuracy", "N_trg 1, share 0.5 on the longest of 8"] >= 0.9  # R is 0.47
    assert values["worst accuracy", "N_trg 2, share 0.9 on the shortest of 8"] < 0.5  # R is 0.93


@pytest.mark.parametrize("rates", [(1.0, 0.0), (1.0, -1e9), (-1.0, 1e9)])
def test_a_wrong_rate_of_either_step_fails(monkeypatch: pytest.MonkeyPatch, rates: tuple[float, float]) -> None:
    monkeypatch.setattr(trigger_output, "distributions", few_distributions)
    rows = trigger_output.threshold_rows(triggers=(1, 2), rates=rates, sequences=1_024)
    assert verdict("DP01", rows) in ("does not hold", "not run")  # without a success there is no threshold
    assert any(row.value == 0 for row in rows if row.quantity == "distributions that succeed")


def test_thresholds_that_do_not_scale_fail() -> None:
    rows = [
        Row("distributions that fail", "", 3.0),
        Row("distributions that succeed", "", 3.0),
        Row("largest eps_1 N_trg over the smallest", "", 4.0),  # eps_1 that does not fall with N_trg = 1, 2, 4
        Row("largest eps_2 N_trg over the smallest", "", 1.0),
    ]
    assert verdict("DP01", rows) == "does not hold"


def test_diversity_of_known_distributions() -> None:
    assert trigger_output.diversity({5: 1.0}) == 1.0
    assert trigger_output.diversity({2: 0.4, 3: 0.6}) == pytest.approx(0.5)  # q_l proportional to l
    assert trigger_output.diversity(trigger_output.shares_by_power(4, 1)) == pytest.approx(0.25)


def test_the_cheapest_distribution_is_proportional_to_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("DP02", trigger_output.programme_rows()) == "holds"
    monkeypatch.setattr(
        trigger_output,
        "proportional_shares",
        lambda count: np.arange(1, count + 1) ** 2 / (np.arange(1, count + 1) ** 2).sum(),
    )
    assert verdict("DP02", trigger_output.programme_rows()) == "does not hold"


def test_no_drawn_distribution_with_this_diversity_is_cheaper() -> None:
    rng = np.random.default_rng(1)
    distances = np.arange(1, 17)
    least = float(trigger_output.cheapest_shares(4, 16) @ distances**2)
    assert least == pytest.approx(10.0)
    costs = []
    for _ in range(4_000):
        chosen = rng.permutation(16)[: rng.integers(4, 17)] + 1
        shares = dict(zip(chosen.tolist(), (chosen / chosen.sum()).tolist(), strict=True))
        if trigger_output.diversity(shares) <= 0.25 + 1e-12:
            costs.append(sum(share * distance**2 for distance, share in shares.items()))
    assert len(costs) > 1_000
    assert min(costs) >= least - 1e-9


def test_weights_of_a_reversed_comparison_fail() -> None:
    rows = trigger_output.weight_rows(sequences=2_048)
    quantity = "weight ratio of another distribution divided by that of q_l = l"
    long = [row for row in rows if row.quantity == quantity and "N_trg 4" not in row.item]
    assert verdict("DP02b", long) == "holds"
    assert verdict("DP02b", [replace(row, value=1 / row.value) for row in long]) == "does not hold"


# ---- DP06 and DP07: more units than needed -------------------------------------------------------
def test_descent_is_that_of_automatic_differentiation() -> None:
    start = overparameterized_recurrences.small_start(1.0, 0)
    target = np.array([1.0, 0.5, 0.3, 0.2])
    trained = overparameterized_recurrences.descend(start, target, 0.01, 3)
    a, b, c = (torch.from_numpy(part).requires_grad_() for part in (start.recurrent, start.read_in, start.read_out))
    for _ in range(3):
        response = torch.stack([c @ torch.linalg.matrix_power(a, lag) @ b for lag in range(4)])
        slopes = torch.autograd.grad(0.5 * (response - torch.from_numpy(target)).square().sum(), [a, b, c])
        a, b, c = (
            (part - 0.01 * slope).detach().requires_grad_() for part, slope in zip((a, b, c), slopes, strict=True)
        )
    for ours, theirs in ((trained.recurrent, a), (trained.read_in, b), (trained.read_out, c)):
        assert ours == pytest.approx(theirs.detach().numpy(), abs=1e-14)


def test_the_constructed_interpolator_fits_and_extrapolates_badly() -> None:
    response = overparameterized_recurrences.interpolator(20, 8).response(24)
    assert response == pytest.approx(np.tile(np.eye(8)[0], 3))


def test_small_steps_keep_the_balance_and_large_ones_do_not() -> None:
    start = overparameterized_recurrences.small_start(0.5, 0)
    target = np.full(6, 1.0)

    def matrix(network: overparameterized_recurrences.Network) -> np.ndarray:
        a, b, c = network.recurrent, network.read_in, network.read_out
        difference: np.ndarray = np.outer(b, b) - np.outer(c, c) + a @ a.T - a.T @ a
        return difference

    drifts = [
        np.linalg.norm(
            matrix(overparameterized_recurrences.descend(start, target, rate, round(2 / rate))) - matrix(start)
        )
        for rate in (0.002, 0.02)
    ]
    assert drifts[0] < 0.01
    assert drifts[1] > 5 * drifts[0]


def test_a_start_of_large_scale_and_too_few_steps_fail() -> None:
    large = overparameterized_recurrences.memoryless_rows(seeds=1, radii=(1.0, 1.1), steps=1_500)
    assert verdict("DP06", large) == "does not hold"
    early = overparameterized_recurrences.low_dimension_rows(seeds=1, starts=(0.3, 0.5), steps=50)
    assert verdict("DP07", early) == "does not hold"


# ---- DP17: random transformers -------------------------------------------------------------------
def test_sensitivities_of_known_functions() -> None:
    index = np.arange(16)
    bits = (index[:, None] >> np.arange(4)) & 1
    assert (random_transformers.sensitivities(bits.sum(1) % 2 == 1) == 4).all()  # parity
    assert (random_transformers.sensitivities(bits[:, 2] == 1) == 1).all()
    conjunction = random_transformers.sensitivities(bits.sum(1) == 4)
    assert conjunction[15] == 4
    assert conjunction[:15].tolist() == [int(bits[at].sum() == 3) for at in range(15)]


def test_random_transformers_have_insensitive_sequences_and_parity_has_none() -> None:
    rows = random_transformers.sensitivity_rows(lengths=(4, 6), draws=20)
    share = [row.value for row in rows if row.quantity.startswith("share")]
    assert share == [1.0, 1.0]
    ((_, claim),) = claims_named("DP17")
    as_stated = [replace(row, quantity=row.quantity.replace("n = 6", "n = 12")) for row in rows]
    assert judge(claim, as_stated).verdict == "holds"
    parity = random_transformers.sensitivity_rows(lengths=(4, 6), draws=1, function="parity")
    as_stated = [replace(row, quantity=row.quantity.replace("n = 6", "n = 12")) for row in parity]
    assert judge(claim, as_stated).verdict == "does not hold"
