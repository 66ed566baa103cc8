"""Which quantities a test asserts by value: ``@pytest.mark.asserts("skill", "accuracy")``, and the proof that it does.

``pytest --perturb`` runs every marked test once for each of its quantities with the values of that quantity's rows
changed, and fails where the test does not notice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
_changed: list[str] = []
"""The quantity whose rows are changed, while one is."""


def marked(folder: Path = TESTS) -> Iterator[tuple[str, str]]:
    """(quantity, test) of all marks in the files of tests, without importing any."""
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.parse(file.read_text()).body:
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.asserts":
                    for quantity in mark.args:
                        yield ast.literal_eval(quantity), f"{file.relative_to(folder)}::{node.name}"


def changed(row: dict[str, Any]) -> dict[str, Any]:
    """The row with another value, where it is of the quantity that is changed."""
    if row["quantity"] not in _changed:
        return row
    value = row["value"]
    return {**row, "value": None if value is None else -value - 0.37, "label": row["label"] and row["label"] + "!"}


def install() -> None:
    """Have rows be changed; before any module takes ``row`` from the schema."""
    from workbench.table import schema

    own = schema.row
    schema.row = lambda **fields: changed(own(**fields))  # type: ignore[assignment]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One run of a marked test for each of its quantities."""
    quantities = [quantity for mark in metafunc.definition.iter_markers("asserts") for quantity in mark.args]
    if quantities:
        metafunc.parametrize("perturbed", quantities, indirect=True)


@pytest.fixture(autouse=True)
def perturbed(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--perturb``, rows of one quantity have other values while the test runs."""
    _changed[:] = [request.param] if hasattr(request, "param") else []
    yield
    _changed.clear()
