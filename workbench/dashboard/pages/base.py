"""The classes of pages; :mod:`workbench.dashboard.pages.all_pages` lists the pages.

A page with a selection bar is a :class:`workbench.dashboard.pages.cursor_page.CursorPage`; every other one is a
:class:`FreePage`. The frame (header, navigation, link, notices) uses only this interface.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from dash import Dash

from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Notice, parse

CURSOR_KEYS = ("run", "step", "len", "layer", "head", "view", "sample", "axis")
"""Keys that the address of any page about a run may have: links keep the selection."""


@runtime_checkable
class Exported(Protocol):
    """A panel whose data can be downloaded under the id of the panel."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


@dataclass(frozen=True)
class Visit:
    """A request for a page.

    Attributes:
        path: the page.
        search: the query part of the address.
        last: the run seen last.
        notices: messages to show, for example because another page could not be shown.
    """

    path: str
    search: str
    last: str = ""
    notices: Sequence[Notice] = ()

    @property
    def query(self) -> Mapping[str, str]:
        """Return the query part of the address as a dict."""
        return parse(self.search)


@dataclass(frozen=True)
class Drawn:
    """What a page returns for a request: content, title, and the run that it shows.

    Attributes:
        content: everything below the header.
        title: the title of the browser's tab, without the product's name.
        run: the run it is about, or "".
        waits: whether it stands empty until data come.
    """

    content: list[Any]
    title: str
    run: str = ""
    waits: bool = False


class Astray(LookupError):
    """Raised for a link that its page cannot use at all. The first page is then shown with the notice."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(notice.asked)
        self.notice = notice


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of the dashboard, with its layout, callbacks and address.

    Attributes:
        path: its address, e.g. ``/compare``.
        name: in the navigation.
        connect: registers its callbacks; it must name no component of another page.
        panels: the panels that can be exported.
        needs_run: whether its address is meaningless without ``?run=``.
    """

    path: str
    name: str
    connect: Callable[[Dash, Context], None] = field(repr=False)
    panels: tuple[Exported, ...] = ()
    needs_run: bool = False

    def draw(self, context: Context, visit: Visit) -> Drawn:
        """Return the page for a request; raises :class:`Astray` if the page cannot be shown at all."""
        raise NotImplementedError(self.path)


def unknown_keys(asked: Mapping[str, str], known: Collection[str], page: str) -> list[Notice]:
    """Return notices about keys of a link that its page does not have."""
    names = [f"\u201c{name[:40]}\u201d" for name in asked if name not in known]
    if not names:
        return []
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return [
        Notice(f"This link contains {listed}, which the page {page} does not know.", "The page ignores it.", "Keep")
    ]


@dataclass(frozen=True, kw_only=True)
class FreePage(Page):
    """A page without a selection bar, which arranges everything below the header by itself.

    Attributes:
        layout: its answer to a visit; may raise :class:`Astray`.
        keys: keys that its address may have.
    """

    layout: Callable[[Context, Visit], Drawn] = field(repr=False)
    keys: Sequence[str] = ()

    def draw(self, context: Context, visit: Visit) -> Drawn:
        """Return the page for a request, with the notices of a redirected request above it."""
        said = unknown_keys(visit.query, self.keys, self.name) if visit.path == self.path else []
        return self.layout(context, replace(visit, notices=[*visit.notices, *said]))
