"""Tasks told in tokens of another vocabulary: what a string reads, where items stand, and what is refused."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
import torch

from tests.support.tasks.presenting import FIRST, put
from workbench.tasks import TaskError, make_task
from workbench.tasks.presented.presentation import PRESETS, TEMPLATES, presentation
from workbench.tasks.presented.single_tokens import single_tokens, wording
from workbench.tasks.registry import present, stored_task, task_of


def drawn(task: Any, length: int, rows: int = 64) -> Any:
    return task.sample(rows, length, torch.Generator().manual_seed(0), "matched")


def test_copying_bare_is_the_items_twice_and_its_second_half_is_asked() -> None:
    task = put("uf", "bare", 10, (3, 5))
    batch = drawn(task, 5)
    first, second = batch.tokens[:, 1:6], batch.tokens[:, 6:]
    assert (batch.tokens[:, 0] == 0).all()
    assert torch.equal(second, first[:, :4]), "all answers but the last one are shown"
    assert (first.sort(1).values.diff(dim=1) > 0).all()
    assert batch.item_places == (1, 2, 3, 4, 5)
    assert batch.numbers == (0, 1, 2, 3, 4, 5, 2, 3, 4, 5)
    assert batch.supervised_positions.tolist() == [8, 9]
    assert torch.equal(batch.targets[:, [8, 9]], first[:, [3, 4]])
    assert (batch.index(5), batch.index(3), batch.length, task.positions(5)) == (9, 7, 5, 10)
    assert task.chance("matched", 5) == 0.1


def test_pairs_ask_for_the_value_behind_a_key() -> None:
    task = put("ur", "pairs", 10, (4, 6), between=(1,), mark=(2,), ask=(1,), answer=(2,))
    batch = drawn(task, 6)
    rows = batch.tokens
    assert rows[0, [0, 2, 4, 6, 8, 10, 12, 14]].tolist() == [0, 2, 1, 2, 1, 2, 1, 2]
    assert batch.item_places == (1, 3, 5, 7, 9, 11)
    asked = set()
    for i in range(len(rows)):
        keys, values, query = rows[i, 1:12:4].tolist(), rows[i, 3:12:4].tolist(), int(rows[i, 13])
        assert keys.count(query) == 1
        assert values.count(query) == 0
        place = keys.index(query)
        asked.add(place)
        assert int(batch.targets[i, 14]) == values[place]
        # Counted from 1, as entries of meta are.
        assert batch.meta["key_position"][i] - 1 == 1 + 4 * place
        assert batch.meta["answer_position"][i] - 1 == 3 + 4 * place
    assert asked == {0, 1, 2}
    assert batch.supervised_positions.tolist() == [14]
    assert not task.admissible(5)


def test_worked_examples_come_first_each_with_its_answer() -> None:
    task = put("ul", "shots", 10, (4, 6), template=3, shots=2, shot_items=3, ask=(1,), answer=(2,), after=(3,))
    batch = drawn(task, 6)
    assert batch.tokens[0, [0, 4, 6, 8, 12, 14, 16, 23, 25]].tolist() == [0, 1, 2, 3, 1, 2, 3, 1, 2]
    for row in batch.tokens.tolist():
        for start in (1, 9):
            items, query, answer = row[start : start + 3], row[start + 4], row[start + 6]
            assert items[items.index(query) - 1] == answer
    assert batch.item_places == (17, 18, 19, 20, 21, 22)
    left = batch.tokens.gather(1, batch.meta["answer_position"][:, None] - 1)[:, 0]
    assert torch.equal(batch.targets[:, -1], left)
    assert task.presentation.title == "2 shots of 3 items, template 3"
    assert len({tuple(one.items()) for one in TEMPLATES}) == 20


def test_a_run_holds_all_that_makes_the_strings() -> None:
    task = put("uf", "bare", 10, (3, 5))
    again = task_of(json.loads(json.dumps(stored_task(task))))
    assert again == task
    assert torch.equal(drawn(again, 5).tokens, drawn(task, 5).tokens)
    assert task.fixed_lengths == (3, 5)
    assert (task.fitting, put("uf", "bare", 10, (3, 5), window=10).fitting) == (500, 5)
    assert (task.affordable(5, 100), task.affordable(5, 10**6)) == (100, 4000)
    assert put("uf", "bare", 600, (3, 512)).affordable(512, 100) == 40


class Tokenizer:
    """Words of one token, one that is encoded as two, one special, one too short, one with a capital."""

    words = ("\u0120apple", "\u0120pear", "\u0120two", "\u0120end", "\u0120of", "\u0120Capital", "plain", "<s>")
    all_special_ids: ClassVar[list[int]] = [3]
    bos_token_id = None
    eos_token_id = 7

    def get_vocab(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def encode(self, text: str, **options: Any) -> list[int]:
        assert options == {"add_special_tokens": False}
        found = self.get_vocab().get(text.replace(" ", "\u0120"))
        return [6, 6] if found in (None, 2) else [found]


def test_symbols_are_words_of_one_token_by_the_stated_rule() -> None:
    tokenizer = Tokenizer()
    assert single_tokens(tokenizer) == [(0, "apple"), (1, "pear"), (2, "two")]
    found = wording(presentation("pairs"), tokenizer, 2)
    assert (found.symbols, found.names, found.prefix) == ((0, 1), ("apple", "pear"), (7,))
    assert found.mark == (6, 6)
    assert wording(presentation("bare", words=1), tokenizer, 1).symbols == (0,)
    assert wording(presentation("bare", prefix="<s>"), tokenizer, 1).prefix == (7,)
    with pytest.raises(TaskError, match="tokenizer"):
        wording(presentation("bare"), tokenizer, 3)
    with pytest.raises(TaskError, match="'<t>'"):
        wording(presentation("bare", prefix="<t>"), tokenizer, 1)


def test_what_cannot_be_told_is_refused_in_a_sentence() -> None:
    with pytest.raises(TaskError, match="pairs"):
        put("ul", "pairs", 10, (4,))
    with pytest.raises(TaskError, match="items"):
        put("uf", "bare", 10, (16,))
    with pytest.raises(TaskError, match="15 tokens"):
        put("uf", "bare", 10, (3, 16), window=15)
    fields = {"presentation": PRESETS["bare"], "wording": put("uf", "bare", 10, (3,)).wording}
    fields |= {"vocabulary_size": 200, "window": 10}
    with pytest.raises(TaskError, match="majority"):
        present(make_task("majority"), fields)
    with pytest.raises(TaskError, match="pairs"):
        presentation("pair")
    with pytest.raises(TaskError, match="templates"):
        presentation("shots", 20)
    with pytest.raises(TaskError, match="examples"):
        presentation("bare", shots=3)
    with pytest.raises(TaskError, match="6 tokens"):
        _ = put("uf", "bare", 10, (3,), window=4).fitting
    assert FIRST == 100


@pytest.mark.parametrize(("name", "how"), [("uf", "bare"), ("ur", "pairs"), ("ul", "shots")])
def test_the_longest_question_that_fits_is_found_without_making_any(name: str, how: str) -> None:
    parts: dict[str, Any] = {} if how == "bare" else {"between": (1,), "mark": (2,), "ask": (1,), "answer": (2, 3)}
    for window in range(75, 95):
        task = put(name, how, 10, (4,), window=window, **parts)
        assert task.fitting == max(n for n in range(1, 60) if task.positions(n) <= window)
