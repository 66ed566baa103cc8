"""Take workers of a Dask cluster away while they train and measure: is it all done in the end, to the same bits?

    python -m tests.campaign.taken_workers [--workers-killed 60] [--seed 0]

Runs the same small sweep again and again on a cluster of separate processes (forked, for importing torch would take
most of the time), kills workers at random moments and starts
others in their place, gives the command again where it named an item as lost twice, and compares all weights and rows
with those of one process. The exit status is 1 on any difference.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from tests.campaign.forked import lengthlens, start, warm
from tests.support.jobs.cluster import Cluster, ForkedCluster, cluster_of
from tests.support.jobs.same_bits import rows, weights

SWEEP = """
base: {lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: 150,
       training.checkpoints.log: 1, training.checkpoints.linear: 2}
grid:
  task: [majority, parity]
  positions: [none, learned]
  seed: [0, 1]
measure: {only: [behaviour], sequences: 16}
"""
MOST_COMMANDS = 20
LIMIT_S = 900.0
TWICE = "its worker was lost twice"


@dataclass
class Taken:
    """What happened to one sweep.

    Attributes:
        training: workers killed before the first measurement was written.
        measuring: workers killed since.
        commands: how often the command was given.
        wrong: what is wrong with its end, or "".
    """

    training: int = 0
    measuring: int = 0
    commands: int = 0
    wrong: str = ""


def warm_all() -> None:
    """Import here what commands and workers would import there."""
    warm()
    import_module("distributed.cli.dask_worker")


def words(file: Path, root: Path, executor: str) -> list[object]:
    """The command line of the sweep."""
    return ["sweep", file, "--out", root, "--executor", executor]


def sweep_taking(
    cluster: Cluster, file: Path, root: Path, dice: random.Random, deaths: int, pause: tuple[float, float] = (0.1, 4.0)
) -> Taken:
    """Run a sweep to its end while workers are killed, at most so many of them.

    Args:
        cluster: with its workers.
        file: the sweep.
        root: the folder of its runs.
        dice: when, and which worker.
        deaths: how many workers to kill; the last ones are kept for measuring.
        pause: seconds between one death and the next, at least and at most.
    """
    found = Taken()
    while found.commands < MOST_COMMANDS:
        found.commands += 1
        child = start(words(file, root, f"dask={cluster.address}"), root)
        begun = time.monotonic()
        while not child.ended():
            if time.monotonic() - begun > LIMIT_S:
                os.kill(child.pid, signal.SIGKILL)
                found.wrong = f"it was still at work after {LIMIT_S} s"
            measuring = any(root.glob("*/measurements/*/*.parquet"))
            late = found.measuring < deaths - deaths // 2 if measuring else found.training < deaths // 2
            if late and (busy := cluster.busy()):
                time.sleep(dice.uniform(*pause))
                cluster.worker()
                cluster.kill(dice.choice(busy))
                if measuring:
                    found.measuring += 1
                else:
                    found.training += 1
            time.sleep(0.02)
        ended = child.end()
        if ended.status == 0 or found.wrong:
            return found
        if ended.status != 1 or TWICE not in ended.said:
            found.wrong = f"it ended with status {ended.status}: {ended.said[-1500:]}"
            return found
    found.wrong = f"it was not done after {MOST_COMMANDS} commands"
    return found


def differing(root: Path, whole: Path) -> str:
    """In what the runs differ from those of one process, or ""."""
    if weights(root) != weights(whole):
        return "weights differ"
    try:
        pd.testing.assert_frame_equal(rows(root), rows(whole), check_exact=True)
    except AssertionError as error:
        return f"rows differ: {error}"
    return ""


def main(given: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers-killed", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given)
    dice, begun = random.Random(options.seed), time.monotonic()
    training = measuring = commands = sweeps = misses = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        file, whole, root = folder / "study.yaml", folder / "whole", folder / "runs"
        file.write_text(SWEEP)
        warm_all()
        lengthlens(words(file, whole, "serial"), whole)
        with cluster_of(folder, workers=2, kind=ForkedCluster) as cluster:
            while training + measuring < options.workers_killed:
                taken = sweep_taking(cluster, file, root, dice, deaths=12)
                taken.wrong = taken.wrong or differing(root, whole)
                shutil.rmtree(root)
                training, measuring = training + taken.training, measuring + taken.measuring
                commands, sweeps, misses = commands + taken.commands, sweeps + 1, misses + bool(taken.wrong)
                print(f"{taken}", flush=True)
    print(
        f"{training + measuring} workers killed ({training} in training, {measuring} in measuring) in {sweeps} sweeps of "
        f"{commands} commands: {misses} differ; seed {options.seed}, {time.monotonic() - begun:,.0f} s"
    )
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
