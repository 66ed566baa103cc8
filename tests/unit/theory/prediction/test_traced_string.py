"""The string that a program is traced on: one that the task can produce, or one that says it is not of the task."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.dashboard.pages.theory import programs
from workbench.tasks import make_task
from workbench.theory.prediction.as_data import TRACED, describe


def traced(task: str, **parameters: Any) -> dict[str, Any]:
    found: dict[str, Any] = describe(task, parameters, "learned", "random_offset")["programs"][0]
    return found


@pytest.mark.parametrize(("name", "answer"), [("uf", list), ("ub", lambda x: x[::-1]), ("sort", sorted)])
def test_a_program_that_writes_answers_every_prefix_of_a_traced_string(name: str, answer: Any) -> None:
    program = traced(name, symbols=256)
    string = program["string"]
    length = string.index("<sep>")
    items = string[:length]
    assert len({*items}) == length, "all symbols differ, as in the task"
    assert string[length + 1 :] == answer(items)
    lines = {line["name"]: line["values"] for line in program["lines"]}
    for place, symbol in enumerate([*answer(items), "end"]):
        at = {output: bool(lines[output][length + place]) for output in program["outputs"]}
        assert at == {output: output == f"NEXT_{symbol}" for output in program["outputs"]}
    assert program["string_source"] == "one string of the task with symbols = 3"


@pytest.mark.parametrize(
    ("name", "parameters"), [("majority", {}), ("tomita", {"n": 4}), ("boolean", {}), ("dyck_1", {})]
)
def test_the_task_answers_the_traced_string_as_its_program_does(name: str, parameters: dict[str, Any]) -> None:
    program, task = traced(name, **parameters), make_task(name, **parameters)
    assert program["string_source"] == "one string of the task"
    assert len(program["string"]) == max(n for n in range(1, TRACED + 1) if task.admissible(n))
    answers = task.reference([1 + program["alphabet"].index(symbol) for symbol in program["string"]])
    values = next(line["values"] for line in program["lines"] if line["name"] == program["outputs"][0])
    supervised = [(answer, value) for answer, value in zip(answers, values, strict=True) if answer is not None]
    assert len(supervised) >= len(answers) // 2
    assert all(bool(answer) == bool(value) for answer, value in supervised)


def test_a_string_that_is_not_of_the_task_says_so() -> None:
    program = traced("kgram_retrieval")
    assert program["string_source"] == "one random string, which is not of the task"
    assert len(program["string"]) == TRACED


def test_the_caption_names_where_the_string_is_from() -> None:
    table = programs({"programs": [traced("uf", symbols=256)]})[1].children
    assert table.children[0].children.endswith("at every prefix of one string of the task with symbols = 3.")
