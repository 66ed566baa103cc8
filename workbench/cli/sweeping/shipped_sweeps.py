"""The sweeps that come with LengthLens, by name: files of ``workbench/sweeps``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import workbench
from workbench.cli.errors import UsageError
from workbench.core.errors import shown
from workbench.core.suggest import nearest

FOLDER = Path(workbench.__file__).parent / "sweeps"


def shipped_sweeps() -> Mapping[str, Path]:
    """The files by name, sorted."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.yaml"))}


def about(file: Path) -> str:
    """What a sweep is about: the first line of its file, a comment."""
    return file.read_text().partition("\n")[0].removeprefix("#").strip()


def find_sweep(given: Path) -> Path:
    """The file of a sweep: the one of that path, else the shipped one of that name.

    Raises:
        UsageError: for a name that no file and no shipped sweep has.
    """
    known = shipped_sweeps()
    if given.is_dir():
        return known.get(str(given), given)
    if given.exists() or given.suffix or len(given.parts) != 1:
        return given
    if str(given) not in known:
        raise UsageError(
            f"there is no file {shown(str(given))}, and no sweep is called that; {nearest(str(given), known)}"
        )
    return known[str(given)]
