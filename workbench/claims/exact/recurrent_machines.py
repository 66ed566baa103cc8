"""Counters, star-free languages and bounded stacks as hand-made state-space models, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.models.handmade.cascades import (
    Cascade,
    bounded_stack,
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
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.near_misses import variants
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.zoo import ZOO

NEAR = 9_996
"""Length of the near misses, a multiple of 12."""
EVERY = 12
MOST_AT_ONCE = 1 << 17
"""Symbols per forward pass."""
WALKS = 3
KINDS, HEIGHTS = (2, 4, 8), (2, 3, 4, 5, 6)
STACKS, STACKED = 8, 400

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ARITIES = {"0": 0, "1": 0, "~": 1, "+": 2, ">": 3}
COUNTERS: dict[str, Callable[[Sequence[str], tuple[str, ...]], Cascade]] = {
    "dyck_1": lambda a, tokens: counted_brackets([(a[0], a[1])], tokens),
    "shuffle_dyck_2": lambda a, tokens: counted_brackets([(a[0], a[1]), (a[2], a[3])], tokens),
    "anbncn": equal_blocks,
    "boolean_3": lambda a, tokens: prefix_expressions({name: ARITIES[name] for name in a}, tokens),
}
"""By name in the zoo, whose programs say what is right."""
STAR_FREE: dict[str, tuple[str, Callable[[tuple[str, ...]], Cascade]]] = {
    "Tomita 4": ("(1|01|001)*(()|0|00)", lambda tokens: never_three("0", ["1"], tokens)),
    "D_2": ("(a(ab)*b)*", lambda tokens: depth_two("a", "b", tokens)),
    "{0,1,2}*02*": ("(0|1|2)*02*", lambda tokens: last_of_two("0", "1", tokens)),
    "contains bb": ("(a|b)*bb(a|b)*", lambda tokens: contains_twice("b", ["a"], tokens)),
}
"""The expression whose minimal automaton says what is right, and the cascade."""


def counter_machines() -> list[Row]:
    """Prefixes that the counters answer wrongly, all strings to the zoo's length and near misses of 9,996."""
    rows = []
    for name, build in COUNTERS.items():
        case = ZOO[name]
        letters = case.program.alphabet
        cascade = build(letters, ("<bos>", *letters))
        for what, strings in (
            (f"every string to {case.length}", every_string(len(letters), case.length)),
            (f"near misses of {NEAR:,}", case.near_misses(NEAR)),
        ):
            rows.append(_wrong(f"{name}, {what}", cascade, strings, partial(_by_program, case.program)))
    return rows


def star_free_machines() -> list[Row]:
    """Prefixes that the cascades answer wrongly, all strings to 12 and near misses of 10,000; and how many layers."""
    rows = []
    for name, (expression, build) in STAR_FREE.items():
        language = Automaton.from_regex(expression)
        cascade = build(("<bos>", *language.alphabet))
        every = every_string(len(language.alphabet), EVERY)
        near = near_words(language, NEAR, np.random.default_rng(0))
        for what, strings in ((f"every string to {EVERY}", every), (f"near misses of {NEAR:,}", near)):
            rows.append(_wrong(f"{name}, {what}", cascade, strings, partial(accepted, language)))
        rows.append(Row("layers with a state", name, float(cascade.stateful)))
    return rows


def stack_bits() -> list[Row]:
    """Bits of state of a bounded stack, what it answers wrongly, and how well h log2 K tells the bits."""
    rows, sizes, bits = [], [], []
    for kinds in KINDS:
        for height in HEIGHTS:
            cascade = bounded_stack(kinds, height)
            found = cascade.latches + math.log2(height + 1)
            sizes.append(height * math.log2(kinds))
            bits.append(found)
            item = f"K {kinds}, h {height}"
            strings, right = stacked_words(kinds, height, np.random.default_rng(height))
            wrong = (_said(cascade, strings) != right).any(2)
            rows.append(Row("prefixes wrong", item, float(wrong.sum()), n=wrong.size))
            rows.append(Row("layers with a state", item, float(cascade.stateful)))
            rows.append(Row("bits of state", item, found))
    return [*rows, Row("R^2 of bits on h log2 K", "", float(np.corrcoef(sizes, bits)[0, 1] ** 2))]


def near_words(language: Automaton, length: int, rng: np.random.Generator) -> Ints:
    """Token ids of long random walks that can still become words, and of them with one symbol replaced."""
    alive = _alive(language)
    walks = []
    for _ in range(WALKS):
        state, word = language.start, []
        for _ in range(length):
            symbols = [s for s in range(len(language.alphabet)) if alive[language.table[state, s]]]
            word.append(symbols[int(rng.integers(len(symbols)))])
            state = int(language.table[state, word[-1]])
        walks.append(tuple(language.alphabet[s] for s in word))
    place = {symbol: at for at, symbol in enumerate(language.alphabet, start=1)}
    return np.array([[place[symbol] for symbol in word] for word in variants(walks, language.alphabet)])


def accepted(language: Automaton, strings: Ints) -> Bools:
    """Whether each prefix of strings of token ids is a word."""
    accepts = np.isin(np.arange(len(language.table)), list(language.accepting))
    state = np.full(len(strings), language.start)
    found = np.zeros(strings.shape, dtype=bool)
    for at in range(strings.shape[1]):
        state = language.table[state, strings[:, at] - 1]
        found[:, at] = accepts[state]
    return found


def stacked_words(kinds: int, height: int, rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Random prefixes of bounded Dyck words by a list as stack, and per prefix the bits of the kind on top (0 where
    there is none), whether the stack is empty and whether it is full."""
    width = max(1, (kinds - 1).bit_length())
    strings = np.zeros((STACKS, STACKED), dtype=np.int64)
    right = np.zeros((STACKS, STACKED, width + 2), dtype=bool)
    for row in range(STACKS):
        stack: list[int] = []
        for at in range(STACKED):
            if len(stack) < height and (not stack or rng.random() < 0.5):
                stack.append(int(rng.integers(kinds)))
                strings[row, at] = 1 + stack[-1]
            else:
                strings[row, at] = 1 + kinds + stack.pop()
            top = stack[-1] if stack else 0
            right[row, at] = [*(bool(top >> bit & 1) for bit in range(width)), not stack, len(stack) == height]
    return strings, right


def _by_program(program: Program, strings: Ints) -> Bools:
    return evaluate(program, strings)["accept"]


def _alive(language: Automaton) -> Bools:
    """States from which a word can be reached."""
    alive = np.isin(np.arange(len(language.table)), list(language.accepting))
    for _ in range(len(language.table)):
        alive = alive | alive[language.table].any(1)
    return np.asarray(alive)


def _wrong(item: str, cascade: Cascade, strings: Ints, right: Callable[[Ints], Bools]) -> Row:
    found = _said(cascade, strings)[..., 0]
    return Row("prefixes wrong", item, float((found != right(strings)).sum()), n=strings.size)


def _said(cascade: Cascade, strings: Ints) -> Bools:
    """Answers ``[batch, pos, answer]`` of the compiled model at every symbol."""
    model = compile_cascade(cascade)
    step = max(1, MOST_AT_ONCE // strings.shape[1])
    parts = []
    for first in range(0, len(strings), step):
        ids = torch.as_tensor(strings[first : first + step])
        with torch.no_grad():
            parts.append((model(torch.cat([torch.zeros_like(ids[:, :1]), ids], 1))[:, 1:] > 0).numpy())
    return np.concatenate(parts)
