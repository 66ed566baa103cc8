"""What is installed: gallery and sweeps by name, addresses of the index page, and files that name what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages as a wheel holds them, in a folder of their own."""
    folder = tmp_path_factory.mktemp("built")
    words = [
        "egg_info",
        "--egg-base",
        str(folder),
        "build",
        "--build-base",
        str(folder),
        "--build-lib",
        str(folder / "lib"),
    ]
    done = subprocess.run([sys.executable, "setup.py", "-q", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "lib"


def command(installed: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    there = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, "-m", "lengthlens", *words], cwd=cwd, env=there, capture_output=True, text=True
    )


def test_the_gallery_comes_with_it(installed: Path, tmp_path: Path) -> None:
    listed = command(installed, tmp_path, "gallery", "--no-serve")
    assert (listed.returncode, str(installed / "workbench")) == (0, str(installed / "workbench")), listed.stderr
    assert re.findall(r"\b(?:scale-robust|length-coupled|not fitted)\b", listed.stdout) != []
    copied = command(installed, tmp_path, "gallery", "--to", "mine")
    assert copied.stdout.splitlines()[-1] == "Next: lengthlens list mine"
    theirs, mine = ({f.relative_to(d) for d in [base] for f in d.rglob("*") if f.is_file()} for base in (
        ROOT / "checkpoints" / "gallery", tmp_path / "mine"))  # fmt: skip
    assert mine == theirs
    again = command(installed, tmp_path, "gallery", "--to", "mine")
    assert (again.returncode, again.stderr) == (2, "error: mine exists already; choose another folder with --to\n")


def test_sweeps_are_found_by_name(installed: Path, tmp_path: Path) -> None:
    said = command(installed, tmp_path, "sweep", "plateau", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[-1] == "54 cells in checkpoints/plateau, 54 to be trained; nothing was done."
    assert (installed / "workbench" / "py.typed").exists()


def test_the_index_page_has_whole_addresses() -> None:
    made = script("setup", ROOT)
    text = made.index_page((ROOT / "README.md").read_text(), "https://host/o/r", "1.2")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert pictures
    assert all(address.startswith("https://host/o/r/raw/v1.2/docs/pictures/") for address in pictures)
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith(("https:", "#"))] == []
    assert made.index_page("![a](b.png) [c](d.md)", "") == "![a](b.png) [c](d.md)"


def test_container_files_name_what_is_there() -> None:
    docker = (ROOT / "Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (.*) \S+$", docker, re.MULTILINE) for word in line.split()]
    copied.remove("requirements.loc[k]")  # a pattern for a file that is there once `make pins` has written it
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert {"setup.py", "lengthlens", "workbench", "probes", "circuits"} <= {*copied}
    made = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert re.search(
        rf"^{made['postCreateCommand'].removeprefix('make ')}:", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
