"""The filters of the Claims page, how a link gives them, and which claims they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.dashboard.state.cursor import Notice, parse, query

CLAIM_KEYS = ("suite", "verdict", "paper", "filter", "claim")
"""Keys that a link to the Claims page may have."""
OWN = "our own questions"
"""Stands in the list of papers for the claims that no paper makes."""
ABOUT = (
    "Most of these claims are from papers on length generalization, and some are our own questions. Each claim is an "
    "experiment that you can run by its name. The median over the seeds that solve the trained lengths decides a claim "
    "about training."
)
"""What the list of claims contains."""
TEXTS = ("claim", "prediction", "statistic", "holds_if", "scale", "observation", "note", "suite_title")
"""Texts of a claim that the text filter searches."""


@dataclass(frozen=True)
class ClaimFilters:
    """What the Claims page shows; "" filters nothing.

    Attributes:
        claim: the claim whose numbers are shown next to the list.
    """

    suite: str = ""
    verdict: str = ""
    paper: str = ""
    text: str = ""
    claim: str = ""


def read_claim_filters(search: str | None) -> ClaimFilters:
    """Return the filters that a link gives."""
    given = parse(search)
    return ClaimFilters(*(given.get(key, "") for key in CLAIM_KEYS))


def write_claim_filters(filters: ClaimFilters) -> str:
    """Return the canonical link of the Claims page."""
    values = (filters.suite, filters.verdict, filters.paper, filters.text, filters.claim)
    given = {key: value for key, value in zip(CLAIM_KEYS, values, strict=True) if value}
    return "/claims" + (query(given) if given else "")


def check_claim_filters(
    filters: ClaimFilters, claims: Sequence[Mapping[str, Any]]
) -> tuple[ClaimFilters, list[Notice]]:
    """Drop a suite, verdict, paper or claim that does not exist, each with a notice."""
    known = {
        "suite": {claim["suite"] for claim in claims},
        "verdict": {claim["verdict"] for claim in claims},
        "paper": {paper for claim in claims for paper in papers_of(claim)},
        "claim": {claim["claim"] for claim in claims},
    }
    notices = []
    for name, values in known.items():
        value = getattr(filters, name)
        if value and value not in values:
            said = f"This link names the {name} \u201c{value[:60]}\u201d, which no claim here has."
            if name == "claim":
                said = f"This link names the claim \u201c{value[:60]}\u201d, which does not exist."
            notices.append(Notice(said, "The page shows all claims.", "Keep all"))
            filters = replace(filters, **{name: ""})
    return filters, notices


def papers_of(claim: Mapping[str, Any]) -> list[str]:
    """Return the names of a claim's papers, each once."""
    return list(dict.fromkeys(source["paper"] or OWN for source in claim["sources"]))


def passing(claims: Sequence[Mapping[str, Any]], filters: ClaimFilters) -> list[Mapping[str, Any]]:
    """Return the claims that pass the filters, in their order. Every word of the text must occur."""
    words = filters.text.lower().split()
    return [
        claim
        for claim in claims
        if filters.suite in ("", claim["suite"])
        and filters.verdict in ("", claim["verdict"])
        and (not filters.paper or filters.paper in papers_of(claim))
        and all(word in _searched(claim) for word in words)
    ]


def _searched(claim: Mapping[str, Any]) -> str:
    sources = (source["text"] for source in claim["sources"])
    return " ".join([*(str(claim[name]) for name in TEXTS), *sources]).lower()


def verdict_text(claim: Mapping[str, Any]) -> str:
    """Return the verdict on a claim in sentences: why, what was observed, and the seeds on the claim's side."""
    why = f" ({claim['why']})" if claim["why"] else ""
    seeds = f" Seeds on the claim's side: {claim['seeds']}." if claim["seeds"] else ""
    observed = f" {_sentence(claim['observation'])}" if claim["observation"] else ""
    return f"{claim['verdict'].capitalize()}{why}.{observed}{seeds}"


def _sentence(text: str) -> str:
    text = text.replace("`", "")
    return f"{text[:1].upper()}{text[1:]}."
