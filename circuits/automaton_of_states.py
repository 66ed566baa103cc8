"""The automaton that a recurrent model computes, extracted from its states.

States of a recurrent model are merged if they are close, as van Rossem and Saxe 2025 (2507.09897) do. If the merged
states are finitely many and closed, they are an automaton. Then the model's answers at every length follow from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from workbench.core.errors import LensError
from workbench.tasks.automata.dfa import Automaton, Ints
from workbench.tasks.base import Task
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel

MERGE_DISTANCE = 0.01
"""Largest distance of states that are merged, in standard deviations of the states."""
MOST_STRINGS = 4_096
"""Largest number of sequences of the longest length, unless the length is given."""
MOST_GIVEN = 1 << 18
"""Largest number of sequences of a length that is given."""
LONGEST = 12
MOST_STATES = 512
"""Number of states from which on the states count as infinitely many."""
NUMBERS_AT_ONCE = 1 << 24
"""Numbers of a state, over sequences and positions, that are computed in one forward pass."""


class ExtractionError(LensError, ValueError):
    """No automaton can be extracted from this model and task."""


@dataclass(frozen=True)
class StateAutomaton:
    """The merged states of a recurrent model after all sequences up to a length.

    Attributes:
        longest: this length.
        table: ``[state, symbol]`` the state that follows, -1 if it was not seen. State 0 is that of the empty sequence.
        answers: ``[state]`` the model's answer in each state, as the number of the answer class.
        sequences: ``[state]`` a shortest sequence that leads to each state, as symbol names.
        alphabet: names of the symbols.
        answer_names: names of the answer classes.
        agreeing: share of sequences up to ``longest`` whose next states and answer are those of their state.
        too_many: whether merging stopped because there were too many states.
        agreement: length -> share of the model's answers that the automaton gives, on sequences of the task beyond
            ``longest``; empty if the states are not finite.
        task_automaton: the task's own automaton, or None if it has none.
    """

    longest: int
    table: Ints
    answers: Ints
    sequences: tuple[tuple[str, ...], ...]
    alphabet: tuple[str, ...]
    answer_names: tuple[str, ...]
    agreeing: float
    too_many: bool
    agreement: Mapping[int, float]
    task_automaton: Automaton | None

    def __len__(self) -> int:
        """Number of merged states."""
        return len(self.table)

    @property
    def finite(self) -> bool:
        """Whether every symbol leads from every state to one of the states, so that longer sequences reach no other
        state.
        """
        return not self.too_many and bool((self.table >= 0).all())

    @cached_property
    def automaton(self) -> Automaton:
        """The merged states as an automaton.

        Raises:
            ExtractionError: if the states are not finite.
        """
        if not self.finite:
            raise ExtractionError(f"{self.sentence}; there is no automaton with these states")
        names = tuple("start" if not s else f"after {' '.join(s)}" for s in self.sequences)
        return Automaton(self.table.copy(), 0, frozenset(), self.alphabet, names, self.answers)

    @cached_property
    def smallest(self) -> Automaton:
        """The smallest automaton with the same answers.

        Where the task's automaton is known, answers in states without supervision are left out (-1), because any answer
        is right there.

        Raises:
            ExtractionError: if the states are not finite.
        """
        machine = self.automaton
        if self.task_automaton is None:
            return machine.smallest()
        supervised = np.zeros(len(machine), dtype=bool)
        for state, task_state in _pairs(machine, self.task_automaton):
            supervised[state] |= self.task_automaton.labels[task_state] >= 0
        return replace(machine, table=machine.table.copy(), answers=np.where(supervised, self.answers, -1)).smallest()

    @cached_property
    def first_difference(self) -> tuple[str, ...] | None:
        """A shortest sequence at whose end the automaton gives another answer than the task; None if there is none.

        Raises:
            ExtractionError: if the states are not finite, or the task has no automaton.
        """
        if self.task_automaton is None:
            raise ExtractionError("the task has no automaton to compare with")
        for (state, task_state), word in _pairs(self.automaton, self.task_automaton).items():
            answer = self.task_automaton.labels[task_state]
            if answer not in (-1, self.answers[state]):
                return word
        return None

    @property
    def computes_task(self) -> bool:
        """Whether the automaton gives the task's answer after every sequence of any length.

        False if the states are not finite.

        Raises:
            ExtractionError: if the task has no automaton.
        """
        return self.finite and self.first_difference is None

    @property
    def sentence(self) -> str:
        """What was found, in one or two sentences without the final full stop."""
        seen = f"all sequences up to length {self.longest}"
        if self.too_many:
            return f"{seen} lead to more than {len(self)} states, so the states are not finite"
        if not self.finite:
            missing = int((self.table < 0).any(1).sum())
            return (
                f"{seen} lead to {len(self)} states, and {missing} of them were reached only by sequences of "
                f"length {self.longest}, so the states are not finite up to this length"
            )
        text = f"{seen} lead to {len(self)} states, which are closed, and {len(self.smallest)} after minimization"
        for length, share in self.agreement.items():
            text += f"; at length {length} the automaton gives {share:.4g} of the model's answers"
        if self.task_automaton is None:
            return text
        task_states = len(self.task_automaton.smallest())
        if self.first_difference is None:
            return f"{text}. It gives the task's answer after every sequence (task: {task_states} states)"
        word = " ".join(self.first_difference)
        return f"{text}. It gives another answer than the task (with {task_states} states) after {word}"

    def __str__(self) -> str:
        return f"{self.sentence[0].upper()}{self.sentence[1:]}."


def extract_automaton(
    model: HookedModel,
    task: Task,
    *,
    longest: int | None = None,
    merge_distance: float = MERGE_DISTANCE,
    lengths: Sequence[int] | None = None,
    sequences: int = 64,
    seed: int = 0,
) -> StateAutomaton:
    """Return the automaton that the states of a recurrent model form after all sequences up to a length.

    Sequences are taken in the order of their length. The state after a sequence is merged with the nearest state so far
    if it is at most ``merge_distance`` from it. Otherwise it is a new state. Each part of a state (a layer's
    recurrence, or the inputs that a short convolution keeps) is measured in its own standard deviations. The distance
    of two states is the largest distance of their parts.

    The states are finite if the sequences of the longest length lead to no new state.

    Args:
        model: a state-space model or a recurrent network.
        task: its task, whose answers are classes.
        longest: the longest length; None = at most 12, with at most 4,096 sequences of this length.
        merge_distance: in standard deviations of all states.
        lengths: lengths at which to compare the automaton with the model; None = 4 and 16 times ``longest``.
        sequences: number of sequences of each such length, from the length-matched test set.
        seed: of these sequences.

    Example:

        >>> from workbench.models.handmade.state_space import parity
        >>> from workbench.tasks import make_task
        >>> found = extract_automaton(parity(), make_task("parity"))
        >>> found.finite, len(found), found.computes_task
        (True, 2, True)

    Raises:
        ExtractionError: for a model that keeps no state, a task whose answers are numbers, or settings that do not fit.
    """
    parts = model.cfg.state_hooks()
    if not parts:
        raise ExtractionError(
            f"a {model.cfg.title} keeps no state of fixed size from token to token; extract automata from state-space "
            "models or recurrent networks"
        )
    if task.output_names is None or not task.bos:
        what = "are numbers" if task.output_names is None else "belong to sequences without a first token <bos>"
        raise ExtractionError(f"the answers of {task.name} {what}; extract automata for tasks with classes and <bos>")
    if not merge_distance > 0:
        raise ExtractionError(f"merge_distance must be above 0, not {merge_distance:g}")
    symbols = task.d_vocab - 1
    longest = _longest(symbols) if longest is None else longest
    if longest < 1 or symbols**longest > MOST_GIVEN:
        raise ExtractionError(
            f"longest must be at least 1 and allow at most {MOST_GIVEN:,} sequences; {symbols} symbols at length "
            f"{longest} allow {symbols**longest:,}"
        )
    states, answers = _tree(model, parts, symbols, longest)
    numbers, first, too_many = _merged(states, symbols, longest, merge_distance)
    alphabet = task.tokens_names[1:]
    result = StateAutomaton(
        longest=longest,
        table=_transitions(numbers, first, symbols),
        answers=answers[first],
        sequences=tuple(tuple(alphabet[s] for s in _symbols_of(node, symbols)) for node in first.tolist()),
        alphabet=alphabet,
        answer_names=task.output_names,
        agreeing=_agreeing(numbers, first, answers, symbols),
        too_many=too_many,
        agreement={},
        task_automaton=task.automaton(),
    )
    if not result.finite:
        return result
    compared = [task.next_length(n) for n in (lengths or (4 * longest, 16 * longest))]
    shares = {n: _agreement(model, task, result.automaton, n, sequences, seed) for n in compared}
    return replace(result, agreement=shares)


# ---- all sequences, as the nodes of a tree -----------------------------------------------------------
# Node 0 is the empty sequence, and the nodes of a length follow in the order of their symbols. So the node that follows
# node i by symbol s is i * symbols + 1 + s.
def _longest(symbols: int) -> int:
    return max((n for n in range(1, LONGEST + 1) if symbols**n <= MOST_STRINGS), default=1)


def _symbols_of(node: int, symbols: int) -> list[int]:
    word: list[int] = []
    while node:
        node, symbol = divmod(node - 1, symbols)
        word.append(symbol)
    return word[::-1]


def _tree(
    model: HookedModel, parts: Mapping[str, int], symbols: int, longest: int
) -> tuple[list[NDArray[np.float64]], Ints]:
    """Return the parts of the state ``[node, number]`` after every sequence, and the answer ``[node]`` there.

    Only sequences of the longest length pass through the model. The first of those that begin alike stands for their
    common beginning.
    """
    level = torch.arange(symbols**longest)
    powers = symbols ** torch.arange(longest - 1, -1, -1)
    tokens = F.pad(1 + level[:, None] // powers % symbols, (1, 0))  # with BOS
    states: dict[tuple[str, int], list[Tensor]] = {(name, n): [] for name in parts for n in range(longest + 1)}
    answers: list[list[Tensor]] = [[] for _ in range(longest + 1)]
    for index in level.split(_at_once(model, tokens[:1], parts)):
        outputs, cache = model.run_with_cache(tokens[index], names_filter=list(parts))
        for n in range(longest + 1):
            first = index % symbols ** (longest - n) == 0
            answers[n].append(outputs[first, n].argmax(-1))
            for name, kept in parts.items():
                window = F.pad(cache[name].flatten(2), (0, 0, kept - 1, 0))[first, n : n + kept]
                states[name, n].append(window.flatten(1).double())
    joined = [torch.cat([chunk for n in range(longest + 1) for chunk in states[name, n]]) for name in parts]
    return [part.cpu().numpy() for part in joined], torch.cat([a for row in answers for a in row]).cpu().numpy()


def _at_once(model: HookedModel, tokens: Tensor, parts: Mapping[str, int]) -> int:
    """Return how many such sequences fit into one forward pass."""
    _, cache = model.run_with_cache(tokens, names_filter=list(parts))
    return max(1, NUMBERS_AT_ONCE // int(sum(cache[name].numel() for name in parts)))


def _merged(
    parts: Sequence[NDArray[np.float64]], symbols: int, longest: int, distance: float
) -> tuple[Ints, Ints, bool]:
    """Return the merged state ``[node]`` of each node, the first node ``[state]`` of each, and whether there are too
    many states; then later nodes have no state (-1).
    """
    scaled = []
    for part in parts:
        spread = float(np.sqrt(np.square(part - part.mean(0)).sum(1).mean()))
        if spread > 0:
            scaled.append(part / (spread * distance))
    numbers = np.full(sum(symbols**n for n in range(longest + 1)), -1, dtype=np.int64)
    first: list[int] = []
    for node in range(len(numbers)):
        gaps = np.zeros(len(first))
        for part in scaled:
            np.maximum(gaps, np.sqrt(np.square(part[first] - part[node]).sum(1)), out=gaps)
        nearest = int(gaps.argmin()) if first else -1
        if first and gaps[nearest] <= 1:
            numbers[node] = nearest
        elif len(first) == MOST_STATES:
            return numbers, np.array(first), True
        else:
            numbers[node] = len(first)
            first.append(node)
    return numbers, np.array(first), False


def _following(nodes: Ints, symbols: int) -> Ints:
    """The nodes ``[node, symbol]`` that follow these nodes."""
    return nodes[:, None] * symbols + 1 + np.arange(symbols)


def _transitions(numbers: Ints, first: Ints, symbols: int) -> Ints:
    """The state ``[state, symbol]`` that follows the first sequence of each state; -1 beyond the longest length."""
    following = _following(first, symbols)
    inside = following < len(numbers)
    return np.where(inside, numbers[np.where(inside, following, 0)], -1)


def _agreeing(numbers: Ints, first: Ints, answers: Ints, symbols: int) -> float:
    """The share of nodes whose next states and answer are those of the first node of their state."""
    nodes = np.flatnonzero(numbers >= 0)
    table, state = _transitions(numbers, first, symbols), numbers[nodes]
    following = _transitions(numbers, nodes, symbols)
    same = (following == table[state]) | (following < 0) | (table[state] < 0)
    return float((same.all(1) & (answers[nodes] == answers[first][state])).mean())


# ---- comparisons -------------------------------------------------------------------------------------
def _agreement(model: HookedModel, task: Task, machine: Automaton, length: int, sequences: int, seed: int) -> float:
    batch = task.sample(sequences, length, generator("extract_automaton", seed, length), "matched")
    with torch.no_grad():
        outputs = model(batch.tokens)
    model_answers = outputs.argmax(-1).cpu()[batch.mask]
    states = machine.run(batch.tokens[:, 1:].numpy() - 1)
    given = F.pad(torch.from_numpy(machine.labels[states]), (1, 0))[batch.mask]
    return float((given == model_answers).double().mean())


def _pairs(one: Automaton, other: Automaton) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the pairs of states that one sequence leads to in both automata, with a shortest such sequence."""
    start = (one.start, other.start)
    words: dict[tuple[int, int], tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        for symbol, name in enumerate(one.alphabet):
            following = (int(one.table[pair[0], symbol]), int(other.table[pair[1], symbol]))
            if following not in words:
                words[following] = (*words[pair], name)
                queue.append(following)
    return words
