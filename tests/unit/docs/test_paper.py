"""The paper: what it cites is in its bibliography, which repeats the entries of the project, and it stays short."""

from __future__ import annotations

import re

from tests.support.places import ROOT
from workbench.claims import papers
from workbench.claims.citations import TRANSFORMER_LENS
from workbench.claims.papers import Paper

PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")


def test_the_bibliography_has_the_entries_of_what_is_cited() -> None:
    cited = set(re.findall(r"@(\w+)", PAPER.partition("\n---\n")[2]))
    entries = {
        paper.key: paper.entry for paper in (*vars(papers).values(), TRANSFORMER_LENS) if isinstance(paper, Paper)
    }
    assert set(re.findall(r"@misc\{(\w+),", BIBLIOGRAPHY)) == cited
    assert all(entries[key] in BIBLIOGRAPHY for key in cited)


def test_the_paper_and_the_readme_state_the_same_share() -> None:
    assert "148 of 157" in PAPER
    assert "148 of 157" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_paper_has_the_sections_and_the_length_of_the_journal() -> None:
    text = PAPER.partition("\n---\n")[2]
    assert {"# Summary", "# Statement of need", "# State of the field", "# References"} <= set(text.splitlines())
    assert 250 <= len(text.split()) <= 1000
