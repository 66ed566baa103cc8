"""The table of claims: the same bytes again, going on from rows alone, and what cannot be read."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.places import ROOT
from workbench import __version__
from workbench.claims import claims_table, reproducing
from workbench.claims.claim import Claim, Condition, Row
from workbench.claims.claim_pages import write_pages
from workbench.claims.claims_table import FILE, SCHEMA, Evidence, read_evidence, read_verdicts
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import compute_rows, differences, plan, reproduce, store_rows
from workbench.claims.suites.registry import SUITES, claims_named
from workbench.claims.trained.run_rows import read_runs
from workbench.cli.commands.reproduce import reproduce as command
from workbench.cli.errors import UsageError

COMMITTED = ROOT / "docs" / "claims"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which claims are computed; each gives one row that holds for none of them but is enough to be kept."""
    seen: list[str] = []

    def fake(claim: Claim) -> list[Row]:
        seen.append(claim.id)
        return [Row(condition.quantity, "", 1.0, expected=1.0, n=3) for condition in claim.conditions]

    monkeypatch.setattr(reproducing, "compute_rows", fake)
    return seen


def test_nothing_is_computed_twice_and_the_bytes_stay(tmp_path: Path, counted: list[str]) -> None:
    claims = claims_named("crasp-exact")
    left = reproduce(plan(claims, tmp_path), tmp_path)
    built = [claim.id for _, claim in claims if claim.rows]
    assert counted == built
    assert left.missing == ()
    assert [claim.id for claim in left.unbuilt] == [claim.id for _, claim in claims if not claim.rows]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {FILE, "index.md", "crasp-exact.md"}
    reproduce(plan(claims, tmp_path), tmp_path)
    assert counted == built
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_pages_of_a_new_folder_have_what_was_computed_there(tmp_path: Path, counted: list[str]) -> None:
    reproduce(plan([*claims_named("HE05"), *claims_named("SX01")], tmp_path), tmp_path)
    assert {path.name for path in tmp_path.glob("*.md")} == {"index.md", "crasp-exact.md", "ssm-exact.md"}
    index, page = ((tmp_path / name).read_text() for name in ("index.md", "crasp-exact.md"))
    total = sum(len(suite.claims) for suite in SUITES.values())
    assert f"2 of {total} claims" in index
    assert index.count("\n| [") == 4, "two suites and two claims"
    assert "references.bib" not in index
    assert f"1 of {len(SUITES['crasp-exact'].claims)} claims of the suite" in page
    assert page.count("\n## ") == 1


def test_a_requested_claim_without_results_is_on_its_page(tmp_path: Path) -> None:
    write_pages(tmp_path, {"HE05"})
    assert "| HE05" not in (tmp_path / "index.md").read_text()
    assert "[HE05](crasp-exact.md#he05)" in (tmp_path / "index.md").read_text()
    assert "**not run**" in (tmp_path / "crasp-exact.md").read_text()


def test_the_folder_of_the_documentation_keeps_every_claim(tmp_path: Path) -> None:
    """One row of each suite is enough, because some claims of the documentation have no results."""
    for suite in SUITES.values():
        store_rows(suite.claims[0], [Row("made up", "", 0.0)], tmp_path)
    write_pages(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.md")} == {"index", *SUITES}
    index = (tmp_path / "index.md").read_text()
    assert all(f"| [{claim.id}](" in index for suite in SUITES.values() for claim in suite.claims)


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
    store_rows(claim, [Row("prefixes wrong", "", 0.0)], tmp_path)
    assert plan(claims_named("SX01"), tmp_path).missing == ()
    object.__setattr__(claim, "version", 2)
    try:
        assert plan(claims_named("SX01"), tmp_path).missing == (claim,)
    finally:
        object.__setattr__(claim, "version", 1)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    ((_, claim),) = claims_named("SX01")
    rows = (Row("prefixes wrong", "a, b", 0.1 + 0.2, 0.0, None, 3.0, 7, "run", 100, 3, False), Row("x", "", 1.0))
    store_rows(claim, rows, tmp_path, complete=False)
    found = read_evidence(tmp_path)["SX01"]
    assert (found.rows, found.complete) == (rows, False)
    assert pq.read_schema(tmp_path / FILE).equals(SCHEMA)


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a table")
    with pytest.raises(ClaimError, match=r"claims\.parquet"):
        plan(claims_named("SX01"), tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [("crasp-exct", "crasp-exact"), ("HE7", "HE07"), ("x", "suites: bounds")],
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
    assert [row.value for row in compute_rows(claim)] == [2.0] * 6


# ---- seals, days and computing again -------------------------------------------------------------
@pytest.mark.parametrize("name", [FILE, "runs.parquet"])
def test_numbers_that_were_changed_by_hand_are_refused(tmp_path: Path, name: str) -> None:
    """A value changed in the file is refused, and so is a table that anything else than LengthLens wrote."""
    shutil.copy(COMMITTED / name, tmp_path / name)
    read = {FILE: read_evidence, "runs.parquet": read_runs}[name]
    assert len(read(tmp_path)) > 100
    table = pq.read_table(tmp_path / name)
    if name == FILE:
        (place,) = [i for i, claim in enumerate(table["claim"].to_pylist()) if claim == "HE01"]
        rows = table["reduced"].to_pylist()
        rows[place][0]["value"] += 1.0
        table = table.set_column(table.column_names.index("reduced"), table.field("reduced"), [rows])
    pq.write_table(table, tmp_path / name)  # its metadata, and so the old seal, stay
    with pytest.raises(ClaimError, match="LengthLens"):
        read(tmp_path)
    damaged = bytearray((COMMITTED / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / name).write_bytes(damaged)
    with pytest.raises(ClaimError, match="bytes"):
        read(tmp_path)


def test_a_row_keeps_the_day_on_which_it_was_first_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, claim),) = claims_named("SX01")
    days = iter(["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"])
    monkeypatch.setattr(claims_table, "today", lambda: next(days))

    def kept(value: float, again: bool = False) -> tuple[str, str]:
        store_rows(claim, [Row("prefixes wrong", "", value)], tmp_path, again=again)
        found = read_evidence(tmp_path)["SX01"]
        return found.computed, found.program

    assert kept(0.0) == ("2026-11-01", __version__)
    assert kept(0.0)[0] == "2026-11-01"
    assert kept(1.0)[0] == "2026-11-03"
    assert kept(1.0, again=True)[0] == "2026-11-04"


def test_again_counts_everything_as_missing(tmp_path: Path, counted: list[str]) -> None:
    claims = claims_named("SX01")
    reproduce(plan(claims, tmp_path), tmp_path)
    assert plan(claims, tmp_path).missing == ()
    todo = plan(claims, tmp_path, again=True)
    assert [claim.id for claim in todo.missing] == ["SX01"]
    reproduce(todo, tmp_path)
    assert counted == ["SX01", "SX01"]
    trained = claims_named("HF01")
    assert len(plan(trained, COMMITTED, again=True).runs) == 6
    assert plan(trained, COMMITTED).runs == ()


def test_a_list_shows_the_stored_verdict_and_judges_again_only_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, claim),) = claims_named("SX01")
    store_rows(claim, [Row("prefixes wrong", "", 0.0)], tmp_path)
    shown = read_verdicts(tmp_path, [claim])["SX01"]
    assert (shown.verdict, shown.text, shown.program) == ("holds", "holds", __version__)
    monkeypatch.setattr(claims_table, "judge_stored", lambda *_: pytest.fail("judged although nothing changed"))
    assert read_verdicts(tmp_path, [claim])["SX01"] == shown
    monkeypatch.undo()
    stricter = replace(claim, conditions=(Condition("prefixes wrong", at_least=1.0),))
    assert read_verdicts(tmp_path, [stricter])["SX01"].verdict == "does not hold"
    assert read_verdicts(tmp_path / "empty", [claim])["SX01"].text == "not run"


