"""LengthLens for users: what notebooks and scripts import, and the command ``lengthlens``.

    from lengthlens import Run, Table, ablate, hardmax_statistics, make_task, measure, patch, probe, train

``lengthlens.tasks``, ``lengthlens.models``, ``lengthlens.runs`` and so on are the public names of the packages behind
them. Everything loads on first use, so that ``import lengthlens`` costs nothing and needs no torch.

``workbench``, ``probes`` and ``circuits`` are also names of other packages on the public index. Such a package
overwrites or hides ours without a message, so the command and this module check whose packages are installed first.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circuits import ablate, hardmax_statistics, patch
    from lengthlens import (
        challenge,
        circuits,
        datasets,
        dynamics,
        figures,
        measurements,
        models,
        probes,
        runs,
        table,
        tasks,
    )
    from lengthlens._run_work import measure, train
    from probes import probe
    from workbench.runs import Run
    from workbench.table import Table
    from workbench.tasks import make_task

PACKAGES = ("workbench", "probes", "circuits")
"""The packages that LengthLens imports."""
OWNER_LINE = '__distribution__ = "lengthlens"'
"""A line of the ``__init__.py`` of each package. A separate file would stay behind when the package is overwritten."""
NAMES = {
    "Run": "workbench.runs",
    "Table": "workbench.table",
    "ablate": "circuits",
    "hardmax_statistics": "circuits",
    "make_task": "workbench.tasks",
    "measure": "lengthlens._run_work",
    "patch": "circuits",
    "probe": "probes",
    "train": "lengthlens._run_work",
}
"""The package that each name comes from."""
SUBMODULES = (
    "challenge", "circuits", "datasets", "dynamics", "figures", "measurements", "models", "probes", "runs", "table",
    "tasks",
)  # fmt: skip
"""Modules of this package, each with the public names of one of ours."""

__all__ = [
    "Run", "Table", "ablate", "challenge", "circuits", "datasets", "dynamics", "figures", "hardmax_statistics",
    "make_task", "measure", "measurements", "models", "patch", "probe", "probes", "runs", "table", "tasks", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return str(import_module("workbench").__version__)
    if name not in NAMES and name not in SUBMODULES:
        raise AttributeError(
            f"module 'lengthlens' has no attribute {name!r}; it has {', '.join(sorted([*NAMES, *SUBMODULES]))}"
        )
    refuse_other_packages()
    return getattr(import_module(NAMES[name]), name) if name in NAMES else import_module(f"lengthlens.{name}")


def __dir__() -> list[str]:
    return sorted([*NAMES, *SUBMODULES, "__version__"])


def refuse_other_packages() -> None:
    """Raise ImportError if a package that LengthLens imports belongs to another distribution."""
    if message := other_packages():
        raise ImportError(message)


def other_packages() -> str:
    """The message that names packages of other distributions in place of ours; "" if all are ours. Imports nothing."""
    foreign = [f"{name} ({place})" for name in PACKAGES if (place := _not_ours(name))]
    if not foreign:
        return ""
    return (
        f"{' and '.join(foreign)} {'is no package' if len(foreign) == 1 else 'are no packages'} of LengthLens: another "
        "distribution of that name was installed over it or stands before it on the path. Install LengthLens in an "
        "environment of its own, as python -m venv, uv or pipx make one"
    )


def _not_ours(package: str) -> str:
    """The path of a package that belongs to another distribution; "" for our own packages."""
    spec = find_spec(package)
    if spec is None:
        return "not installed"
    if spec.origin is None:
        return f"{', '.join(spec.submodule_search_locations or ())}, without an __init__.py"
    text = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    return "" if re.search(rf"^{re.escape(OWNER_LINE)}$", text, re.MULTILINE) else spec.origin


def main() -> None:
    """Run the command ``lengthlens``."""
    if message := other_packages():
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(2)
    from workbench.cli.main import main as command

    command()
