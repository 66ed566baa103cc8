"""The package: lazy names, no torch."""

from __future__ import annotations

import inspect
from pkgutil import iter_modules

import pytest

from workbench import figures


def test_every_name_resolves_and_unknown_ones_do_not() -> None:
    assert {"accuracy_heatmap", "NotMeasured", "palette_css", "verdict_sentence"} <= set(dir(figures))
    for name in figures.__all__:
        assert callable(getattr(figures, name))
    with pytest.raises(AttributeError, match="pie_chart"):
        _ = figures.pie_chart


def test_no_module_bears_the_name_of_what_is_offered() -> None:
    """Once imported, a module would stand in the package under that name, in place of the function."""
    assert {module.name for module in iter_modules(figures.__path__)} & set(figures.__all__) == set()


def test_every_figure_is_drawn_alike_unless_it_is_asked_otherwise() -> None:
    """In notebooks and scripts figures stand beside each other: one size of text, the light theme."""
    sizes, themes = set(), set()
    for name in figures.__all__:
        made = getattr(figures, name)
        if inspect.isfunction(made):
            taken = inspect.signature(made).parameters
            sizes |= {taken["size"].default} if "size" in taken else set()
            themes |= {taken["theme"].default} if "theme" in taken else set()
    assert sizes - {inspect.Parameter.empty} == {11}
    assert themes - {inspect.Parameter.empty} == {"light"}
