"""Lazy public names of packages: each name is loaded from its module on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["face"]


def face(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports a module only when one of its names is first
    used.

    Args:
        package: the package's ``__name__``.
        homes: from each name to its module, relative to the package: ``{"Table": "query"}``.

    Returns:
        both functions.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        return found

    return find, lambda: sorted(homes)
