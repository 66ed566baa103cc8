"""The page of the bench says what its committed table does."""

from __future__ import annotations

from tests.support.places import ROOT
from workbench.diagnosis.bench.bench_page import page
from workbench.diagnosis.bench.bench_table import read_members
from workbench.diagnosis.bench.members import members
from workbench.diagnosis.bench.scoring import TARGETS, of_group, share

ROWS = read_members(ROOT / "docs" / "diagnosis_bench")


def test_every_member_is_in_the_table() -> None:
    assert set(members()) == set(ROWS)


def test_the_page_is_that_of_the_table() -> None:
    assert (ROOT / "docs" / "diagnosis_bench.md").read_text() == page(list(ROWS.values()))


def test_the_readme_tells_what_was_drawn_afterwards() -> None:
    entry, site = (share(of_group(list(ROWS.values()), "afterwards"), target) for target in TARGETS[:2])
    said = f"the entry of {entry.hits} of {entry.of}, the site of {site.hits} of {site.of}."
    assert said in " ".join((ROOT / "README.md").read_text().split())
