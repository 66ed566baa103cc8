"""Recurrent networks on streaming parity, and the automata of their states.

The network is ``h_t = relu(W h_(t-1) + U x_t + b)``, with ``h_0`` ones, and has two linear outputs after the last
letter. All sequences up to a length form a tree: a step of training computes each state once. Runs are trained side by
side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.claims.exact.side_by_side import one_thread, round_to_digits

UNITS, LONGEST = 40, 8
RATE, MOMENTUM, STEPS = 0.02, 0.9, 2_000
MERGE = 0.01
"""Distance at which two states are one, in standard deviations of the states of all training sequences."""
MOST_STATES = 2_000
TESTED_LENGTH, TESTED = 10_000, 64
RIGHT = 0.999
SOLVED = 0.02
"""Largest mean squared error of a run that solves its training sequences."""


@dataclass
class Networks:
    """The trained tensors, with the runs as first dimension.

    Attributes:
        recurrent: ``[run, unit, unit]`` W.
        inputs: ``[run, unit, letter]`` U.
        bias: ``[run, unit]`` b.
        outputs: ``[run, answer, unit]``.
        output_bias: ``[run, answer]``.
    """

    recurrent: torch.Tensor
    inputs: torch.Tensor
    bias: torch.Tensor
    outputs: torch.Tensor
    output_bias: torch.Tensor

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors in order."""
        return [self.recurrent, self.inputs, self.bias, self.outputs, self.output_bias]

    @property
    def first(self) -> torch.Tensor:
        """The state ``[run, 1, unit]`` before the first letter."""
        return torch.ones_like(self.bias)[:, None]

    def after(self, states: torch.Tensor, letters: torch.Tensor) -> torch.Tensor:
        """Return the states ``[run, case, unit]`` after a letter in each case.

        Args:
            states: ``[run, case, unit]``.
            letters: ``[case]``.
        """
        driven = states @ self.recurrent.transpose(1, 2) + self.inputs.transpose(1, 2)[:, letters]
        return (driven + self.bias[:, None]).relu()

    def answers(self, states: torch.Tensor) -> torch.Tensor:
        """Return the two outputs ``[run, case, answer]``."""
        return states @ self.outputs.transpose(1, 2) + self.output_bias[:, None]

    def of_run(self, run: int) -> Networks:
        """Return one run by itself."""
        return Networks(*(tensor[run : run + 1] for tensor in self.tensors))


def start(gains: Sequence[float], seeds: Sequence[int]) -> Networks:
    """Return networks with normal weights of variance ``2 gain^2 / (inputs + outputs)``, and biases of 0."""
    parts = []
    for gain, seed in zip(gains, seeds, strict=True):
        rng = np.random.default_rng([13, seed])
        matrices = [
            gain * np.sqrt(2 / (rows + columns)) * rng.standard_normal((rows, columns))
            for rows, columns in ((UNITS, UNITS), (UNITS, 2), (2, UNITS))
        ]
        parts.append((matrices[0], matrices[1], np.zeros(UNITS), matrices[2], np.zeros(2)))
    return Networks(*(torch.from_numpy(np.stack(tensors)) for tensors in zip(*parts, strict=True)))


