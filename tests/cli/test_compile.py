"""``lengthlens compile``: programs as runs that answer as the formula says, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from workbench.cli.compile import compiled_run
from workbench.cli.errors import UsageError
from workbench.cli.show import show_command
from workbench.runs import Run
from workbench.runs.integrity import run_problems
from workbench.theory.zoo import ZOO


def accuracy(run: Run, length: int, law: str) -> float:
    batch = run.task.sample(400, length, torch.Generator().manual_seed(1), law)
    with torch.no_grad():
        right = run.task.correct(run.load(1)(batch.tokens), batch)
    return float(right[:, -1].double().mean())


def test_a_compiled_run_is_right_at_every_length_and_its_twins_only_on_short_ones(tmp_path: Path) -> None:
    robust = compiled_run("majority", (1, 20), 1024, out=tmp_path / "robust")
    blunt = compiled_run("majority", (1, 20), 20, out=tmp_path / "blunt")
    first = compiled_run("majority", (1, 20), 1024, first_keys=20, out=tmp_path / "first")
    assert [accuracy(run, 19, "challenge") for run in (robust, blunt, first)] == [1, 1, 1]
    assert accuracy(robust, 401, "challenge") == 1
    # All near ties of one more: (d + 1/2) 4 (20 + 1) / (n + 1) <= 1/2 for d = 0 from n = 83 on.
    wrong = torch.tensor([[0, *[2] * 42, *[1] * 41], [0, *[1] * 41, *[2] * 42]])
    assert (blunt.load(1)(wrong)[:, -1].argmax(-1) == 0).all()
    assert (robust.load(1)(wrong)[:, -1].argmax(-1) == 1).all()
    # Sorted strings: the first 20 keys say which symbol came first, which says nothing of the end.
    assert accuracy(first, 401, "challenge") == pytest.approx(0.52, abs=0.08)


def test_it_is_a_whole_run_with_a_random_model_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = compiled_run("tomita_4", (1, 20), 64, out=tmp_path / "run")
    assert run.steps == [0, 1]
    assert run.trained_length == 20
    assert run_problems(run) == []
    assert run.config["training"]["compiled"]["program"] == "tomita_4"
    assert compiled_run("tomita_4", (1, 20), 64, out=tmp_path / "run").id == run.id
    show_command(run.path, None)
    assert "compiled, its lengths 1 to 20 taken as trained" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("name", [name for name, case in ZOO.items() if case.task])
def test_every_program_with_a_task_answers_it(tmp_path: Path, name: str) -> None:
    compiled_run(name, (1, 12), 12, out=tmp_path / name)


@pytest.mark.parametrize(
    ("program", "up_to", "first", "said"),
    [
        ("majorty", 64, None, "no program is called 'majorty'; did you mean majority?"),
        ("even_as", 64, None, "even_as has no task to be measured on"),
        ("majority", 10, None, "give --up-to 20 or more"),
        ("majority", 64, 10, "show it 20 or more"),
    ],
)
def test_what_cannot_be_right_is_refused(
    tmp_path: Path, program: str, up_to: int, first: int | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        compiled_run(program, (1, 20), up_to, first, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
