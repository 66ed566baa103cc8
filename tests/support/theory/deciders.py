"""What tests of several tiers share. Membership in C-RASP: published vectors, both conventions, certificates, and what they must never certify."""

from __future__ import annotations

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.regular.deciders import in_crasp


def decided(language: Automaton, convention: str = "neutral_symbol") -> str:
    return in_crasp(language, convention).decision  # type: ignore[arg-type]
