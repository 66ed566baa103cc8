"""Shares of one plan as processes that know nothing of each other: whatever order and kills, the bits of one process."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.campaign.faults import Fault
from tests.campaign.forked import Ended, lengthlens, start, warm
from tests.support.jobs.same_bits import rows, weights
from workbench.table import Table

SWEEP = """
base: {lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: 40,
       training.checkpoints.log: 1, training.checkpoints.linear: 1}
grid:
  task: [majority, parity]
  positions: [none, learned, rotary]
  seed: [0, 1]
measure: {only: [behaviour], sequences: 16}
"""
SHARES = 8
CELLS = 12


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warm()
    file = tmp_path_factory.mktemp("shards") / "study.yaml"
    file.write_text(SWEEP)
    return file


@pytest.fixture(scope="module")
def whole(file: Path) -> Path:
    """The runs of one process that does it all."""
    root = file.parent / "whole"
    ended = lengthlens(["sweep", file, "--out", root, "--executor", "serial"], root)
    assert ended.status == 0, ended.said
    return root


def test_shares_in_any_order_and_some_killed_end_with_the_bits_of_one_process(file: Path, whole: Path) -> None:
    root, dice = file.parent / "shares", random.Random(0)
    root.mkdir()
    waiting = list(range(1, SHARES + 1))
    dice.shuffle(waiting)
    killed: set[int] = set()
    deaths = 0
    while waiting:
        # Two at a time; each of the first four dies once, somewhere in training, measuring or writing.
        now, waiting = waiting[:2], waiting[2:]
        faults = [Fault("SIGKILL", dice.randrange(4, 40)) if k not in killed and len(killed) < 4 else None for k in now]
        killed |= {k for k, fault in zip(now, faults, strict=True) if fault}
        children = [start(words(file, root, k), root, fault) for k, fault in zip(now, faults, strict=True)]
        for k, ended in zip(now, [child.end() for child in children], strict=True):
            assert ended.status in (0, -9), ended.said
            if ended.status:
                deaths += 1
                waiting.insert(dice.randrange(len(waiting) + 1), k)
    assert deaths >= 3
    assert weights(root) == weights(whole)
    assert len(list(root.iterdir())) == CELLS
    pd.testing.assert_frame_equal(rows(root), rows(whole), check_exact=True)


def words(file: Path, root: Path, number: int) -> list[object]:
    return ["sweep", file, "--out", root, "--executor", "serial", "--shard", f"{number}/{SHARES}"]


def test_shares_of_measuring_go_checkpoint_by_checkpoint(whole: Path) -> None:
    """Several processes measure one run; together they do all of it, each item once."""
    more = ["measure", whole, "--only", "behaviour.invariance", "--sequences", 16, "--executor", "serial"]
    done: list[Ended] = [child.end() for child in [start([*more, "--shard", f"{k}/3"], whole) for k in (2, 3, 1)]]
    assert [ended.status for ended in done] == [0, 0, 0], done
    measured = [int(re.findall(r"(\d+) of \d+ checkpoints? measured", ended.said)[0]) for ended in done]
    steps = len(list(whole.glob("*/steps/*")))
    assert sum(measured) == steps
    assert all(measured)
    last = lengthlens(more, whole)
    assert "Nothing left to measure in" in last.said
    frame = Table.load(whole).frame(measurement="behaviour.invariance")
    assert frame.groupby(["run", "step"]).ngroups == steps
