"""Files of prompts and of answers, line by line: what is refused, and what counts as answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.measure.in_context.behind_an_api import (
    ONSETS,
    VOWELS,
    AnswersStudy,
    heading,
    prompts,
    read_lines,
    score_answers,
    spoken_words,
    task_in_words,
)
from workbench.runs.errors import RunError
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation
from workbench.tasks.registry import stored_task

TASK = task_in_words(make_task("ur", symbols=8), presentation("pairs"), (2, 4), 100)


def test_words_are_of_four_letters_and_all_different() -> None:
    every = spoken_words(10_000)
    assert len(every) == len({*every}) == (len(ONSETS) * len(VOWELS)) * (len(ONSETS) * len(VOWELS) - 1)
    assert {len(word) for word in every} == {4}
    assert spoken_words(3) == ("beba", "biba", "boba")
    assert all(word[:2] != word[2:] for word in every)


def test_a_prompt_asks_for_its_last_answer_alone() -> None:
    found = [*prompts(TASK, 3, seed=1)]
    assert [(one["id"], one["n"]) for one in found] == [(f"{n}-{i}", n) for n in (2, 4) for i in range(3)]
    for one in found:
        *pairs, last = one["prompt"].split("\n")
        assert last.removesuffix(":") in {pair.split(":")[0] for pair in pairs}
        assert [pair.split(": ")[1] for pair in pairs if pair.split(":")[0] == last.removesuffix(":")] == [
            one["answer"]
        ]
        assert not one["prompt"].startswith(" ")
    assert found == [*prompts(TASK, 3, seed=1)] != [*prompts(TASK, 3)]


def write_prompts(path: Path, changed: dict[str, Any]) -> None:
    """A file as ``lengthlens prompts`` writes it, with other entries in its first line where some are given.

    It has as many prompts of each length as the first line says; two, where the line says no number of at least 1.
    """
    strings: Any = changed.get("strings")
    count = strings if isinstance(strings, int) and strings > 0 else 2
    lines = [{**heading(TASK, count, 1), **changed}, *prompts(TASK, count, 1)]
    path.write_text("\n".join(map(json.dumps, lines)))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    asked, answered = tmp_path / "asked.jsonl", tmp_path / "answered.jsonl"
    write_prompts(asked, {})
    answered.write_text(
        "\n".join(json.dumps({"id": one["id"], "answer": one["answer"]}) for one in prompts(TASK, 2, 1))
    )
    return asked, answered


@pytest.mark.parametrize(("changed", "said"), [
    ({}, ""), ({"strings": 1}, "needs whole numbers"), ({"strings": 3}, "has no answer to prompt 2-2 of .*, which has 6"), ({"strings": 0}, "needs whole numbers"),
    ({"strings": "2"}, "needs whole numbers"), ({"seed": None}, "needs whole numbers"), ({"seed": 1.0}, "needs whole numbers"),
    ({"lengthlens": "answers"}, "is not a file of prompts"), ({"task": "ur"}, "is not a file of prompts"), ({"task": None}, "is not a file of prompts"),
    ({"task": stored_task(make_task("ur"))}, "describes no task in its first line"),
])  # fmt: skip
def test_the_first_line_of_prompts(files: tuple[Path, Path], changed: dict[str, Any], said: str) -> None:
    asked, answered = files
    write_prompts(asked, changed)
    if said:
        with pytest.raises(RunError, match=said):
            score_answers(asked, answered)
        return
    task, right, kept = score_answers(asked, answered)
    assert task == TASK
    assert right == {2: [1.0, 1.0], 4: [1.0, 1.0]}
    assert json.loads(kept) == {one["id"]: one["answer"] for one in prompts(TASK, 2, 1)}


def test_the_prompts_are_those_that_the_first_line_announces(files: tuple[Path, Path]) -> None:
    asked, answered = files
    first, *lines = asked.read_text().splitlines()
    for changed, message in (
        (lines[:-1], "line 5: it is not the prompt 4-1"),
        ([lines[1], lines[0], *lines[2:]], "line 2: it is not the prompt 2-0"),
        ([*lines, lines[-1]], "contains more prompts than the 4"),
        ([], "line 2: it is not the prompt 2-0"),
    ):
        asked.write_text("\n".join([first, *changed]))
        with pytest.raises(RunError, match=message):
            score_answers(asked, answered)


@pytest.mark.parametrize(("more", "said"), [
    ([], ""), ([{"id": "2-0", "answer": "other"}], "line 5: 2-0 is answered twice"), ([{"id": "9-9", "answer": "not asked"}], "line 5: .* has no prompt '9-9'"), ([{"id": 2, "answer": "x"}], "line 5: an answer is an object"),
    ([{"id": "2-0"}], "line 5: an answer is an object"), ([{"id": "x", "answer": 3}], "line 5: an answer is an object"), ([[1]], "line 5: it is not a JSON object"),
])  # fmt: skip
def test_lines_of_answers(files: tuple[Path, Path], more: list[Any], said: str) -> None:
    asked, answered = files
    answered.write_text("\n".join([answered.read_text(), *map(json.dumps, more)]))
    if said:
        with pytest.raises(RunError, match=said):
            score_answers(asked, answered)
        return
    assert score_answers(asked, answered)[1] == {2: [1.0, 1.0], 4: [1.0, 1.0]}


def test_the_same_answer_may_stand_there_twice_and_a_wrong_one_counts_as_wrong(files: tuple[Path, Path]) -> None:
    asked, answered = files
    lines = answered.read_text().splitlines()
    answered.write_text("\n".join([*lines, lines[0]]))
    assert score_answers(asked, answered)[1] == {2: [1.0, 1.0], 4: [1.0, 1.0]}
    answered.write_text(
        "\n".join(
            [*lines[:2], json.dumps({"id": "4-0", "answer": ""}), lines[3].replace('"answer": "', '"answer": "not ')]
        )
    )
    assert score_answers(asked, answered)[1] == {2: [1.0, 1.0], 4: [0.0, 0.0]}
    asked.write_text("")
    with pytest.raises(RunError, match="prompts"):
        score_answers(asked, answered)


def test_files_that_are_no_lines_of_json(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text('{"a": 1}\n{"b": 2}')
    assert [*read_lines(file)] == [{"a": 1}, {"b": 2}]
    for text in (b'{"a": 1}\n\n', b"[" * 100_000, b"null", b"{", b"\xff"):
        file.write_bytes(text)
        with pytest.raises(RunError, match="JSON"):
            [*read_lines(file)]
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RunError, match="cannot be read"):
            [*read_lines(path)]


def test_questions_beyond_the_window_are_unseen() -> None:
    study = AnswersStudy(TASK)
    longest = next(n for n in range(1, 200) if not study.reads_unseen(n) and study.reads_unseen(n + 1))
    assert TASK.positions(longest) <= 100 < TASK.positions(longest + 1)
    assert study.rng("a").random() == study.rng("a").random() != study.rng("b").random()
