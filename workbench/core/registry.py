"""Finding things by name: objects, addresses that are imported when asked for, and what other packages announce."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Generic, TypeVar, cast

from workbench.core.errors import LensError, shown
from workbench.core.failures import log_failure
from workbench.core.suggest import nearest

__all__ = ["Registry"]

T = TypeVar("T")


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """What the installed packages announce at this moment, each once.

    Reading it takes 20 ms and names are looked up all the time, so that it is read again when a folder of ``sys.path``
    has changed.
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
    """Things of one kind by name, those of the house first, in the order in which they were added.

    As a mapping it holds the things themselves; a thing given by its address is imported when it is first asked for,
    so that listing names costs nothing. Entry points are those of the installed packages at the moment of asking.

    Args:
        kind: what a thing is called in a sentence, e.g. ``task``.
        error: what is raised, with one sentence.
        things: by name an object, or an address ``package.module:attribute``. Things that are strings have to be given
            by address.
        group: entry-point group under which other packages announce such things; "" = they cannot.
        name_of: the name under which a thing is registered by itself.
        check: from a name, what was found under it and where, returns the thing, or raises ``error`` with a sentence.

    Example:

        >>> rooms = Registry[object]("module", LensError, {"errors": "workbench.core.errors"})
        >>> "errors" in rooms, rooms.find("errors").__name__
        (True, 'workbench.core.errors')
        >>> rooms.find("erors")
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
            error: if the name is taken by another one.
        """
        if self._things.get(name, thing) != thing:
            raise self.error(f"the {self.kind} name {name!r} is taken already; choose another")
        self._things[name] = thing

    def register(self, thing: T) -> T:
        """Add an object under its own name; usable as a decorator. This process alone knows it.

        Raises:
            error: if the name is taken by another one.
        """
        assert self._name_of is not None, f"a {self.kind} has no name of its own"
        self.add(self._name_of(thing), thing)
        return thing

    def find(self, name: object) -> T:
        """The thing of that name.

        Raises:
            error: if there is none (near names are given), if two packages announce the same name, or if what is
                announced cannot be imported or is none of the kind.
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
        """Refuse a name under which nothing stands. Imports nothing.

        Raises:
            error: with near names.
        """
        if not isinstance(name, str) or not self._offers(name):
            raise self.error(f"unknown {self.kind} {shown(name)}; {nearest(name, self)}")

    def announced(self) -> list[EntryPoint]:
        """The entry points of other packages, each once."""
        return list(dict.fromkeys(entry_points(self.group))) if self.group else []

    def _offers(self, name: str) -> list[T | str]:
        """All that stand under a name; what a package announces of the house's own address is the house's."""
        own = [self._things[name]] if name in self._things else []
        others = [entry.value for entry in self.announced() if entry.name == name]
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
        yield from sorted({entry.name for entry in self.announced()} - set(self._things))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._things or any(entry.name == name for entry in self.announced())
