"""Every link to the Glossary, from any page, text or script, leads to an entry of the term that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from dash import html

from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import IN_CONTEXT_NAMES, NAMES, gallery
from tests.support.places import ROOT
from workbench.dashboard.command_palette import entries
from workbench.dashboard.components.terms import JARGON, TERMS
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.pages.glossary import PAGE as GLOSSARY
from workbench.dashboard.server.context import Context

__all__ = ["gallery"]
ADDRESS = re.compile(r"/glossary[?#][^\s\"'`)\\]*")


def components(tree: Any) -> Iterator[Any]:
    """A component and all below it."""
    if isinstance(tree, (list, tuple)):
        for child in tree:
            yield from components(child)
    elif hasattr(tree, "to_plotly_json"):
        yield tree
        yield from components(getattr(tree, "children", None))


def glossary_page(context: Context, search: str = "") -> html.Div:
    return html.Div(GLOSSARY.draw(context, Visit("/glossary", search)).content)


def headings(page: html.Div) -> dict[str, str]:
    """The heading of each place of the page that a link can name."""
    places: dict[str, str] = {}
    for part in components(page):
        if (name := getattr(part, "id", None)) is None:
            continue
        assert name not in places, f"two places of the Glossary are called {name}"
        titles = [texts(one) for one in components(part) if isinstance(one, (html.H2, html.Dt))]
        places[name] = titles[0] if titles else ""
    return places


MARKED: dict[str, list[str]] = {}
"""By quantity, the entries that the page of the gallery marks: many links name the same quantity."""


def marked(context: Context, quantity: str) -> list[str]:
    """The entries that the page marks for a quantity."""
    if quantity in MARKED:
        return MARKED[quantity]
    page = glossary_page(context, f"?quantity={quantity}")
    assert "This link names" not in texts(page), quantity
    chosen = [part for part in components(page) if getattr(part, "className", "") == "asked"]
    MARKED[quantity] = [texts(next(one for one in components(part) if isinstance(one, html.A))) for part in chosen]
    return MARKED[quantity]


def leads_to(context: Context, places: Mapping[str, str], address: str) -> str:
    """The term of the entry that an address leads to, or "" where there is none."""
    parts = urlsplit(address)
    if parts.fragment:
        return places.get(parts.fragment, "")
    (quantity,) = parse_qs(parts.query)["quantity"]
    return next(iter(marked(context, quantity)), "")


def test_every_term_of_the_command_palette_leads_to_its_entry(gallery: Context) -> None:
    places = headings(glossary_page(gallery))
    terms = [entry for entry in entries(gallery) if entry.kind == "Term"]
    assert [entry.name for entry in terms] == list(TERMS)
    for entry in terms:
        assert leads_to(gallery, places, entry.what) == entry.name


def test_every_quantity_of_the_command_palette_has_an_entry_of_its_name(gallery: Context) -> None:
    """The palette leads to ``/glossary?quantity=NAME`` where no run is open."""
    assert '"/glossary?quantity="' in (ROOT / "workbench/dashboard/assets/js/palette.js").read_text()
    quantities = {e.what.split("|")[2]: e.name for e in entries(gallery) if e.kind == "Quantity"}
    assert len(quantities) > 100
    for quantity, name in quantities.items():
        assert set(marked(gallery, quote(quantity))) == {name}


def test_the_index_and_the_entries_of_the_page_lead_to_what_they_name(gallery: Context) -> None:
    page = glossary_page(gallery)
    places = headings(page)
    links = [part for part in components(page) if isinstance(part, html.A)]
    inside = [part for part in links if part.href.startswith("#")]
    assert len(inside) > 20
    for part in inside:
        assert places.get(part.href[1:]) == texts(part)
    for part in links:
        if part.href.startswith("/glossary?"):
            assert leads_to(gallery, places, part.href) == texts(part)


@pytest.mark.parametrize("name", [NAMES[0], "small_model", IN_CONTEXT_NAMES[0]])
def test_links_of_pages_and_panels_lead_to_the_term_that_they_name(gallery: Context, name: str) -> None:
    places = headings(glossary_page(gallery))
    for page in PAGES:
        if page is GLOSSARY:
            continue
        content = page.draw(gallery, Visit(page.path, f"?run={name}")).content
        for part in components(content):
            if ADDRESS.search(href := getattr(part, "href", "") or ""):
                assert leads_to(gallery, places, href) == texts(part), (page.path, href)
            if "data-about" in (said := part.to_plotly_json()["props"]):
                for term, meaning in json.loads(said["data-about"]):
                    if term in TERMS:
                        assert (places[f"term-{term.replace(' ', '-')}"], meaning) == (term, TERMS[term])


def test_every_term_that_texts_explain_has_an_entry() -> None:
    assert set(JARGON) <= set(TERMS)


TEXTS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "notebooks/*",
        "workbench/**/*.md",
        "workbench/**/*.py",
        "workbench/**/*.js",
    )
    for path in ROOT.glob(pattern)
)


def test_addresses_in_the_source_and_the_docs_name_entries(gallery: Context) -> None:
    """Addresses that are written out; those that code fills in are followed by the tests above."""
    places = headings(glossary_page(gallery))
    filled = {
        "workbench/dashboard/assets/js/palette.js": "/glossary?quantity=",
        "workbench/dashboard/command_palette.py": "/glossary#{anchor(term",
        "workbench/dashboard/pages/glossary.py": "/glossary?quantity={name}",
    }
    for path in TEXTS:
        where = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        for address in ADDRESS.findall(text):
            if address != filled.get(where):
                assert leads_to(gallery, places, address), (where, address)


def test_links_of_the_documentation_lead_to_headings_of_its_glossary() -> None:
    from docs.glossary_page import glossary

    page = glossary()
    ids = {re.sub(r"[^\w\- ]", "", line.lstrip("# ")).strip().lower().replace(" ", "-") for line in page.splitlines()
           if line.startswith("#")}  # fmt: skip
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for fragment in re.findall(r"glossary\.md#([\w-]+)", path.read_text(encoding="utf-8")):
            assert fragment in ids, (path.name, fragment)
    for term, meaning in TERMS.items():
        assert f"**{term}**: " in page, meaning
