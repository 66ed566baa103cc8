"""C-RASP programs of languages and tasks from the literature on length generalization.

Acceptors have one output, ``accept``: whether the prefix is in the language. Programs for tasks that write an answer
have one output ``NEXT_a`` per symbol a: whether a comes next. If the answer has several tokens, they also have
``NEXT_end``.

Sources:

- Huang et al. 2024 (2410.02140);
- Jobanputra et al. 2025 (2505.21785);
- Bhattamishra et al. 2020 ("On the Ability and Limitations of Transformers to Recognize Formal Languages", 2009.11264);
- Tomita 1982.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from workbench.theory.crasp.builder import MOD, TRUE, Predicate, Q, Term, all_of, any_of, count, program
from workbench.theory.crasp.program import Program

SEP = "<sep>"
"""Symbol between input and answer; it is never an answer itself."""


def previous(operand: Predicate) -> Predicate:
    """Return the Boolean that ``operand`` was true at the previous position (false at the first)."""
    return count(operand, offsets={1}) == 1


def exists(operand: Predicate) -> Predicate:
    """Return the Boolean that ``operand`` is true at some position of the prefix."""
    return count(operand) >= 1


def never(operand: Predicate) -> Predicate:
    """Return the Boolean that ``operand`` is true at no position of the prefix."""
    return count(operand) == 0


# ---- counting ------------------------------------------------------------------------------------
def majority(more: str = "a", fewer: str = "b") -> Program:
    """``more`` occurs more often than ``fewer``."""
    return program(sorted((more, fewer)), {"accept": count(Q(fewer)) + 1 <= count(Q(more))})


def dyck_1(opening: str = "a", closing: str = "b") -> Program:
    """Return a program for balanced words of one pair of brackets."""
    opened, closed = count(Q(opening)), count(Q(closing))
    below = opened < closed
    return program(sorted((opening, closing)), {"V": below, "accept": never(below) & (opened == closed)})


def bounded_dyck(depth: int, opening: str = "a", closing: str = "b") -> Program:
    """D_n: balanced words in which at most ``depth`` brackets are open at once."""
    opened, closed = count(Q(opening)), count(Q(closing))
    outside = (opened < closed) | (opened > closed + depth)
    return program(sorted((opening, closing)), {"V": outside, "accept": never(outside) & (opened == closed)})


def shuffle_dyck(pairs: Sequence[Sequence[str]] = ("ab", "cd")) -> Program:
    """Return a program for shuffles of balanced words, one per pair of brackets: each pair by itself is balanced."""
    counts = [(count(Q(opening)), count(Q(closing))) for opening, closing in pairs]
    below = any_of(opened < closed for opened, closed in counts)
    balanced = [opened == closed for opened, closed in counts]
    alphabet = [bracket for pair in pairs for bracket in pair]
    return program(alphabet, {"V": below, "accept": all_of([never(below), *balanced])})


def equal_blocks(letters: str) -> Program:
    """a^n b^n c^n .. with n >= 1: one block per letter, in order, all of one size."""
    counts = [count(Q(letter)) for letter in letters]
    disorder = [never(early) for early in _after_a_later_one(letters)]
    equal = [one == other for one, other in pairwise(counts)]
    return program(letters, {"accept": all_of([*disorder, *equal, counts[0] >= 1])})


def boolean_expression(arity: int, values: str = "01", operators: str = "~+>*^") -> Program:
    """Boolean-n: complete expressions in prefix notation, the k-th operator having k operands, up to n.

    ``owed`` operands are still to come; it first reaches 0 at the end of a complete expression.
    """
    owed: Term = 1 - count(Q(values[0]))
    for value in values[1:]:
        owed = owed - count(Q(value))
    for more, operator in enumerate(operators[1:arity], start=1):
        owed = owed + more * count(Q(operator))
    complete = owed <= 0
    return program(values + operators[:arity], {"owed": owed, "accept": complete & (count(complete) == 1)})


# ---- regular languages ---------------------------------------------------------------------------
def tomita_1() -> Program:
    """Return a program for the language 1*."""
    return program("01", {"accept": never(Q("0"))})


def tomita_2_local() -> Program:
    """(10)*, by looking at neighbours; ``bounded_dyck(1, "1", "0")`` is the same language without."""
    again = (Q("0") & previous(Q("0"))) | (Q("1") & previous(Q("1")))
    first = count(TRUE) == 1
    return program("01", {"accept": all_of([never(again), never(first & Q("0")), Q("0")])})


def tomita_4() -> Program:
    """Return a program for words that do not contain 000."""
    return program("01", {"accept": never(Q("0") & (count(Q("0"), offsets={1, 2}) >= 2))})


def tomita_7() -> Program:
    """0*1*0*1*: a 1, a 0 after one, a 1 after one of those, and no 0 after one of those."""
    one = Q("1")
    zero = Q("0") & exists(one)
    again = Q("1") & exists(zero)
    fourth = Q("0") & exists(again)
    return program("01", {"A2": zero, "A3": again, "A4": fourth, "accept": never(fourth)})


def around_d() -> Program:
    """{a,b}* d {b,c}*: exactly one d, no c before it, no a after it."""
    seen = exists(Q("d"))
    return program("abcd", {"accept": all_of([count(Q("d")) == 1, never(Q("c") & ~seen), never(Q("a") & seen)])})


def blocks(letters: str = "abcde") -> Program:
    """aa*bb*cc*..: every letter, in order."""
    disorder = [never(early) for early in _after_a_later_one(letters)]
    return program(letters, {"accept": all_of([*disorder, *(exists(Q(letter)) for letter in letters)])})


def repeated_letter(times: int, alphabet: str = "ab") -> Program:
    """Return a program for the language (a^times)*."""
    return program(alphabet, {"accept": never(~Q("a")) & MOD(0, times)})


def abab() -> Program:
    """(abab)*: a at odd and b at even positions, and a length that 4 divides."""
    wrong = (Q("a") & MOD(0, 2)) | (Q("b") & MOD(1, 2))
    return program("ab", {"accept": never(wrong) & MOD(0, 4)})


def contains_ab(alphabet: str = "ab") -> Program:
    """S* ab S*: somewhere an a directly before a b. Over two letters this is ``subsequence_ab``."""
    return program(alphabet, {"accept": exists(Q("b") & previous(Q("a")))})


def subsequence_ab(alphabet: str = "ab") -> Program:
    """S* a S* b S*: somewhere a b after an a."""
    return program(alphabet, {"accept": exists(Q("b") & exists(Q("a")))})


def _after_a_later_one(letters: str) -> Iterable[Predicate]:
    """For each letter but the last: it stands here although a later letter has occurred."""
    for position, letter in enumerate(letters[:-1]):
        later = sum((count(Q(other)) for other in letters[position + 2 :]), start=count(Q(letters[position + 1])))
        yield Q(letter) & (later >= 1)


# ---- retrieval -----------------------------------------------------------------------------------
def unique_right(letters: Sequence[str], separator: str | None = None) -> Program:
    """UR: the letter after the only occurrence of the last letter (after any occurrence, if there are several)."""
    return _retrieval(letters, separator, lambda asked, answer: Q(answer) & previous(Q(asked)))


def unique_left(letters: Sequence[str], separator: str | None = None) -> Program:
    """UL: the letter before the only occurrence of the last letter (before any occurrence, if there are several)."""
    return _retrieval(letters, separator, lambda asked, answer: Q(asked) & previous(Q(answer)))


def first_right(letters: Sequence[str], separator: str | None = None) -> Program:
    """NRFirst: the letter after the first occurrence of the last letter."""
    return _retrieval(letters, separator, lambda asked, answer: Q(answer) & previous(_first(asked)))


def first_left(letters: Sequence[str], separator: str | None = None) -> Program:
    """NLFirst: the letter before the first occurrence of the last letter."""
    return _retrieval(letters, separator, lambda asked, answer: _first(asked) & previous(Q(answer)))


def _first(letter: str) -> Predicate:
    return Q(letter) & (count(Q(letter)) == 1)


def _retrieval(letters: Sequence[str], separator: str | None, pair: Callable[[str, str], Predicate]) -> Program:
    """NEXT_a: the last letter is some s, and ``pair(s, a)`` was true somewhere."""
    found = {a: any_of(Q(s) & exists(pair(s, a)) for s in letters) for a in letters}
    return _answers([*letters, *([separator] if separator else [])], found)


# ---- writing an answer ---------------------------------------------------------------------------
def unique_copy_forward(letters: Sequence[str]) -> Program:
    """UF: after ``x <sep>`` write x, whose letters all differ: each time the letter after the last one."""
    inside = never(Q(SEP))
    ending = Q(SEP) & (count(Q(SEP)) == 1)

    def after(s: str, stop: Predicate) -> Predicate:
        return Q(s) & exists(stop & previous(Q(s)))

    found = {
        a: any_of([Q(SEP) & exists(Q(a) & (count(TRUE) == 1)), *(after(s, Q(a) & inside) for s in letters)])
        for a in letters
    }
    return _answers([*letters, SEP], found | {"end": any_of(after(s, ending) for s in letters)})


def unique_copy_backward(letters: Sequence[str]) -> Program:
    """UB: after ``x <sep>`` write x from its end: each time the letter before the last one."""
    inside = never(Q(SEP))

    def before(s: str, start: Predicate) -> Predicate:
        return Q(s) & exists(Q(s) & start)

    found = {
        a: any_of([Q(SEP) & previous(Q(a)), *(before(s, inside & previous(Q(a))) for s in letters)]) for a in letters
    }
    return _answers([*letters, SEP], found | {"end": any_of(before(s, count(TRUE) == 1) for s in letters)})


def unique_sort(letters: Sequence[str]) -> Program:
    """After ``x <sep>`` write the letters of x, which all differ, in the order of ``letters``."""
    given = {a: exists(Q(a)) for a in letters}

    def none_between(low: int, high: int) -> list[Predicate]:
        return [~given[b] for b in letters[low:high]]

    found = {
        a: any_of(
            all_of([Q(s), given[a], *none_between(position, letters.index(a))])
            for position, s in enumerate([SEP, *letters])
            if position <= letters.index(a)
        )
        for a in letters
    }
    end = any_of(all_of([Q(s), *none_between(position + 1, len(letters))]) for position, s in enumerate(letters))
    return _answers([*letters, SEP], found | {"end": end})


def most_frequent(letters: Sequence[str]) -> Program:
    """Return a program for the letter that occurs more often than each other letter."""
    counts = {a: count(Q(a)) for a in letters}
    return _answers(letters, {a: all_of(counts[b] < counts[a] for b in letters if b != a) for a in letters})


def interleaved_majority(strings: int = 3) -> Program:
    """Return a program that writes, after ``x <sep>``, for each of several interleaved strings whether 0 or 1 is more
    frequent.

    The length of x is a multiple of their number, so that the position determines the string.
    """
    inside = never(Q(SEP))
    turn = [MOD((k + 1) % strings, strings) for k in range(strings)]
    answering = ~inside
    leads: dict[str, Predicate] = {}
    for a, b in (("0", "1"), ("1", "0")):
        more = [count(Q(a) & t & inside) > count(Q(b) & t & inside) for t in turn]
        written = count(answering) <= strings
        leads[a] = all_of([answering, written, any_of(t & m for t, m in zip(turn, more, strict=True))])
    return _answers(["0", "1", SEP], leads | {"end": count(answering) == strings + 1})


def _answers(alphabet: Sequence[str], found: Mapping[str, Predicate]) -> Program:
    lines = {f"NEXT_{answer}": predicate for answer, predicate in found.items()}
    return program(alphabet, lines, outputs=list(lines))
