"""What tests of several tiers share. Misses with right counts: what counting is worth where one symbol is replaced, and where two change places."""

from __future__ import annotations

from workbench.tasks.automata.regex import Expression, derivative, equivalent, nullable, parse

COUNTABLE = [
    ("bounded_dyck", {"n": 2}),
    ("bounded_dyck", {"n": 4}),
    ("bounded_dyck", {"n": 12}),
    ("abab_star", {}),
    ("tomita", {"n": 2}),
]


def words_of(task, batch) -> list[str]:
    names = task.tokens_names
    return ["".join(names[t] for t in row) for row in batch.tokens[:, 1:].tolist()]


class ByHand:
    """A language by the derivatives of its expression, each remembered by what it may still become."""

    def __init__(self, task) -> None:
        self.alphabet, self.terms, self.steps = task.tokens_names[1:], list[Expression](), dict[tuple[int, str], int]()
        self.start = self.number(parse(task.expression))

    def number(self, term: Expression) -> int:
        for i, known in enumerate(self.terms):
            if equivalent(term, known, self.alphabet):
                return i
        self.terms.append(term)
        return len(self.terms) - 1

    def end(self, word: str, start: int | None = None) -> int:
        state = self.start if start is None else start
        for symbol in word:
            if (state, symbol) not in self.steps:
                self.steps[state, symbol] = self.number(derivative(self.terms[state], symbol))
            state = self.steps[state, symbol]
        return state

    def lost(self, state: int) -> bool:
        """Whether the state is never left."""
        return all(self.end(symbol, state) == state for symbol in self.alphabet)

    def accepts(self, state: int) -> bool:
        return nullable(self.terms[state])
