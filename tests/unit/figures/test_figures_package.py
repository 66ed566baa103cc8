"""The package: lazy names, no torch."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

from workbench import figures
from workbench.figures.look import Look


def test_every_name_resolves_and_unknown_ones_do_not() -> None:
    assert {"accuracy_heatmap", "NotMeasured", "palette_css", "verdict_sentence"} <= set(dir(figures))
    for name in figures.__all__:
        assert callable(getattr(figures, name))
    with pytest.raises(AttributeError, match="pie_chart"):
        _ = figures.pie_chart


def test_type_checkers_see_the_modules_that_offer_something() -> None:
    tree = ast.parse(Path(figures.__file__).read_text())
    starred = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names)
    ]
    offering = {getattr(figures, name).__module__ for name in figures.__all__}
    assert starred == sorted(module for module in offering if module.startswith("workbench.figures."))


def test_public_names_depend_on_no_other_import() -> None:
    """Sentences of a diagnosis were public only once another module had imported theirs."""
    code = "from workbench import figures; print(*figures.__all__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == figures.__all__
    assert "diagnosis_sentence" in figures.__all__


def test_no_module_bears_the_name_of_what_is_offered() -> None:
    """Once imported, a module would stand in the package under that name, in place of the function."""
    assert {module.name for module in iter_modules(figures.__path__)} & set(figures.__all__) == set()


def test_every_figure_is_drawn_alike_unless_it_is_asked_otherwise() -> None:
    """In notebooks and scripts figures stand beside each other: one size of text, the light theme."""
    looks = set()
    for name in figures.__all__:
        made = getattr(figures, name)
        if not inspect.isclass(made):
            taken = inspect.signature(made).parameters
            looks |= {taken["look"].default} if "look" in taken else set()
    assert looks - {inspect.Parameter.empty} == {Look("light", 11)}


def test_a_figure_of_one_pass_takes_theme_and_size_as_those_of_rows_do() -> None:
    drawn = figures.attention_pattern
    assert "look" in inspect.signature(drawn).parameters
    with pytest.raises(TypeError) as missing:
        drawn(theme="dark", size=14)
    assert "theme" not in str(missing.value), "only what has no default is missing"
