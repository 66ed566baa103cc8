"""Every page, in the order of the navigation. A new one is a module here and an entry below."""

from __future__ import annotations

from workbench.dashboard.pages import checkpoint, compare, glossary, run, runs, sweep, theory, try_it
from workbench.dashboard.pages.base import Page

PAGES: tuple[Page, ...] = tuple(
    module.PAGE for module in (runs, run, checkpoint, try_it, compare, sweep, theory, glossary)
)


def page_at(path: str) -> Page | None:
    """The page at an address, or None."""
    return next((page for page in PAGES if page.path == path), None)
