"""The table of claims: the same bytes again, going on from rows alone, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from workbench.claims import reproducing
from workbench.claims.claim import Claim, Row
from workbench.claims.claims_table import FILE, SCHEMA, read_evidence
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import computed, keep, plan, reproduce
from workbench.claims.suites.registry import SUITES, claims_named


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which claims are computed; each gives one row that holds for none of them but is enough to be kept."""
    seen: list[str] = []

    def fake(claim: Claim) -> list[Row]:
        seen.append(claim.id)
        return [Row(condition.quantity, "", 1.0, expected=1.0, n=3) for condition in claim.conditions]

    monkeypatch.setattr(reproducing, "computed", fake)
    return seen


def test_nothing_is_computed_twice_and_the_bytes_stay(tmp_path: Path, counted: list[str]) -> None:
    claims = claims_named("crasp-exact")
    left = reproduce(plan(claims, tmp_path), tmp_path)
    built = [claim.id for _, claim in claims if claim.rows]
    assert counted == built
    assert left.missing == ()
    assert [claim.id for claim in left.unbuilt] == [claim.id for _, claim in claims if not claim.rows]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {FILE, "index.md", *(f"{name}.md" for name in SUITES)}
    reproduce(plan(claims, tmp_path), tmp_path)
    assert counted == built
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_it_goes_on_where_it_was_stopped(tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    claims = claims_named("ssm-exact")
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(reproducing.time, "time", lambda: float(next(clock)))
    left = reproduce(plan(claims, tmp_path), tmp_path, minutes=1)
    assert counted == ["SX01"]
    built = [claim.id for _, claim in claims if claim.rows]
    assert [claim.id for claim in left.missing] == built[1:]
    reproduce(left, tmp_path)
    assert counted == built


def test_rows_of_another_version_are_computed_again(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, claim),) = claims_named("SX01")
    keep(claim, [Row("prefixes wrong", "", 0.0)], tmp_path)
    assert plan(claims_named("SX01"), tmp_path).missing == ()
    object.__setattr__(claim, "version", 2)
    try:
        assert plan(claims_named("SX01"), tmp_path).missing == (claim,)
    finally:
        object.__setattr__(claim, "version", 1)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    ((_, claim),) = claims_named("SX01")
    rows = (Row("prefixes wrong", "a, b", 0.1 + 0.2, 0.0, None, 3.0, 7, "run", 100, 3, False), Row("x", "", 1.0))
    keep(claim, rows, tmp_path, complete=False)
    found = read_evidence(tmp_path)["SX01"]
    assert (found.rows, found.complete) == (rows, False)
    assert pq.read_schema(tmp_path / FILE).equals(SCHEMA)


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a table")
    with pytest.raises(ClaimError, match=r"claims\.parquet is no table of claims"):
        plan(claims_named("SX01"), tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [("crasp-exct", "did you mean crasp-exact"), ("HE7", "did you mean HE07"), ("x", "suites: bounds")],
)
def test_an_unknown_name_is_told_the_nearest(name: str, says: str) -> None:
    with pytest.raises(ClaimError, match=says):
        claims_named(name)


def test_a_claim_is_found_by_its_id_however_written() -> None:
    assert [claim.id for _, claim in claims_named("he07")] == ["HE07"]


def test_every_claim_is_told_whole_and_its_address_resolves() -> None:
    from importlib import import_module

    ids = [claim.id for suite in SUITES.values() for claim in suite.claims]
    assert len(ids) == len(set(ids))
    for suite in SUITES.values():
        for claim in suite.claims:
            assert claim.prediction.endswith(".")
            assert claim.source
            assert claim.conditions or claim.id in ("SE09", "HF36")
            if claim.rows:
                module, _, name = claim.rows.partition(":")
                assert callable(getattr(import_module(module), name)), claim.id
                assert claim.scale
            else:
                assert claim.note.startswith("not built: "), claim.id


def test_an_exact_claim_is_computed_by_its_address() -> None:
    ((_, claim),) = claims_named("HE06")
    assert [row.value for row in computed(claim)] == [2.0] * 6
