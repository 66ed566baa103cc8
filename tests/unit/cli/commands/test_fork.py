"""``lengthlens fork``: names, states and refusals of forks, and forks that are trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.training.training import config, hashes
from workbench.cli.commands.fork import changed_settings
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.runs import Run
from workbench.training.trainer import Trainer


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Trainer(config(), tmp_path_factory.mktemp("fork") / "majority").run()


def forked(parent: Run, *options: str) -> Any:
    return CliRunner().invoke(app, ["fork", str(parent.path), "--executor", "serial", *options])


def refusal(parent: Run, *options: str) -> str:
    result = forked(parent, *options)
    assert result.exit_code != 0, result.output
    return " ".join(f"{result.output} {result.exception}".split())


def test_forks_are_trained_once_and_found_again(parent: Run, tmp_path: Path) -> None:
    step = str(parent.steps[-2])
    options = ["--at", step, "--children", "2", "--out", str(tmp_path)]
    first = forked(parent, *options)
    assert first.exit_code == 0, first.output
    assert "2 forks of majority: 2 trained now, 0 existed already." in first.output
    own = 2 * (parent.steps[-1] - int(step))
    assert f"training: {own}/{own} steps" in first.output, "steps before the fork are not counted"
    runs = [Run.open(tmp_path / f"majority-fork{step}-{child}") for child in (1, 2)]
    assert all(run.finished and run.config["training"]["fork"]["run"] == parent.id for run in runs)
    assert hashes(runs[0])[12] != hashes(runs[1])[12]
    shown = " ".join(CliRunner().invoke(app, ["info", str(runs[0].path)]).output.split())
    assert f"fork: the first {step} steps are those of run {parent.id}" in shown
    again = forked(parent, *options, "--dry-run")
    assert "2 forks of majority, 0 to be trained; nothing was done." in again.output
    assert f"majority-fork{step}-1: trained" in again.output


def test_a_changed_distribution_has_names_of_its_own(parent: Run, tmp_path: Path) -> None:
    step = str(parent.steps[-2])
    options = ["--at", step, "--children", "1", "--out", str(tmp_path), "--dry-run"]
    plain, changed, named = (
        forked(parent, *options, *more).output
        for more in ([], ["--lengths", "1-12"], ["--lengths", "1-12", "--label", "longer"])
    )
    assert f"majority-fork{step}-1: not trained" in plain
    assert f"majority-fork{step}-changed-1: not trained" in changed
    assert f"majority-fork{step}-longer-1: not trained" in named


def test_a_folder_of_another_fork_is_refused(parent: Run, tmp_path: Path) -> None:
    step = str(parent.steps[-2])
    options = ["--at", step, "--children", "1", "--out", str(tmp_path), "--label", "x"]
    assert forked(parent, *options, "--lengths", "1-11").exit_code == 0
    assert "contains another run" in refusal(parent, *options, "--lengths", "1-12")


@pytest.mark.parametrize(("options", "reason"), [
    (["--at", "5"], "no checkpoint at step 5"),
    (["--at", "twelve"], "--at takes whole numbers"),
    (["--at", "6", "--label", "a/b"], "--label takes letters"),
    (["--at", "6", "--children", "1000", "--at", "6,12"], "at most 1,000"),
    (["--at", "6", "--set", "training.steps=9"], "training.curriculum.NAME=VALUE"),
    (["--at", "6", "--curriculum", "growin"], "growing"),
])  # fmt: skip
def test_impossible_forks_are_refused_in_a_sentence(parent: Run, options: list[str], reason: str) -> None:
    assert reason in refusal(parent, *options)


def test_options_of_the_distribution_become_its_settings() -> None:
    settings = changed_settings("2-9", "few_long", ["training.curriculum.share=0.5"])
    assert settings == [("law", "few_long"), ("low", 2), ("high", 9), ("share", 0.5)]
    assert changed_settings(None, None, []) == []
    with pytest.raises(UsageError, match=r"task\.p"):
        changed_settings(None, None, ["task.p=3"])
