"""The page of the bench says what its committed table does."""

from __future__ import annotations

import json
from collections import Counter

from tests.support.places import ROOT
from workbench.core.names import OPEN_CAUSES, POSITION_OR_CONTENT, POSITION_OR_KEYS
from workbench.diagnosis.bench.bench_page import page
from workbench.diagnosis.bench.bench_table import read_members
from workbench.diagnosis.bench.members import members
from workbench.diagnosis.bench.plants import BY_NAME
from workbench.diagnosis.bench.scoring import TARGETS, kind_of, of_group, outcome, share, true
from workbench.diagnosis.cause import position_ruled_out, position_untested

ROWS = read_members(ROOT / "docs" / "diagnosis_bench")


def test_every_member_is_in_the_table() -> None:
    assert set(members()) == set(ROWS)


def test_the_page_is_that_of_the_table() -> None:
    assert (ROOT / "docs" / "diagnosis_bench.md").read_text() == page(list(ROWS.values()))


def test_the_readme_tells_first_and_later_kinds_apart_and_together() -> None:
    drawn = [row for row in of_group(list(ROWS.values()), "afterwards") if kind_of(row).role == "single"]
    first, later = ([row for row in drawn if kind_of(row).later is joined] for joined in (False, True))
    entry, site = TARGETS[:2]
    readme = " ".join((ROOT / "README.md").read_text().split())
    counts = Counter(outcome(row) for row in later if true(row))
    assert counts["not explained"] == 0
    for said in (
        f"in {share(first, entry).hits} of {share(first, entry).of} models (94 %; target 95 %, missed)",
        f"Of these {share(later, entry).of}, the diagnosis named the right cause in {share(later, entry).hits}, a wrong "
        f"cause in {counts['wrong cause'] or 'none'}, and was undecided in {counts['cause undecided']}. Together, the "
        f"right cause was named in {share(drawn, entry).hits} of {share(drawn, entry).of} models.",
        f"is known in {share(drawn, site).of} models and was named in {share(drawn, site).hits} of these.",
    ):
        assert said in readme, said


def test_the_figures_of_the_first_kinds_are_those_that_were_published() -> None:
    """Renaming by the rule of content changed no right cause and no location of a first kind."""
    first = [row for row in of_group(list(ROWS.values()), "afterwards") if not kind_of(row).later]
    assert [(share(first, target).hits, share(first, target).of) for target in TARGETS[:2]] == [(148, 157), (128, 133)]


def test_no_stored_member_is_called_content_or_keys_where_positions_are_not_tested() -> None:
    """Of the members with these entries, all models read position ids."""
    for row in ROWS.values():
        stored = json.loads(row["rows"])
        shares = [
            one["value"] for one in stored
            if one["quantity"] == "restored_share" and one.get("target", "").startswith("P.") and "value" in one
            and one["mode"] == "alone" and not one.get("control")
        ]  # fmt: skip
        if row["entry"] in ("content", POSITION_OR_CONTENT):
            assert (row["entry"] == "content") is position_ruled_out(shares, reads_ids=True)
        if row["entry"] in ("keys", POSITION_OR_KEYS):
            assert (row["entry"] == POSITION_OR_KEYS) is position_untested(shares, reads_ids=True)
        if row["entry"]:
            labels = {one["quantity"]: one.get("label") for one in stored}
            assert (labels["entry"], labels["entry_grade"]) == (row["entry"], row["grade"])
            assert row["grade"] == "none" or row["entry"] not in OPEN_CAUSES
    left = {entry: Counter(row["kind"] for row in ROWS.values() if row["entry"] == entry) for entry in OPEN_CAUSES}
    first = {kind: count for kind, count in left[POSITION_OR_CONTENT].items() if not BY_NAME[kind].later}
    assert first == {"rotary lag": 2, "trained rotary, lag": 4}
    mixed = {"marked token, rows mixed with row N": 9, "marked token, rows mixed with random rows": 8}
    assert left[POSITION_OR_KEYS] == mixed


def test_most_causes_are_right_and_few_are_wrong_or_left_open() -> None:
    """Before *position or keys*, 14 of 192 causes were wrong and 19 left open."""
    drawn = [row for row in of_group(list(ROWS.values()), "afterwards") if kind_of(row).role == "single" and true(row)]
    counts = Counter(filter(None, map(outcome, drawn)))
    assert counts == {"right cause": 159, "cause undecided": 27, "wrong cause": 6}
    assert {row["kind"] for row in drawn if outcome(row) == "wrong cause"} == {"count out of range"}
