"""Prompts as lines of JSON, and answers of a model by hand that is right on short questions alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from workbench.cli.main import app
from workbench.core.errors import LensError
from workbench.measure.in_context.behind_an_api import _first_word, take_in
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import plan
from workbench.runs.errors import RunError
from workbench.runs.integrity import run_problems
from workbench.table import Table

STRINGS = 100


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    options = ["--task", "ur", "--presentation", "pairs", "--lengths", "4,8,16,32", "--strings", str(STRINGS)]
    done = CliRunner().invoke(app, ["prompts", str(file), *options])
    assert done.exit_code == 0, done.output
    assert "400 prompts, ur presented as pairs." in done.output
    return file


def looked_up(prompt: str) -> str:
    """What stands behind the key, by the text alone."""
    *lines, last = prompt.split("\n")
    (found,) = [line.split(": ")[1] for line in lines if line.split(":")[0] == last.removesuffix(":")]
    return found


def answered(asked: Path, reach: int) -> Path:
    """A model that is right up to ``reach`` items, in capitals and with a full stop, and gives up beyond."""
    lines = []
    for text in asked.read_text().splitlines()[1:]:
        one = json.loads(text)
        said = f"{looked_up(one['prompt']).upper()}. That is it." if one["n"] <= reach else "I do not know"
        lines.append(json.dumps({"id": one["id"], "answer": said}))
    file = asked.with_name("answers.jsonl")
    file.write_text("\n".join(lines))
    return file


def test_answers_become_rows_and_a_verdict(asked: Path, tmp_path: Path) -> None:
    run = take_in(asked, answered(asked, 8), "my-model", tmp_path / "run")
    rows = Table.load(run.path).frame(measurement="behaviour.in_context")
    accuracy = rows[rows["quantity"] == "answer_accuracy"].set_index("length")["value"].to_dict()
    assert accuracy == {4: 1.0, 8: 1.0, 16: 0.0, 32: 0.0}
    (verdict,) = rows[rows["quantity"] == "in_context_verdict"].itertuples()
    assert (verdict.label, verdict.length, verdict.target, verdict.n) == ("decays", 16, "pairs", STRINGS)
    assert run_problems(run) == []
    assert plan(MeasureRequest([run.path])).jobs == []
    shown = CliRunner().invoke(app, ["show", str(run.path)])
    assert "Decays from 16 items on, presented as pairs" in shown.output.replace("\n", " ")
    with pytest.raises(RunError, match="API"):
        run.load(1)
    assert CliRunner().invoke(app, ["check", str(run.path)]).exit_code == 0


def test_what_is_right_is_not_read_from_the_file(asked: Path, tmp_path: Path) -> None:
    answers = answered(asked, 32)
    asked.write_text(asked.read_text().replace('"answer": "', '"answer": "x'))
    first = asked.read_text().splitlines()[0]
    assert json.loads(first)["task"]["presented"]["presentation"]["answer"] == "x:"
    asked.write_text(asked.read_text().replace(first, first.replace('"answer": "x', '"answer": "')))
    run = take_in(asked, answers, "my-model", tmp_path / "run")
    assert Table.load(run.path).frame(quantity="in_context_verdict")["label"].tolist() == ["holds"]


def test_files_that_do_not_fit_are_named(asked: Path, tmp_path: Path) -> None:
    answers = answered(asked, 8)

    def refused(words: str, prompts: Path = asked, given: Path = answers) -> None:
        with pytest.raises(RunError, match=words):
            take_in(prompts, given, "my-model", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    refused("is not a file of prompts; write one with `lengthlens prompts`", prompts=answers)
    answers.write_text(answers.read_text().partition("\n")[2])
    refused("has no answer to prompt 4-0 of .*prompts.jsonl, which has 400")
    answers.write_text(json.dumps({"id": "4-100", "answer": "x"}))
    refused("line 1: .*prompts.jsonl has no prompt '4-100'")
    answers.write_text("{}")
    refused("line 1: an answer is an object like")
    answers.write_text("[")
    refused("line 1: it is not a JSON object")
    refused("cannot be read", given=tmp_path / "nothing")


def changed_first(asked: Path, *path: str, value: object) -> Path:
    """The prompts with another entry in their first line."""
    first, *rest = asked.read_text().splitlines()
    content = json.loads(first)
    part = content
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    file = asked.with_name("changed.jsonl")
    file.write_text("\n".join([json.dumps(content), *rest]))
    return file


PRESENTED = ("task", "presented")


@pytest.mark.parametrize(("path", "value", "words"), [
    (("strings",), 10**9, "strings"),
    (("strings",), 99, "holds|is not the prompt 8-0"),
    (("strings",), True, "strings"),
    (("seed",), 10**30, "strings"),
    ((*PRESENTED, "asked_lengths"), [4, 8, 16, 10**6], "prompt"),
    ((*PRESENTED, "asked_lengths"), 4, "TypeError"),
    ((*PRESENTED, "presentation", "shots"), 10**9, "shots"),
    ((*PRESENTED, "presentation", "shots"), 50, "prompt"),
    ((*PRESENTED, "window"), 10**9, "window"),
    (("task", "parameters", "symbols"), 10**9, r"\b1000000000\b"),
    (("task", "parameters", "symbols"), 7, "7 symbols"),
    ((*PRESENTED, "wording", "names"), ["beba"], "line"),
    ((*PRESENTED, "wording", "ask"), [10**6], "line"),
    ((*PRESENTED, "tokens_per_length"), 10**9, "line"),
    ((*PRESENTED, "wording"), None, "wording"),
    (("task", "name"), "parity", "'parity'"),
    (("task", "parameters"), None, "line"),
])  # fmt: skip
def test_the_first_line_is_believed_as_far_as_the_prompts_bear_it_out(
    asked: Path, tmp_path: Path, path: tuple[str, ...], value: object, words: str
) -> None:
    answers = answered(asked, 8)
    with pytest.raises(LensError, match=words) as refused:
        take_in(changed_first(asked, *path, value=value), answers, "my-model", tmp_path / "run")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_more_prompts_than_a_file_holds_are_refused(tmp_path: Path) -> None:
    words = ["prompts", str(tmp_path / "p.jsonl"), "--task", "ur", "--lengths", "8,16", "--strings", "1000000"]
    done = CliRunner().invoke(app, words)
    assert "1,000,000 prompts of 2 lengths are 2,000,000 prompts in total, but a file takes at most 200,000" in str(
        done.exception
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Word", "word"),
        ("  two words", "two"),
        ("", ""),
        (" \n ", ""),
        ('"Apple".', "apple"),
        ("(x)!", "x"),
        ("...", ""),
    ],
)
def test_the_first_word_of_an_answer(text: str, word: str) -> Any:
    assert _first_word(text) == word
