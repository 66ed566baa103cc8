"""Where claims come from: each names its paper, its place or that the reading is ours, and the bibliography has it."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest

from tests.support.claims.committed import FOLDER
from workbench.claims.claims_table import FILE
from workbench.claims.errors import ClaimError
from workbench.claims.papers import HAHN, HUANG, IZZO, PAPERS, PROCA, Paper, bibliography, own_question
from workbench.claims.reproducing import every_claim

CLAIMS = [claim for _, claim in every_claim()]
BIBLIOGRAPHY = FOLDER.parent / "references.bib"
OWN = {
    "TR01",
    "TR02",
    "TR03",
    "TR04",
    "TR05",
    "TR06",
    "PP13",
    *(f"DX{number:02d}" for number in range(1, 11)),
    *(f"DF{number:02d}" for number in range(1, 7)),
    *(f"DB{number:02d}" for number in range(1, 6)),
}
"""Claims that no paper makes."""


def entries() -> dict[str, dict[str, str]]:
    """The fields of each entry of the committed bibliography by its key, read without the code that wrote it."""
    parts = re.findall(r"^@\w+\{(\S+),\n(.*?)^\}$", BIBLIOGRAPHY.read_text(), re.MULTILINE | re.DOTALL)
    return {key: dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, re.MULTILINE)) for key, fields in parts}


def test_a_claim_names_its_paper_and_place_or_says_that_the_reading_is_ours() -> None:
    for claim in CLAIMS:
        assert claim.sources, claim.id
        for source in claim.sources:
            assert (source.paper is None) == (claim.id in OWN), claim.id
            assert source.place or source.ours, claim.id
            assert str(source).endswith(f"({source.kind})")
            if source.paper:
                assert source.kind in ("statement of the paper", "our reading")
                assert str(source).startswith(f"{source.paper.name}, {source.paper.identifier}")


def test_the_bibliography_has_the_papers_of_claims_and_no_others() -> None:
    cited = {source.paper.key for claim in CLAIMS for source in claim.sources if source.paper}
    assert set(entries()) == cited == {paper.key for paper in PAPERS}


def test_every_entry_has_authors_title_year_and_an_identifier() -> None:
    for key, fields in entries().items():
        assert all(fields.get(name) for name in ("author", "title", "year")), key
        if key == "proca2025recurrent":  # the only paper that is not on arXiv
            assert fields["howpublished"] == "PMLR 267:49860-49902"
            assert "eprint" not in fields
            continue
        assert re.fullmatch(r"\d{4}\.\d{5}", fields["eprint"]), key
        assert fields["year"][2:] == fields["eprint"][:2], key  # arXiv identifiers begin with year and month


def test_the_committed_bibliography_is_current() -> None:
    assert BIBLIOGRAPHY.read_text() == bibliography(), "make readmes"


def test_a_table_row_and_a_page_name_the_sources_of_each_claim() -> None:
    table = pq.read_table(FOLDER / FILE, columns=["claim", "suite", "source"]).to_pylist()
    stored = {row["claim"]: row for row in table}
    assert {name: row["source"] for name, row in stored.items()} == {claim.id: claim.source for claim in CLAIMS}
    index = (FOLDER / "index.md").read_text()
    assert "[references.bib](../references.bib)" in index
    for paper in PAPERS:
        assert f"| {paper.name} | {paper.title} | [{paper.identifier}]({paper.url})" in index
    for claim in CLAIMS:
        page = (FOLDER / f"{stored[claim.id]['suite']}.md").read_text()
        (line,) = re.findall(rf"^## {claim.id}\n.*?^- Source: (.*?)$", page, re.MULTILINE | re.DOTALL)
        assert line.count("](index.md#papers)") == sum(source.paper is not None for source in claim.sources)


def test_a_statement_needs_its_place() -> None:
    with pytest.raises(ClaimError, match=r"\b2024\b"):
        HUANG.states("")


def test_a_paper_needs_an_identifier() -> None:
    with pytest.raises(ClaimError, match="unpublished2025"):
        Paper("unpublished2025", ("A. Author",), 2025, "A title", "")


def test_sources_in_words() -> None:
    assert str(HUANG.states("theorem 9")) == "Huang et al. 2024, arXiv 2410.02140, theorem 9 (statement of the paper)"
    assert str(HAHN.reading()) == "Hahn and Rofin 2024, arXiv 2402.09963 (our reading)"
    assert str(PROCA.reading()) == "Proca et al. 2025, PMLR 267:49860-49902 (our reading)"
    assert IZZO.name == "Izzo, Nichani and Lee 2025"
    assert str(own_question("What is left open?")) == "What is left open? (our own question)"
