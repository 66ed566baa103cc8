"""LengthLens by its own name: the command's door, and the packages' faces for ``import lengthlens``.

``workbench``, ``probes`` and ``circuits`` are also names of other packages on the public index. Installed beside
LengthLens such a one overwrites its files, or hides them, in silence. So the command looks whose packages these are
before it starts.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGES = ("workbench", "probes", "circuits")
MARK = '__distribution__ = "lengthlens"'
"""A line of the ``__init__.py`` of each package. A file of its own would outlive the package that is overwritten."""
FACES = {
    **{name: name for name in ("probes", "circuits")},
    **{
        name: f"workbench.{name}"
        for name in (
            "claims", "diagnosis", "figures", "measure", "models", "runs", "table", "tasks", "theory", "training"
        )
    },
}  # fmt: skip
"""Packages that are attributes of this module, imported when first asked for."""


def __getattr__(name: str) -> ModuleType | str:
    if name == "__version__":
        return str(import_module("workbench").__version__)
    if name not in FACES:
        raise AttributeError(f"module 'lengthlens' has no attribute {name!r}; it has {', '.join(sorted(FACES))}")
    if foreign := strangers():
        raise ImportError(foreign)
    return import_module(FACES[name])


def __dir__() -> list[str]:
    return sorted([*FACES, "__version__"])


def strangers() -> str:
    """What to say where a package that LengthLens imports is none of its own; "" where all are. Imports nothing."""
    said = [f"{name} ({place})" for name in PACKAGES if (place := _not_ours(name))]
    if not said:
        return ""
    return (
        f"{' and '.join(said)} {'is no package' if len(said) == 1 else 'are no packages'} of LengthLens: another "
        "distribution of that name was installed over it or stands before it on the path. Install LengthLens in an "
        "environment of its own, as python -m venv, uv or pipx make one"
    )


def _not_ours(package: str) -> str:
    """Where a package that is not ours lies; "" of our own."""
    found = find_spec(package)
    if found is None:
        return "not installed"
    if found.origin is None:
        return f"{', '.join(found.submodule_search_locations or ())}, without an __init__.py"
    text = Path(found.origin).read_text(encoding="utf-8", errors="replace")
    return "" if re.search(rf"^{re.escape(MARK)}$", text, re.MULTILINE) else found.origin


def main() -> None:
    """The command ``lengthlens``."""
    if said := strangers():
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2)
    from workbench.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
