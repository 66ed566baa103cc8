"""The two functions of a module that stands for another package: names load from there on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from lengthlens import refuse_other_packages


def forwarding(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module with the public names of ``package``.

    Raises (from ``__getattr__``):
        ImportError: if one of our packages was replaced by another distribution.
    """

    def find(name: str) -> Any:
        refuse_other_packages()
        return getattr(import_module(package), name)

    return find, lambda: sorted(dir(import_module(package)))
