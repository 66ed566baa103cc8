"""Tasks whose answer is a function of a finite automaton's state: the automaton, and the answer in each state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.tasks.base import Task
from workbench.tasks.dfa import Automaton


@dataclass(frozen=True, eq=False)
class RegularMap:
    """An automaton that answers.

    Attributes:
        automaton: reads the task's tokens, BOS excluded, in the order of their ids.
        answers: ``[state]`` class of the answer; -1 where nothing is asked.
    """

    automaton: Automaton
    answers: NDArray[np.int64]

    def languages(self) -> Iterator[Automaton]:
        """For each answer the minimal automaton of the strings that have it; one suffices where there are two."""
        classes = sorted({int(a) for a in self.answers} - {-1})
        a = self.automaton
        for c in [1] if set(self.answers.tolist()) == {0, 1} else classes:
            accepting = frozenset(np.flatnonzero(self.answers == c).tolist())
            yield Automaton(a.table.copy(), a.start, accepting, a.alphabet, a.names).minimal()


def regular_map(task: Task) -> RegularMap | None:
    """The automaton behind a task, or None where its answer is no function of one that is known here."""
    if hasattr(task, "automaton"):
        automaton: Automaton = task.automaton
        answers = getattr(task, "answers", np.arange(len(automaton)))
        return RegularMap(automaton, np.asarray(answers, dtype=np.int64))
    if hasattr(task, "modulus") and hasattr(task, "steps"):
        m, steps = task.modulus, dict(zip(task.tokens_names[1:], task.steps, strict=True))
        return _explored(task, 0, lambda total, token: (total + steps[token]) % m, lambda total: total)
    if task.name in _STEPS:
        return _explored(task, *_STEPS[task.name])
    return None


def _explored(
    task: Task, start: Hashable, step: Callable[[Any, str], Hashable], answer: Callable[[Any], int]
) -> RegularMap:
    met: list[Any] = []

    def name(state: Any) -> str:
        met.append(state)
        return str(state)

    automaton = Automaton.explore(task.tokens_names[1:], start, step, lambda state: False, name)
    return RegularMap(automaton, np.array([answer(state) for state in met], dtype=np.int64))


def _flip(memory: int, token: str) -> int:
    return int(token[1]) if token.startswith("w") else memory


def _ends(ends: str, token: str) -> str:
    return (ends or token)[0] + token


_STEPS: dict[str, tuple[Hashable, Callable[[Any, str], Hashable], Callable[[Any], int]]] = {
    "parity": (0, lambda odd, token: odd ^ int(token), lambda odd: odd),
    "flip_flop": (-1, _flip, lambda memory: memory),
    "even_pairs": ("", _ends, lambda ends: -1 if not ends else int(ends[0] != ends[-1])),
}
"""Start, step and answer of tasks that keep no automaton themselves."""
