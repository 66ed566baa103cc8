"""Answers from logs of Inspect 0.3.285 and lm-eval 0.4.13, which both tools wrote for the same four prompts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.places import ROOT
from workbench.cli.main import app
from workbench.measure.in_context.answer_files import read_answers
from workbench.measure.in_context.behind_an_api import take_in
from workbench.runs.errors import RunError
from workbench.table import Table

LOGS = ROOT / "tests" / "unit" / "measure" / "in_context" / "answer_logs"
"""The model of the Inspect log is right at 4 items and says "I do not know" at 8. That of lm-eval always says "lol"."""


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    options = ["--task", "ur", "--presentation", "pairs", "--lengths", "4,8", "--strings", "2"]
    assert CliRunner().invoke(app, ["prompts", str(path), *options]).exit_code == 0
    return path


@pytest.mark.parametrize(("log", "accuracy"), [("inspect.json", {4: 1.0, 8: 0.0}), ("lm_eval.jsonl", {4: 0.0, 8: 0.0})])
def test_a_log_becomes_a_run(log: str, accuracy: dict[int, float], prompts: Path, tmp_path: Path) -> None:
    run = take_in(prompts, LOGS / log, "my-model", tmp_path / "run")
    rows = Table.load(run.path).frame(quantity="answer_accuracy")
    assert rows.set_index("length")["value"].to_dict() == accuracy


def changed(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The log of Inspect with a change of its content."""
    content = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    change(content)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_long_answer_of_inspect_is_an_attachment(tmp_path: Path) -> None:
    def attach(log: dict[str, Any]) -> None:
        log["samples"][0]["output"]["completion"] = "attachment://abc"
        log["samples"][0]["attachments"] = {"abc": "a long text"}

    (_, _, text), *_ = read_answers(changed(tmp_path, attach))
    assert text == "a long text"


@pytest.mark.parametrize(("change", "message"), [
    (lambda log: log.update(samples=[]), "without samples"),
    (lambda log: log["samples"][2].update(id=7), "sample 3: .*id of a prompt"),
    (lambda log: log["samples"][1].update(output=None), "sample 2: .*output.completion"),
    (lambda log: log["samples"].append(3), "sample 5: .*id of a prompt"),
    (lambda log: log["samples"][0].update(error={"message": "no network"}), "sample 1: .*ended with an error"),
    (lambda log: log["samples"][0]["output"].update(completion="attachment://x"), "sample 1: .*output.completion"),
])  # fmt: skip
def test_a_log_of_inspect_that_does_not_fit_is_refused(
    change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=message):
        list(read_answers(changed(tmp_path, change)))


def test_two_epochs_with_different_answers_are_refused(prompts: Path, tmp_path: Path) -> None:
    def repeat(log: dict[str, Any]) -> None:
        second = json.loads(json.dumps(log["samples"][0]))
        second["output"]["completion"] = "something else"
        log["samples"].append(second)

    with pytest.raises(RunError, match=r"sample 5: .* is answered twice"):
        take_in(prompts, changed(tmp_path, repeat), "my-model", tmp_path / "run")


def test_other_files_are_refused(tmp_path: Path) -> None:
    archive = tmp_path / "log.eval"
    shutil.copy(LOGS / "inspect.json", archive)
    with pytest.raises(RunError, match="inspect log convert"):
        list(read_answers(archive))
    lines = tmp_path / "samples.jsonl"
    lines.write_text((LOGS / "lm_eval.jsonl").read_text(encoding="utf-8").replace('"id": ', '"number": '))
    with pytest.raises(RunError, match=r"line 1: .*doc contains the id"):
        list(read_answers(lines))
    with pytest.raises(RunError, match="cannot be read"):
        list(read_answers(tmp_path / "nothing.json"))


def test_own_lines_may_end_with_json(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('{"id": "4-0", "answer": "a"}\n{"id": "4-1", "answer": "b"}\n')
    assert list(read_answers(path)) == [("line 1", "4-0", "a"), ("line 2", "4-1", "b")]
