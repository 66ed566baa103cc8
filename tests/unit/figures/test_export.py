"""Figures as files: what is drawn, where, with which texts, without a browser."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from tests.support.places import GALLERY
from workbench.figures import accuracy_heatmap, accuracy_over_length, restored_shares
from workbench.figures.errors import ExportError
from workbench.figures.export.layout import laid_out
from workbench.figures.export.picture import Area, Colour, Line, Text, text_width
from workbench.figures.export.titled_figure import FORMATS, TitledFigure, save
from workbench.table import Table

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def figures() -> dict[str, TitledFigure]:
    frame = Table.load(GALLERY / "flip_flop_rotary_s0").frame()
    return {
        "lines": accuracy_over_length(frame, step=1200, trained=32),
        "cells": accuracy_heatmap(frame, trained=32),
        "bars": restored_shares(frame, step=1200),
    }


@pytest.mark.parametrize("name", ["lines", "cells", "bars"])
def test_each_format_is_written(figures: dict[str, TitledFigure], name: str, tmp_path: Path) -> None:
    begins = {".svg": b"<svg", ".pdf": b"%PDF-1.4", ".png": b"\x89PNG", ".html": b"<!doctype html>"}
    for ending in FORMATS:
        file = figures[name].save(tmp_path / f"figure{ending}")
        assert file.read_bytes().startswith(begins[ending])
        assert file.read_bytes() == figures[name].save(tmp_path / f"again{ending}").read_bytes() or ending == ".html"


def test_a_file_has_title_axes_ticks_and_names_of_lines(figures: dict[str, TitledFigure], tmp_path: Path) -> None:
    root = ET.fromstring(figures["lines"].save(tmp_path / "figure.svg").read_text())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert root.find(f"{SVG}title").text == "Accuracy"  # type: ignore[union-attr]
    assert {"Accuracy", "prefix length", "matched", "challenge", "chance", "0.50", "1.00", "32", "256"} <= {*texts}
    assert texts.count("Accuracy") == 2, "the title, and the name of the upright axis"
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x", "-1")) <= float(root.get("width", "0"))


def test_a_pdf_has_the_same_texts(figures: dict[str, TitledFigure], tmp_path: Path) -> None:
    data = figures["lines"].save(tmp_path / "figure.pdf").read_bytes()
    (stream,) = re.findall(rb"stream\n(.*)\nendstream", data, re.DOTALL)
    content = zlib.decompress(stream).decode("cp1252")
    assert "(prefix length) Tj" in content
    assert "(challenge) Tj" in content
    place = int(data.rsplit(b"startxref\n", 1)[1].split()[0])
    assert data[place : place + 4] == b"xref"


def test_values_are_at_their_pixels() -> None:
    margin = {"l": 100, "r": 100, "t": 0, "b": 100}
    figure = go.Figure(layout={"xaxis": {"range": [0, 10]}, "yaxis": {"range": [0, 1]}, "margin": margin})
    figure.add_scatter(x=[0, 5, None, 10], y=[0, 1, 1, 0.5], mode="lines", line={"color": "#FF0000", "width": 3})
    figure.add_shape(type="line", x0=5, x1=5, y0=0, y1=1, yref="paper", line={"color": "#00FF00", "width": 1})
    figure.add_bar(x=[5], y=[0.5], width=2, marker={"color": "#0000FF"})
    figure.add_bar(x=[5], y=[0.25], base=[0.5], width=2, marker={"color": "#00FFFF"})
    picture = laid_out(figure.to_dict(), 600, 300)
    marks = picture.marks
    lines = [mark for mark in marks if isinstance(mark, Line) and mark.colour == Colour(255, 0, 0)]
    assert [[*line.points] for line in lines] == [[(100, 200), (300, 0)]], "a lone point is no line"
    (shape,) = (mark for mark in marks if isinstance(mark, Line) and mark.colour == Colour(0, 255, 0))
    assert [*shape.points] == [(300, 200), (300, 0)]
    (bar,) = (mark for mark in marks if isinstance(mark, Area) and mark.fill == Colour(0, 0, 255))
    assert {x for x, _ in bar.points} == {260, 340}
    assert {y for _, y in bar.points} == {200, 100}
    (upper,) = (mark for mark in marks if isinstance(mark, Area) and mark.fill == Colour(0, 255, 255))
    assert {y for _, y in upper.points} == {100, 50}, "a bar stands on its base"
    assert {"0", "2", "10"} <= {mark.text for mark in marks if isinstance(mark, Text)}


def test_the_colour_of_a_cell_is_that_of_its_value() -> None:
    figure = go.Figure()
    figure.add_heatmap(z=[[0, 1], [None, 0.5]], zmin=0, zmax=1, colorscale=[[0, "#000000"], [1, "#FFFFFF"]])
    _, *cells = (mark for mark in laid_out(figure.to_dict()).marks if isinstance(mark, Area) and mark.clip)
    assert [cell.fill.red for cell in cells] == [0, 255, 128]


def test_a_notebook_shows_the_title_and_a_page_does_not(figures: dict[str, TitledFigure]) -> None:
    figure = figures["lines"]
    assert figure.layout.title.text is None
    titled = figure.with_titles()
    assert titled.layout.title.text.startswith("<b>Accuracy</b>")
    assert titled.layout.yaxis.title.text == "Accuracy"
    assert figures["bars"].with_titles().layout.yaxis.title.text is None, "names of interventions say what they are"


@pytest.mark.parametrize("name", ["figure", "figure.jpeg", "figure.svg.bak"])
def test_another_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"\.svg, \.pdf, \.png, \.html"):
        save(go.Figure(), tmp_path / name)


def test_text_is_as_wide_as_in_helvetica() -> None:
    assert text_width("Accuracy", 1000) == 667 + 500 + 500 + 556 + 333 + 556 + 500 + 500


def test_names_of_lines_stand_at_their_ends_where_there_is_room(tmp_path: Path) -> None:
    """Panels of pages are small, so names are pushed apart there. A notebook and a file have more room."""
    from workbench.figures.export.titled_figure import END_LABEL
    from workbench.figures.labels import LABEL_SEPARATION, line_name_heights

    table = Table.load(GALLERY / "flip_flop_rotary_s0")
    figure = accuracy_over_length(table)

    def names(drawn: Any) -> dict[str, float]:
        return {note.text: note.y for note in drawn.layout.annotations if note.name == END_LABEL}

    small, large, huge = names(figure), names(figure.with_titles()), names(figure.with_titles(4000))
    ends = dict(zip(small, figure.line_ends, strict=True))
    assert max(abs(small[name] - ends[name]) for name in ends) > 0.05
    assert abs(large["matched"] - ends["matched"]) < 1e-9
    assert all(abs(huge[name] - ends[name]) < 0.01 for name in ends)
    low, high = figure.layout.yaxis.range
    assert line_name_heights(figure.line_ends, low, high, 108) == pytest.approx(list(small.values()))
    apart = LABEL_SEPARATION * (high - low) / 344
    assert min(b - a for a, b in zip(sorted(large.values()), sorted(large.values())[1:], strict=False)) > 0.9 * apart
