"""All strings of an automaton's law with their probabilities, where there are few."""

from __future__ import annotations

import pytest

from workbench.tasks.automata import string_sampling
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.string_support import Listing


def law(expression: str = "(a|b)*bb(a|b)*") -> string_sampling.StringSampling:
    made = Automaton.from_regex(expression)
    return string_sampling.StringSampling(made, made.labels)


@pytest.mark.parametrize("margin", [0, 1])
def test_as_many_strings_are_listed_as_may_be(margin: int) -> None:
    found = Listing(law(), 999).strings(4, margin)
    assert found is not None
    assert sum(found.values()) == pytest.approx(1)
    assert Listing(law(), len(found)).strings(4, margin) == found
    assert Listing(law(), len(found) - 1).strings(4, margin) is None
