"""One gradient step for each of two matrices on the trigger-output task, and the cheapest diverse distribution of it.

A sequence is ``z_1 .. z_l1, t, o, l2 letters, t``, and the answer is ``o``. The trigger t is one of a few letters; all
other letters are drawn from the rest. Training has l1 = l2 = l with l ~ q. The codes x are one-hot in position, letter
and previous letter. The model answers ``W_V sum_i a_i x_i``, with ``a`` the softmax of ``x_i W_KQ x_last``. Both
matrices start at zero. One step moves W_V, and the next one moves W_KQ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from workbench.claims.claim import Row

LETTERS = 32
TRIGGERS = (1, 2, 4)
SEQUENCES = 8_192
RATES = (1.0, 1e9)
"""Rates of the steps of W_V and W_KQ."""
OF_A_PAIR = 32
"""Sequences for each pair (l1, l2) outside training."""
FAILS, SUCCEEDS = 0.5, 0.9
PROGRAMMES = range(2, 17)
CHEAPEST = (4, 8, 16)
"""Numbers of triggers for which the cheapest distribution is trained on."""
MANY_SEQUENCES = 65_536
OTHER_POWERS = {"1": 0, "1/l": -1}
"""Powers of the distance to which the shares of other distributions are proportional."""
Array = np.ndarray


def diversity(shares: dict[int, float]) -> float:
    """Return R, the largest ``q_l / l`` over their sum."""
    ratios = np.array([share / distance for distance, share in shares.items()])
    return float(ratios.max() / ratios.sum())


def draw(first: int, second: int, triggers: int, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return sequences ``[sequence, position]`` with l1 and l2 letters before and between, and their answers."""
    letters = rng.integers(triggers, LETTERS, (count, first + second + 3))
    trigger = rng.integers(0, triggers, count)
    letters[:, first] = letters[:, -1] = trigger
    return letters, letters[:, first + 1].copy()


@dataclass(frozen=True)
class Codes:
    """Indices of the three ones in the code of each position. The first position has a previous letter of its own.

    Attributes:
        positions: number of positions that have a code.
    """

    positions: int

    @property
    def size(self) -> int:
        """Dimension of a code."""
        return self.positions + 2 * LETTERS + 1

    def of(self, letters: Array) -> Array:
        """Return the indices ``[sequence, position, 3]`` of position, letter and previous letter."""
        places = np.empty((*letters.shape, 3), dtype=np.int64)
        places[:, :, 0] = np.arange(letters.shape[1])
        places[:, :, 1] = self.positions + letters
        places[:, 0, 2] = self.size - 1  # the first position has no previous letter
        places[:, 1:, 2] = self.positions + LETTERS + letters[:, :-1]
        return places


@dataclass(frozen=True)
class Layer:
    """The trained layer.

    Attributes:
        codes: of its inputs.
        values: ``[letter, code]``, W_V.
        scores: ``[code, code]``, W_KQ, keys first.
    """

    codes: Codes
    values: Array
    scores: Array

    def answers(self, letters: Array) -> Array:
        """Return the letter that the layer answers for each sequence of one length."""
        places = self.codes.of(letters)
        query = places[:, -1]
        of_query = self.scores[:, query].sum(2)  # [code, sequence]
        rows = np.arange(len(letters))[:, None]
        scores = of_query.T[rows, places.reshape(len(letters), -1)].reshape(places.shape).sum(2)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        attended = np.zeros((len(letters), self.codes.size))
        np.add.at(attended, (rows[:, :, None], places), weights[:, :, None])
        answers: Array = (attended @ self.values.T).argmax(1)
        return answers

    def weight_ratio(self, distances: tuple[int, ...], triggers: int) -> float:
        """Return the largest positional weight in W_KQ over the mean induction weight.

        Args:
            distances: of training.
            triggers: number of triggers.
        """
        positional = max(float(self.scores[distance + 1, 2 * distance + 2]) for distance in distances)
        letter = self.codes.positions + np.arange(triggers)
        return positional / float(self.scores[letter + LETTERS, letter].mean())


