"""A figure is one object of its rows and its drawing: each is passed the arguments that it names."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pandas as pd
import pytest

from workbench import figures
from workbench.figures import offered
from workbench.figures.arguments import SHARED, with_arguments
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import Figure, figure, lines
from workbench.figures.rows.frame import Frame

FIGURES = {name: one for name in figures.__all__ if isinstance(one := getattr(figures, name), Figure)}
ROWS = pd.DataFrame({"step": [1, 2], "value": [3.0, 4.0]})


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An empty register."""
    monkeypatch.setattr(offered, "OFFERED", {})
    return offered.OFFERED


def rows_at(frame: Frame, *, step: int, least: float = 0.0) -> Frame:
    """Rows at a step."""
    return frame.where(frame["value"] >= least, step=step)


def test_a_figure_draws_the_rows_that_its_data_are(registered: dict[str, Any]) -> None:
    @figure(rows=rows_at)
    def values(data: Frame, frame: Frame, *, step: int, colour: str, look: Look = LIGHT) -> Any:
        """Values at a step."""
        return data.rows(), len(frame), colour, look

    assert registered == {"values": values}
    assert {"values": values} == offered.OFFERED
    assert values(ROWS, step=2, colour="red", theme="dark") == ([{"step": 2, "value": 4.0}], 2, "red", Look("dark", 11))
    assert values.data(ROWS, step=2).to_dict("records") == [{"step": 2, "value": 4.0}]
    assert isinstance(values.data(Frame.of(ROWS), step=2), Frame)
    assert len(values.data(frame=ROWS, step=1, colour="red", size=14)) == 1, "takes the arguments of the drawing too"


def test_a_figure_is_described_as_the_function_that_callers_call(registered: dict[str, Any]) -> None:
    @figure(rows=rows_at)
    def values(data: Frame, *, step: int, colour: str = "red") -> Any:
        """Values at a step."""
        return data

    assert [*inspect.signature(values).parameters] == ["frame", "step", "colour"]
    assert (values.__name__, values.__module__) == ("values", __name__)
    assert (values.__doc__ or "").startswith("Values at a step.\n\nArgs:\n    frame: rows of one run.\n    step: ")
    assert "frame: 'Rows', *, step: 'int', colour: 'str' = 'red'" in repr(values), "which help() shows"


def test_missing_and_unknown_arguments_are_refused_by_the_name_of_the_figure() -> None:
    without_step = ROWS.drop(columns="step")
    with pytest.raises(TypeError, match=r"accuracy_over_length: missing a required .*step"):
        figures.accuracy_over_length(without_step, trained=4)
    with pytest.raises(TypeError, match=r"accuracy_over_length: missing a required .*step"):
        figures.accuracy_over_length.data(without_step)
    with pytest.raises(TypeError, match=r"accuracy_over_length: .*lenght"):
        figures.accuracy_over_length.data(ROWS, step=1, lenght=3)


def test_lines_are_two_figures_each_at_one_place_of_the_other_axis(registered: dict[str, Any]) -> None:
    def rows(frame: Frame, *, step: int | None = None, length: int | None = None) -> Frame:
        return frame.with_columns(place=step or length)

    @lines(rows=rows)
    def score_lines(data: Frame, frame: Frame, *, step: int | None = None, length: int | None = None) -> Any:
        """Score {over}."""
        return data.rows()[0]["place"], step, length

    over_length, over_training = score_lines.over("length"), score_lines.over("step")
    assert registered == {"score_over_length": over_length, "score_over_training": over_training}
    assert over_length(ROWS, step=7) == (7, 7, None)
    assert over_training(ROWS, length=8) == (8, None, 8)
    assert (over_length.__doc__ or "").startswith("Score over prefix length at one step.")
    with pytest.raises(TypeError, match="length"):
        over_length(ROWS, step=7, length=8)
    with pytest.raises(TypeError, match="missing"):
        over_training(ROWS)


@pytest.mark.parametrize("package", ["workbench.figures", "lengthlens.figures"])
def test_the_former_name_of_the_rows_of_a_figure_still_works_and_warns_its_caller(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.warns(DeprecationWarning, match=r"accuracy_heatmap\.data") as warned:
        rows = module.accuracy_heatmap_data
    assert rows == figures.accuracy_heatmap.data
    assert warned[0].filename == __file__
    with pytest.raises(AttributeError, match="pie_chart_data"):
        _ = module.pie_chart_data


def test_the_public_names_hold_none_of_the_former_ones() -> None:
    assert not [name for name in figures.__all__ if name.endswith("_data")]


def test_an_argument_is_described_by_the_figure_or_else_as_in_every_figure() -> None:
    doc = """Draws.

    More.

    Args:
        length: of the prompt,
            in tokens.
        low, high: ends.

    Raises:
        KeyError: never.
    """
    described = with_arguments(doc, ["step", "length", "low", "high", "unknown"])
    shared = f"    step: {SHARED['step']}"
    assert described == (
        f"Draws.\n\nMore.\n\nArgs:\n{shared}\n    length: of the prompt,\n        in tokens.\n    low, high: ends.\n\n"
        "Raises:\n    KeyError: never."
    )


@pytest.mark.parametrize("name", FIGURES)
def test_help_describes_every_argument_of_a_figure(name: str) -> None:
    described = FIGURES[name].__doc__ or ""
    arguments = re.findall(r"^    ([\w, ]+): ", described.partition("Args:\n")[2], re.MULTILINE)
    assert {*inspect.signature(FIGURES[name]).parameters} <= {name for names in arguments for name in names.split(", ")}
