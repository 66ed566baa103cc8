"""The command's door and ``import lengthlens``: the packages' faces, and what is said where a package is somebody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lengthlens
from tests.support.limits import HANGS_S
from tests.support.places import ROOT


def door(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command with a folder before ours on the path."""
    code = f"import sys; sys.path[:0] = [{str(first)!r}, {str(ROOT)!r}]; import lengthlens; lengthlens.main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=HANGS_S, cwd=first
    )


def test_faces_are_the_packages() -> None:
    import circuits
    import workbench
    import workbench.tasks

    assert lengthlens.circuits is circuits
    assert lengthlens.tasks is workbench.tasks
    assert lengthlens.__version__ == workbench.__version__
    assert {"circuits", "probes", "table", "__version__"} <= set(dir(lengthlens))
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'; it has .*circuits"):
        _ = lengthlens.nothing


def test_every_face_exists() -> None:
    for name in lengthlens.FACES:
        assert getattr(lengthlens, name).__name__ == lengthlens.FACES[name]


def test_our_own_packages_are_let_in() -> None:
    assert lengthlens.strangers() == ""
    done = door("--help")
    assert done.returncode == 0, done.stderr
    assert "measure" in done.stdout


@pytest.mark.parametrize("name", lengthlens.PACKAGES)
def test_a_package_of_somebody_else_is_named_with_the_way_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    stranger = tmp_path / name / "__init__.py"
    stranger.write_text("raise SystemExit('a stranger was imported')\n")
    done = door("--help", first=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {name} ({stranger}) is no package of LengthLens:")
    assert "environment of its own, as python -m venv" in done.stderr


def test_what_another_package_left_when_it_was_uninstalled_is_named(tmp_path: Path) -> None:
    """A folder without an ``__init__.py`` is a package to Python where there is no better one."""
    for name in lengthlens.PACKAGES:
        (tmp_path / name).mkdir()
    (tmp_path / "lengthlens.py").write_text((ROOT / "lengthlens.py").read_text())
    code = "import sys; sys.path.insert(0, '.'); import lengthlens; lengthlens.main()"
    bare = [sys.executable, "-I", "-S", "-c", code]  # without what is installed
    done = subprocess.run(bare, capture_output=True, text=True, timeout=HANGS_S, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("without an __init__.py") == 3
    assert "are no packages of LengthLens" in done.stderr
