"""The numbers that tasks, trainings, measurements and diagnoses are defined by, as they stand in their modules.

What a stored row or a string of a seed means hangs on them. After a deliberate change, with a new version of the
measurement, or a new name of the law, ``python -m tests.support.freeze_constants`` writes them anew.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tests.support.places import ROOT

FILE = Path(__file__).with_name("frozen_constants.json")
ROOMS = ("workbench/tasks", "workbench/training", "workbench/measure", "workbench/diagnosis", "probes", "circuits")


def table() -> dict[str, dict[str, int | float]]:
    """Module -> its public and private constants that are written as a number."""
    found: dict[str, dict[str, int | float]] = {}
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        numbers = {}
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and isinstance(node.value.value, int | float):
                    numbers[target.id] = node.value.value
        if numbers:
            found[str(path.relative_to(ROOT))] = numbers
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n")
