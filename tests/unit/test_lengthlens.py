"""``import lengthlens``: the names it offers, and the message where a package of another distribution replaced ours."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import lengthlens
from tests.support.limits import HANGS_S
from tests.support.places import ROOT
from workbench.core.errors import LensError


def door(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command with a folder before ours on the path."""
    code = f"import sys; sys.path[:0] = [{str(first)!r}, {str(ROOT)!r}]; import lengthlens; lengthlens.main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=HANGS_S, cwd=first
    )


def test_every_name_is_the_one_of_its_package() -> None:
    import workbench

    for name, package in lengthlens.NAMES.items():
        assert getattr(lengthlens, name) is getattr(importlib.import_module(package), name)
    assert lengthlens.__version__ == workbench.__version__
    assert set(lengthlens.__all__) | {"__version__"} == set(dir(lengthlens))


@pytest.mark.parametrize("name", lengthlens.SUBMODULES)
def test_a_submodule_has_the_public_names_of_its_package(name: str) -> None:
    package = {
        "challenge": "workbench.diagnosis.challenge",
        "circuits": "circuits",
        "dynamics": "workbench.theory.training_dynamics",
        "measurements": "workbench.measure",
        "probes": "probes",
    }
    theirs = importlib.import_module(package.get(name, f"workbench.{name}"))
    ours = importlib.import_module(f"lengthlens.{name}")
    assert getattr(lengthlens, name) is ours
    assert set(dir(ours)) == set(dir(theirs))
    public = [word for word in getattr(theirs, "__all__", dir(theirs)) if not word.startswith("_")]
    assert public
    assert getattr(ours, public[0]) is getattr(theirs, public[0])


def test_a_name_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(AttributeError, match=r"'nothing'.*circuits"):
        _ = lengthlens.nothing


def test_importing_it_imports_none_of_our_packages() -> None:
    code = (
        "import lengthlens, sys; print([n for n in sys.modules if n.split('.')[0] in lengthlens.PACKAGES + ('torch',)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr


def test_our_own_packages_are_let_in() -> None:
    assert lengthlens.other_packages() == ""
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
    (tmp_path / "lengthlens").mkdir()
    (tmp_path / "lengthlens" / "__init__.py").write_text((ROOT / "lengthlens" / "__init__.py").read_text())
    code = "import sys; sys.path.insert(0, '.'); import lengthlens; lengthlens.main()"
    bare = [sys.executable, "-I", "-S", "-c", code]  # without what is installed
    done = subprocess.run(bare, capture_output=True, text=True, timeout=HANGS_S, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("without an __init__.py") == 3
    assert "are no packages of LengthLens" in done.stderr


def test_a_run_is_trained_and_measured_from_python(tmp_path: Path) -> None:
    small = {"lengths": "1-4", "steps": 2, "layers": 1, "d_model": 8, "heads": 1, "batch_size": 4}
    run = lengthlens.train("parity", tmp_path / "parity", settings={"training.warmup": 1}, **small)
    assert (run.steps[-1], run.config["training"]["warmup"]) == (2, 1)
    assert lengthlens.train("parity", tmp_path / "parity", settings={"training.warmup": 1}, **small).id == run.id
    table = lengthlens.measure(run, only="behaviour", steps="last", lengths=[2, 4], sequences=16)
    rows = table.frame(quantity="accuracy")
    assert set(rows["length"]) >= {2, 4}
    assert set(rows["step"]) == {2}
    again = lengthlens.measure(str(run.path), only=["behaviour"], steps="last", lengths=[2, 4], sequences=16)
    assert len(again.frame()) == len(table.frame())


def test_an_option_that_does_not_exist_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(LensError, match=r"positons.*positions"):
        lengthlens.train("parity", tmp_path, positons="rotary")
    with pytest.raises(LensError, match=r"step.*steps"):
        lengthlens.measure(tmp_path, step=3)


def test_what_cannot_be_measured_is_an_error_after_the_rest(tmp_path: Path) -> None:
    with pytest.raises(LensError, match="nothing"):
        lengthlens.measure(tmp_path / "nothing")
