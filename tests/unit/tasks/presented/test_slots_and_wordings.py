"""How questions are laid out, and in which tokens: each part with and without, and refusals condition by condition."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support.tasks.presenting import put, words
from workbench.tasks import TaskError, make_task
from workbench.tasks.presented import presented_task
from workbench.tasks.presented.presentation import TEMPLATES, Presentation, Slot, presentation
from workbench.tasks.presented.presented_task import Presented, shape_of
from workbench.tasks.presented.single_tokens import Wording, single_tokens, wording
from workbench.tasks.registry import present

LETTERS = {
    "before": "<", "between": ",", "mark": ":", "ask": "?", "answer mark": "=", "after": ">", "query": "q", "item": "i",
    "answer": "a",
}  # fmt: skip


def row(slots: list[Slot]) -> str:
    """A letter for each part, with its number where it has one."""
    return "".join(LETTERS[slot.part] + (str(slot.number) if slot.number else "") for slot in slots)


# ---- presentations -------------------------------------------------------------------------------
@pytest.mark.parametrize(("pairs", "items", "query", "answers", "example", "expected"), [
    (False, 3, False, 0, False, "<i1,i2,i3?="),
    (False, 1, True, 1, False, "<i1?q=a1"),
    (False, 2, False, 3, True, "<i1,i2?=a1a2a3>"),
    (True, 4, True, 0, False, "<i1:i2,i3:i4?q="),
    (True, 2, True, 1, True, "<i1:i2?q=a1>"),
    (False, 0, True, 0, True, "<?q=>"),
])  # fmt: skip
def test_slots(pairs: bool, items: int, query: bool, answers: int, example: bool, expected: str) -> None:
    assert row(Presentation(name="bare", pairs=pairs).slots(items, query, answers, example)) == expected
    if not example:
        assert row(Presentation(name="bare", pairs=pairs).slots(items, query, answers)) == expected


@pytest.mark.parametrize(("given", "title"), [
    ({"name": "bare"}, "bare"),
    ({"name": "pairs", "words": 1}, "pairs, 1 commonest words"),
    ({"name": "bare", "words": 12345, "template": 3}, "bare, 12,345 commonest words"),
    ({"name": "shots"}, "5 shots, template 0"),
    ({"name": "shots", "shots": 1, "shot_items": 1}, "1 shots of 1 items, template 0"),
    ({"name": "shots", "shots": 0}, "shots"),
    ({"name": "shots", "template": 19, "words": 20}, "5 shots, template 19, 20 commonest words"),
])  # fmt: skip
def test_titles(given: dict[str, Any], title: str) -> None:
    if "template" in given and given["name"] != "shots":
        assert Presentation(**given).title == title
    else:
        assert presentation(**given).title == title


@pytest.mark.parametrize("fields", [{"template": 1}, {"shots": 1}, {"shot_items": 1}])
@pytest.mark.parametrize("name", ["bare", "pairs"])
def test_what_has_no_worked_examples(name: str, fields: dict[str, int]) -> None:
    with pytest.raises(TaskError, match=f"{name}"):
        presentation(name, **fields)
    assert presentation(name, shots=0).shots == 0


def test_a_presentation_has_all_that_is_said() -> None:
    plain = presentation("bare", prefix="<s>", words=7)
    assert (plain.prefix, plain.words, plain.template) == ("<s>", 7, 0)
    found = presentation("shots", 6, 2, 3, "<s>", 7)
    assert (found.template, found.shots, found.shot_items, found.prefix, found.words) == (6, 2, 3, "<s>", 7)
    assert {key: getattr(found, key) for key in TEMPLATES[6]} == dict(TEMPLATES[6])
    assert (found.before, found.ask, found.answer, found.after, found.pairs) == ("Input:", " |", " =", "\n", False)
    told = Presentation(name="bare", before="1", between="2", mark="3", ask="4", answer="5", after="6").texts
    assert told == {"before": "1", "between": "2", "mark": "3", "ask": "4", "answer mark": "5", "after": "6"}
    assert presentation("pairs").pairs


# ---- words of one token --------------------------------------------------------------------------
class Words:
    """A tokenizer of so many words; those with ``x`` are encoded as two tokens."""

    def __init__(self, vocabulary: list[str], special: tuple[int, ...] = (), bos: int | None = 0, eos: int | None = 1):
        self.vocabulary, self.all_special_ids = vocabulary, list(special)
        self.bos_token_id, self.eos_token_id = bos, eos

    def get_vocab(self) -> dict[str, int]:
        return dict(reversed([(word, i) for i, word in enumerate(self.vocabulary)]))

    def encode(self, text: str, **options: Any) -> list[int]:
        assert options == {"add_special_tokens": False}
        found = self.get_vocab().get(text.replace(" ", "\u0120"), -1)
        return [found, found] if "x" in text else [found]


def test_which_tokens_are_words() -> None:
    given = [
        "\u0120abc",
        "\u2581abc",
        "abc",
        "\u0120ab",
        "\u0120abC",
        "\u0120abcd",
        "\u0120ab1",
        "",
        " abc",
        "\u0120the",
    ]
    assert single_tokens(Words(given)) == [(0, "abc"), (1, "abc"), (5, "abcd"), (9, "the")]
    assert single_tokens(Words(given, (0, 9))) == [(1, "abc"), (5, "abcd")]


@pytest.mark.parametrize(("symbols", "first", "chosen"), [
    (1, 0, (0,)), (2, 0, (0, 4)), (3, 0, (0, 2, 4)), (7, 0, (0, 1, 2, 3, 4, 5, 6)), (2, 4, (0, 2)), (2, 2, (0, 1)),
    (2, 99, (0, 4)),
])  # fmt: skip
def test_symbols_are_spread_over_the_words(symbols: int, first: int, chosen: tuple[int, ...]) -> None:
    """Over seven words, or the first of them, of which the fourth is the first of the second half but encoded as two."""
    plain = Words([f"\u0120{sign * 3}" for sign in "abcdefg"])
    split = Words([f"\u0120{sign * 3}" for sign in "abcxefg"])
    told = Presentation(name="bare", words=first)
    expected = tuple((min(first, 7) or 7) * i // symbols for i in range(symbols))
    assert wording(told, plain, symbols).symbols == expected
    if symbols < 7:
        assert wording(told, split, symbols).symbols == chosen


@pytest.mark.parametrize(("words_", "symbols", "has"), [("ab", 3, 2), ("axc", 3, 2), ("xyz", 4, 2), ("xxx", 1, 0)])
def test_too_few_words(words_: str, symbols: int, has: int) -> None:
    vocabulary = [f"\u0120{sign * (3 + place)}" for place, sign in enumerate(words_)]
    with pytest.raises(TaskError, match=f"{symbols}"):
        wording(Presentation(name="bare"), Words(vocabulary), symbols)


@pytest.mark.parametrize(("bos", "eos", "prefix", "expected"), [
    (0, 1, None, (0,)), (None, 1, None, (1,)), (5, None, None, (5,)), (None, None, None, ()), (0, 1, "", ()),
    (0, 1, "\u0120bbb", (2,)), (None, None, "\u0120bbb", (2,)), (None, None, "", ()),
])  # fmt: skip
def test_what_stands_before_all(
    bos: int | None, eos: int | None, prefix: str | None, expected: tuple[int, ...]
) -> None:
    told = Presentation(name="bare", prefix=prefix, ask="ccc")
    found = wording(told, Words(["", "", "\u0120bbb", "ccc"], bos=bos, eos=eos), 1)
    assert found.prefix == expected
    assert (found.ask, found.answer, found.before, found.names) == ((3,), (), (), ("bbb",))


# ---- where everything stands ---------------------------------------------------------------------
BARE = Presentation(name="bare")


@pytest.mark.parametrize(("parts", "items", "query", "answers", "shots", "numbers", "places", "asked"), [
    ({}, 3, False, 3, [], [1, 2, 3, 2, 3], [0, 1, 2], [None, None, 4]),
    ({}, 2, False, 4, [], [1, 2, 2, 2, 2], [0, 1], [None, None, 3, 4]),
    ({}, 2, False, 5, [], [1, 2, 2, 2, 2, 2], [0, 1], [None, None, None, 4, 5]),
    ({"prefix": (7,)}, 3, False, 3, [], [0, 1, 2, 3, 2, 3], [1, 2, 3], [None, None, 5]),
    ({"answer": (5,)}, 3, False, 3, [], [1, 2, 3, 1, 2, 3], [0, 1, 2], [3, 4, 5]),
    ({"answer": (5, 6)}, 2, False, 2, [], [1, 2, 2, 1, 2], [0, 1], [3, 4]),
    ({"ask": (4,)}, 2, False, 2, [], [1, 2, 1, 2], [0, 1], [2, 3]),
    ({"answer": (5,)}, 3, False, 1, [], [1, 2, 3, 3], [0, 1, 2], [3]),
    ({}, 3, True, 1, [], [1, 2, 3, 3], [0, 1, 2], [3]),
    ({"before": (8, 9), "between": (1,)}, 2, True, 1, [], [0, 0, 1, 1, 2, 2], [2, 4], [5]),
    ({"before": (8,), "after": (9,)}, 2, True, 1, [3], [0] * 8 + [1, 2, 2], [8, 9], [10]),
])  # fmt: skip
def test_shapes_of_questions(
    parts: dict[str, Any], items: int, query: bool, answers: int, shots: list[int], numbers: list[int],
    places: list[int], asked: list[int | None],
) -> None:  # fmt: skip
    made = Wording(**{"symbols": (100,), "names": ("abc",), **parts})
    examples = [BARE.slots(n, query, answers, True) for n in shots]
    found = shape_of([*examples, BARE.slots(items, query, answers - 1)], made, answers)
    assert (found.numbers, found.places, found.asked) == (numbers, places, asked)


# ---- presented tasks -----------------------------------------------------------------------------
def test_what_is_asked_where_nobody_says() -> None:
    task = Presented(
        inner=make_task("ur", symbols=4), presentation=BARE, wording=words(4), vocabulary_size=104, window=2000
    )
    assert task.fixed_lengths == (8, 16, 32, 64, 128, 256, 512, 1024)
    assert (task.tokens_per_length, presented_task.FEWEST) == (40_000, 40)
    assert [task.positions(n) for n in (2, 8)] == [4, 10]
    assert [task.affordable(n, 5000) for n in (2, 8, 996, 998, 999, 1024)] == [5000, 4000, 40, 40, 40, 40]
    assert [task.affordable(n, 10) for n in (8, 1024)] == [10, 10]
    assert [task.beyond_window(n) for n in (1997, 1998, 1999)] == [False, False, True]
    assert (task.bos, task.d_vocab, task.chance("matched", 8)) == (False, 104, 0.25)
    assert task.tokens_names[-1] == "103"


@pytest.mark.parametrize(("name", "how", "lengths"), [
    ("ur", "bare", {1: False, 2: True, 3: True, 4: True}), ("ur", "pairs", {2: True, 3: False, 4: True}),
    ("nr_last", "bare", {2: False, 3: True}), ("uf", "bare", {1: True, 9: True, 10: False}),
])  # fmt: skip
def test_of_how_many_items_there_are_questions(name: str, how: str, lengths: dict[int, bool]) -> None:
    task = put(name, how, 9, (4,))
    assert {length: task.admissible(length) for length in lengths} == lengths


@pytest.mark.parametrize(("window", "longest", "said"), [
    (15, 16, "; the window of 15 tokens holds 7"), (36, 16, ""), (4, 16, ""), (5, 16, "; the window of 5 tokens holds 2"),
])  # fmt: skip
def test_what_fits_is_said_where_so_many_would_not(window: int, longest: int, said: str) -> None:
    with pytest.raises(TaskError) as caught:
        put("uf", "bare", 10, (2 if window == 5 else 3, longest), window=window)
    assert str(caught.value) == f"uf, presented as bare, has no sequences of {longest} items{said}"


@pytest.mark.parametrize(("symbols", "chosen"), [(4, 3), (4, 5)])
def test_each_symbol_has_a_word(symbols: int, chosen: int) -> None:
    with pytest.raises(TaskError, match=f"{symbols}"):
        present(make_task("ur", symbols=symbols), {
            "presentation": BARE, "wording": words(chosen), "vocabulary_size": 200, "window": 50, "asked_lengths": (4,),
        })  # fmt: skip


def test_items_of_a_batch() -> None:
    task = put("ur", "shots", 9, (4,), shots=2, ask=(1,), answer=(2,))
    batch = task.sample(3, 4, torch.Generator().manual_seed(0), "matched")
    assert batch.led
    assert not put("ur", "bare", 9, (4,)).sample(1, 4, torch.Generator()).numbers[0]
    assert batch.numbers[-7:] == (1, 2, 3, 4, 4, 4, 4)
    assert [batch.index(n) for n in (1, 4)] == [len(batch.numbers) - 7, len(batch.numbers) - 1]
    assert batch.prefix_lengths().tolist() == list(batch.numbers)
    for wrong in (0, 5):
        with pytest.raises(TaskError, match=f"{wrong}"):
            batch.index(wrong)
    with pytest.raises(TaskError, match="a prompt cannot be shortened to a prefix"):
        batch.prefix(2)
    assert [task._shots(6), put("ur", "shots", 9, (4,), shots=1, shot_items=3)._shots(6)] == [[6, 6], [3]]
