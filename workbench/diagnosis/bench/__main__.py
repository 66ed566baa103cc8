"""``python -m workbench.diagnosis.bench``: make the members that are missing, and write the page."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

from workbench.diagnosis.bench.bench_page import page
from workbench.diagnosis.bench.bench_table import read_members, write_members
from workbench.diagnosis.bench.members import GROUPS, Member, diagnose_member, members
from workbench.diagnosis.bench.scoring import TARGETS, of_group, share
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp
from workbench.jobs.executors import Failure
from workbench.storage.atomic import make_folder, remove_leftovers, write_named

EVERY_S = 3.0
"""Minimum seconds between two writes of the table."""


def main() -> None:
    """Parse arguments, run the bench, print the targets."""
    parser = argparse.ArgumentParser(prog="python -m workbench.diagnosis.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("checkpoints/diagnosis_bench"), help="folder of the table")
    parser.add_argument("--page", type=Path, help="write the page of the table here")
    parser.add_argument("--workers", type=int, help="worker processes; default: one per core")
    parser.add_argument("--minutes", type=float, help="begin no member after so many; the same command goes on")
    parser.add_argument("--kind", action="append", help="only members of this kind; may be given again")
    parser.add_argument(
        "--members", type=int, help="of each kind; default: two rounds of six, of healthy ones of eight"
    )
    args = parser.parse_args()
    wanted = [m for m in members(args.members) if not args.kind or m.kind in args.kind]
    run(wanted, args.out, args.workers, args.minutes)
    rows = list(read_members(args.out).values())
    for target in TARGETS:
        found = {group: share(of_group(rows, group), target) for group in GROUPS}
        print(f"{target.name}: {', '.join(f'{group} {one.hits} of {one.of}' for group, one in found.items())}")
    if args.page:
        write_named(args.page, page(rows).encode())


def run(wanted: list[Member], folder: Path, workers: int | None, minutes: float | None) -> None:
    """Make the missing members; each is in the table within seconds of its completion.

    Args:
        wanted: the members.
        folder: folder of the table.
        workers: worker processes; None = one per core.
        minutes: begin no member after this time; None = no limit.
    """
    make_folder(folder)
    remove_leftovers(folder)
    rows = read_members(folder)
    missing = [member for member in wanted if member not in rows]
    print(f"{len(wanted) - len(missing)} of {len(wanted)} members are there", flush=True)
    until = None if minutes is None else time.time() + 60 * minutes
    late: list[Member] = []
    last_write = time.monotonic()

    def keep(index: int, outcome: dict[str, Any] | Failure) -> None:
        nonlocal last_write
        if not isinstance(outcome, Failure):
            rows[missing[index]] = outcome
            if time.monotonic() - last_write > EVERY_S:
                write_members(folder, rows)
                last_write = time.monotonic()
        elif outcome.error.startswith(TimeIsUp.__name__):
            late.append(missing[index])
        else:
            print(f"problem: {missing[index]}: {outcome.error}\n{outcome.traceback}", flush=True)

    executor = make_executor("processes", workers=workers)
    try:
        executor.map(partial(diagnose_member, until=until), missing, on_done=keep)
    finally:
        write_members(folder, rows)
    if late:
        print(f"{len(late)} members are left for the same command", flush=True)


if __name__ == "__main__":
    main()
