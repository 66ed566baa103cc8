"""The list of all pages, in the order of the navigation. To add a page, write a module here and an entry below."""

from __future__ import annotations

from workbench.dashboard.pages import checkpoint, claims, compare, glossary, run, runs, sweep, theory, try_it
from workbench.dashboard.pages.base import Page

PAGES: tuple[Page, ...] = tuple(
    module.PAGE for module in (runs, run, checkpoint, try_it, compare, sweep, theory, claims, glossary)
)


def page_at(path: str) -> Page | None:
    """Return the page at an address, or None if there is no such page."""
    return next((page for page in PAGES if page.path == path), None)
