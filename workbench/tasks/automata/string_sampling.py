"""Draws strings of exact length whose answers are uniform, for any automaton.

Training, matched and challenge strings come from one sampler. A string is a head, a middle and a tail. Head and tail
are both ``margin`` symbols long, and empty for training and matched.

1. Head and tail are drawn so that together they do not determine the answer: there are middles for at least two
    answers. The state after the head is uniform over the states that allow this. The head is uniform over the words
    that lead there, and the tail over the words after which at least two answers are possible.
2. The answer is drawn uniformly among the possible ones. So head and tail together do not predict it.
3. A sink is a state that is never left, such as that of a string in which something forbidden has occurred. If the
    answer can come from a sink and from other states, both are equally likely.
4. Outside sinks, the middle is uniform over the words that give the answer. A uniform word that reaches a sink would
    nearly always do so within a few symbols. So near misses are drawn instead: a middle that avoids the sink, with
    another answer if possible, is edited to enter it.

   - *Replaced*: one symbol is replaced by one that leads into the sink, uniform over the positions at which that is
     possible. If there is none, the middle is uniform over the words that reach the sink.
   - *Exchanged*: two neighbouring symbols are exchanged, uniform over the positions at which that leads into the sink.
     Counts of symbols do not reveal an exchange. If there is none, any two symbols are exchanged, after up to
     :data:`TRIES` tries. If these find none, one symbol is replaced.

   Let q be the number of groups that the answer can come from (this sink, other sinks, all other states). An exchange
       has
   probability min(1, q / 2). With q = 2 half of the strings with the answer enter the sink, all by an exchange. With
   q = 1 all of them do, half by an exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from workbench.tasks.automata.dfa import Automaton, Bools, Ints
from workbench.tasks.automata.word_counts import Floats, Words, pick

Uniforms = Callable[[tuple[int, ...]], Floats]
"""Draws an array of this shape of independent numbers, uniform on [0, 1)."""
TRIES = 64
"""Pairs of different symbols whose exchange is tried, if no exchange of neighbours leads into a sink."""
TRIES_AT_ONCE = 8
MOST_SUBSETS = 4096
"""Largest number of state sets that are followed through tails; with more, challenge strings equal matched ones."""


@dataclass(frozen=True)
class Tails:
    """Words after which, from a given set of states, at least two answers are still possible.

    Attributes:
        table: ``[set, symbol]`` the following set of states.
        number: ``[state]`` the set of states that a middle leads to, by its row in the table.
        answers: ``[set, answer]`` which answers the states of a set have.
        words: over sets; its one goal is every set with at least two answers.
    """

    table: Ints
    number: Ints
    answers: Bools
    words: Words

    def open(self, length: int) -> Bools:
        """Return, for each state ``[state]`` in which a head ends, whether some tail of this length admits at least two
        answers.
        """
        undetermined: Bools = np.isfinite(self.words.log_counts(length)[self.number, 0])
        return undetermined

    def shares(self, state: int, length: int) -> Floats:
        """``[answer]`` probability of each answer after a head that ends in ``state``."""
        reached = np.zeros(len(self.table), dtype=object)
        reached[self.number[state]] = 1
        for _ in range(length):
            following = np.zeros_like(reached)
            for column in self.table.T:
                np.add.at(following, column, reached)
            reached = following
        several = np.flatnonzero(self.answers.sum(1) >= 2)
        share = (reached[several] / reached[several].sum()).astype(np.float64)
        even = self.answers[several] / self.answers[several].sum(1, keepdims=True)
        shares: Floats = share @ even
        return shares


class StringSampling:
    """The sampler of strings for one automaton and one kind of query.

    Args:
        automaton: any automaton whose states determine the answers.
        answers: ``[state]`` the answer in each state, from 0 on; -1 in states in which no string may end.
        exchanging: whether near misses also come from exchanges; else always from one replaced symbol.
    """

    def __init__(self, automaton: Automaton, answers: Ints, exchanging: bool = False) -> None:
        self.automaton, self.answers, self.exchanging = automaton, answers, exchanging
        self.number_of_answers = int(answers.max()) + 1
        self.words = Words(automaton.table)
        self.sink = np.where(automaton.sinks, np.arange(1, len(automaton) + 1), 0)  # 0: no sink
        self._tails: dict[bytes, Tails | None] = {}  # by what middles reach; few, since that repeats over lengths

    # ---- properties of the distribution ----------------------------------------------------------
    def margin(self, length: int, margin: int) -> int:
        """Return ``margin`` if heads and tails of that length can leave at least two answers possible, else 0."""
        return margin if margin and bool(self.entries(length, margin).any()) else 0

    def shares(self, length: int, margin: int) -> Floats:
        """``[answer]`` the probability of each answer; ``margin`` comes from :meth:`margin`."""
        if margin:
            entries, tails = np.flatnonzero(self.entries(length, margin)), self.tails_after(length - 2 * margin)
            assert tails is not None
            mean: Floats = np.mean([tails.shares(int(entry), margin) for entry in entries], axis=0)
            return mean
        possible = np.isfinite(self.words.log_counts(length)[self.automaton.start])
        even: Floats = np.isin(np.arange(self.number_of_answers), self.answers[possible]).astype(np.float64)
        even /= even.sum()
        return even

    def entries(self, length: int, margin: int) -> Bools:
        """``[state]`` the states after a head from which at least two answers are possible."""
        reached = np.isfinite(self.words.log_counts(margin)[self.automaton.start])
        tails = self.tails_after(length - 2 * margin)
        return np.zeros_like(reached) if tails is None else reached & tails.open(margin)

    def tails_after(self, length: int) -> Tails | None:
        """Return the tails that can follow middles of this length."""
        reach = np.isfinite(self.words.log_counts(length))
        key = reach.tobytes()
        if key not in self._tails:
            self._tails[key] = self._make_tails(reach)
        return self._tails[key]

    # ---- drawing ---------------------------------------------------------------------------------
    def draw(self, batch: int, length: int, margin: int, generator: torch.Generator) -> Ints:
        """Draw strings of symbol numbers, ``[batch, length]``; ``margin`` comes from :meth:`margin`."""
        seed = torch.randint(2**63 - 1, (), generator=generator, device=generator.device)
        uniforms = np.random.default_rng(int(seed)).random
        entry, head, tail = self._ends(batch, length, margin, uniforms)
        every = np.broadcast_to(np.arange(len(self.automaton)), (batch, len(self.automaton)))
        image = self._after(tail, every) if margin else every  # the state after the tail, from each state before it
        middle = self._middles(entry, image, length - 2 * margin, uniforms)
        return np.concatenate([head, middle, tail], 1) if margin else middle

    def _ends(self, batch: int, length: int, margin: int, uniforms: Uniforms) -> tuple[Ints, Ints, Ints]:
        start = np.full(batch, self.automaton.start)
        if not margin:
            return start, np.empty((batch, 0), dtype=np.int64), np.empty((batch, 0), dtype=np.int64)
        states = np.flatnonzero(self.entries(length, margin))
        entry = states[(uniforms((batch,)) * len(states)).astype(np.int64)]
        head, _ = self.words.draw(start, entry, uniforms((margin, batch)))
        tails = self.tails_after(length - 2 * margin)
        assert tails is not None
        tail, _ = tails.words.draw(tails.number[entry], np.zeros(batch, dtype=np.int64), uniforms((margin, batch)))
        return entry, head, tail

    def _after(self, symbols: Ints, states: Ints) -> Ints:
        """Return the state that ``symbols [batch, length]`` lead to from each of ``states [batch, state]``."""
        for column in symbols.T:
            states = self.automaton.table[states, column[:, None]]
        return states

    def _middles(self, entry: Ints, image: Ints, length: int, uniforms: Uniforms) -> Ints:
        """Draw middles from the entry states; the tail after a middle maps a state to its image."""
        batch, states = image.shape
        weights = self.words.log_counts(length)[entry]
        answers = self.answers[image]
        possible = np.isfinite(weights) & (answers >= 0)
        answer = _one_of(answers, possible, self.number_of_answers, uniforms)
        possible &= answers == answer[:, None]
        sinks = np.broadcast_to(self.sink, possible.shape)
        groups = _occurring(sinks, possible, states + 1).sum(1)
        sink = _one_of(sinks, possible, states + 1, uniforms)
        possible &= sinks == sink[:, None]
        goal = pick(np.where(possible, weights, -np.inf), uniforms((batch, states)))

        rows = np.flatnonzero(sink)
        outside = np.isfinite(weights[rows]) & (self.sink == 0)
        other = outside & (answers[rows] >= 0) & (answers[rows] != answer[rows, None])
        outside = np.where(other.any(1, keepdims=True), other, outside)
        rows, outside = rows[outside.any(1)], outside[outside.any(1)]
        around = goal.copy()
        around[rows] = pick(np.where(outside, weights[rows], -np.inf), uniforms((len(rows), states)))
        middle, before = self.words.draw(entry, around, uniforms((length, batch)))
        if len(rows):
            middle[rows] = self._missing(middle[rows], before[rows], goal[rows], groups[rows], uniforms)
        return middle

    def _missing(self, words: Ints, before: Ints, sink: Ints, groups: Ints, uniforms: Uniforms) -> Ints:
        """Edit words that avoid their sinks so that they enter them.

        ``before`` is the state before each symbol. ``groups`` is the number of groups of states that each answer can
        come from.
        """
        replaced = np.ones(len(words), dtype=bool)
        if self.exchanging:
            chosen = np.flatnonzero(uniforms((len(words),)) < exchange_odds(groups))
            words[chosen], done = self._exchanged(words[chosen], before[chosen], sink[chosen], uniforms)
            replaced[chosen] = ~done
        if replaced.any():
            words[replaced] = self._entering(words[replaced], before[replaced], sink[replaced], uniforms)
        return words

    def _exchanged(self, words: Ints, before: Ints, sink: Ints, uniforms: Uniforms) -> tuple[Ints, Bools]:
        """Exchange two symbols of each word so that it enters its sink; also return whether that succeeded."""
        row = np.arange(len(words))
        positions = self.neighbours(words, before, sink)
        done = np.asarray(positions.any(1))
        if positions.shape[1]:
            position = np.where(positions, uniforms(positions.shape), -1).argmax(1)
            swapped = words.copy()
            swapped[row, position], swapped[row, position + 1] = words[row, position + 1], words[row, position]
            words = np.where(done[:, None], swapped, words)
        # A word of one letter has nothing to exchange.
        remaining = np.flatnonzero(~done & (words != words[:, :1]).any(1))
        exchanges = Exchanges.among(words[remaining])
        for _ in range(TRIES // TRIES_AT_ONCE):
            if not len(remaining):
                break
            tried = exchanges.draw(TRIES_AT_ONCE, uniforms)
            starts = np.repeat(before[remaining, 0], TRIES_AT_ONCE)
            ends = self.automaton.after(tried.reshape(-1, words.shape[1]), starts)
            entered = ends.reshape(len(remaining), TRIES_AT_ONCE) == sink[remaining, None]
            success = entered.any(1)
            words[remaining[success]] = tried[success, entered[success].argmax(1)]
            done[remaining[success]] = True
            remaining = remaining[~success]
            exchanges = exchanges.of(~success)
        return words, done

    def neighbours(self, words: Ints, before: Ints, sink: Ints) -> Bools:
        """Return a mask ``[batch, position]`` of the positions where exchanging a symbol with the next one leads into
        the sink.
        """
        table, first, second = self.automaton.table, words[:, :-1], words[:, 1:]
        after = table[table[before[:, :-1], second], first]
        enters: Bools = np.logical_and(first != second, after == sink[:, None])
        return enters

    def _entering(self, words: Ints, before: Ints, sink: Ints, uniforms: Uniforms) -> Ints:
        """Replace one symbol of each word, which avoids its sink, by one that leads into the sink.

        ``before`` is the state before each symbol. If no symbol can be replaced, a word that leads into the sink is
        drawn instead.
        """
        batch, length = words.shape
        leads = self.automaton.table[before] == sink[:, None, None]  # [batch, length, symbol]
        positions = leads.any(2)
        position = np.where(positions, uniforms((batch, length)), -1).argmax(1)
        row = np.arange(batch)
        leading = leads[row, position]
        words[row, position] = np.where(leading, uniforms(leading.shape), -1).argmax(1)
        if len(none := np.flatnonzero(~positions.any(1))):
            words[none], _ = self.words.draw(before[none, 0], sink[none], uniforms((length, len(none))))
        return words

    def _make_tails(self, reach: Bools) -> Tails | None:
        """Return tails after middles that lead as ``reach [state, state]`` states; None if there are too many sets."""
        starts = [tuple(np.flatnonzero(row).tolist()) for row in reach]
        order = list(dict.fromkeys(starts))
        number, rows = {subset: i for i, subset in enumerate(order)}, []
        for subset in order:
            following = [tuple(np.unique(column).tolist()) for column in self.automaton.table[list(subset)].T]
            for other in following:
                if other not in number:
                    number[other] = len(order)
                    order.append(other)
            if len(order) > MOST_SUBSETS:
                return None
            rows.append([number[other] for other in following])
        table = np.array(rows, dtype=np.int64)
        answers = np.zeros((len(order), self.number_of_answers), dtype=bool)
        for i, subset in enumerate(order):
            labels = self.answers[list(subset)]
            answers[i, labels[labels >= 0]] = True
        several = answers.sum(1) >= 2
        return Tails(table, np.array([number[subset] for subset in starts]), answers, Words(table, several[:, None]))


def exchange_odds(groups: Ints) -> Floats:
    """Return the probability of an exchange for an answer that can come from this many groups of states."""
    odds: Floats = np.minimum(1.0, groups / 2)
    return odds


@dataclass(frozen=True)
class Exchanges:
    """All exchanges of two different symbols of words. Every word has at least two different symbols.

    Attributes:
        words: ``[batch, length]``.
        order: ``[batch, rank]`` the positions, symbol by symbol.
        begins, ends: ``[batch, rank]`` the first rank with the same symbol, and the one after the last.
        total: ``[batch, rank]`` number of pairs of positions whose first one has this rank or an earlier one.
    """

    words: Ints
    order: Ints
    begins: Ints
    ends: Ints
    total: Ints

    @classmethod
    def among(cls, words: Ints) -> Exchanges:
        """Return the exchanges of these words."""
        length = words.shape[1]
        order = words.argsort(1, kind="stable")
        symbols = np.take_along_axis(words, order, 1)
        changes = np.diff(symbols, axis=1, prepend=-1, append=-1) != 0
        rank = np.arange(length)
        begins = np.maximum.accumulate(np.where(changes[:, :-1], rank, 0), 1)
        ends = np.minimum.accumulate(np.where(changes[:, 1:], rank + 1, length)[:, ::-1], 1)[:, ::-1]
        return cls(words, order, begins, ends, (length - (ends - begins)).cumsum(1))

    def of(self, which: Bools) -> Exchanges:
        """Return the exchanges of some of the words."""
        return Exchanges(*(part[which] for part in (self.words, self.order, self.begins, self.ends, self.total)))

    def draw(self, tries: int, uniforms: Uniforms) -> Ints:
        """``[batch, try, length]`` the words after an exchange each, uniform over the pairs of positions."""
        batch, length = self.words.shape
        row = np.repeat(np.arange(batch), tries)
        # One sorted list of all rows, each lifted above the one before.
        lift = length * length * np.arange(batch)[:, None]
        pick_of = (uniforms((batch, tries)) * self.total[:, -1:]).astype(np.int64)
        first = np.searchsorted((self.total + lift).ravel(), (pick_of + lift).ravel(), side="right") - row * length
        begin, end = self.begins[row, first], self.ends[row, first]
        second = (uniforms((batch * tries,)) * (length - (end - begin))).astype(np.int64)
        second = np.where(second < begin, second, second + (end - begin))
        swapped = self.words[row]
        pair = np.arange(len(row))
        left, right = self.order[row, first], self.order[row, second]
        swapped[pair, left], swapped[pair, right] = self.words[row, right], self.words[row, left]
        return swapped.reshape(batch, tries, length)


def _occurring(labels: Ints, possible: Bools, count: int) -> Bools:
    """``[row, label]`` whether a label occurs in a possible column."""
    occurring = np.zeros((len(labels), count), dtype=bool)
    row, column = np.nonzero(possible)
    occurring[row, labels[row, column]] = True
    return occurring


def _one_of(labels: Ints, possible: Bools, count: int, uniforms: Uniforms) -> Ints:
    """Draw for each row one of the labels that occur in a possible column; all such labels are equally likely."""
    occurring = _occurring(labels, possible, count)
    chosen: Ints = np.where(occurring, uniforms(occurring.shape), -1).argmax(1)
    return chosen
