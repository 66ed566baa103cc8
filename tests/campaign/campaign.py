"""Kill, fill up and damage: does everything go on to the same bits, and is every damage found?

    python -m tests.campaign.campaign [--seed 0] [--workers 2] [--kill-every 3] [--damage-every 1] [--only behaviour ...]
        [--sequences 32]

Trains and measures a tiny model in forked children. One line per kind; the exit status is 1 on any miss.
A command is ended at every operation on a file that it does, and at random times; then it is given again,
and what it leaves is compared with what it leaves undisturbed. Files are truncated, flipped, exchanged
and replaced; then everything is read.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.campaign import batches_damaged, corruptions, kills
from tests.campaign.faults import FILLED, FULL, HALF, Fault
from tests.campaign.forked import lengthlens, warm
from tests.campaign.kills import Undisturbed, Work

RANDOM_TIMES = 12
CHAINS = 4
WITH_WORKERS = 12
SIZES = (10, 500, 4000, 9000, 30000)
"""Largest file sizes in bytes, from one that no lock's text fits to one that no table does."""
SMALL_DISK = "1m"


@dataclass(frozen=True)
class Trial:
    """One experiment: its line in the table, what exactly it is, and its judge, who says what is wrong or ""."""

    line: str
    what: str
    judge: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    line: str
    what: str
    wrong: str


