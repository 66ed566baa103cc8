"""The Claims page without a browser: filters, links, the numbers of a claim, and what it says without an answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dashboard.answers import texts
from workbench.claims.labels import LABELS
from workbench.dashboard.components import interval_chart
from workbench.dashboard.pages import claims as page
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.published_claims import ClaimList
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.claim_filters import (
    OWN,
    ClaimFilters,
    check_claim_filters,
    passing,
    read_claim_filters,
    write_claim_filters,
)


def number(value: float, seed: int | None = None, **more: Any) -> dict[str, Any]:
    usual = {"item": "", "low": None, "high": None, "expected": None, "n": None, "run": "", "counts": True}
    return {**usual, "value": value, "seed": seed, "side": "holds", **more}


def part(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    usual = {"quantity": "accuracy", "item": "", "holds_if": "", "at_least": None, "at_most": None, "near": None}
    return {**usual, "of_seeds": True, "median": None, "rows": rows, **more}


def claim(name: str, verdict: str, suite: str = "first", paper: str = "Someone 2024", **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("why", "observation", "seeds", "note", "settled", "outside", "computed"), "")
    said = {"prediction": f"{name} is predicted.", "statistic": "a share", "holds_if": "a share is at least 0.9"}
    source = {"text": f"{paper}, theorem 1", "paper": paper, "url": "https://arxiv.org/abs/1" if paper else ""}
    return {
        "claim": name, "suite": suite, "suite_title": "A suite", "kind": "training", **said, "scale": "two layers",
        "sources": [source], "verdict": verdict, **empty, "on_side": None, "of_seeds": None,
        "page": f"docs/claims/{suite}.md", "parts": [], "similar": [], **more,
    }  # fmt: skip


SEEDS = [
    number(0.9, 0, low=0.8, high=1.0, n=512),
    number(0.5, 1, low=0.4, high=0.6, side="fails"),
    number(0.2, 2, counts=False),
]
CLAIMS = [
    claim("AA01", "holds", parts=[part(SEEDS, at_least=0.7, median={"value": 0.7, "low": 0.4, "high": 1.0})]),
    claim("AA02", "undecided", suite="second", paper=""),
    claim("AA03", "does not hold", note="about tomita languages", similar=[0]),
]
FOUND = ClaimList(CLAIMS, [["run_a", "run_b"]])


def test_filters_add_up_and_every_word_of_the_text_counts() -> None:
    def names(**filters: str) -> list[str]:
        return [one["claim"] for one in passing(CLAIMS, ClaimFilters(**filters))]

    assert names() == ["AA01", "AA02", "AA03"]
    assert names(suite="first") == ["AA01", "AA03"]
    assert names(suite="first", verdict="holds") == ["AA01"]
    assert names(paper=OWN) == ["AA02"]
    assert names(text="TOMITA aa03") == ["AA03"]
    assert names(text="tomita aa01") == []


def test_a_link_keeps_its_filters_and_unknown_ones_are_told() -> None:
    filters = ClaimFilters("first", "holds", "Someone 2024", "a b", "AA01")
    assert read_claim_filters(write_claim_filters(filters).partition("?")[2]) == filters
    assert write_claim_filters(ClaimFilters()) == "/claims"
    assert check_claim_filters(filters, CLAIMS) == (filters, [])
    checked, notices = check_claim_filters(ClaimFilters("x", "y", "z", "w", "v"), CLAIMS)
    assert checked == ClaimFilters(text="w")
    assert [word in notice.asked for word, notice in zip("xyzv", notices, strict=True)] == [True] * 4


def test_dots_intervals_and_threshold_share_an_axis() -> None:
    strip = interval_chart.strip(CLAIMS[0]["parts"][0])
    # From 0.2 to 1, with 5 % of it at either end: 0.16 to 1.04.
    expected = [round(100 * (value - 0.16) / 0.88, 2) for value in (0.9, 0.5, 0.2)]
    assert [dot["at"] for dot in strip["dots"]] == pytest.approx(expected)
    assert [dot["kind"] for dot in strip["dots"]] == ["on", "off", "left-out"]
    assert strip["lines"] == [pytest.approx(100 * 0.54 / 0.88, abs=0.01)]
    assert strip["side"] == [strip["lines"][0], 100.0]
    assert strip["said"] == "accuracy: 3 seeds, 0.2 to 0.9"


def test_an_axis_of_many_orders_of_magnitude_is_logarithmic() -> None:
    scale = interval_chart.Scale.of([1.0, 10.0, 1000.0])
    assert scale.logarithmic
    assert scale.at(10.0) - scale.at(1.0) == pytest.approx((scale.at(1000.0) - scale.at(10.0)) / 2, abs=0.02)
    assert not interval_chart.Scale.of([0.0, 1000.0]).logarithmic


def test_a_claim_states_its_numbers_source_runs_and_command() -> None:
    said = texts(page.details_of(FOUND, "AA01"))
    for text in (
        "seed 0",
        "[0.8, 1]",
        "median",
        "Someone 2024, theorem 1",
        "lengthlens reproduce AA01",
        "not counted",
    ):
        assert text in said, text
    assert "docs/claims/first.md#aa01" in said
    assert "run_a" not in said
    assert "run_b" in texts(page.details_of(FOUND, "AA03"))
    assert "The command below computes them." in texts(page.details_of(FOUND, "AA02"))
    assert "No claim is selected" in texts(page.details_of(FOUND, "nothing"))


def test_the_list_says_how_many_claims_pass() -> None:
    assert "3 claims: 1 holds, 1 undecided, 1 does not hold" in texts(page.body(FOUND, ClaimFilters()))
    assert "1 of 3 claims: 1 holds" in texts(page.body(FOUND, ClaimFilters(verdict="holds")))
    assert "0 of 3 claims. Clear a filter to see more." in texts(page.body(FOUND, ClaimFilters(text="nothing here")))
    assert "names the suite \u201cnone\u201d" in texts(page.body(FOUND, ClaimFilters(suite="none")))


@pytest.fixture
def jobs(answers: Context, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """What the worker answers; the last one counts."""
    given = [Job(state="queued")]
    monkeypatch.setattr(answers.worker, "submit", lambda *_, **__: "key")
    monkeypatch.setattr(answers.worker, "job", lambda _: given[-1])
    return given


def test_the_page_waits_for_the_worker_and_states_its_error(answers: Context, jobs: list[Job]) -> None:
    def said() -> str:
        return texts(page.PAGE.draw(answers, Visit("/claims", "?claim=AA01")).content)

    assert "Reading the claims" in said()
    jobs.append(Job(state="failed", error="claims.parquet is damaged."))
    assert "claims.parquet is damaged." in said()
    jobs.append(Job(state="done", result=CLAIMS))
    assert "AA01 is predicted." in said()
    jobs.append(Job(state="queued"))
    assert "AA01 is predicted." in said(), "the answer is cached"


def test_every_verdict_has_a_label() -> None:
    assert [page.verdict_chip(label).children for label in LABELS] == list(LABELS)
