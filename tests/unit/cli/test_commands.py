"""The commands: a file each, its signature beside its body; collecting them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workbench.cli import commands
from workbench.cli.main import COMMANDS, app

HEAVY = {"torch", "transformer_lens", "numpy", "pandas", "pyarrow", "duckdb", "pydantic", "dash", "plotly", "yaml"}


def test_a_command_is_a_file_with_its_signature() -> None:
    files = {file.stem for file in Path(str(commands.__file__)).parent.rglob("*.py")} - {"__init__"}
    assert files == set(COMMANDS)
    for name, function in COMMANDS.items():
        assert function.__module__.startswith("workbench.cli.commands.")
        assert function.__module__.endswith(f".{name}")
        assert function.__doc__
    assert [command.name for command in app.registered_commands] == list(COMMANDS)


def test_collecting_the_commands_loads_nothing_heavy() -> None:
    code = f"import sys, workbench.cli.main\nfound = {HEAVY!r} & set(sys.modules)\nassert not found, found"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
