"""The glossary's formulas: each belongs to a quantity that there is, and the main quantities have theirs."""

from __future__ import annotations

from typing import Any

import pytest
from dash import html

from workbench.dashboard.formulas import FORMULAS, LETTERS, typeset
from workbench.dashboard.pages.glossary import _formula
from workbench.measure.registry import measurements

IN_WORDS = {
    "behaviour": {"verdict", "near_ties", "coupling_accuracy"},
    "circuits.hardmax": {"hardmax_verdict", "hardmax_kind"},
}
"""Labels, and what has several parts: said in words alone."""


def declared() -> dict[str, set[str]]:
    """Measurement -> its quantities, from its own declaration."""
    return {name: {quantity.name for quantity in cls().spec.quantities} for name, cls in measurements().items()}


def written(parts: Any) -> str:
    """The text of what :func:`typeset` made, marks left out."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, list):
        return "".join(written(part) for part in parts)
    return written(parts.children)


def test_every_formula_is_of_a_quantity_that_there_is() -> None:
    known = declared()
    for name, formulas in FORMULAS.items():
        assert set(formulas) <= known[name], name


@pytest.mark.parametrize("family", ["behaviour", "probes.", "circuits."])
def test_the_main_quantities_have_formulas(family: str) -> None:
    for name, quantities in declared().items():
        if name.startswith(family):
            assert quantities - set(FORMULAS.get(name, {})) == IN_WORDS.get(name, set()), name


def test_nothing_of_the_notation_is_left_and_nothing_lost() -> None:
    texts = [LETTERS, *(t for of in FORMULAS.values() for one in of.values() for t in (one.text, one.where))]
    for text in texts:
        made = written(typeset(text))
        assert "_{" not in made
        assert "^{" not in made
        for mark in ("_{", "^{"):
            text = text.replace(mark, "\0")
        assert made.replace("{", "").replace("}", "") == text.replace("\0", "").replace("{", "").replace("}", "")
        assert text.count("(") == text.count(")")
        assert text.count("[") == text.count("]")


def test_variables_lean_and_names_stand() -> None:
    made = typeset("log p_{(1)} \u2212 s\u0304^{2}/Kk")
    kinds = [(type(part).__name__, written(part)) for part in made]
    assert kinds == [
        ("str", "log "), ("I", "p"), ("Sub", "(1)"), ("str", " \u2212 "), ("I", "s\u0304"), ("Sup", "2"), ("str", "/Kk"),
    ]  # fmt: skip


def test_a_quantity_in_words_has_no_formula() -> None:
    assert _formula(None) == []
    skill = _formula(FORMULAS["behaviour"]["skill"])
    assert [part.className for part in skill] == ["formula", "formula-where"]
    assert isinstance(skill[0].children[1], html.I)
