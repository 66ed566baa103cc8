"""The tables of docs/other_machines.md say what the rows say, of every seed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from tests.support.places import ROOT
from tests.support.scripts import script

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return script("other_machines_table")


def rows(verdict: str, accuracies: dict[int, float]) -> pd.DataFrame:
    shared: dict[str, Any] = {"run": "r", "mode": "teacher_forced", "law": "matched", "status": "ok", "label": ""}
    made = [{**shared, "quantity": "accuracy", "length": n, "value": v} for n, v in accuracies.items()]
    made.append({**shared, "quantity": "loss", "length": 64, "value": 2e-5})
    made.append({**shared, "quantity": "verdict", "label": verdict, "mode": "", "law": ""})
    return pd.DataFrame(made)


def test_a_cell_tells_the_worst_and_the_best_seed(tables: ModuleType) -> None:
    frames = {0: rows("undecided", {64: 1.0, 129: 0.9}), 1: rows("scale-robust", {64: 1.0, 129: 0.99})}
    cell = tables.Cell(("parity", "signed"), 64, frames)
    assert cell.at("matched", 1) == "1.00"
    assert cell.at("matched", 2) == "0.90 to 0.99"  # the next admissible length
    assert cell.loss() == "2e-05"
    assert cell.verdicts() == "1 undecided, 1 scale-robust"


def test_a_length_that_some_seed_was_not_measured_at_is_left_empty(tables: ModuleType) -> None:
    frames = {0: rows("undecided", {64: 1.0, 256: 0.9}), 1: rows("undecided", {64: 1.0})}
    cell = tables.Cell(("parity", "signed"), 64, frames)
    assert cell.at("matched", 4) == ""
    assert cell.at("challenge", 1) == ""
    assert cell.at("matched", 2) == "", "an accuracy at 4 N is none at 2 N"


def test_rows_that_are_there_twice_are_refused(tables: ModuleType) -> None:
    frame = rows("undecided", {64: 1.0})
    with pytest.raises(SystemExit, match="2 rows"):
        tables.Cell(("parity",), 64, {0: pd.concat([frame, frame])}).verdicts()


def test_only_what_stands_between_the_comments_changes(tables: ModuleType) -> None:
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert tables.rewritten(page, "x", "| new |") == "a\n<!-- x -->\n| new |\n<!-- end of x -->\nb\n"
    with pytest.raises(SystemExit, match="table"):
        tables.rewritten(page, "y", "")


def test_the_page_has_a_place_for_every_table(tables: ModuleType) -> None:
    page = (DOCS / "other_machines.md").read_text(encoding="utf-8")
    for name in tables.TABLES:
        tables.rewritten(page, name, "")
