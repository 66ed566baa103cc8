"""Shell lines of README and docs are ones that the real command line takes: commands, options, values, names."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.places import ROOT
from tests.support.training.small_model import stub_text
from workbench.claims.suites.registry import claims_named
from workbench.cli import measure_plan, run_config
from workbench.cli.commands import measure as measuring
from workbench.cli.error_log import debug_option
from workbench.cli.guesses import ALIASES
from workbench.cli.main import app
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.measure.known_measurements import BUILT_IN
from workbench.tasks import task_names

PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples" / "lengthlens-plugin" / "README.md",
]  # fmt: skip
PLUGIN = {"same_ends", "window", "example.confidence"}
"""What examples/lengthlens-plugin adds; its own test installs and uses it."""
COMMAND = typer.main.get_command(app)


class Built(Exception):
    """A training's settings are whole; it is not begun."""


def lines(page: Path) -> Iterator[str]:
    """The shell lines of a page: fenced without a language or as a console, and indented ones."""
    text = page.read_text()
    blocks = re.findall(r"^```(?:|console|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"^ {4}((?:lengthlens|python|make) .*\n)", outside, re.MULTILINE)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            yield re.sub(r"^\s*until (.*?);.*", r"\1", line).strip()


def of(*beginnings: str) -> list[Any]:
    """Each different line that begins so, with the page that has it first."""
    found = {line: page for page in reversed(PAGES) for line in lines(page) if line.startswith(beginnings)}
    return [pytest.param(line, id=f"{page.name}: {line[:60]}") for line, page in found.items()]


def test_lines_are_found() -> None:
    assert len(of("lengthlens ")) > 50


@pytest.mark.parametrize("line", of("lengthlens ", ".venv/bin/lengthlens "))
def test_the_command_line_takes_it(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line, comments=True)
    with debug_option(words):
        name, *given = [*ALIASES.get(words[1], (words[1],)), *words[2:]]
    assert isinstance(COMMAND, typer.core.TyperGroup)
    command = COMMAND.commands[name]
    context = command.make_context(name, list(given))
    known = {key: value for key, value in context.params.items() if value}
    if text := re.search(r"task\.folder=(\S+)", line):
        monkeypatch.chdir(tmp_path)
        stub_text(Path(text[1]))
    if name == "train" and not PLUGIN & set(words) and ".py:" not in line:
        build = run_config.build

        def built(*arguments: Any) -> None:
            build(*arguments)
            raise Built

        monkeypatch.setattr(run_config, "build", built)
        with pytest.raises(Built), context:
            command.invoke(context)
    if name == "sweep" and not str(known["file"]).startswith("study"):
        assert find_sweep(Path(known["file"])).exists()
    if name == "reproduce":
        assert all(list(claims_named(one)) for one in known.get("names", ()))
    if name in ("tasks", "predict") and (task := known.get("task") or known.get("name")):
        assert ".py:" in task or task.startswith("checkpoints/") or task in {*task_names(), *PLUGIN, "NAME"}
    only = {
        one for one in known.get("only", ()) if not any(one.endswith(".") and full.startswith(one) for full in BUILT_IN)
    }
    assert only <= {*BUILT_IN, *PLUGIN}


@pytest.mark.parametrize("line", of("python -m ", "python docs/", "python app.py"))
def test_the_module_is_there_and_takes_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line, comments=True)
    if words[1] != "-m":
        assert (ROOT / words[1]).is_file()
        return
    assert importlib.util.find_spec(words[2]) is not None
    if words[2] not in ("probes", "circuits"):
        return
    taken: list[tuple[Any, ...]] = []
    monkeypatch.setattr(measure_plan, "measure_with_progress", lambda *given: taken.append(given))
    monkeypatch.setattr(measuring, "refuse_early", lambda *given: None)
    monkeypatch.setattr("sys.argv", words[2:])
    with pytest.raises(SystemExit) as ended:
        measuring.run_for_package(words[2])
    assert (ended.value.code, len(taken)) == (0, 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_and_options_named_in_passing_are_there(page: Path) -> None:
    """``make X`` in shell lines, and options of commands within the text."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {line.split()[1] for line in lines(page) if line.startswith("make ")}
    assert called <= targets
    assert isinstance(COMMAND, typer.core.TyperGroup)
    outside = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for line in re.findall(r"`lengthlens ([^`]+)`", outside):
        name, *given = line.split()
        assert name in COMMAND.commands or name.startswith("-"), line
        if name in COMMAND.commands:
            offered = {option for one in COMMAND.commands[name].params for option in (*one.opts, *one.secondary_opts)}
            assert {word.partition("=")[0] for word in given if word.startswith("-")} <= {*offered, "--help"}, line
