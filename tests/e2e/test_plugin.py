"""The example of a plug-in, installed as anybody would and used by the commands; its own tests pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT
from workbench.table import Table

EXAMPLE = ROOT / "examples" / "lengthlens-plugin"
ROAD = """
import sys
from workbench.cli.errors import exit_status
from workbench.cli.main import app
for line in sys.argv[1:]:
    sys.argv = ["lengthlens", *line.split()]
    if status := exit_status(app):
        sys.exit(f"{line} left with {status}")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed in; the one that it was built in is a copy."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(EXAMPLE, folder / "source")
    words = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        folder / "site",
        source,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *map(str, words)], capture_output=True, text=True, timeout=HANGS_S
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def python(site: Path, *words: object, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd=cwd, env=environment, timeout=HANGS_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_task_its_encoding_and_its_measurement_are_known_to_the_commands(installed: Path, tmp_path: Path) -> None:
    train = "train same_ends --positions window --lengths 1-9 --layers 1 --d-model 8 --heads 2 --batch-size 8 --steps 5"
    said = python(
        installed, "-c", ROAD, "tasks --check same_ends", f"{train} --out runs/ends",
        "measure runs --only behaviour --only example.confidence --steps last --sequences 32 --executor serial",
        cwd=tmp_path,
    )  # fmt: skip
    assert "same_ends" in said
    table = Table.load(tmp_path / "runs")
    found = table.frame(measurement="example.confidence")
    assert set(found["law"]) == {"matched", "challenge"}
    assert found["value"].between(0.5, 1).all()
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()
    assert "verdict" in set(table.frame(measurement="behaviour")["quantity"])


def test_its_own_tests_pass(installed: Path) -> None:
    python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests", cwd=EXAMPLE)
