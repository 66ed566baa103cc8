"""What a page is, and which pages there are: every module of :mod:`workbench.dashboard.pages` brings one as ``PAGE``.

A page that stands under the cursor bar is a :class:`workbench.dashboard.cursorpage.CursorPage`; every other
one is a :class:`FreePage`. The frame (header, navigation, link, notices) knows them only by this.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from dash import Dash

from workbench.dashboard.cursor import Notice, parse

if TYPE_CHECKING:
    from workbench.dashboard.answers import Answers


class Exported(Protocol):
    """A panel whose data can be taken away under its id; its kinds are told apart in :mod:`.exports`."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


@dataclass(frozen=True)
class Visit:
    """What a link asks of a page.

    Attributes:
        path: the page.
        search: the query string.
        last: the run seen last.
        notices: what is already to be said, because another page could not be shown.
    """

    path: str
    search: str
    last: str = ""
    notices: Sequence[Notice] = ()

    @property
    def asked(self) -> Mapping[str, str]:
        """The query's parts."""
        return parse(self.search)


@dataclass(frozen=True)
class Drawn:
    """A page's answer to a visit.

    Attributes:
        content: everything below the header.
        title: of the browser's tab, without the product's name.
        run: the run it is about, or an empty string.
        waits: whether it stands empty until data come.
    """

    content: list[Any]
    title: str
    run: str = ""
    waits: bool = False


class Astray(LookupError):
    """A link that its page cannot follow at all; the first page is shown with the notice."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(notice.asked)
        self.notice = notice


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page, as the frame knows it.

    Attributes:
        path: its address, e.g. ``/compare``.
        name: in the navigation.
        order: place in the navigation.
        connect: registers its callbacks; it must name no component of another page.
        panels: whose exports it offers.
        needs_run: whether its address says nothing without ``?run=``.
    """

    path: str
    name: str
    order: int
    connect: Callable[[Dash, Answers], None] = field(repr=False)
    panels: tuple[Exported, ...] = ()
    needs_run: bool = False

    def draw(self, answers: Answers, visit: Visit) -> Drawn:
        """The page as a visit asks for it; raises :class:`Astray` where it cannot be shown at all."""
        raise NotImplementedError(self.path)


@dataclass(frozen=True, kw_only=True)
class FreePage(Page):
    """A page that arranges everything below the header by itself.

    Attributes:
        layout: its answer to a visit; may raise :class:`Astray`.
    """

    layout: Callable[[Answers, Visit], Drawn] = field(repr=False)

    def draw(self, answers: Answers, visit: Visit) -> Drawn:
        """The page as a visit asks for it."""
        return self.layout(answers, visit)


@cache
def pages() -> tuple[Page, ...]:
    """All pages, in the order of the navigation."""
    package = import_module("workbench.dashboard.pages")
    modules = (import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__))
    return tuple(sorted((module.PAGE for module in modules if hasattr(module, "PAGE")), key=lambda page: page.order))


def page_at(path: str) -> Page | None:
    """The page at an address, or None."""
    return next((page for page in pages() if page.path == path), None)
