"""``lengthlens new task``: what it writes works, and its test passes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from workbench.cli.commands.new import new
from workbench.cli.errors import UsageError
from workbench.tasks import make_task


def test_what_it_writes_is_a_task_and_its_test_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new("task", "first_seen", tmp_path)
    assert capsys.readouterr().out.endswith(
        f"Next: lengthlens tasks --check {tmp_path}/first_seen.py:FirstSeen, "
        f"then lengthlens train {tmp_path}/first_seen.py:FirstSeen\n"
    )
    assert make_task(f"{tmp_path}/first_seen.py:FirstSeen").name == "first_seen"
    monkeypatch.syspath_prepend(tmp_path)
    try:
        written = importlib.import_module("test_first_seen")
        tests = [one for name, one in vars(written).items() if name.startswith("test_")]
        assert len(tests) == 2
        for test in tests:
            test()
    finally:
        for name in ("first_seen", "test_first_seen"):
            sys.modules.pop(name, None)
    with pytest.raises(UsageError, match=r"first_seen\.py"):
        new("task", "first_seen", tmp_path)


@pytest.mark.parametrize(
    ("what", "name", "sentence"),
    [
        ("probe", "mine", "'probe'"),
        ("task", "Mine", "the name of a task takes small letters, digits and _, e.g. my_task, not 'Mine'"),
        ("task", "parity", "parity"),
        ("task", "torch", "module"),
    ],
)
def test_what_cannot_be_written_is_said(what: str, name: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=sentence):
        new(what, name, tmp_path)
    assert list(tmp_path.iterdir()) == []