def tree(networks: Networks, longest: int = LONGEST) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states ``[run, sequence, unit]`` after all sequences of length 1 to ``longest``, and the parities."""
    states, parities = networks.first, torch.zeros(1, dtype=torch.long)
    levels, answers = [], []
    for _ in range(longest):
        count = states.shape[1]
        letters = torch.arange(2).repeat(count)
        states = networks.after(states.repeat_interleave(2, 1), letters)
        parities = (parities.repeat_interleave(2) + letters) % 2
        levels.append(states)
        answers.append(parities)
    return torch.cat(levels, 1), torch.cat(answers)


@one_thread
def train(
    networks: Networks, shares: Sequence[float], seeds: Sequence[int], steps: int = STEPS, longest: int = LONGEST
) -> tuple[Networks, torch.Tensor]:
    """Return the trained networks, and the mean squared error ``[run]`` on their training sequences.

    Args:
        networks: at the start.
        shares: of the sequences that each run is trained on.
        seeds: decide which.
        steps: of gradient descent with momentum on all of them.
        longest: length of the sequences.
    """
    count = 2 ** (longest + 1) - 2
    chosen = torch.zeros(len(shares), count).double()
    for run, (share, seed) in enumerate(zip(shares, seeds, strict=True)):
        order = np.random.default_rng([131, seed]).permutation(count)
        chosen[run, torch.from_numpy(order[: round(share * count)])] = 1.0
    chosen = chosen / chosen.sum(1, keepdim=True)
    tensors = networks.tensors
    speeds = [torch.zeros_like(tensor) for tensor in tensors]
    errors = torch.zeros(len(shares))
    for step in range(steps + 1):
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        current = Networks(*leaves)
        states, parities = tree(current, longest)
        target = torch.nn.functional.one_hot(parities, 2).double()
        errors = ((current.answers(states) - target).square().mean(2) * chosen).sum(1)
        if step == steps:
            break
        slopes = torch.autograd.grad(errors.sum(), leaves)
        speeds = [MOMENTUM * speed + slope for speed, slope in zip(speeds, slopes, strict=True)]
        tensors = [leaf.detach() - RATE * speed for leaf, speed in zip(leaves, speeds, strict=True)]
    return Networks(*(tensor.detach() for tensor in tensors)), errors.detach()


@dataclass
class Automaton:
    """An automaton over two letters that answers a parity after each.

    Attributes:
        transitions: ``[state, letter]``; state 0 is the first one.
        answers: ``[state]``.
        finite: whether merging ended; otherwise only the first states are there.
    """

    transitions: np.ndarray
    answers: np.ndarray
    finite: bool

    @property
    def minimal_states(self) -> int:
        """Number of states after merging those that no sequence distinguishes; the answer before any letter counts
        for nothing if no letter leads back to the first state.
        """
        used = np.unique(self.transitions)
        _, classes = np.unique(self.answers, return_inverse=True)
        while True:
            key = np.stack([classes, *classes[self.transitions].T], 1)
            _, finer = np.unique(key, axis=0, return_inverse=True)
            if finer.max() == classes.max():
                return len(np.unique(classes[used]))
            classes = finer


def automaton(network: Networks, merge: float, most: int = MOST_STATES) -> Automaton:
    """Return the automaton of a network: each new state is merged with the nearest one within a distance.

    Args:
        network: of one run.
        merge: distance at which two states are one.
        most: number of states at which the search ends.
    """
    known = np.empty((most + 2, network.bias.shape[1]))
    known[0] = network.first[0, 0].numpy()
    count, at = 1, 0
    transitions: list[list[int]] = []
    both = torch.arange(2)
    while at < count < most:
        states = torch.from_numpy(known[at]).expand(1, 2, -1)
        following = network.after(states, both)[0].numpy()
        row = []
        for state in following:
            distances = np.linalg.norm(known[:count] - state, axis=1)
            nearest = int(distances.argmin())
            if distances[nearest] > merge:
                nearest, count = count, count + 1
                known[nearest] = state
            row.append(nearest)
        transitions.append(row)
        at += 1
    finite = at == count
    answers = network.answers(torch.from_numpy(known[:count])[None])[0].argmax(1).numpy()
    return Automaton(np.array(transitions), answers, finite)


@one_thread
def long_accuracies(networks: Networks, length: int = TESTED_LENGTH, sequences: int = TESTED) -> np.ndarray:
    """Return the share ``[run]`` of right answers after each letter of long random sequences."""
    letters = torch.from_numpy(np.random.default_rng(132).integers(0, 2, (length, sequences)))
    states = networks.first.expand(-1, sequences, -1)
    parities = torch.zeros(sequences, dtype=torch.long)
    right = torch.zeros(len(networks.bias))
    for row in letters:
        states = networks.after(states, row)
        parities = (parities + row) % 2
        right += (networks.answers(states).argmax(2) == parities).double().mean(1)
    return (right / length).numpy()


GAINS = (0.6, 0.8, 1.0)
SHARES = (0.1, 0.25, 0.5, 1.0)
REPEATS = 2


def automaton_rows(
    gains: Sequence[float] = GAINS,
    shares: Sequence[float] = SHARES,
    repeats: int = REPEATS,
    steps: int = STEPS,
    length: int = TESTED_LENGTH,
    merge: float = MERGE,
) -> list[Row]:
    """Return accuracy and automaton of runs with several starts and shares of the sequences, and how they agree.

    Args:
        gains: of the starts.
        shares: of the sequences.
        repeats: runs of each gain and share.
        steps: of training.
        length: of the tested sequences.
        merge: distance at which states are one, in standard deviations.
    """
    settings = [(gain, share, repeat) for gain in gains for share in shares for repeat in range(repeats)]
    seeds = [round(1000 * gain) + round(10_000 * share) + repeat for gain, share, repeat in settings]
    networks = start([gain for gain, _, _ in settings], seeds)
    networks, errors = train(networks, [share for _, share, _ in settings], seeds, steps)
    accuracies = long_accuracies(networks, length)
    every = tree(networks)[0]
    deviations = (every - every.mean(1, keepdim=True)).square().sum(2).mean(1).sqrt()
    rows, agree, many = [], [], []
    for run, (gain, share, repeat) in enumerate(settings):
        item = f"gain {gain:g}, share {share:g}, run {repeat}"
        own = automaton(networks.of_run(run), merge * float(deviations[run]))
        solved, right = float(errors[run]) <= SOLVED, accuracies[run] >= RIGHT
        rows.append(Row("mean squared error of training", item, round_to_digits(float(errors[run])), seed=seeds[run]))
        rows.append(Row("accuracy at length 10,000", item, round_to_digits(accuracies[run]), seed=seeds[run]))
        rows.append(
            Row("states to one digit, 2,000 if not finite", item, float(f"{len(own.answers):.0e}"), seed=seeds[run])
        )
        if solved:
            agree.append(right == own.finite)
            if right:
                many.append(len(own.answers) > 2)
                states = own.minimal_states if own.finite else len(own.answers)
                rows.append(Row("states after minimizing", item, float(states), expected=2.0, seed=seeds[run]))
    rows.append(Row("runs that solve their training sequences", "", float(len(agree)), n=len(settings)))
    rows.append(Row("runs that are right at length 10,000", "", float(len(many)), n=len(agree)))
    if agree:
        rows.append(Row("share of runs in which right and finite agree", "", float(np.mean(agree)), n=len(agree)))
    if many:
        rows.append(Row("share of right runs with more than two states", "", float(np.mean(many)), n=len(many)))
    return rows
