"""The glossary's formulas: every quantity that is no label has one, and nothing of the notation is lost in setting it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from dash import html

from workbench.dashboard.components.typeset import LETTERS, typeset
from workbench.dashboard.pages.glossary import _formula
from workbench.measure.registry import measurements

IN_WORDS = {
    "behaviour": {"verdict", "near_ties", "coupling_accuracy", "stratum_verdict", "composition"},
    "behaviour.in_context": {"prompt_tokens", "in_context_verdict"},
    "circuits.hardmax": {"hardmax_verdict", "hardmax_kind"},
    "circuits.head_effect": {"necessary_head"},
    "regularizer": {"norm_regularizer_part"},
    "diagnosis": {"entry", "entry_grade", "failure_site"},
}
"""Labels, and what has several parts: said in words alone."""


def without_formula(name: str) -> set[str]:
    """The quantities of a measurement that have none."""
    return {quantity.name for quantity in measurements()[name].quantities if not quantity.formula}


def written(parts: Any) -> str:
    """The text of what :func:`typeset` made, marks left out."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, list):
        return "".join(written(part) for part in parts)
    return written(parts.children)


@pytest.mark.parametrize("name", [name for name in measurements() if name != "bound"])
def test_every_quantity_but_labels_has_a_formula(name: str) -> None:
    assert without_formula(name) == IN_WORDS.get(name, set())


def test_letters_are_explained_only_where_there_is_a_formula() -> None:
    for cls in measurements().values():
        assert not [quantity.name for quantity in cls.quantities if quantity.where and not quantity.formula]


def test_nothing_of_the_notation_is_left_and_nothing_lost() -> None:
    quantities = [quantity for cls in measurements().values() for quantity in cls.quantities]
    for text in [LETTERS, *(text for one in quantities for text in (one.formula, one.where))]:
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
    assert _formula({"name": "verdict", "formula": "", "where": ""}) == []
    assert _formula({"name": "measured before quantities had formulas"}) == []
    (skill,) = [quantity for quantity in measurements()["behaviour"].quantities if quantity.name == "skill"]
    made = _formula(asdict(skill))
    assert [part.className for part in made] == ["formula", "formula-where"]
    assert isinstance(made[0].children[1], html.I)
