"""Random C-RASP programs for property tests: every kind of node, small enough to be tried on all strings."""

from __future__ import annotations

from hypothesis import strategies as st

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import Boolean, Count

ALPHABET = ("a", "b", "<x>")


def leaves() -> st.SearchStrategy[Boolean]:
    residues = st.integers(1, 3).flatmap(lambda m: st.builds(ast.Residue, st.integers(0, m - 1), st.just(m)))
    return st.one_of(st.sampled_from([ast.Symbol(a) for a in ALPHABET]), residues, st.just(ast.Truth()))


def counts(booleans: st.SearchStrategy[Boolean], depth: int) -> st.SearchStrategy[Count]:
    offsets = st.one_of(st.none(), st.sets(st.integers(0, 3), min_size=1, max_size=2).map(lambda s: tuple(sorted(s))))
    simple = st.one_of(st.builds(ast.Counting, booleans, offsets), st.integers(-2, 2).map(ast.Constant))
    if depth == 0:
        return simple
    inner = counts(booleans, depth - 1)
    return st.one_of(
        simple,
        st.builds(ast.Add, inner, inner),
        st.builds(ast.Subtract, inner, inner),
        st.builds(ast.Scale, st.integers(-2, 3), inner),
        st.builds(ast.Conditional, booleans, inner, inner),
    )


def booleans(depth: int) -> st.SearchStrategy[Boolean]:
    if depth == 0:
        return leaves()
    inner = booleans(depth - 1)
    terms = st.lists(inner, min_size=2, max_size=3).map(tuple)
    compared = counts(inner, 2)
    return st.one_of(
        st.builds(ast.Compare, compared, st.sampled_from(ast.COMPARISONS), compared),
        st.builds(ast.Compare, compared, st.sampled_from(ast.COMPARISONS), compared),
        st.builds(ast.Not, inner),
        st.builds(ast.And, terms),
        st.builds(ast.Or, terms),
    )


def programs(depth: int = 2) -> st.SearchStrategy[Program]:
    """Programs of two lines of which the second uses the first, both of them outputs."""

    def both(first: Boolean, second: Boolean) -> Program:
        joined = ast.Compare(ast.Counting(first), ">=", ast.Constant(1))
        return Program(ALPHABET, (("X", first), ("Y", ast.Or((joined, second)))), ("X", "Y"))

    return st.builds(both, booleans(depth), booleans(depth))