def test_the_share_of_seeds_is_listed_with_its_interval() -> None:
    claims = [claim for _, claim in claims_named("crasp-formal-a")]
    listed = {name: one.seeds for name, one in read_verdicts(COMMITTED, claims).items()}
    assert listed["HF01"] == "3 of 3 [0.29, 1.00]"
    assert listed["HF13"] == "4 of 6 [0.22, 0.96]"


def test_differences_of_two_computations_are_counted_by_row() -> None:
    rows = (Row("a", "", 1.0, 0.5, 2.0), Row("b", "", 0.0))
    one = Evidence(rows, 1, True)
    assert differences(one, one) == 0
    assert differences(one, Evidence((replace(rows[0], value=1.0 + 1e-12), rows[1]), 1, True)) == 0
    assert differences(one, Evidence((replace(rows[0], high=2.1), rows[1], rows[1]), 1, True)) == 2


def test_the_command_says_what_was_stored_and_what_was_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three calls on one folder: the first computes, the second only shows, and the third computes again."""
    day = r"\d{4}-\d\d-\d\d with version [\d.]+"
    for again, says in [
        (False, "SX08: computed now"),
        (False, rf"SX08: stored on {day}; `--again` computes it"),
        (True, rf"SX08: computed again; all \d+ rows equal those stored on {day}"),
    ]:
        command(names=["SX08"], out=tmp_path, again=again, executor="serial")
        assert re.search(says, capsys.readouterr().out)


def test_again_with_a_time_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--minutes"):
        command(names=["SX08"], out=tmp_path, again=True, minutes=1.0)


@pytest.mark.parametrize(("name", "ids"), [("HA01", ["HA01"]), ("ha01", ["HA01"]), ("Qb15b", ["QB15b"])])
def test_a_claim_is_named_however_its_letters_are_written(name: str, ids: list[str]) -> None:
    assert [claim.id for _, claim in claims_named(name)] == ids
    suite = SUITES.find("tractable")
    assert claims_named("tractable") == [(suite, claim) for claim in suite.claims]


@pytest.mark.parametrize(
    ("name", "advice"), [("tractabel", "did you mean"), ("HA0l", "did you mean"), ("nothing like it", "suites: bounds-exact, ")]
)  # fmt: skip
def test_a_name_that_there_is_not_is_refused_with_advice(name: str, advice: str) -> None:
    with pytest.raises(ClaimError) as said:
        claims_named(name)
    assert f"; {advice}" in str(said.value)
    assert str(said.value).endswith("; `lengthlens reproduce --list` prints all")


def test_the_day_of_rows_is_that_of_utc_wherever_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines that compute at the same moment write the same table."""
    days = set()
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart: never the same local day
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        new = Evidence((), 1, True, "", "")
        days.add(claims_table.with_dates({}, {"HE06": new})["HE06"].computed)
    monkeypatch.delenv("TZ")
    time.tzset()
    assert len(days) == 1
