"""Lists all strings of an automaton's distribution with their probabilities, if there are few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from workbench.tasks.automata.dfa import Bools, Ints
from workbench.tasks.automata.string_sampling import TRIES, StringSampling, exchange_odds
from workbench.tasks.automata.word_counts import Words

__all__ = ["Listing"]

Word = tuple[int, ...]


class TooManyError(Exception):
    """There are more strings than may be listed."""


class Listing:
    """Lists the strings that :meth:`StringSampling.draw` draws.

    Args:
        law: the sampler of the strings.
        most: largest number of strings.
    """

    def __init__(self, law: StringSampling, most: int) -> None:
        self.law, self.most = law, most

    def strings(self, length: int, margin: int) -> dict[Word, float] | None:
        """Return the probability of each string of symbol numbers; ``margin`` comes from :meth:`StringSampling.margin`.

        The result is None if there are more than :attr:`most` strings, or ways to draw them.
        """
        probabilities: dict[Word, float] = defaultdict(float)
        try:
            for entry, head, tail, share in self._ends(length, margin):
                image = np.arange(len(self.law.automaton))
                for symbol in tail:
                    image = self.law.automaton.table[image, symbol]
                for middle, odds in self._middles(entry, image, length - 2 * margin):
                    probabilities[(*head, *middle, *tail)] += share * odds
                    if len(probabilities) > self.most:
                        return None
        except TooManyError:
            return None
        return dict(probabilities)

    def _ends(self, length: int, margin: int) -> Iterator[tuple[int, Word, Word, float]]:
        law = self.law
        if not margin:
            yield law.automaton.start, (), (), 1.0
            return
        entries = np.flatnonzero(law.entries(length, margin)).tolist()
        tails = law.tails_after(length - 2 * margin)
        assert tails is not None
        for entry in entries:
            heads = self._words(law.words, law.automaton.table, law.automaton.start, [entry], margin)
            ends = self._words(tails.words, tails.table, int(tails.number[entry]), [0], margin)
            share = 1 / (len(entries) * len(heads) * len(ends))
            if len(entries) * len(heads) * len(ends) > self.most:
                raise TooManyError
            yield from ((entry, tuple(head), tuple(end), share) for head in heads.tolist() for end in ends.tolist())

    def _words(self, words: Words, table: Ints, start: int, goals: list[int], length: int) -> Ints:
        """Return ``[word, length]`` all words from a state to one of some goals."""
        counts = words.log_counts(length)[start, goals]
        if np.logaddexp.reduce(counts) > np.log(self.most + 0.5):
            raise TooManyError
        words_so_far, states = np.empty((1, 0), dtype=np.int64), np.array([start])
        for remaining in range(length - 1, -1, -1):
            following = table[states]  # [word, symbol]
            going = np.asarray(np.isfinite(words.log_counts(remaining)[:, goals]).any(1))[following]
            word, symbol = np.nonzero(going)
            words_so_far = np.concatenate([words_so_far[word], symbol[:, None]], 1)
            states = following[word, symbol]
        return words_so_far

    def _between(self, entry: int, goals: Bools, length: int) -> Ints:
        table, states = self.law.automaton.table, np.flatnonzero(goals).tolist()
        return self._words(self.law.words, table, entry, states, length)

    def _middles(self, entry: int, image: Ints, length: int) -> Iterator[tuple[Word, float]]:
        law = self.law
        reached = np.isfinite(law.words.log_counts(length)[entry])
        answers = law.answers[image]
        open_answers = np.unique(answers[reached & (answers >= 0)]).tolist()
        for answer in open_answers:
            possible = reached & (answers == answer)
            groups = np.unique(law.sink[possible]).tolist()
            for group in groups:
                share = 1 / (len(open_answers) * len(groups))
                outside = reached & (law.sink == 0)
                other = outside & (answers >= 0) & (answers != answer)
                around = other if other.any() else outside
                if group == 0 or not around.any():
                    words = self._between(entry, possible & (law.sink == group), length)
                    yield from ((tuple(word), share / len(words)) for word in words.tolist())
                    continue
                words = self._between(entry, around, length)
                odds = float(exchange_odds(np.array([len(groups)]))[0]) if law.exchanging else 0.0
                for word in words:
                    for miss, chance in self._misses(word, entry, group - 1, odds):
                        yield miss, chance * share / len(words)

    def _misses(self, word: Ints, entry: int, sink: int, odds: float) -> Iterator[tuple[Word, float]]:
        """Yield near misses of a word with their probabilities; ``odds`` is the probability of an exchange."""
        table = self.law.automaton.table
        before = np.concatenate([[entry], self.law.automaton.run(word[None], entry)[0, :-1]])
        pairs, chance = self._exchanges(word, before, sink) if odds else ([], 0.0)
        for first, second in pairs:
            swapped = word.copy()
            swapped[[first, second]] = word[[second, first]]
            yield tuple(swapped.tolist()), odds * chance / len(pairs)
        remaining = 1 - odds * chance
        if remaining <= 0:
            return
        leads = table[before] == sink  # [position, symbol]
        positions = np.flatnonzero(leads.any(1)).tolist()
        for position in positions:
            leading = np.flatnonzero(leads[position]).tolist()
            for symbol in leading:
                changed = (*word[:position].tolist(), symbol, *word[position + 1 :].tolist())
                yield changed, remaining / len(positions) / len(leading)
        if not positions:
            words = self._between(entry, np.arange(len(table)) == sink, len(word))
            yield from ((tuple(other), remaining / len(words)) for other in words.tolist())

    def _exchanges(self, word: Ints, before: Ints, sink: int) -> tuple[list[tuple[int, int]], float]:
        """Return the pairs of positions that may be exchanged, all equally likely, and the probability to find one."""
        near = np.flatnonzero(self.law.neighbours(word[None], before[None], np.array([sink]))[0]).tolist()
        if near:
            return [(position, position + 1) for position in near], 1.0
        different = [(i, j) for i, j in combinations(range(len(word)), 2) if word[i] != word[j]]
        if len(different) > self.most:
            raise TooManyError
        swapped = np.repeat(word[None], len(different), 0)
        for row, (i, j) in enumerate(different):
            swapped[row, [i, j]] = word[[j, i]]
        if not different:
            return [], 0.0
        entered = self.law.automaton.run(swapped, int(before[0]))[:, -1] == sink
        good = [pair for pair, enters in zip(different, entered.tolist(), strict=True) if enters]
        return good, 1 - (1 - len(good) / len(different)) ** TRIES
