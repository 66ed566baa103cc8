"""The log file of the command line: bounded, never waited for, and told of; and ``--debug`` wherever it stands."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from tests.support import planted
from workbench.cli import error_log
from workbench.cli.error_log import Tracebacks, debug_option, log_path
from workbench.cli.errors import DEFECT, exit_status
from workbench.core.errors import LensError
from workbench.core.failures import DEBUG


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(DEBUG, raising=False)


def record(text: str = "it failed", level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord("lengthlens.cli", level, "", 0, text, None, None)


def test_a_defect_ends_a_command_in_one_sentence_with_its_place_and_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_status(planted.of_ours()) == DEFECT == 70
    said = capsys.readouterr().err
    hint = f"run again with --debug to see where; the traceback is in {log_path()}"
    assert said == f"error: {planted.DEFECT}; {hint}\n"
    assert "Traceback" in log_path().read_text()


def test_an_error_for_readers_writes_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise LensError("mend it so")

    assert exit_status(refuse) == 2
    assert capsys.readouterr().err == "error: mend it so\n"
    assert not log_path().exists()


@pytest.mark.parametrize(
    "words", [["--debug", "measure", "a"], ["measure", "--debug", "a"], ["measure", "a", "--debug"]]
)
def test_debug_is_taken_out_wherever_it_stands(words: list[str]) -> None:
    typed = ["lengthlens", *words]
    with debug_option(typed):
        assert typed == ["lengthlens", "measure", "a"]
        assert os.environ[DEBUG] == "1"
    assert DEBUG not in os.environ


def test_what_follows_two_dashes_is_no_option() -> None:
    typed = ["lengthlens", "measure", "--", "--debug"]
    with debug_option(typed):
        assert typed[-1] == "--debug"
        assert DEBUG not in os.environ


@pytest.mark.parametrize("error", [KeyError("x"), LensError("mend it so"), FileNotFoundError(2, "gone")])
def test_debug_raises_whatever_ends_the_command(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["lengthlens", "--debug"])
    with pytest.raises(type(error)):
        exit_status(fails)
    assert not log_path().exists()


def test_help_names_the_option(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.cli.main import main

    monkeypatch.setattr(sys, "argv", ["lengthlens", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert "--debug" in capsys.readouterr().out


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_log, "LIMIT", 1000)
    monkeypatch.setattr(error_log, "LONGEST_RECORD", 300)
    kept = Tracebacks(tmp_path / "a" / "log")
    for number in range(50):
        kept.handle(record(f"{number} {'x' * 1000}"))
    assert {path.name for path in (tmp_path / "a").iterdir()} <= {"log", "log.1"}
    assert all(path.stat().st_size <= 1301 for path in (tmp_path / "a").iterdir())


def test_a_pipe_a_link_or_a_folder_in_its_place_is_left_alone(tmp_path: Path) -> None:
    """A pipe that nobody reads would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for place in ("pipe", "link", "folder", "file/log"):
        kept = Tracebacks(tmp_path / place)
        kept.handle(record())
        assert not kept.written
        assert kept.hint() == "run again with --debug to see where"
    assert (tmp_path / "target").read_text() == ""


def test_the_hint_is_given_once_and_only_where_code_has_to_be_mended(tmp_path: Path) -> None:
    kept = Tracebacks(tmp_path / "log")
    kept.handle(record("the disk is gone", logging.WARNING))
    assert (kept.hint(), kept.written) == ("", True)
    kept.handle(record())
    assert kept.hint().endswith(str(tmp_path / "log"))
    assert kept.hint() == ""


@pytest.mark.parametrize(
    ("state", "starts"), [("/x/y", "/x/y/"), ("", str(Path.home())), ("relative", str(Path.home()))]
)
def test_the_log_lies_in_the_users_folder_of_state(monkeypatch: pytest.MonkeyPatch, state: str, starts: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert str(log_path()).startswith(starts)
    assert log_path().parts[-2:] == ("lengthlens", "lengthlens.log")
