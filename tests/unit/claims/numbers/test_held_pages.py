"""Pages of small tables, figures of what came out otherwise, and what a call would have to do: their texts and numbers are held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.held import Held
from tests.support.printed import printed
from workbench.claims.claim import Claim, Condition, Row, Suite
from workbench.claims.claim_pages import index_page, suite_page
from workbench.claims.claims_table import Evidence
from workbench.claims.papers import own_question
from workbench.claims.reproducing import plan
from workbench.claims.suites.registry import SUITES
from workbench.claims.surprises import SURPRISES, Surprise, drawing, short, span
from workbench.claims.trained.run_rows import RunTable
from workbench.claims.trained.training_runs import Pace, missing_runs, planned_runs, starts_of
from workbench.claims.trained_cells import FIT, STATISTIC_SECONDS, Request, cell

ONE = Claim(
    "X1",
    "E",
    (own_question("a | paper"),),
    "It is so.",
    "it",
    (Condition("q", at_least=0.5, fails_below=0.25),),
    "none",
    "",
    1.0,
)
RUN = replace(ONE, id="T1", kind="T", seeds=3, settings_tried=4, note="beside", settled="the bar")
ROWS = {
    "plain": (ONE, [Row("q", "a|b", 0.5), Row("q", "c", 0.75, 0.5, 0.9, n=1234)]),
    "expected": (ONE, [Row("q", "", 0.75, expected=0.7), Row("p", "x", -1e-7)]),
    "many": (ONE, [Row("q", f"i {i}", 0.5 + i / 100) for i in range(14)]),
    "twelve": (ONE, [Row("q", f"i {i}", 0.5 + i / 100) for i in range(12)]),
    "thirteen": (ONE, [Row("q", f"i {i}", 0.5 + i / 100) for i in range(13)]),
    "fails": (ONE, [Row("q", "", 0.1, 0.05, 0.2)]),
    "open": (ONE, [Row("q", "", 0.4, 0.3, 0.6)]),
    "runs": (RUN, [Row("q", "", 0.8, 0.7, 0.9, run=f"r{i}", step=9, seed=i, fitted=i < 2) for i in range(3)]),
    "seeds": (
        RUN,
        [Row("q", "", v, v - 0.05, v + 0.05, run=f"r{v}", step=9, seed=1, fitted=True) for v in (0.1, 0.8, 0.9)],
    ),
    "several": (RUN, [Row("q", f"{e}", 0.8, 0.7, 0.9, entered=e, planned=3, fewest=e) for e in (3, 2, None)]),
    "alike": (
        RUN,
        [Row("q", f"{i}", 0.8, 0.7, 0.9, entered=3, planned=3, freedom=2.0, fewest=3) for i in range(2)],
    ),
    "outside": (replace(ONE, outside="n is too small"), [Row("q", "", 0.1)]),
    "none": (RUN, []),
    "description": (replace(ONE, conditions=()), [Row("q", "", 0.5)]),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_page_of_a_claim(name: str, held: Held) -> None:
    claim, rows = ROWS[name]
    page = suite_page(Suite("s", "Is it so?", (claim,)), {claim.id: Evidence(tuple(rows), claim.version, bool(rows))})
    held(page.splitlines()[4:] if len(page) < 1500 else [page.splitlines()[4], page.splitlines()[-1], printed(page)])


def test_an_index_of_all_of_them(held: Held) -> None:
    """Claims of every verdict together: exact ones, ones that rest on intervals, and open ones of every cause."""
    claims = tuple(replace(claim, id=f"C{i}") for i, (claim, _) in enumerate(ROWS.values()))
    evidence = {f"C{i}": Evidence(tuple(rows), 1, bool(rows)) for i, (_, rows) in enumerate(ROWS.values())}
    suites = [Suite("one", "One", claims[:7]), Suite("two", "Two", claims[7:]), Suite("empty", "None", ())]
    told = [
        line
        for line in index_page(suites, evidence).splitlines()
        if line.startswith(("|", "14", "0")) or "we chose" in line
    ]
    counts = [suite_page(one, evidence).splitlines()[4] for one in suites]
    old = suite_page(suites[0], {name: replace(one, version=2) for name, one in evidence.items()}).splitlines()[4]
    held([told[:6], printed(told), counts, old])


@pytest.mark.parametrize("one", SURPRISES, ids=lambda one: one.claim)
def test_figures_of_surprises(one: Surprise, held: Held) -> None:
    values = ((0.25, (0.1, 0.4)), (0.5, ()), (1.0, (0.9, 1.0)))
    rows = [Row(name, "", value, *ends) for name in one.published for value, ends in values]
    below = [Row(next(iter(one.published)), "", -0.25, -0.5, 0.1)]
    held([printed(drawing(one, rows)), printed(drawing(one, below)), drawing(one, below).splitlines()[-6:-2]])


def test_spans_of_rows(held: Held) -> None:
    rows = [
        Row("q", "", v, low, high) for v, low, high in ((0.251, 0.2, 0.3), (-0.004, None, None), (0.2512, None, 0.5))
    ]
    held(
        [
            *(span([one]) for one in rows),
            span(rows),
            span([rows[0], rows[2]]),
            [short(v) for v in (-0.5, 0.005, 1.0, -0.004)],
        ]
    )


# ---- what a call has to do -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SUITES)
def test_from_nothing_a_suite_takes_all_its_claims_and_each_run_once(name: str, tmp_path: Path) -> None:
    """Of all seeds of its cells, and of one seed of each; runs that others begin from are among them."""
    suite = SUITES.find(name)
    cells = [each for claim in suite.claims for each in claim.cells]
    cells += [each.start for each in cells if each.start]
    for seeds in (None, 1):
        todo = plan([(suite, claim) for claim in suite.claims], tmp_path, seeds)
        assert (todo.missing, todo.unbuilt) == (suite.claims, ())
        recipes = [run.recipe for run in todo.runs]
        assert len(recipes) == len({*recipes})
        assert {*recipes} == {each.recipe(seed) for each in cells for seed in tuple(each.seeds)[:seeds]}
        assert [run.cell.seconds for run in todo.runs] == sorted((r.cell.seconds for r in todo.runs), reverse=True)


def test_runs_that_begin_from_others(held: Held) -> None:
    first = cell("majority", "nope", 8, 100)
    then = cell("majority", "nope", 8, 50, label="tuned", start=first)
    last = cell(
        "majority",
        "rope",
        8,
        25,
        label="tuned",
        start=then,
        seeds=(0, 1),
        requests=(FIT, Request("losses"), Request("gates", {"token": "1"})),
    )
    planned = planned_runs([last, then], 2)
    missing = missing_runs(planned, RunTable())
    held(
        [
            [(run.cell.name, run.seed, len(run.requests)) for run in planned],
            [run.cell.name for run in missing],
            len(starts_of(missing)),
        ]
    )


def test_seconds_that_a_run_takes(held: Held) -> None:
    made = [cell("majority", p, n, s, layers=la, width=w, batch=b, low=low, requests=(Request(name),)) for p, n, s, la, w, b, low, name in (
        ("nope", 8, 100, 1, 16, 4, 1, "fit"), ("nope", 9, 100, 2, 32, 8, 4, "losses"), ("ssm", 16, 1000, 2, 64, 32, 1, "bins"),
        ("rope", 16, 1000, 2, 64, 32, 1, "unknown"))]  # fmt: skip
    held([[one.seconds for one in made], [one.scale for one in made], dict(STATISTIC_SECONDS)])


def test_the_pace_of_a_process() -> None:
    pace = Pace()
    assert pace.estimate(10.0) == 0.0
    pace.add(6.0, 4.0)
    assert pace.estimate(10.0) == pytest.approx(15.0)
    pace.add(2.0, 4.0)
    assert (pace.taken, pace.thought, pace.estimate(10.0)) == (8.0, 8.0, 10.0)