def train(
    shares: dict[int, float],
    triggers: int,
    rng: np.random.Generator,
    sequences: int = SEQUENCES,
    rates: tuple[float, float] = RATES,
) -> Layer:
    """Return the layer after one gradient step of the mean cross-entropy for W_V and one for W_KQ.

    Args:
        shares: probability of each distance.
        triggers: number of triggers.
        rng: draws the sequences; the numbers of sequences by distance are multinomial.
        sequences: of the training set, which both steps use.
        rates: of the two steps.
    """
    distances = sorted(shares)
    counts = rng.multinomial(sequences, [shares[distance] for distance in distances])
    codes = Codes(2 * max(distances) + 3)
    sets = [
        (codes.of(letters), answers)
        for distance, count in zip(distances, counts, strict=True)
        if count
        for letters, answers in [draw(distance, distance, triggers, count, rng)]
    ]
    values = np.zeros((LETTERS, codes.size))
    for places, answers in sets:
        mean = _mean_codes(places, codes.size)
        toward = np.eye(LETTERS)[answers] - 1.0 / LETTERS
        values += rates[0] / sequences * toward.T @ mean
    scores = np.zeros(codes.size**2)
    for places, answers in sets:
        mean = _mean_codes(places, codes.size)
        logits = mean @ values.T
        odds = np.exp(logits - logits.max(1, keepdims=True))
        toward = np.eye(LETTERS)[answers] - odds / odds.sum(1, keepdims=True)
        pull = toward @ values  # [sequence, code]
        rows = np.arange(len(places))[:, None, None]
        worth = pull[rows, places].sum(2)
        worth = (worth - worth.mean(1, keepdims=True)) / places.shape[1]
        for key in range(3):
            for query in range(3):
                cells = places[:, :, key] * codes.size + places[:, -1:, query]
                scores += np.bincount(cells.ravel(), worth.ravel(), codes.size**2)
    return Layer(codes, values, rates[1] / sequences * scores.reshape(codes.size, codes.size))


def _mean_codes(places: Array, size: int) -> Array:
    """The mean code ``[sequence, code]`` of each sequence."""
    count, length, _ = places.shape
    cells = np.arange(count)[:, None, None] * size + places
    mean: Array = np.bincount(cells.ravel(), minlength=count * size).reshape(count, size) / length
    return mean


def worst_accuracy(layer: Layer, distances: tuple[int, ...], triggers: int, rng: np.random.Generator) -> float:
    """Return the lowest accuracy over all pairs with l1 + l2 = 2l, both at least 1 and different, and l in training."""
    worst = 1.0
    for distance in distances:
        pairs = [(first, 2 * distance - first) for first in range(1, 2 * distance) if first != distance]
        samples = [draw(*pair, triggers, OF_A_PAIR, rng) for pair in pairs]
        right = layer.answers(np.concatenate([letters for letters, _ in samples])) == np.concatenate(
            [answers for _, answers in samples]
        )
        worst = min(worst, float(right.reshape(len(pairs), OF_A_PAIR).mean(1).min()))
    return worst


def distributions() -> Iterator[tuple[str, dict[int, float]]]:
    """Yield the name and the shares of the distances of 12 uniform and 22 mixed distributions."""
    for least in (2, 6, 12):
        for count in (1, 4, 8, 16):
            yield f"uniform on {least} to {least + count - 1}", dict.fromkeys(range(least, least + count), 1 / count)
    for count in (8, 16):
        distances = range(6, 6 + count)
        for heavy, name in ((distances[0], "shortest"), (distances[-1], "longest")):
            for share in (0.3, 0.5, 0.7, 0.8, 0.9):
                rest = (1 - share) / (count - 1)
                shares = {distance: share if distance == heavy else rest for distance in distances}
                yield f"share {share:g} on the {name} of {count}", shares
    for name, power in (("l", 1), ("1/l", -1)):
        weights = {distance: float(distance) ** power for distance in range(6, 22)}
        total = sum(weights.values())
        yield f"proportional to {name} on 6 to 21", {distance: w / total for distance, w in weights.items()}


