"""Languages with a published expressivity label: their automata, certificates, and proofs that they are outside."""

from __future__ import annotations

import numpy as np

from workbench.claims.claim import Row
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.prediction.reported_results import HUANG, published_results
from workbench.theory.prediction.task_names import resolve
from workbench.theory.regular.deciders import find_certificate
from workbench.theory.regular.exclusion import exclude, stable_semigroup
from workbench.theory.regular.monoid import syntactic_monoid

PERIODS = tuple(range(1, 13))
LOCALITIES = tuple(range(7))


def exclusion_rows(languages: dict[str, Automaton]) -> list[Row]:
    """Return whether a certificate is found for each language, and whether a proof excludes it."""
    rows = []
    for name, language in languages.items():
        rows.append(Row("certified", name, float(find_certificate(language, PERIODS, LOCALITIES) is not None)))
        rows.append(Row("proven outside", name, float(exclude(language) is not None)))
    return rows


def language_of(key: str) -> Automaton:
    """Return the minimal automaton of the first answer of a regular task."""
    task = resolve(key, {})[1]
    automaton = None if task is None else task.automaton()
    assert automaton is not None, key
    return next(iter(automaton.languages()))


def labelled_in(key: str) -> bool:
    """Return whether Huang et al. label a language expressible with positions."""
    return next(r.expressible for r in published_results(key, "learned") if r.source == HUANG) is True


def is_quasi_aperiodic(language: Automaton) -> bool:
    """Return whether a regular language is in AC0: words of one length never form a group (Barrington et al. 1992)."""
    monoid = syntactic_monoid(language)
    assert monoid is not None
    for x in stable_semigroup(monoid).tolist():
        power = monoid.elements[x]
        for _ in range(len(power)):
            power = monoid.elements[x][power]
        if not np.array_equal(monoid.elements[x][power], power):
            return False
    return True
