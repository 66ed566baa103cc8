"""The numbers that tasks, trainings, measurements and diagnoses are defined by, as they stand in their modules.

What a stored row or a string of a seed means hangs on them. After a deliberate change, with a new version of the
measurement, or a new name of the law, ``python -m tests.support.freeze_constants`` writes them anew.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from tests.support.places import ROOT

FILE = Path(__file__).with_name("frozen_constants.json")
ROOMS = (
    "workbench/tasks",
    "workbench/models",
    "workbench/training",
    "workbench/measure",
    "workbench/diagnosis",
    "workbench/core",
    "workbench/storage",
    "workbench/table",
    "workbench/runs",
    "workbench/theory",
    "workbench/claims/exact",
    "workbench/claims/trained",
    "probes",
    "circuits",
)


LONGEST = 120
"""Characters of an expression that is held as it is written; of a longer one its numbers are."""


def table() -> dict[str, dict[str, object]]:
    """Module -> its constants, fields of classes and arguments of functions, with the numbers that they are by default.

    Of a field these are its default and its bounds, in the order in which they are written; of what is computed, how.
    """
    found: dict[str, dict[str, object]] = {}
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        numbers = dict(_numbers(ast.parse(path.read_text()), ""))
        if numbers:
            found[str(path.relative_to(ROOT))] = numbers
    return found


def _numbers(tree: ast.Module | ast.ClassDef, within: str) -> Iterator[tuple[str, object]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _numbers(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield from _defaults(node, within)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = _held(node.value, field=bool(within))
            if value is not None and isinstance(target, ast.Name | ast.Tuple):
                yield within + ast.unparse(target), value


def _held(node: ast.expr, field: bool = False) -> object:
    """What is held of an expression; None of one without numbers."""
    written = [one.value for one in ast.walk(node) if _is_number(one)]
    if not written:
        return None
    if isinstance(node, ast.Constant):
        return written[0]
    if isinstance(node, ast.Call) and field:
        return written
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else written


def _defaults(node: ast.FunctionDef, within: str) -> Iterator[tuple[str, object]]:
    arguments = [*node.args.posonlyargs, *node.args.args]
    given = [*zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True)]
    given += [(one, value) for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value]
    for argument, value in given:
        held = _held(value)
        if held is not None:
            yield f"{within}{node.name}({argument.arg})", held


def _is_number(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n")
