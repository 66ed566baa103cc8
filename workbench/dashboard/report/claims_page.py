"""The published claims as a page that needs no server: a table for each suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element

from workbench.dashboard.report import page_parts
from workbench.dashboard.report.markup import element
from workbench.dashboard.report.report_page import Shared, with_files
from workbench.dashboard.state.claim_filters import ABOUT, OWN, verdict_text
from workbench.dashboard.state.cursor import slug

COLUMNS = ("Claim", "Verdict", "What was observed", "Source")


def claims_html(claims: Sequence[Mapping[str, Any]], shared: Shared) -> str:
    """Return the page that lists the claims.

    Args:
        claims: as :func:`workbench.claims.published.published_claims` returns them.
        shared: the files next to the page that it uses.
    """
    counts = Counter(claim["verdict"] for claim in claims)
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
    counted = f"{len(claims)} claims"
    body = element(
        "body",
        element("a", "Skip to the claims", href="#page", classes="skip"),
        page_parts.header(counted, shared.back),
        element(
            "main",
            element(
                "div",
                element("h1", "Which published claims hold?"),
                element("p", ABOUT),
                element("p", f"Verdicts on {counted}: {verdicts}."),
                classes="gallery-head",
            ),
            *(_suite(list(group)) for _, group in groupby(claims, key=lambda claim: claim["suite"])),
            id="page",
            tabindex="-1",
            classes="content",
        ),
    )
    return with_files(f"{counted} \u00b7 LengthLens", body, shared)


def _suite(claims: Sequence[Mapping[str, Any]]) -> Element:
    """The heading and the table of a suite."""
    suite, title = claims[0]["suite"], claims[0]["suite_title"]
    heads = element("thead", element("tr", *(element("th", name, scope="col") for name in COLUMNS)))
    table = element("table", heads, element("tbody", *map(_line, claims)), classes="gallery claim-table")
    frame = element("div", table, classes="gallery-wrap", tabindex="0", role="region", aria_label=f"Claims of {suite}")
    title = element("h2", f"{title[:1].upper()}{title[1:]} ", element("span", suite, classes="soft mono"))
    return element("section", title, frame, id=suite, classes="claim-suite")


def _line(claim: Mapping[str, Any]) -> Element:
    sources = [_source(source) for source in claim["sources"]] or [element("div", OWN)]
    return element(
        "tr",
        element("td", element("strong", claim["claim"]), element("div", claim["prediction"])),
        element("td", element("span", claim["verdict"], classes=f"chip claim-{slug(claim['verdict'])}")),
        element("td", verdict_text(claim)),
        element("td", *sources),
        id=claim["claim"].lower(),
    )


def _source(source: Mapping[str, Any]) -> Element:
    text = source["text"] or OWN
    return element("div", element("a", text, href=source["url"], rel="noreferrer") if source["url"] else text)
