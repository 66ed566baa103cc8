"""The figures of docs/dynamics.md are what their script draws, and the page's numbers are those of the functions."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.theory.training_dynamics import (
    coupling_of_shared_gain,
    critical_lengths,
    horizon_of_gated_counter,
)

script("verdict_figures")
FIGURES = script("dynamics_figures")
PAGE = (ROOT / "docs" / "dynamics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FIGURES.FIGURES)
def test_the_committed_figure_is_current(name: str) -> None:
    assert (FIGURES.PICTURES / name).read_text(encoding="utf-8") == FIGURES.FIGURES[name](), (
        "python docs/dynamics_figures.py"
    )


def test_every_training_has_its_dots() -> None:
    """The colours of the lines are those of their dots: 6 of SGD, 3 of mixed batches, 2, 2 and 5."""
    drawn = FIGURES.coupling_figure()
    marks = re.findall(r'<circle [^>]*stroke="(#\w+)"', drawn)
    colours = (FIGURES.BLUE, FIGURES.RED, FIGURES.ORANGE, FIGURES.VIOLET, FIGURES.GREEN)
    assert [marks.count(colour) for colour in colours] == [6, 3, 2, 2, 5]
    assert FIGURES.horizon_figure().count("<circle") == 3


def test_the_comments_of_the_page_are_what_its_calls_return() -> None:
    values = {
        "coupling_of_shared_gain(kappa=4, lengths=8)": f"{coupling_of_shared_gain(4, 8):.3f}",
        'lengths=8, optimizer="adam_mixed_batches")': f"{coupling_of_shared_gain(4, 8, 'adam_mixed_batches'):g}",
        "critical_lengths(kappa=4, initial_scale=0.01)": f"{critical_lengths(4, initial_scale=0.01):.2f}",
        "time=10_000)": f"{horizon_of_gated_counter(16, 10_000):.0f} tokens",
        "decay=1e-3)": f"{horizon_of_gated_counter(16, decay=1e-3):.0f} tokens",
    }
    for call, value in values.items():
        assert re.search(re.escape(call) + r" +# " + re.escape(value) + "$", PAGE, re.MULTILINE), (call, value)
    assert f"For N = 16 and a decay of 0.001 it is {horizon_of_gated_counter(16, decay=1e-3):.0f} tokens" in PAGE