def kill_trials(whole: Undisturbed, dice: random.Random, every: int) -> Iterator[Trial]:
    """Disturbances of one piece of work.

    Args:
        whole: the work undisturbed.
        dice: random times and operations.
        every: kill at one operation in so many; other disturbances come a third as often.
    """
    name, operations = whole.work.name, whole.operations

    def at(kind: str, number: int) -> Trial:
        inside = " inside a write" if operations[number].endswith(HALF) and kind == "SIGKILL" else ""
        what = f"{kind} at operation {number} ({operations[number]})"
        return Trial(f"{name}: {kind}{inside}", what, partial(kills.at_operation, whole, Fault(kind, number)))

    yield from (at("SIGKILL", number) for number in range(dice.randrange(every), len(operations), every))
    for kind in ("SIGTERM", "SIGINT", FULL):
        yield from (at(kind, number) for number in range(dice.randrange(3 * every), len(operations), 3 * every))
    for _ in range(RANDOM_TIMES // every + 1):
        seconds = dice.uniform(0, whole.seconds)
        yield Trial(f"{name}: SIGKILL at a random time", f"{seconds:.3f} s", partial(kills.at_time, whole, seconds))


def training_trials(whole: Undisturbed, dice: random.Random, mounts: bool) -> Iterator[Trial]:
    """Disturbances of training alone: chains of kills, second writers, limits of the system, disks that fill up."""
    for _ in range(CHAINS):
        chain = partial(kills.again_and_again, whole, random.Random(dice.random()))
        yield Trial("training: SIGKILL again and again", "", chain)
    for _ in range(CHAINS):
        at = dice.randrange(5, len(whole.operations) - 5)
        yield Trial("training: second writer", f"at operation {at}", partial(kills.second_writer, whole, at))
    for size in SIZES[:-1]:
        yield Trial("training: file size limit", f"{size} bytes", partial(kills.too_large, whole, size))
    for _ in range(CHAINS if mounts else 0):
        at = dice.randrange(20, len(whole.operations) - 40)
        yield Trial(f"training: {FILLED}", f"at operation {at}", partial(kills.on_small_disk, whole, at, SMALL_DISK))


def kill_campaign(folder: Path, dice: random.Random, mounts: bool, every: int) -> Iterator[Trial]:
    """All disturbances, of training and of measuring."""
    training = kills.undisturbed(Work("training"))
    yield from kill_trials(training, dice, every)
    yield from training_trials(training, dice, mounts)
    trained = folder / "trained"
    lengthlens(training.work.words(trained), trained)
    measuring = kills.undisturbed(Work("measuring", trained))
    yield from kill_trials(measuring, dice, every)
    for _ in range(WITH_WORKERS // every):
        seconds = dice.uniform(5, 20)
        judge = partial(kills.with_workers, measuring, seconds)
        yield Trial("measuring: SIGKILL with workers", f"{seconds:.1f} s", judge)
    for size in SIZES[1:]:
        yield Trial("measuring: file size limit", f"{size} bytes", partial(kills.too_large, measuring, size))


def corruption_campaign(folder: Path, seed: int, every: int) -> Iterator[Trial]:
    """Damages, one in so many: of files, and of folders that are worked on."""
    root = folder / "runs"
    corruptions.make_runs(root)
    whole = corruptions.sound(root)

    def in_folder(judge: Callable[[Path], str]) -> str:
        with tempfile.TemporaryDirectory() as temporary:
            return judge(Path(temporary).resolve())

    for one in corruptions.corruptions(root, seed)[::every]:
        judge = partial(corruptions.judge, one, whole, root)
        yield Trial(f"damage: {one.kind}", f"{one.where}: {', '.join(one.named)}", partial(in_folder, judge))
    for case in list(batches_damaged.damaged(root))[::every]:
        judge = partial(batches_damaged.judge, case, whole, root)
        yield Trial("work beside damage", case.what, partial(in_folder, judge))


_TRIALS: list[Trial] = []


def _tried(number: int) -> Outcome:
    trial = _TRIALS[number]
    try:
        return Outcome(trial.line, trial.what, trial.judge())
    except Exception as error:  # noqa: BLE001 - a trial that breaks the campaign is a miss
        return Outcome(trial.line, trial.what, f"{type(error).__name__}: {error}")


def run(trials: Sequence[Trial], workers: int) -> Iterator[Outcome]:
    """Outcomes as they come; the trials are inherited by forking, and need not travel."""
    _TRIALS[:] = trials
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap_unordered(_tried, range(len(trials)))


def campaign(seed: int, workers: int, kill_every: int, damage_every: int) -> list[Outcome]:
    """Run the trials, and tell of misses as they come.

    Args:
        seed: of places, times and bits.
        workers: processes.
        kill_every: kill at one operation in so many; 0 = no kills.
        damage_every: one damage in so many; 0 = none.
    """
    warm()
    dice = random.Random(seed)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        trials: list[Trial] = []
        if kill_every:
            with kills.small_disk(SMALL_DISK) as disk:
                mounts = disk is not None
            trials += kill_campaign(folder, dice, mounts, kill_every)
            if not mounts:
                print(f"NOT RUN: {FILLED} (needs the right to mount a small disk in memory)")
        if damage_every:
            trials += corruption_campaign(folder, seed, damage_every)
        for outcome in run(trials, workers):
            outcomes.append(outcome)
            if outcome.wrong:
                print(f"MISS {outcome.line}, {outcome.what}: {outcome.wrong[:1000]}", flush=True)
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """One line per kind: trials, and those that went wrong."""
    trials = Counter(outcome.line for outcome in outcomes)
    misses = Counter(outcome.line for outcome in outcomes if outcome.wrong)
    lines = [f"{'':38}{'trials':>8}{'misses':>8}"]
    lines += [f"{line:38}{count:8}{misses[line]:8}" for line, count in sorted(trials.items())]
    return "\n".join([*lines, f"{'all':38}{len(outcomes):8}{sum(misses.values()):8}"])


def main(words: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.campaign", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kill-every", type=int, default=3, help="kill at one operation in so many; 0 = never")
    parser.add_argument("--damage-every", type=int, default=1, help="do one damage in so many; 0 = none")
    parser.add_argument("--only", nargs="+", default=(), help="measurements to make; default: all")
    parser.add_argument("--sequences", type=int, help="strings of each law and length; default: as many as each wants")
    given = parser.parse_args(words)
    kills.measure_only(given.only, given.sequences)
    start = time.monotonic()
    outcomes = campaign(given.seed, given.workers, given.kill_every, given.damage_every)
    print(table(outcomes))
    print(f"seed {given.seed}, {time.monotonic() - start:,.0f} s")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
