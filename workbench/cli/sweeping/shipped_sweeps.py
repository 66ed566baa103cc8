"""The sweeps that come with LengthLens, by name: files of ``workbench/sweeps``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import workbench
from workbench.cli.errors import UsageError
from workbench.core.errors import quoted_value
from workbench.core.suggest import near_names, nearest

FOLDER = Path(workbench.__file__).parent / "sweeps"


def shipped_sweeps() -> Mapping[str, Path]:
    """Return the files of the sweeps that come with LengthLens, sorted by name."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.yaml"))}


def about(file: Path) -> str:
    """Return the description of a sweep: the first line of its file, a comment."""
    return file.read_text().partition("\n")[0].removeprefix("#").strip()


def find_sweep(given: Path) -> Path:
    """Return the file of a sweep: the file of that path, or else the shipped sweep of that name.

    Raises:
        UsageError: for a name that no file and no shipped sweep has, with near ones.
    """
    known = shipped_sweeps()
    if given.is_dir():
        return known.get(str(given), given)
    if given.exists():
        return given
    if given.suffix or len(given.parts) != 1:
        beside = {file.stem: str(file) for pattern in ("*.yaml", "*.yml") for file in given.parent.glob(pattern)}
        near = [beside[stem] for stem in near_names(given.stem, beside)]
        near += near_names(given.stem, known) if len(given.parts) == 1 else ()
        if near:
            raise UsageError(f"there is no file {quoted_value(str(given))}; did you mean {' or '.join(near)}?")
        raise UsageError(
            f"there is no file {quoted_value(str(given))}; "
            "lengthlens sweep --list lists those that come with LengthLens"
        )
    if str(given) not in known:
        raise UsageError(
            f"there is neither a file nor a sweep {quoted_value(str(given))}; {nearest(str(given), known)}"
        )
    return known[str(given)]
