"""The committed rows of trained claims are what reducing the committed rows of runs gives; rules of verdicts on rows by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.claims.committed import EVIDENCE, FOLDER
from tests.support.claims.somewhere import HERE
from tests.support.held import Held, digest
from tests.support.printed import outcome, printed, told
from workbench.claims import resampling
from workbench.claims.claim import Claim, Condition, Row
from workbench.claims.labels import verdict_text
from workbench.claims.reproducing import reduce_runs
from workbench.claims.resampling import (
    Share,
    cell_correlation,
    contrast_of_shares,
    drawn_shares,
    each_draw,
    kendall,
    over_seeds,
    paired_difference,
)
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained.run_rows import RunTable, read_runs
from workbench.claims.verdict_rule import decided_by, judge

NUMBERS = ("value", "low", "high", "expected", "freedom")
SLOW = {"TR06", "PP02", "QT15", "QT16"}
"""Claims whose reduction takes seconds: these are made of fewer draws here."""
TRAINED = [claim for suite in SUITES.values() for claim in suite.claims if claim.cells and claim.id in EVIDENCE]


@pytest.fixture(scope="module")
def runs() -> RunTable:
    return read_runs(FOLDER)


@pytest.mark.parametrize("claim", [claim for claim in TRAINED if claim.id not in SLOW], ids=lambda claim: claim.id)
def test_committed_runs_reduce_to_the_committed_rows(claim: Claim, runs: RunTable) -> None:
    found, version, whole = reduce_runs(claim, runs)
    stored = EVIDENCE[claim.id]
    assert (version, whole) == (stored.version, stored.complete)
    assert [_but_numbers(row) for row in found] == [_but_numbers(row) for row in stored.rows]
    for name in NUMBERS:
        new, old = ([getattr(row, name) for row in rows] for rows in (found, stored.rows))
        assert [one is None for one in new] == [one is None for one in old]
        assert _known(new) == pytest.approx(_known(old), rel=1e-9, abs=1e-9)
    for one, other in zip(found, stored.rows, strict=True):
        assert one.each == pytest.approx(other.each, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("claim", [claim for claim in TRAINED if claim.id in SLOW], ids=lambda claim: claim.id)
def test_reductions_of_many_draws_by_few(
    claim: Claim, runs: RunTable, monkeypatch: pytest.MonkeyPatch, held: Held
) -> None:
    monkeypatch.setattr(resampling, "SEED_RESAMPLES", 60)
    monkeypatch.setattr(resampling, "PART_RESAMPLES", 20)
    found, _, _ = reduce_runs(claim, runs)
    assert [_but_numbers(row) for row in found] == [_but_numbers(row) for row in EVIDENCE[claim.id].rows]
    held([[row.value, row.low, row.high] for row in found])


def _but_numbers(row: Row) -> Row:
    return replace(row, **dict.fromkeys(NUMBERS), each=())


def _known(values: Sequence[float | None]) -> list[float]:
    return [one for one in values if one is not None]


# ---- sides of a condition -------------------------------------------------------------------------------
CONDITIONS = {
    "at least": Condition("q", at_least=0.5),
    "at least, apart": Condition("q", at_least=0.5, fails_below=0.25),
    "at most": Condition("q", at_most=0.5),
    "at most, apart": Condition("q", at_most=0.5, fails_above=0.75),
    "between": Condition("q", at_least=0.25, at_most=0.75),
    "near": Condition("q", near=0.125),
    "equal": Condition("q", near=0.0),
    "exactly": Condition("q", at_least=0.5, at_most=0.5),
    "near and at least": Condition("q", near=0.25, at_least=0.375),
}
GRID = (0.0, 0.2, 0.25, 0.375, 0.45, 0.5, 0.625, 0.75, 0.8, 1.0)
INTERVALS = [(low, high) for low, high in product(GRID, GRID) if low <= high]


@pytest.mark.parametrize("name", CONDITIONS)
def test_on_which_side_an_interval_lies(name: str, held: Held) -> None:
    """Of every interval whose ends lie at, between and beyond the thresholds: h holds, f fails, o is open."""
    one = CONDITIONS[name]
    held([str(one), "".join(one.side(low, high, 0.5)[0] for low, high in INTERVALS)])


@pytest.mark.parametrize(
    "given",
    [
        {}, {"fails_below": 0.5}, {"at_least": 0.5, "fails_below": 0.5}, {"at_least": 0.5, "fails_below": 0.6}, {"fails_above": 0.5},
        {"at_most": 0.5, "fails_above": 0.5}, {"at_most": 0.5, "fails_above": 0.4}, {"near": 0.1}, {"near": 0.0, "at_most": 2.0},
    ],
    ids=str,
)  # fmt: skip
def test_which_conditions_there_are(given: dict[str, float], held: Held) -> None:
    held(told(outcome(lambda: str(Condition("q", **given)))))


# ---- verdicts -----------------------------------------------------------------------------------------------
EXACT = Claim("X1", "E", (HERE,), "So.", "it", (Condition("q", at_least=0.5, fails_below=0.25),), "none", "", 1.0)
SIDES = {"h": (0.5, 0.75), "f": (0.0, 0.2), "o": (0.3, 0.6), "e": (0.5, 0.5), "b": (0.25, 0.25)}
"""Holds, fails, open; exactly at the bound; exactly where it would begin to fail."""


def over_runs(sides: str, fitted: str, item: str = "", expected: float | None = None) -> list[Row]:
    return [
        Row("q", item, sum(SIDES[side]) / 2, *SIDES[side], expected, run=f"r{i}", step=9, seed=i, fitted=fit == "1")
        for i, (side, fit) in enumerate(zip(sides, fitted, strict=True))
    ]


@pytest.mark.parametrize("exempt", [False, True])
@pytest.mark.parametrize("seeds", [0, 1, 2, 3, 5])
def test_verdicts_over_seeds(seeds: int, exempt: bool, held: Held) -> None:
    """Of one to six runs on all sides, some of them not fitted."""
    claim = replace(EXACT, kind="T", seeds=seeds, exempt=exempt)
    patterns = (
        "h",
        "f",
        "o",
        "hh",
        "hf",
        "hhh",
        "hhf",
        "ffo",
        "eee",
        "bbb",
        "hheo",
        "hhhh",
        "hhhf",
        "hhhhh",
        "hhhhf",
        "fffff",
        "ffffh",
        "hhhff",
        "hhhho",
        "hhhhhf",
    )
    found = {}
    for sides in patterns:
        for fitted in {"1" * len(sides), "0" * len(sides), "1" * (len(sides) - 1) + "0", "0" + "1" * (len(sides) - 1)}:
            said = judge(claim, over_runs(sides, fitted))
            found[f"{sides} {fitted}"] = [
                verdict_text(claim, said.verdict, said.why),
                said.observation,
                said.low,
                said.high,
                said.seeds,
                said.fitted,
                said.tests,
                said.cause,
                said.needs,
                str(said.share),
            ]
    short = ("hhhhf 11111", "hhhhf 11110", "hhf 111", "hf 11")
    held([printed(dict(sorted(found.items()))), {name: found[name][:2] for name in short}])


def cases() -> dict[str, tuple[Claim, list[Row], bool]]:
    plain = [Row("q", "a", 0.5), Row("q", "b", 0.75, 0.5, 0.9)]
    two = replace(EXACT, conditions=(Condition("q", at_least=0.5), Condition("p", at_most=1.0)))
    planned = replace(EXACT, kind="T", seeds=3)
    several = [
        Row("q", "a", 0.6, 0.5, 0.7, entered=e, planned=p, freedom=e - 1.0, fewest=e)
        for e, p in ((3, 3), (2, 3), (4, 5))
    ]
    return {
        "none": (EXACT, [], True),
        "plain": (EXACT, plain, True),
        "incomplete": (EXACT, plain, False),
        "fails and open": (EXACT, [Row("q", "o", 0.3), Row("q", "f", 0.2), Row("q", "h", 0.9)], True),
        "open": (EXACT, [Row("q", "h", 0.9), Row("q", "o", 0.3, 0.26, 0.4, n=9)], True),
        "at the bound": (EXACT, [Row("q", "", 0.5)], True),
        "just not failing": (EXACT, [Row("q", "", 0.25)], True),
        "a quantity lacks": (two, plain, True),
        "both": (two, [*plain, Row("p", "", 1.0, 0.5, 1.0)], True),
        "description": (replace(EXACT, conditions=()), plain, True),
        "settled": (replace(EXACT, settled="yes"), plain, True),
        "enough entered": (planned, several[:1], True),
        "too few entered": (planned, several, True),
        "four of five": (planned, several[2:], True),
        "open of several": (planned, [Row("q", "", 0.4, 0.3, 0.6, entered=3, planned=3, freedom=2.0, fewest=3)], True),
        "outside": (replace(EXACT, outside="n is too small"), [Row("q", "", 0.1)], True),
        "two planned": (replace(planned, seeds=2), [Row("q", "", 0.6, entered=2, planned=2)], True),
        "none entered": (
            planned,
            [Row("q", "", 0.6, entered=None, planned=2), Row("q", "b", 0.6, entered=1, planned=9)],
            True,
        ),
        "runs are missing": (replace(planned, cells=TRAINED[0].cells), [], True),
        "runs lack a quantity": (replace(two, seeds=3), over_runs("hhh", "111"), True),
        "expected": (
            replace(EXACT, conditions=(Condition("q", near=0.1),)),
            over_runs("hhh", "111", expected=0.6),
            True,
        ),
        "items": (replace(planned, seeds=2), [*over_runs("hh", "11", "one"), *over_runs("ff", "11", "two")], True),
    }


@pytest.mark.parametrize("name", cases())
def test_verdicts(name: str, held: Held) -> None:
    claim, rows, complete = cases()[name]
    said = judge(claim, rows, complete)
    held([told(said), verdict_text(claim, said.verdict, said.why)])


def test_what_decided_claims_rest_on(held: Held) -> None:
    held(dict(decided_by(judge(claim, rows, complete) for claim, rows, complete in cases().values())))


# ---- intervals over runs -----------------------------------------------------------------------------------
SHARES = ([Share(0.9, 100), Share(0.6, 100)], [Share(1.0, 50), Share(0.5, 0)], [Share(0.2, 80, 0.5), Share(0.0, 40)])


@pytest.mark.parametrize("signs", [(1, -1), (-1, 1), (1, 1), (1, 0)])
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_sums_of_shares_with_signs(seeds: int, signs: tuple[int, int], held: Held) -> None:
    held(list(astuple(contrast_of_shares(SHARES[:seeds], signs, np.random.default_rng(3)))))


@pytest.mark.parametrize(
    "share", [Share(0.3, 0), Share(0.0, 20), Share(1.0, 20), Share(0.25, 37, 0.5), Share(-0.5, 40, 0.5)]
)
def test_shares_drawn_anew(share: Share, held: Held) -> None:
    drawn = drawn_shares(share, (400, 3), np.random.default_rng(5))
    right = (share.value * (1 - share.floor) + share.floor) * share.strings
    expected = ((right + 0.5) / (share.strings + 1) - share.floor) / (1 - share.floor) if share.strings else share.value
    assert drawn.mean() == pytest.approx(expected, abs=0.01 if share.strings else 1e-12)
    held(digest(drawn))


def test_paired_differences_and_correlations(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "RESAMPLES", 300)
    monkeypatch.setattr(resampling, "SEED_RESAMPLES", 300)
    values = [np.arange(6) / 5, np.array([0.5]), np.array([-1.0, 2.0, 0.25])]
    cells = [i // 2 for i in range(8)]
    x, y = np.array([1, 2, 3, 5, 4, 8, 7, 6.0]), np.array([2, 1, 4, 3, 8, 5, 7, 6.0])
    some = lambda chosen: float(x[chosen].mean()) if len(set(chosen.tolist())) > 3 else None  # noqa: E731
    found: list[Any] = [astuple(paired_difference(values[:k], np.random.default_rng(k))) for k in (1, 2, 3)]
    found += [astuple(cell_correlation(x, y, cells, np.random.default_rng(1), *more)) for more in ((), (kendall,))]
    over = over_seeds(cells, each_draw(some), np.random.default_rng(2))
    assert over is not None
    found += [astuple(over), over_seeds(cells, each_draw(lambda chosen: None), np.random.default_rng(2))]
    for refused in (
        partial(paired_difference, []),
        partial(paired_difference, [[]]),
        partial(contrast_of_shares, [], (1,)),
    ):
        found.append(outcome(partial(refused, np.random.default_rng(0))))
    found += [
        outcome(partial(cell_correlation, x, z, c, np.random.default_rng(0)))
        for c, z in (([0, 0, 1, 1] * 2, y), (cells, np.ones(8)))
    ]
    held([list(one) if isinstance(one, tuple) else one for one in found])
    assert math.isclose(found[0][0], 0.5)
