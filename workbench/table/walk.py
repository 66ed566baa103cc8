"""Finds runs in folders, for the command line and the dashboard.

Links are followed, because runs are often linked from another disk. Each folder is visited once, so that cycles of
links end. The content of a folder is visited before linked folders. So a run has the name of its own path, and a link
to it does not add a second name.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from workbench.core.suggest import MOST_NAMED, near_names

MOST_FOLDERS = 50_000
"""The most folders that are visited below one folder, because it may contain a link to the whole disk."""
OF_THE_SYSTEM = ("/proc", "/sys")
"""Virtual folders of the system. They may be endless, and nothing is ever stored in them."""
DATA = {"steps", "measurements"}
"""Subfolders of a run."""


@dataclass
class FoundRuns:
    """The runs at or below a folder.

    Attributes:
        runs: (name, path) of every folder with a ``run.json``, sorted by name. The name is the path relative to the
            root, or the folder's own name if the root is a run itself.
        headless: folders that contain checkpoints or measurements and no ``run.json``.
        problems: folders that could not be read, a sentence each.
    """

    runs: list[tuple[str, Path]] = field(default_factory=list)
    headless: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a ``run.json``. The file is not checked here; errors are reported when it is
    read.
    """
    return os.path.lexists(os.path.join(path, "run.json"))


def near_folders(folder: Path) -> str:
    """``; did you mean ...?`` for a missing folder: the runs and folders of runs next to it with similar names.

    Names that begin like its name come first, then names that are similar; "" if there are none.
    """
    beside = []
    with suppress(OSError):
        beside = [path.name for path in folder.parent.iterdir() if _is_of_runs(path)]
    begun = sorted(name for name in beside if folder.name and name.startswith(folder.name))
    near = begun[:MOST_NAMED] or near_names(folder.name, beside)
    return f"; did you mean {' or '.join(str(folder.parent / name) for name in near)}?" if near else ""


def _is_of_runs(path: Path) -> bool:
    """Whether a folder is a run or contains runs; False if it cannot be read."""
    with suppress(OSError):
        return is_run(path) or (not path.name.startswith(".") and any(map(is_run, path.iterdir())))
    return False


def walk(root: Path) -> FoundRuns:
    """Everything at or below a folder; empty if there is no folder.

    Runs are not searched for further runs, and hidden folders are ignored.
    """
    tree = FoundRuns()
    if is_run(root):
        tree.runs.append((root.resolve().name, root))
        return tree
    visited: set[tuple[int, int]] = set()
    linked = deque([str(root)])
    while linked:
        below = deque([linked.popleft()])
        while below:
            folder = below.popleft()
            if len(visited) >= MOST_FOLDERS:
                tree.problems.append(
                    f"{root} holds more than {MOST_FOLDERS:,} folders, and the others were not looked at: "
                    "name a folder nearer to the runs"
                )
                below.clear()
                linked.clear()
                break
            _look(Path(root), folder, visited, tree, below, linked)
    tree.runs.sort()
    tree.headless.sort()
    return tree


def _look(
    root: Path, folder: str, visited: set[tuple[int, int]], tree: FoundRuns, below: deque[str], linked: deque[str]
) -> None:
    """Visit one folder. Its subfolders are queued for a visit: plain ones before links."""
    try:
        state = os.stat(folder)
        if (state.st_dev, state.st_ino) in visited:
            return
        visited.add((state.st_dev, state.st_ino))
        if state.st_dev in _devices_of_the_system():
            tree.problems.append(f"{_short(folder)} is the system's view of itself and holds no runs: remove the link")
            return
        if is_run(folder):
            tree.runs.append((Path(folder).relative_to(root).as_posix(), Path(folder)))
            return
        with os.scandir(folder) as entries:
            folders = sorted((entry.name, entry.is_symlink()) for entry in entries if _is_way(entry))
    except OSError as error:
        if Path(folder) != root or not isinstance(error, FileNotFoundError):
            tree.problems.append(f"{_short(folder)} cannot be looked at: {error.strerror or error}")
        return
    if DATA & {name for name, _ in folders}:
        tree.headless.append(Path(folder))
    for name, is_link in folders:
        if not _is_text(name):
            tree.problems.append(f"{_short(folder)} holds a folder whose name is no UTF-8, {name!a}: rename it")
            continue
        (linked if is_link else below).append(f"{folder}/{name}")


@cache
def _devices_of_the_system() -> frozenset[int]:
    """Devices of the system's folders that are really mounted: elsewhere such a folder is an ordinary one."""
    root_device = os.stat("/").st_dev
    found = set()
    for path in OF_THE_SYSTEM:
        with suppress(OSError):
            found.add(os.stat(path).st_dev)
    return frozenset(found - {root_device})


def _is_way(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder to be visited, or a link to one."""
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a link in a circle, or into what may not be looked at
        return False


def _is_text(name: str) -> bool:
    """Whether a name can be printed and stored. A name that is not UTF-8 contains lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(path: str) -> str:
    """A path, which may be thousands of characters long, shortened for a sentence."""
    return path if len(path) <= 200 else f"{path[:150]}...{path[-40:]}"
