"""Exact linear spans, held against floating-point linear algebra and against their own definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.theory.regular.rational_spans import Span

vectors = st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=1, max_size=6)


def sparse(vector: list[int]) -> dict[int, int]:
    return {i: v for i, v in enumerate(vector) if v}


@settings(max_examples=60)
@given(vectors, st.lists(st.integers(-3, 3), min_size=5, max_size=5))
def test_dimension_and_membership_agree_with_numpy(rows: list[list[int]], probe: list[int]) -> None:
    span: Span[int] = Span()
    for row in rows:
        span.add(sparse(row))
    rank = np.linalg.matrix_rank(np.array(rows))
    assert span.dimension == rank
    inside = np.linalg.matrix_rank(np.array([*rows, probe])) == rank
    assert (span.residue(sparse(probe)) == {}) == inside
    assert span.add(sparse(probe)) == (not inside)


@settings(max_examples=40)
@given(vectors)
def test_annihilators_are_a_basis_of_what_is_orthogonal(rows: list[list[int]]) -> None:
    span: Span[int] = Span()
    for row in rows:
        span.add(sparse(row))
    basis = span.annihilators(range(5))
    for row in rows:
        for vector in basis:
            assert sum(row[i] * v for i, v in vector.items()) == 0
    assert len(basis) == 5 - span.dimension
    dense = np.array([[vector.get(i, 0) for i in range(5)] for vector in basis]).reshape(-1, 5)
    assert np.linalg.matrix_rank(dense) == len(basis) if len(basis) else True


def test_arithmetic_is_exact_where_floats_are_not() -> None:
    span: Span[str] = Span()
    span.add({"x": 3, "y": 1})
    span.add({"x": 10**20, "y": 1, "z": 1})
    assert span.residue({"x": 1}) == {"z": Fraction(1, 3 - 10**20) * -1 * -1}
