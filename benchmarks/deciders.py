"""Deciding regular languages: 1,000 random expressions of up to 20 states.

    python -m benchmarks.deciders

Processor time for everything at once: parsing, minimal automaton, membership in C-RASP[empty] under both
conventions. Monoid profile and the two-sided test with positions are timed beside it, without a bound.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from benchmarks.tools.table import Line
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.regular.deciders import CONVENTIONS, find_certificate, in_crasp
from workbench.theory.regular.exclusion import exclude
from workbench.theory.regular.monoid import profile

LANGUAGES, MOST_STATES = 1_000, 20


def random_expression(rng: random.Random, alphabet: str, depth: int) -> str:
    """A random regular expression whose syntax tree is at most ``depth`` deep."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(alphabet)
    kind = rng.random()
    left = random_expression(rng, alphabet, depth - 1)
    if kind < 0.25:
        return f"({left})*"
    right = random_expression(rng, alphabet, depth - 1)
    return f"({left}|{right})" if kind < 0.5 else left + right


def random_languages(seed: int, count: int, most_states: int = MOST_STATES) -> Iterator[tuple[str, Automaton]]:
    """Random languages over two and three letters whose minimal automata have 3 to ``most_states`` states."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        alphabet = rng.choice(("ab", "abc"))
        expression = random_expression(rng, alphabet, 5)
        automaton = Automaton.from_regex(expression, alphabet)
        if 3 <= len(automaton) <= most_states:
            made += 1
            yield expression, automaton


def measure() -> list[Line]:
    """Seconds for all languages, by what is asked of them."""
    languages = list(random_languages(0, LANGUAGES))
    sizes = sorted(len(automaton) for _, automaton in languages)
    spread = f"{sizes[len(sizes) // 2]} states in the median, {sizes[-1]} at most"

    def seconds(work: Callable[[str, Automaton], object]) -> float:
        start = time.process_time()
        for expression, automaton in languages:
            work(expression, automaton)
        return time.process_time() - start

    def decide(expression: str, automaton: Automaton) -> None:
        again = Automaton.from_regex(expression, "".join(automaton.alphabet))
        for convention in CONVENTIONS:
            in_crasp(again, convention)

    undecided: list[str] = []

    def with_positions(expression: str, automaton: Automaton) -> None:
        if exclude(automaton) is None and find_certificate(automaton) is None:
            undecided.append(expression)

    decided = seconds(decide)
    profiled = seconds(lambda _, automaton: profile(automaton))
    positional = seconds(with_positions)
    return [
        Line("deciding C-RASP without positions", f"s for {LANGUAGES:,} expressions", decided, 60.0, spread, True),
        Line("syntactic monoids and profiles", f"s for {LANGUAGES:,} expressions", profiled, None),
        Line(
            "deciding C-RASP with positions", f"s for {LANGUAGES:,} expressions", positional, None,
            f"{len(undecided)} left undecided",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
