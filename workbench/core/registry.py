"""Registries find objects by name: objects, addresses that are imported on use, and entry points of other packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Generic, TypeVar, cast

from workbench.core.errors import LensError, quoted_value
from workbench.core.failures import log_failure
from workbench.core.suggest import nearest

__all__ = ["Registry"]

T = TypeVar("T")


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points that installed packages announce for ``group`` at this moment, each once.

    Reading them takes 20 ms and look-ups are frequent. So they are cached until a folder of ``sys.path`` changes.
    """
    return _entry_points(group, tuple(map(_state, sys.path)))


@lru_cache(maxsize=64)
def _entry_points(group: str, folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    # The package importlib_metadata, where another one has imported it, answers with entry points of its own kind.
    found = metadata.entry_points(group=group)
    return tuple(dict.fromkeys(EntryPoint(one.name, one.value, one.group) for one in found))


def _state(folder: str) -> tuple[str, int]:
    try:
        return folder, os.stat(folder or ".").st_mtime_ns
    except OSError:
        return folder, 0


class Registry(Mapping[str, T], Generic[T]):
    """Objects of one kind by name, in the order in which they were added; those of LengthLens come before those of
    other packages.

    As a mapping it contains the objects themselves. An object registered by its address is imported on first use, so
    listing the names imports nothing. Entry points are those of the packages that are installed at the time of the
    call.

    Args:
        kind: what an object is called in a sentence, e.g. ``task``.
        error: the error class that is raised, with one sentence.
        things: name -> object, or an address ``package.module:attribute``. Objects of type ``str`` must be given by
            address.
        group: entry-point group with which other packages add objects; "" = they cannot.
        name_of: returns the name under which an object registers itself.
        check: takes a name, the object and where it was found; returns the object, or raises ``error`` with a sentence.

    Example:

        >>> modules = Registry[object]("module", LensError, {"errors": "workbench.core.errors"})
        >>> "errors" in modules, modules.find("errors").__name__
        (True, 'workbench.core.errors')
        >>> modules.find("erors")
        Traceback (most recent call last):
        workbench.core.errors.LensError: unknown module 'erors'; did you mean errors?
    """

    def __init__(
        self,
        kind: str,
        error: type[LensError],
        things: Mapping[str, T | str] | None = None,
        *,
        group: str = "",
        check: Callable[[str, object, str], T] | None = None,
        name_of: Callable[[T], str] | None = None,
    ) -> None:
        self.kind, self.error, self.group = kind, error, group
        self._check, self._name_of = check, name_of
        self._things: dict[str, T | str] = dict(things or {})

    def add(self, name: str, thing: T | str) -> None:
        """Register an object or an address under a name.

        Raises:
            error: if the name belongs to another object.
        """
        if self._things.get(name, thing) != thing:
            raise self.error(f"the {self.kind} name {name!r} is taken already; choose another")
        self._things[name] = thing

    def register(self, thing: T) -> T:
        """Add an object under its own name, in this process only. Can be used as a decorator.

        Raises:
            error: if the name belongs to another object.
        """
        assert self._name_of is not None, f"a {self.kind} has no name of its own"
        self.add(self._name_of(thing), thing)
        return thing

    def find(self, name: object) -> T:
        """The object with that name.

        Raises:
            error: if no object has that name (the message lists similar names), or two packages announce it. Also if
                the announced object cannot be imported or is of another kind.
        """
        self.refuse_unknown(name)
        offers = self._offers(str(name))
        if len(offers) > 1:
            places = " and ".join(str(offer) for offer in offers)
            raise self.error(
                f"the {self.kind} name {name!r} is taken more than once, by {places}; uninstall one of the packages"
            )
        return self._made(str(name), offers[0])

    def refuse_unknown(self, name: object) -> None:
        """Raise an error if no object has that name. Imports nothing.

        Raises:
            error: with similar names.
        """
        if not isinstance(name, str) or not self._offers(name):
            raise self.error(f"unknown {self.kind} {quoted_value(name)}; {nearest(name, self)}")

    def announced_entry_points(self) -> list[EntryPoint]:
        """The entry points of other packages, each once."""
        return list(dict.fromkeys(entry_points(self.group))) if self.group else []

    def _offers(self, name: str) -> list[T | str]:
        """All entries with that name. An entry point that repeats our own address does not count as a second entry."""
        own = [self._things[name]] if name in self._things else []
        others = [entry.value for entry in self.announced_entry_points() if entry.name == name]
        return [*own, *(value for value in dict.fromkeys(others) if value not in own)]

    def _made(self, name: str, offer: T | str) -> T:
        if not isinstance(offer, str):
            return offer
        try:
            found = EntryPoint(name=name, value=offer, group=self.group).load()
        except Exception as error:
            what = f"the {self.kind} {name!r} ({offer}) could not be imported"
            raise self.error(f"{what}: {log_failure(error, what, foreign=True)}") from error
        return cast(T, found) if self._check is None else self._check(name, found, offer)

    # ---- as a mapping ----------------------------------------------------------------------------
    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise KeyError(name)
        return self.find(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._things
        yield from sorted({entry.name for entry in self.announced_entry_points()} - set(self._things))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._things or any(entry.name == name for entry in self.announced_entry_points())
