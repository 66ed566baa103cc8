"""``plot --figure``: a figure of a run by its name, with exactly the rows of notebooks."""

from __future__ import annotations

import pytest

from tests.support.places import GALLERY
from workbench import figures
from workbench.cli.errors import UsageError
from workbench.cli.plotted_figure import named_figure
from workbench.table import Table

RUN = GALLERY / "flip_flop_rotary_s0"


def test_the_rows_are_those_of_the_notebooks_figure() -> None:
    drawn = named_figure(RUN, "code_fan", None, None)
    expected = figures.code_fan.data(Table.load(RUN).frame())
    assert drawn.rows["value"].tolist() == expected["value"].tolist()
    assert drawn.about == drawn.figure.layout.meta["alt"]


def test_a_step_selects_the_checkpoint() -> None:
    assert set(named_figure(RUN, "code_fan", 800, None).rows["step"]) == {800}


@pytest.mark.parametrize(
    ("run", "name", "length", "names"),
    [
        ("flip_flop_rotary_s0", "code_fann", None, "code_fan"),
        ("flip_flop_rotary_s0", "accuracy_difference", None, "no figure of a run"),
        ("small_model", "code_fan", None, "--only probes.drift"),
        ("flip_flop_rotary_s0", "code_fan", 64, "--length"),
        ("compiled", "code_fan", None, "one run"),
    ],
)
def test_what_cannot_be_drawn_is_named(run: str, name: str, length: int | None, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        named_figure(GALLERY / run, name, None, length)
