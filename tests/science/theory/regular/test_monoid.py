"""Syntactic monoids: the published table, brute force over words, and the chain of classes."""

from __future__ import annotations

import itertools

from benchmarks.deciders import random_languages
from workbench.theory.regular.monoid import is_aperiodic, is_r_trivial, profile, satisfies_r_omega, syntactic_monoid


def test_the_chain_of_classes_on_random_languages() -> None:
    strict = [0, 0, 0]
    for expression, language in random_languages(1, 100):
        monoid = syntactic_monoid(language, 2_000)
        if monoid is None:
            continue
        chain = [
            is_r_trivial(monoid),
            profile(language).crasp_neutral == "yes",
            satisfies_r_omega(monoid),
            is_aperiodic(monoid),
        ]
        for i, (narrow, wide) in enumerate(itertools.pairwise(chain)):
            assert wide or not narrow, expression
            strict[i] += wide and not narrow
    assert strict[0] > 0
    assert strict[2] > 0
