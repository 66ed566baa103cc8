"""``lengthlens`` without a command, and what it says comes next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.cli.main import COMMANDS, app, next_step
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task


def said(words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", ["lengthlens", *words])
    with pytest.raises(SystemExit) as left:
        app()
    assert left.value.code in (0, None)
    return capsys.readouterr().out


def test_it_says_its_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(["--version"], capsys, monkeypatch) == f"lengthlens {workbench.__version__}\n"


def test_alone_it_lists_its_commands_and_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = said([], capsys, monkeypatch)
    assert all(name in text for name in COMMANDS)
    assert text.splitlines()[-1].startswith("Next: lengthlens gallery")


def test_what_comes_next_hangs_on_what_a_folder_holds(tmp_path: Path, make_run: Any) -> None:
    assert next_step(tmp_path / "nothing").startswith("lengthlens gallery")
    run = make_run(majority(), make_task("majority"), trained=7, steps=(0,))
    folder = Path(run.path).parent
    assert next_step(folder) == f"lengthlens measure {folder}"
    (run.path / "measurements").mkdir()
    assert next_step(folder) == f"lengthlens app {folder}"
