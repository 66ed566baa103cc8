"""Handmade state-space models of counters, star-free languages and bounded stacks, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.models.handmade.cascades import (
    Cascade,
    compile_cascade,
    contains_twice,
    counted_brackets,
    depth_two,
    equal_blocks,
    last_of_two,
    never_three,
    prefix_expressions,
)
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.near_misses import variants

MOST_AT_ONCE = 1 << 17
"""Symbols per forward pass."""
WALKS = 3
STACKS, STACK_LENGTH = 8, 400

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ARITIES = {"0": 0, "1": 0, "~": 1, "+": 2, ">": 3}
COUNTERS: dict[str, Callable[[Sequence[str], tuple[str, ...]], Cascade]] = {
    "dyck_1": lambda a, tokens: counted_brackets([(a[0], a[1])], tokens),
    "shuffle_dyck_2": lambda a, tokens: counted_brackets([(a[0], a[1]), (a[2], a[3])], tokens),
    "anbncn": equal_blocks,
    "boolean_3": lambda a, tokens: prefix_expressions({name: ARITIES[name] for name in a}, tokens),
}
"""By name in the zoo, whose programs give the right answers."""
STAR_FREE: dict[str, tuple[str, Callable[[tuple[str, ...]], Cascade]]] = {
    "Tomita 4": ("(1|01|001)*(()|0|00)", lambda tokens: never_three("0", ["1"], tokens)),
    "D_2": ("(a(ab)*b)*", lambda tokens: depth_two("a", "b", tokens)),
    "{0,1,2}*02*": ("(0|1|2)*02*", lambda tokens: last_of_two("0", "1", tokens)),
    "contains bb": ("(a|b)*bb(a|b)*", lambda tokens: contains_twice("b", ["a"], tokens)),
}
"""The expression whose minimal automaton gives the right answers, and the cascade."""


def near_words(language: Automaton, length: int, rng: np.random.Generator) -> Ints:
    """Return token ids of long random walks that can still become words, and of copies with one symbol replaced."""
    walks = []
    for _ in range(WALKS):
        state, word = language.start, []
        for _ in range(length):
            symbols = [s for s in range(len(language.alphabet)) if language.live[language.table[state, s]]]
            word.append(symbols[int(rng.integers(len(symbols)))])
            state = int(language.table[state, word[-1]])
        walks.append(tuple(language.alphabet[s] for s in word))
    place = {symbol: at for at, symbol in enumerate(language.alphabet, start=1)}
    return np.array([[place[symbol] for symbol in word] for word in variants(walks, language.alphabet)])


def stacked_words(kinds: int, height: int, rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Return random prefixes of bounded Dyck words, and the state of their stack, which is computed with a list.

    The state per prefix: the bits of the kind on top (0 for an empty stack), whether the stack is empty, and whether it
    is full.
    """
    width = max(1, (kinds - 1).bit_length())
    strings = np.zeros((STACKS, STACK_LENGTH), dtype=np.int64)
    right = np.zeros((STACKS, STACK_LENGTH, width + 2), dtype=bool)
    for row in range(STACKS):
        stack: list[int] = []
        for at in range(STACK_LENGTH):
            if len(stack) < height and (not stack or rng.random() < 0.5):
                stack.append(int(rng.integers(kinds)))
                strings[row, at] = 1 + stack[-1]
            else:
                strings[row, at] = 1 + kinds + stack.pop()
            top = stack[-1] if stack else 0
            right[row, at] = [*(bool(top >> bit & 1) for bit in range(width)), not stack, len(stack) == height]
    return strings, right


def wrong_cascade_prefixes(item: str, cascade: Cascade, strings: Ints, right: Bools) -> Row:
    """Return the number of prefixes for which the compiled cascade differs from ``right [batch, pos]``, as a row."""
    wrong = cascade_answers(cascade, strings)[..., 0] != right
    return Row("prefixes wrong", item, float(wrong.sum()), n=strings.size)


def cascade_answers(cascade: Cascade, strings: Ints) -> Bools:
    """Return the answers ``[batch, pos, answer]`` of the compiled model at every symbol."""
    model = compile_cascade(cascade)
    step = max(1, MOST_AT_ONCE // strings.shape[1])
    answers = []
    for first in range(0, len(strings), step):
        ids = torch.as_tensor(strings[first : first + step])
        with torch.no_grad():
            answers.append((model(torch.cat([torch.zeros_like(ids[:, :1]), ids], 1))[:, 1:] > 0).numpy())
    return np.concatenate(answers)
