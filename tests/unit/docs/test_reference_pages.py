"""Reference pages agree with the code: commands and tasks, which are generated, and file formats and limits."""

from __future__ import annotations

import re
import shlex
from importlib import import_module

import pytest
import typer

from docs.cli_page import EXAMPLES, cli_page, first_sentence
from docs.tasks_page import example_of, tasks_page
from tests.support.places import ROOT
from workbench.cli.main import COMMANDS, app
from workbench.runs.log import COLUMNS as LOG_COLUMNS
from workbench.table.schema import COLUMNS, SCHEMA_VERSION, STATUSES
from workbench.tasks import task_names
from workbench.tasks.registry import find_task

FORMATS = (ROOT / "docs" / "file_formats.md").read_text()
LIMITS = re.findall(r"^\| .+ \| ([\d,]+) \| `([^`]+)` \|$", (ROOT / "docs" / "limits.md").read_text(), re.MULTILINE)
GROUP = typer.main.get_command(app)


def section(name: str) -> str:
    return cli_page().split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_help_its_options_and_an_example_that_it_takes(name: str) -> None:
    assert isinstance(GROUP, typer.core.TyperGroup)
    command, text = GROUP.commands[name], section(name)
    assert first_sentence(command.help) in " ".join(text.split())
    for parameter in command.params:
        if not parameter.hidden and parameter.param_type_name == "option" and parameter.name != "help":
            assert all(f"`{option}`" in text for option in parameter.opts), parameter.name
    program, called, *given = shlex.split(EXAMPLES[name])
    assert (program, called) == ("lengthlens", name)
    command.make_context(name, given)


def test_defaults_have_their_own_column() -> None:
    assert re.search(r"^\| `--steps` \| integer \| [^|]+ \| `2000` \|$", section("train"), re.MULTILINE)
    assert re.search(r"^\| `--workers` \| integer \| [^|]+ \| one per core \|$", section("measure"), re.MULTILINE)


def test_every_task_is_listed_with_an_example() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [^|]+\S \| `", tasks_page().replace("\\|", ""), re.MULTILINE)
    assert sorted(listed) == sorted(task_names())


def test_answers_are_those_of_the_example() -> None:
    tokens, answers = example_of(find_task("parity")())
    ones = 0
    for token, answer in zip(tokens.split(), answers.split(), strict=True):
        ones += token == "1"
        assert answer == ("odd" if ones % 2 else "even")


def test_file_formats_lists_every_column_and_status() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|.*\| (yes)? ?\|$", FORMATS, re.MULTILINE)
    listed = {name: bool(identifies) for names, identifies in cells for name in re.findall(r"`(\w+)`", names)}
    assert listed == {column.name: column.identifies for column in COLUMNS}
    assert all(f"`{status}`" in FORMATS for status in STATUSES)
    assert all(f"`{column}`" in FORMATS for column in LOG_COLUMNS)
    assert f"`schema_version`, now {SCHEMA_VERSION}" in FORMATS


@pytest.mark.parametrize(("value", "constant"), LIMITS, ids=[constant for _, constant in LIMITS])
def test_a_limit_is_the_number_in_the_code(value: str, constant: str) -> None:
    match = re.fullmatch(r"([\w.]+)\.([A-Z_]+)(?:\[(-?\d)\])?(?: >> (\d+))?", constant)
    assert match is not None
    number = getattr(import_module(match[1]), match[2])
    number = number[int(match[3])] if match[3] else number
    assert int(value.replace(",", "")) == (number >> int(match[4]) if match[4] else number)


def test_limits_are_found() -> None:
    assert len(LIMITS) > 20
