"""Tasks of one's own: what a subclass must write is public and told, and one that is wrong is not trained."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from workbench.cli.run_config import build
from workbench.cli.sweeping.sweep_cells import check_cells
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.train_request import TrainRequest
from workbench.tasks import Task, TaskError, load_task, make_task
from workbench.tasks.regular.state_machines import Parity
from workbench.tasks.testing import BRIEF, CHECKS, TaskCheckError, refuse_unsound
from workbench.tasks.testing.template_task import TemplateTask
from workbench.training.trainer import Trainer

FILE = """
from workbench.tasks import Task
from workbench.tasks.regular.state_machines import Parity

class Sound(Parity):
    name = "sound"

class WrongIds(Parity):
    name = "wrong_ids"
    def draw_strings(self, batch, length, generator, law, window):
        strings, meta = super().draw_strings(batch, length, generator, law, window)
        return strings + 1, meta

class Unlike(Parity):
    name = "unlike"
    def reference(self, tokens):
        return [1 - answer for answer in super().reference(tokens)]

class Half(Task):
    name = question = kind = summary = "half"
    def answer(self, tokens): ...
    def reference(self, tokens): ...
"""
TINY = {"steps": 2, "lengths": "1-4", "layers": 1, "d_model": 8, "heads": 1, "batch_size": 2}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_help_names_all_that_a_subclass_states_and_writes_and_none_of_it_is_private() -> None:
    said = inspect.getdoc(Task)
    assert said is not None
    stated = {name for name in Task.__annotations__ if name not in vars(Task)}
    assert stated >= {"name", "question", "kind", "summary", "vocabulary"}
    assert Task.__abstractmethods__ >= {"draw_strings", "label_strings", "reference", "answer"}
    for name in stated | set(Task.__abstractmethods__) | {"outputs"}:
        assert name in said
        assert not name.startswith("_")
    for name in Task.__abstractmethods__:
        assert inspect.getdoc(getattr(Task, name))


def test_the_template_keeps_what_a_task_promises_and_states_all_of_it() -> None:
    assert set(Task.__abstractmethods__) <= set(vars(TemplateTask))
    assert TemplateTask(share=0.3).reference([1, 3, 2]) == [0, 1, 1]


def test_a_wrong_task_is_not_trained_and_the_sentence_names_check_and_way_out(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(TaskCheckError) as caught:
        Trainer(build(TrainRequest(f"{file}:WrongIds", TINY)), folder).run()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith("the task wrong_ids is not trained, because it fails the check shapes: ")
    assert "token ids run from 0 to 3; draw indices of tokens_names, from 0 to 2 (and " in sentence
    assert sentence.endswith(f"; run lengthlens tasks --check {file}:WrongIds for all findings")
    assert not folder.exists()
    with pytest.raises(TaskCheckError, match="check"):
        refuse_unsound(load_task(f"{file}:Unlike"))
    assert Trainer(build(TrainRequest(f"{file}:Sound", TINY)), folder).run().steps[-1] == 2


def test_what_a_class_does_not_write_is_named(file: Path) -> None:
    with pytest.raises(TaskError, match="label_strings"):
        load_task(f"{file}:Half")


def test_a_sweep_says_so_before_its_first_cell(file: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(f"base: {{task: '{file}:WrongIds', steps: 2}}\ngrid: {{seed: [0, 1]}}\n")
    with pytest.raises(Exception, match="wrong_ids"):
        check_cells(sweep, read_sweep(sweep), tmp_path / "runs")


def test_built_in_tasks_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("looked at")

    monkeypatch.setattr("workbench.tasks.testing.brief.findings", fail)
    refuse_unsound(make_task("parity"))
    with pytest.raises(AssertionError, match="looked at"):
        refuse_unsound(type("Mine", (Parity,), {"__module__": __name__})())
    assert set(BRIEF) < set(CHECKS)
