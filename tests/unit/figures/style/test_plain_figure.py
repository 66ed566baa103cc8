"""Figures as plain dictionaries: what is nested, what is left out, and how arrays are sent."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from workbench.figures.style.plain_figure import FigureNode, PlainFigure, drawing_plainly, plain_figures


def empty(**layout: Any) -> PlainFigure:
    """A figure without anything."""
    return PlainFigure({"template": {"x": None}, **layout})


def test_plain_figures_are_drawn_within_the_block_alone() -> None:
    assert not drawing_plainly()
    with plain_figures():
        assert drawing_plainly()
        with pytest.raises(ValueError, match="within"), plain_figures():
            raise ValueError("within")
        assert drawing_plainly()
    assert not drawing_plainly()


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"line_width": 0, "line_color": "red"}, {"line": {"width": 0, "color": "red"}}),
        ({"title_text": "a", "margin_autoexpand": False}, {"title": {"text": "a"}, "margin": {"autoexpand": False}}),
        ({"fill_color": "red", "line": {"width": 1}}, {"fill_color": "red", "line": {"width": 1}}),
        ({"x": None, "y": 0, "name": ""}, {"y": 0, "name": ""}),
        ({"line": {"width": None, "dash": "dot"}}, {"line": {"dash": "dot"}}),
        ({"ticks": [{"a": None}, 1]}, {"ticks": [{}, 1]}),
        ({"x": np.array([1, 2])}, {"x": [1, 2]}),
        ({"x": np.array(["a", None], dtype=object)}, {"x": ["a", None]}),
    ],
)
def test_properties_are_nested_and_nothing_is_sent_of_none(given: dict[str, Any], made: dict[str, Any]) -> None:
    figure = empty()
    figure.add_shape(**given)
    figure.add_annotation(**given)
    figure.add_bar(**given)
    assert figure.layout["shapes"] == figure.layout["annotations"] == [made]
    assert figure.data == [{"type": "bar", **made}]


@pytest.mark.parametrize(
    ("values", "kind", "shape"),
    [
        (np.array([1.0, np.nan]), "f8", None),
        (np.array([1.0, 2.0], np.float32), "f4", None),
        (np.arange(6.0, dtype=np.float32).reshape(2, 3), "f4", "2, 3"),
        (np.arange(6.0).reshape(3, 2).T, "f8", "2, 3"),
    ],
)
def test_arrays_of_numbers_are_sent_in_base_64(values: np.ndarray, kind: str, shape: str | None) -> None:
    figure = empty()
    figure.add_heatmap(z=values)
    sent = figure.data[0].z
    assert (sent["dtype"], sent.get("shape")) == (kind, shape)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(sent["bdata"]), kind), values.ravel())


def test_layouts_are_merged_below_what_they_hold_but_what_is_told_of_them_is_replaced() -> None:
    figure = empty(xaxis={"range": [0, 1]}, xaxis2={"range": [0, 2]}, yaxis={}, meta={"a": 1})
    figure.update_layout(xaxis={"title": {"text": "x"}}, meta={"b": 2}, dragmode="zoom")
    assert figure.layout.xaxis == {"range": [0, 1], "title": {"text": "x"}}
    assert figure.layout.meta == {"b": 2}
    figure.update_layout(xaxis="none")
    assert figure.layout.xaxis == "none"
    figure.update_layout(xaxis={"range": [0, 1]})
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=True)
    assert [figure.layout[name].showgrid for name in ("xaxis", "xaxis2", "yaxis")] == [False, False, True]
    sent = figure.to_plotly_json()
    assert sent["data"] == []
    assert set(sent["layout"]) == {"template", "xaxis", "xaxis2", "yaxis", "meta", "dragmode"}


def test_what_is_not_there_is_none() -> None:
    node = FigureNode({"a": 1})
    node.b = 2
    assert (node.a, node.b, node.c) == (1, 2, None)
    with pytest.raises(AttributeError):
        _ = node.__not_there__
