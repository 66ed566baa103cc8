"""The line of blocks that ends ``lengthlens reproduce NAME``: every seed that enters, on its side of the bar."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.claims.committed import FOLDER
from tests.unit.claims.test_judging import TRAINED, runs, several
from workbench.claims.claim import Condition, Row
from workbench.claims.seed_blocks import BLOCKS, MOST_LINES, block_lines
from workbench.cli.commands.reproduce import reproduce as command


def test_seeds_stand_on_their_side_of_the_bar_as_high_as_their_values() -> None:
    rows = runs((0.99, 1.0), (0.0, 0.0), (0.5, 0.5), (0.97, 0.97), fitted=(True, True, True, False))
    (line,) = block_lines(TRAINED, rows)
    assert line == "b1 >= 0.95, fails below 0.75: ▁▅│█  1 of 3 seeds on its side; values 0 to 0.995"
    (exempt,) = block_lines(replace(TRAINED, exempt=True), rows)
    assert exempt.endswith("▁▅│██  2 of 4 seeds on its side; values 0 to 0.995")
    (none,) = block_lines(TRAINED, runs((0.9, 1.0), fitted=(False,)))
    assert none == "b1 >= 0.95, fails below 0.75: no fitted seed"


def test_pairs_have_blocks_and_numbers_without_single_seeds_have_none() -> None:
    pairs = replace(several("a less b", 0.1, 0.2, 3, 3), each=(-1.0, 0.0, 1.0))
    claim = replace(TRAINED, conditions=(Condition("b1", at_most=0.0),))
    assert block_lines(claim, [pairs]) == ["b1 <= 0, a less b: █│▁▅  2 of 3 seeds on its side; values -1 to 1"]
    assert block_lines(claim, [several("", 0.1, 0.2, 9, 9), Row("b1", "exact", 0.1)]) == []


def test_of_many_items_the_first_are_shown() -> None:
    rows = [replace(row, item=f"item {i}") for i in range(MOST_LINES + 2) for row in runs((0.9, 1.0))]
    lines = block_lines(TRAINED, rows)
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, "and 2 more, in the page of its suite")


@pytest.mark.parametrize("name", ["HF01", "HF19"])
def test_the_command_ends_with_the_seeds_of_a_claim(name: str, capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    for file in ("claims.parquet", "runs.parquet"):
        (tmp_path / file).write_bytes((FOLDER / file).read_bytes())
    command(names=[name], out=tmp_path, executor="serial")
    shown = capsys.readouterr().out
    assert "Seeds to the right of | support the claim." in shown
    assert "│" in shown
    assert set(BLOCKS) & set(shown)
