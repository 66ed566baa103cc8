"""Laws of the counter languages: every string's probability by enumeration, and what stays out of sight."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import comb, prod

import pytest
import torch

from tests.support.tasks.language_words import OPERANDS, blocks, dyck, expressions, shuffle_dyck
from workbench.tasks import make_task
from workbench.tasks.counting.boolean import draw_expressions
from workbench.tasks.counting.shuffles import shuffled_words

MANY = 12_000
Law = dict[tuple[str, ...], Fraction]
MISSES = {"member": (("order", Fraction(1, 2)), ("more", Fraction(1, 4)), ("less", Fraction(1, 4))), "next": (("more", Fraction(1)),)}  # fmt: skip


def kinds(ask: str) -> list[tuple[str, Fraction]]:
    """Kinds of strings with their probabilities: a word with 1/2, else a miss."""
    return [("word", Fraction(1, 2)), *((kind, share / 2) for kind, share in MISSES[ask])]


def pair(kind: str, opening: str, closing: str) -> tuple[str, str]:
    """The deciding pair of each kind."""
    return {
        "word": (opening, closing),
        "order": (closing, opening),
        "more": (opening, opening),
        "less": (closing, closing),
    }[kind]


def bracket_law(types: int, length: int, ask: str) -> Law:
    """u p v, place, type, u and v uniform; bracket names as the task has them."""
    found: Law = defaultdict(Fraction)
    rooms = (length - 2) // 2
    for before in range(rooms + 1):
        first, second = list(shuffle_dyck(types, before)), list(shuffle_dyck(types, rooms - before))
        for u in first:
            for v in second:
                share = Fraction(1, (rooms + 1) * types * len(first) * len(second))
                for j in range(1, types + 1):
                    for kind, odds in kinds(ask):
                        found[(*u, *pair(kind, f"({j}", f"){j}"), *v)] += share * odds
    return found


def boolean_law(n: int, operators: Fraction, length: int, ask: str) -> Law:
    """x p e, the place uniform, x (with a value after it) and e weighted by their symbols."""
    weight = {s: (operators / n if OPERANDS[s] else (1 - operators) / 2) for s in OPERANDS}

    def weighted(size: int) -> dict[tuple[str, ...], Fraction]:
        raw = {e: prod((weight[s] for s in e), start=Fraction(1)) for e in expressions(n, size)}
        return {e: w / sum(raw.values()) for e, w in raw.items()}

    found: Law = defaultdict(Fraction)
    for place in range(length - 2):
        for x, p_x in weighted(place + 1).items():
            for e, p_e in weighted(length - 2 - place).items():
                for kind, odds in kinds(ask):
                    for values in ("00", "01", "10", "11"):
                        first, second = pair(kind, "+", "v")
                        middle = [v if s == "v" else s for s, v in zip((first, second), values, strict=True)]
                        found[(*x[:-1], *middle, *e)] += p_x * p_e * odds / 4 / (length - 2)
    return found


def blocks_law(letters: int, length: int, ask: str) -> Law:
    """The event at each boundary, and by every number of tokens."""
    size, word, alphabet = length // letters, blocks(letters, length // letters), "abcdefgh"[:letters]
    found: Law = defaultdict(Fraction)
    if ask == "next":
        longer = [a for a in range(size + 1, length) if a * (letters - 1) < length] or [size + 1]
        found[word] += Fraction(1, 2)
        for a in longer:
            found[blocks(letters, a)[:length]] += Fraction(1, 2 * len(longer))
        return found
    for boundary in range(1, letters):
        for moved in range(1, size + 1):
            for kind, odds in kinds(ask):
                sizes = [size] * letters
                by = {"more": moved, "less": -moved}.get(kind, 0)
                sizes[boundary - 1] += by
                sizes[boundary] -= by
                string = [letter for letter, count in zip(alphabet, sizes, strict=True) for _ in range(count)]
                if kind == "order":
                    at = slice(boundary * size - moved, boundary * size + moved)
                    string[at] = string[at][moved:] + string[at][:moved]
                found[tuple(string)] += odds / (letters - 1) / size
    return found


LAWS = [
    ("dyck_1", {}, 6, lambda ask: {tuple(s[0] for s in w): p for w, p in bracket_law(1, 6, ask).items()}),
    ("shuffle_dyck", {"k": 2}, 6, lambda ask: bracket_law(2, 6, ask)),
    ("shuffle_dyck", {"k": 3}, 4, lambda ask: bracket_law(3, 4, ask)),
    ("boolean", {"n": 3, "operators": 0.5}, 5, lambda ask: boolean_law(3, Fraction(1, 2), 5, ask)),
    ("boolean", {"n": 2, "operators": 0.2}, 4, lambda ask: boolean_law(2, Fraction(1, 5), 4, ask)),
    ("a_n_b_n", {"letters": 2}, 8, lambda ask: blocks_law(2, 8, ask)),
    ("a_n_b_n", {"letters": 3}, 9, lambda ask: blocks_law(3, 9, ask)),
    ("a_n_b_n", {"letters": 4}, 4, lambda ask: blocks_law(4, 4, ask)),
]


def numbered(strings: list[tuple[str, ...]], law: Law) -> tuple[torch.Tensor, list[float]]:
    """Strings as places in the list of those that the law allows, and their probabilities."""
    place = {string: i for i, string in enumerate(law)}
    return torch.tensor([place[s] for s in strings]), [float(p) for p in law.values()]


@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize(("name", "parameters", "length", "law"), LAWS)
def test_every_string_has_its_probability(name, parameters, length, law, ask, seeded, assert_law):
    task, expected = make_task(name, ask=ask, **parameters), law(ask)
    assert sum(expected.values()) == 1
    tokens = task.sample(MANY, length, seeded(3), "matched").tokens
    assert torch.equal(tokens, task.sample(MANY, length, seeded(3), "training").tokens)
    names = task.tokens_names
    assert_law(*numbered([tuple(names[t] for t in row) for row in tokens[:, 1:].tolist()], expected))
    answers = defaultdict(Fraction)
    for string, share in expected.items():
        answers[task.reference([names.index(s) for s in string])[-1]] += share
    assert max(answers.values()) == Fraction(task.chance("matched", length))


@pytest.mark.parametrize(("types", "pairs"), [(1, 5), (2, 3), (3, 2), (6, 1)])
def test_words_are_uniform(types, pairs, seeded, assert_law):
    """With another word before them, of one pair."""
    words = {word: i for i, word in enumerate(sorted(shuffle_dyck(types, pairs)))}
    symbols = shuffled_words(torch.tensor([[1, pairs]] * MANY), types, seeded(types))
    drawn = [tuple("()"[s % 2] + str(s // 2 + 1) for s in row[2:]) for row in symbols.tolist()]
    assert_law(torch.tensor([words[w] for w in drawn]), [1 / len(words)] * len(words))


def test_long_balanced_strings_are_as_high_as_uniform_ones(seeded):
    """The heights of all Dyck paths of r pairs add up to 4^r - C(2 r + 1, r)."""
    pairs = 60
    total = 4**pairs - comb(2 * pairs + 1, pairs)
    assert sum(sum((1 if s == "(" else -1) * (10 - i) for i, s in enumerate(w)) for w in dyck(5)) == 4**5 - comb(11, 5)
    height = (1 - 2 * shuffled_words(torch.full((20_000, 1), pairs), 1, seeded(5))).cumsum(1)
    assert (height >= 0).all()
    assert (height[:, -1] == 0).all()
    area = height.sum(1).double()
    mean = total * (pairs + 1) / comb(2 * pairs, pairs)
    assert abs(area.mean() - mean) < 4 * area.std() / len(area) ** 0.5


def test_expressions_of_different_lengths_side_by_side(seeded, assert_law):
    """Two expressions per row, each weighted by its symbols; all 10 pairs of lengths 4 and 3."""
    weights = (0.5, 0.25, 0.15, 0.1)
    first = {tuple(OPERANDS[s] for s in e) for e in expressions(3, 4)}
    second = {tuple(OPERANDS[s] for s in e) for e in expressions(3, 3)}
    law = {a + b: prod(weights[k] for k in a + b) for a in first for b in second}
    drawn = draw_expressions(weights, torch.full((MANY,), 4), 7, seeded(6)).tolist()
    place = {string: i for i, string in enumerate(law)}
    total = sum(law.values())
    assert_law(torch.tensor([place[tuple(row)] for row in drawn]), [p / total for p in law.values()])


def test_long_expressions_have_the_operators_they_should(seeded):
    """Number of binary operators among 41 symbols, values and binary operators only: always 20."""
    drawn = draw_expressions((0.5, 0.0, 0.5), torch.full((500,), 41), 41, seeded(7))
    assert ((drawn == 2).sum(1) == 20).all()
    need = 1 + (drawn - 1).cumsum(1)
    assert (need[:, :-1] >= 1).all()
    assert (need[:, -1] == 0).all()


WINDOW = 20
EVENTS = {
    "dyck_1": lambda names: ["(", ")"],
    "shuffle_dyck": lambda names: ["(" + names[0][1:], ")" + names[0][1:]],
    "boolean": lambda names: ["+", "0"],
}


@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize("name", list(EVENTS))
@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_every_miss_becomes_a_word_when_its_event_is_replaced(name, ask, law, seeded):
    """So the rest of a miss has the same law as the rest of a word, and tells nothing."""
    task, member = make_task(name, ask=ask), make_task(name)
    batch, restored = task.sample(300, 120, seeded(8), law, window=WINDOW), []
    for row, place in zip(batch.tokens[:, 1:].tolist(), batch.meta["deciding_position"].tolist(), strict=True):
        assert law == "matched" or WINDOW < place < 120 - WINDOW
        names = [task.tokens_names[t] for t in row]
        names[place - 1 : place + 1] = EVENTS[name](names[place - 1 : place + 1])
        restored.append([task.tokens_names.index(s) for s in names])
    assert (member.label(torch.tensor(restored)).targets[:, -1] == 1).all()


@pytest.mark.parametrize("letters", [2, 3, 4])
def test_challenging_blocks_miss_by_one_token(letters, seeded):
    task, length = make_task("a_n_b_n", letters=letters), 120
    batch = task.sample(400, length, seeded(9), "challenge", window=WINDOW)
    word = torch.tensor([1 + t // (length // letters) for t in range(length)])
    wrong = (batch.tokens[:, 1:] != word).sum(1)
    assert set(wrong.tolist()) == {0, 1, 2}
    assert torch.equal(wrong == 0, batch.targets[:, -1] == 1)
    places = batch.meta["deciding_position"]
    assert ((places > WINDOW) & (places < length - WINDOW)).all()


@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("dyck_1", {}), ("shuffle_dyck", {"k": 4}), ("boolean", {}), ("a_n_b_n", {}), ("a_n_b_n", {"letters": 3})],
)
def test_shortcuts_are_a_fair_coin_on_the_challenge_law(name, parameters, ask, seeded):
    task = make_task(name, ask=ask, **parameters)
    found = task.shortcuts(task.sample(6_000, 120, seeded(10), "challenge", WINDOW), WINDOW)
    assert set(found) == {"position_only", "last_token", "first_window", "last_window"}
    for name_, hits in found.items():
        assert hits.mean() == pytest.approx(0.5, abs=0.025), name_


def test_windows_see_some_misses_on_the_matched_law(seeded):
    """A place is uniform over 60; a window of 20 of 120 holds both brackets of it at 10, and errs on words never."""
    task = make_task("dyck_1")
    found = task.shortcuts(task.sample(20_000, 120, seeded(11), "matched"), WINDOW)
    betrayed = 10 / 60 * (1 / 2 + 1 / 4)  # of ") (", ") )" and "( (", an end of the string betrays two
    for name in ("first_window", "last_window"):
        assert found[name].mean() == pytest.approx(0.5 + betrayed / 2, abs=0.012)
