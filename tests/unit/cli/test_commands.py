"""The commands: a file each, its signature beside its body; collecting them loads nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

from workbench.cli import commands
from workbench.cli.main import COMMANDS, app

HEAVY = {"torch", "transformer_lens", "numpy", "pandas", "pyarrow", "duckdb", "pydantic", "dash", "plotly", "yaml"}


def test_a_command_is_a_file_with_its_signature() -> None:
    files = {file.stem for file in Path(str(commands.__file__)).parent.rglob("*.py")} - {"__init__"}
    assert files == set(COMMANDS)
    for name, address in COMMANDS.items():
        module, _, function = address.partition(":")
        assert module.startswith("workbench.cli.commands.")
        assert module.endswith(f".{name}")
        assert getattr(import_module(module), function).__doc__
    group: Any = typer.main.get_command(app)
    assert [command.name for command in group.commands.values()] == list(COMMANDS)


def test_collecting_the_commands_loads_nothing_heavy() -> None:
    code = (
        "import sys, typer.main\nfrom workbench.cli.main import app\n"
        f"dict(typer.main.get_command(app).commands)\nfound = {HEAVY!r} & set(sys.modules)\nassert not found, found"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("train majo", ["majority"]),
        ("train majority --positions ro", ["rotary"]),
        ("train majority --ids random_", ["random_offset", "random_subset"]),
        ("tasks flip", ["flip_flop"]),
        ("adopt somewhere --task flip", ["flip_flop"]),
        ("predict flip", ["flip_flop"]),
        ("sweep gal", ["gallery"]),
        ("reproduce crasp-e", ["crasp-exact"]),
    ],
)
def test_a_shell_completes_names(words: str, wanted: list[str]) -> None:
    asked = {"_LENGTHLENS_COMPLETE": "complete_bash", "COMP_WORDS": f"lengthlens {words}"}
    code = "from workbench.cli.main import app\napp(prog_name='lengthlens')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "COMP_CWORD": str(len(words.split()))},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == wanted, done.stderr
