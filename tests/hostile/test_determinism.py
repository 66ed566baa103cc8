"""The same commands under other locales, time zones, hash seeds and temporary folders, with 1 and 2 workers: equal rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from tests.support.hostile.effort import AddTally, sample
from tests.support.jobs.same_bits import rows, weights
from tests.support.limits import HANGS_S

SEED = 20261125
SWEEP = """
base: {lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: 40, training.checkpoints.log: 1}
grid:
  task: [majority, flip_flop]
  positions: [none, learned]
measure: {only: [behaviour, probes.summary, circuits.hardmax, circuits.ablation, diagnosis], steps: last, sequences: 16}
"""
# The locale takes effect in the process itself, as it would in a notebook or in a program that uses LengthLens.
COMMAND = """
import contextlib, locale, runpy, sys
with contextlib.suppress(locale.Error):
    locale.setlocale(locale.LC_ALL, "")
sys.argv = ["lengthlens", *sys.argv[1:]]
runpy.run_module("workbench.cli.main", run_name="__main__")
"""
LOCALES = (("tr_TR", "UTF-8"), ("de_DE", "UTF-8"), ("de_DE", "ISO-8859-1"))
"""Turkish has a dotless i; German writes a decimal comma. They are made for the test where that is possible."""


@dataclass(frozen=True)
class Surroundings:
    """What a result must not depend on.

    Attributes:
        name: of the folder.
        variables: of the environment.
        executor: where items are worked on.
        workers: how many worker processes.
        mask: permissions that new files lack.
    """

    name: str
    variables: dict[str, str]
    executor: str = "processes"
    workers: int = 1
    mask: int = 0o022


PLAIN = Surroundings("plain", {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}, "serial")
OTHERS = (
    Surroundings("tr", {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "1"}, workers=2),
    Surroundings("de", {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns", "PYTHONHASHSEED": "4242"}, mask=0o077),
    Surroundings(
        "latin",
        {"LC_ALL": "de_DE.ISO-8859-1", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "random", "PYTHONUTF8": "0"},
        workers=2,
    ),
    Surroundings(
        "ascii",
        {"LC_ALL": "C", "TZ": "Pacific/Pago_Pago", "PYTHONHASHSEED": "99", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "serial",
    ),
)  # fmt: skip


@dataclass
class Results:
    """What the commands left in one folder.

    Attributes:
        said: by each command that only prints.
        hashes: of checkpoints.
        claims: the bytes of the table of claims and of its page.
        rows: every row of the runs.
    """

    said: list[str]
    hashes: dict[str, str]
    claims: list[bytes]
    rows: pd.DataFrame


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the locales; empty where this machine cannot make them."""
    folder = tmp_path_factory.mktemp("locales")
    for name, encoding in LOCALES if shutil.which("localedef") else ():
        made = ["localedef", "-i", name, "-f", encoding, str(folder / f"{name}.{encoding}")]
        subprocess.run(made, check=False, capture_output=True)
    return folder


def results(at: Surroundings, folder: Path, locales: Path) -> Results:
    """Give the same commands in some surroundings."""
    root = folder / at.name
    temporary = root / "temporary files"
    temporary.mkdir(parents=True)
    (root / "study.yaml").write_text(SWEEP)
    variables = {
        **os.environ, **at.variables, "LOCPATH": str(locales), "TMPDIR": str(temporary), "COLUMNS": "120",
        "PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip

    def lengthlens(*words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-c", COMMAND, *words], cwd=root, env=variables, capture_output=True, timeout=HANGS_S,
            umask=at.mask, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ended.returncode == 0, f"{at.name}, {words}: {ended.stderr.decode(errors='replace')}"
        return ended.stdout.decode()

    where = ("--executor", at.executor, *(("--workers", str(at.workers)) if at.executor == "processes" else ()))
    lengthlens("sweep", "study.yaml", "--out", "runs", *where)
    lengthlens("reproduce", "HE06", "HE12", "--out", "claims", *where)
    lengthlens("compile", "majority", "--up-to", "12", "--lengths", "1-5", "--out", "runs/compiled")
    said = [lengthlens("predict", "parity", "--program"), lengthlens("tasks", "dyck_k"), lengthlens("show", "runs")]
    claims = [(root / "claims" / name).read_bytes() for name in ("claims.parquet", "index.md", "crasp-exact.md")]
    assert list(temporary.iterdir()) == [], "temporary files are left"
    return Results(said, weights(root / "runs"), claims, rows(root / "runs"))


def test_results_depend_on_nothing_around_the_commands(
    tmp_path: Path,
    locales: Path,
    tally: AddTally,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = results(PLAIN, tmp_path, locales)
    assert len(plain.hashes) >= 5
    assert len(plain.rows) > 500
    others = sample(OTHERS, SEED)
    for at in others:
        other = results(at, tmp_path, locales)
        assert other.hashes == plain.hashes, at.name
        assert other.claims == plain.claims, at.name
        assert other.said == plain.said, at.name
        pd.testing.assert_frame_equal(other.rows, plain.rows, check_exact=True)
    tally("surroundings", len(others), [])
    with capsys.disabled():
        print(
            f"\n{len(others)} other surroundings (locales {sorted(path.name for path in locales.iterdir())}): "
            f"{len(plain.rows):,} rows, {len(plain.hashes)} checkpoints and the table of claims are equal"
        )
