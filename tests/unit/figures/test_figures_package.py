"""The package: lazy names, no torch."""

from __future__ import annotations

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
