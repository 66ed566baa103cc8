"""A new column of the row format is one entry, and no list of columns lets two different measurements look the same."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT
from tests.support.two_rows import told_apart
from workbench.table.schema import COLUMNS, FIELDS, IDENTIFYING, LAST, SEPARATING, row

FIXED = ("run", "step", "length", "measurement", "quantity", "setting")
"""Identifying columns of which a figure shows one value, or has an axis."""


def test_every_identifying_column_separates_lines_or_is_fixed() -> None:
    assert set(SEPARATING) | set(FIXED) == set(IDENTIFYING)
    assert not set(SEPARATING) & set(FIXED)
    ranks = [FIELDS[name].separates or 0 for name in SEPARATING]
    assert all(a < b or a == b == LAST for a, b in pairwise(ranks)), "only new columns share a rank, the last"


@pytest.mark.parametrize("column", SEPARATING)
def test_two_rows_that_differ_in_an_identifying_column_are_two(column: str) -> None:
    assert told_apart(column, ("one", "two") if COLUMNS[0].type == FIELDS[column].type else (1, 2)) == []


def test_a_row_has_a_value_in_every_column() -> None:
    assert list(row(run="r", step=1, measurement="m", quantity="q")) == [column.name for column in COLUMNS]


@pytest.mark.parametrize(("kind", "values"), [("string", '("one", "two")'), ("int32", "(1, 2)")])
def test_a_new_column_is_one_entry(kind: str, values: str) -> None:
    """The schema is read with one entry more, before anything else is imported."""
    code = f"""
import sys, types
from pathlib import Path
path = Path("workbench/table/schema.py")
entry = 'Column("prompt", pa.{kind}(), {'""' if kind == "string" else None}, "id of a prompt", identifies=True, since=3),'
before = '    Column("value", '
text = path.read_text()
assert text.count(before) == 1
module = sys.modules["workbench.table.schema"] = types.ModuleType("workbench.table.schema")
text = text.replace(before, f"    {{entry}}" + chr(10) + before)
exec(compile(text, str(path), "exec"), vars(module))
from tests.support.two_rows import told_apart
print(told_apart("prompt", {values}), module.SCHEMA_VERSION)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, cwd=ROOT)
    assert (done.stdout, done.returncode) == ("[] 3\n", 0), done.stderr