def area_under_curve(scores: Array, positive: Array) -> float:
    """Return the probability that a positive case has the higher score, ties counting one half."""
    difference = scores[positive][:, None] - scores[~positive][None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def threshold_rows(
    triggers: tuple[int, ...] = TRIGGERS, rates: tuple[float, float] = RATES, sequences: int = SEQUENCES
) -> list[Row]:
    """Return where on the scale of R training changes from success to failure, for each number of triggers.

    Args:
        triggers: numbers of triggers.
        rates: of the two steps.
        sequences: of each training set.
    """
    rows, least_failing, largest_succeeding = [], [], []
    for count in triggers:
        item, named = f"N_trg {count}", list(distributions())
        worst = []
        for at, (name, shares) in enumerate(named):
            rng = np.random.default_rng([count, at])
            layer = train(shares, count, rng, sequences, rates)
            worst.append(worst_accuracy(layer, tuple(shares), count, rng))
            rows.append(Row("worst accuracy", f"{item}, {name}", worst[-1]))
            rows.append(Row("R", f"{item}, {name}", diversity(shares)))
        accuracy = np.array(worst)
        ratios = np.array([diversity(shares) for _, shares in named])
        fails, succeeds = accuracy < FAILS, accuracy >= SUCCEEDS
        rows.append(Row("distributions that fail", item, float(fails.sum()), n=len(named)))
        rows.append(Row("distributions that succeed", item, float(succeeds.sum()), n=len(named)))
        if not (fails.any() and succeeds.any()):
            continue
        least_failing.append(count * float(ratios[fails].min()))
        largest_succeeding.append(count * float(ratios[succeeds].max()))
        rows.append(Row("eps_1 N_trg", item, least_failing[-1]))
        rows.append(Row("eps_2 N_trg", item, largest_succeeding[-1]))
        shown = fails | succeeds
        largest = np.array([max(shares.values()) for _, shares in named])
        number = np.array([-float(len(shares)) for _, shares in named])
        for name, score in (("R", ratios), ("the largest share", largest), ("the number of distances", number)):
            rows.append(Row(f"area under the curve of {name}", item, area_under_curve(score[shown], fails[shown])))
    for name, values in (("eps_1", least_failing), ("eps_2", largest_succeeding)):
        if len(values) == len(triggers):
            rows.append(Row(f"largest {name} N_trg over the smallest", "", max(values) / min(values)))
    return rows


# ---- the cheapest distribution -------------------------------------------------------------------
def proportional_shares(triggers: int) -> Array:
    """Return the shares ``[distance]`` of the closed form: proportional to the distance on 1..N_trg."""
    weights = np.arange(1, triggers + 1, dtype=float)
    shares: Array = weights / weights.sum()
    return shares


def cheapest_shares(triggers: int, longest: int) -> Array:
    """Return the shares ``[distance]`` of least mean cost E[l^2] with R at most 1/N_trg, by linear programming.

    The unknowns are ``p_l = q_l / l``. R <= 1/N_trg reads ``N_trg p_l <= sum p``.

    Args:
        triggers: N_trg.
        longest: the largest distance.
    """
    distances = np.arange(1, longest + 1, dtype=float)
    solution = linprog(
        distances**3,
        A_ub=triggers * np.eye(longest) - 1.0,
        b_ub=np.zeros(longest),
        A_eq=distances[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    shares: Array = solution.x * distances
    return shares


def shares_by_power(triggers: int, power: int) -> dict[int, float]:
    """Return the shares of the distances 1..N_trg, proportional to a power of the distance."""
    weights = np.arange(1, triggers + 1, dtype=float) ** power
    return dict(enumerate((weights / weights.sum()).tolist(), start=1))


def programme_rows() -> list[Row]:
    """Return the cheapest distribution against the closed form, and R of the closed form against two others."""
    rows = []
    for triggers in PROGRAMMES:
        shares, item = cheapest_shares(triggers, 4 * triggers), f"N_trg {triggers}"
        cost = float(shares @ np.arange(1, len(shares) + 1) ** 2) / (triggers * (triggers + 1) / 2)
        closed = np.zeros(len(shares))
        closed[:triggers] = proportional_shares(triggers)
        rows.append(Row("least mean cost", item, cost, expected=1.0))
        rows.append(Row("largest distance from the closed form", item, float(np.abs(shares - closed).max())))
    for triggers in CHEAPEST:
        least = diversity(shares_by_power(triggers, 1))
        for name, power in OTHER_POWERS.items():
            difference = diversity(shares_by_power(triggers, power)) - least
            rows.append(
                Row("R of another distribution minus that of q_l = l", f"N_trg {triggers}, q_l = {name}", difference)
            )
    return rows


def weight_rows(sequences: int = MANY_SEQUENCES) -> list[Row]:
    """Return the ratio of positional to induction weights after one step, for the closed form and two others."""
    rows = []
    for triggers in CHEAPEST:
        ratios = {}
        for at, (name, power) in enumerate({"l": 1, **OTHER_POWERS}.items()):
            layer = train(
                shares_by_power(triggers, power), triggers, np.random.default_rng([triggers, at]), sequences, (1.0, 1.0)
            )
            ratios[name] = layer.weight_ratio(tuple(range(1, triggers + 1)), triggers)
            rows.append(Row("weight ratio", f"N_trg {triggers}, q_l = {name}", ratios[name]))
        rows += [
            Row(
                "weight ratio of another distribution divided by that of q_l = l",
                f"N_trg {triggers}, q_l = {name}",
                ratios[name] / ratios["l"],
            )
            for name in OTHER_POWERS
        ]
    return rows
