"""Odd folders, seen by the command line and by the dashboard: no traceback, no hang, and the sound run beside is whole.

``make hostile`` sees them all; a few are seen with the end-to-end tests.
"""

from __future__ import annotations

import contextlib
import resource
import shutil
from pathlib import Path

import pytest

from tests.campaign.faults import FULL, Fault
from tests.campaign.forked import lengthlens, start
from tests.campaign.kills import MEASURE, small_disk
from tests.support.hostile.damaged import cases
from tests.support.hostile.effort import AddTally, sample
from tests.support.hostile.folders import (
    SEED,
    template,  # noqa: F401 - fixtures
    tried,
)
from workbench.table import Table

MEMORY = 4 << 30
"""Bytes that the process may have at its peak, all cases together."""


def test_all_odd_folders(template: Path, tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]) -> None:
    """One after another in one process, whose memory counts too."""
    every = cases(SEED)
    assert len(every) >= 500
    assert len({case.label for case in every}) == len(every)
    every = sample(every, SEED)
    wrong: list[str] = []
    for number, case in enumerate(every):
        new = tried(template, tmp_path, case, measured=number % 8 == 0 and "linked" not in case.label)
        wrong += new
        if new or number % 25 == 0:
            with capsys.disabled():
                print("\n".join([f"{number} of {len(every)}, {len(wrong)} wrong", *new]), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with capsys.disabled():
        print(f"\nfolders: {len(every)} damaged or re-sealed, seed {SEED}; at most {peak / 2**30:.1f} GiB")
    tally("folders of runs", len(every), wrong)
    assert wrong == []
    assert peak < MEMORY


def test_a_disk_that_fills_up_at_any_operation_of_measuring(
    template: Path, tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said in one sentence, with what was measured kept; afterwards the same command makes what is missing."""
    words = ["measure", tmp_path / "run", "--only", "behaviour", *MEASURE]

    def begun() -> Path:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(template / "sound", tmp_path / "run")
        shutil.rmtree(tmp_path / "run" / "measurements")
        (tmp_path / "run" / "table.parquet").unlink()
        return tmp_path / "run"

    operations = lengthlens(words, begun()).operations
    whole = Table.load(tmp_path).frame()
    assert len(operations) > 20
    for at in sample(range(len(operations)), SEED):
        ended = lengthlens(words, begun(), Fault(FULL, at))
        assert "Traceback" not in ended.said, f"operation {at}: {ended.said}"
        assert ended.status in (0, 2), f"operation {at}: {ended.said}"
        assert "No space left on device" in ended.said or ended.status == 0, f"operation {at}: {ended.said}"
        again = lengthlens(words, tmp_path / "run")
        assert again.status == 0, f"operation {at}: {again.said}"
        assert len(Table.load(tmp_path).frame()) == len(whole)
    tally("full disk", len(sample(operations, SEED)), [])
    with capsys.disabled():
        print(
            f"\nfull disk: at {len(sample(operations, SEED))} of {len(operations)} operations of measuring, said and gone on from: 0 tracebacks"
        )


def test_a_disk_that_is_really_full(template: Path, capsys) -> None:
    with small_disk("600k") as disk:
        if disk is None:
            pytest.skip("no small disk may be mounted here")
        shutil.copytree(template / "sound", disk / "run")
        shutil.rmtree(disk / "run" / "measurements")
        (disk / "filler").write_bytes(b"")
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as file:
            while True:
                file.write(bytes(1024))
        child = start(["measure", disk / "run", *MEASURE], disk / "run")
        ended = child.end()
        assert ended.status == 2, ended.said
        assert "Traceback" not in ended.said
        (disk / "filler").unlink()
        again = lengthlens(["measure", disk / "run", "--only", "behaviour", *MEASURE], disk / "run")
        assert "Traceback" not in again.said
