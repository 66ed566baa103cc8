"""The figures of docs/verdict.md are what their script draws from the gallery and from the task."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.table import Table

FIGURES = script("verdict_figures")


@pytest.mark.parametrize("name", FIGURES.FIGURES)
def test_the_committed_figure_is_current(name: str) -> None:
    assert (FIGURES.PICTURES / name).read_text(encoding="utf-8") == FIGURES.FIGURES[name](), (
        "python docs/verdict_figures.py"
    )


def test_the_caption_gives_the_skills_of_the_rows() -> None:
    rows = Table.load(FIGURES.ROOT / "checkpoints" / "gallery").frame(
        run="flip_flop_rotary_s0", measurement="behaviour", quantity="skill", law="matched", step=1200
    )
    skills = rows.set_index("length")["value"]
    caption = re.search(
        r"falls from 1 at length 32 to ([\d.]+) at 48 and to ([\d.]+) at 256",
        (ROOT / "docs" / "verdict.md").read_text(encoding="utf-8"),
    )
    assert caption is not None
    assert skills[32] == 1
    assert caption.groups() == (f"{skills[48]:.2f}", f"{skills[256]:.2f}")


def test_no_challenge_sequence_is_decided_by_its_ends() -> None:
    drawn = FIGURES.sequences_panel("challenge", 0.0)
    width, cell = FIGURES.WINDOW, 16.0
    deciding = [float(part.split('x="')[1].split('"')[0]) for part in drawn if FIGURES.BLUE in part]
    assert len(deciding) == FIGURES.SEQUENCES
    assert all(width <= (x - 0.5) / cell < FIGURES.LENGTH - width for x in deciding)
