"""The normal form from which programs are compiled.

A program in normal form is an ordinary program, so that it can be printed and evaluated:

- every comparison is ``d >= 0``, where d is a linear combination of counts over positions and conditionals;
- conjunctions and disjunctions are flat and free of repetitions;
- parts that the ranges of counts prove constant are removed: ``count(P) = 0`` becomes ``-1 * count(P) >= 0``, because
  no count is negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import quoted_value
from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.printer import expression_text
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError

__all__ = ["Linear", "Normal", "bounds", "linear", "magnitude", "normal_program"]

LARGEST_COEFFICIENT = 1 << 53
"""Integers up to this one are exact as weights of 64 bits."""
TRUE = ast.Truth()
FALSE = ast.Not(TRUE)


@dataclass(frozen=True)
class Linear:
    """``constant + sum of coefficient * atom``; an atom is a Counting or a Conditional."""

    constant: int
    terms: tuple[tuple[int, ast.Count], ...]

    def __add__(self, other: Linear) -> Linear:
        total: dict[ast.Count, int] = {}
        for coefficient, atom in self.terms + other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        return Linear(self.constant + other.constant, tuple((k, atom) for atom, k in total.items() if k))

    def __mul__(self, factor: int) -> Linear:
        return Linear(factor * self.constant, tuple((factor * k, atom) for k, atom in self.terms if factor))

    @property
    def local(self) -> bool:
        """Whether the count is a combination of constants and local counts only."""
        return all(isinstance(atom, ast.Counting) and atom.offsets is not None for _, atom in self.terms)

    def expression(self) -> ast.Count:
        """Return the same as an expression, equal for equal combinations."""
        ordered = sorted(self.terms, key=lambda term: expression_text(term[1]))
        parts = [*ordered, *([(self.constant, ast.Constant(1))] if self.constant else [])]
        if not parts:
            return ast.Constant(0)
        total = _times(*parts[0])
        for coefficient, atom in parts[1:]:
            join = ast.Add if coefficient > 0 else ast.Subtract
            total = join(total, _times(abs(coefficient), atom))
        return total


def _times(factor: int, atom: ast.Count) -> ast.Count:
    if isinstance(atom, ast.Constant):
        return ast.Constant(factor * atom.value)
    return atom if factor == 1 else ast.Scale(factor, atom)


def linear(node: ast.Count) -> Linear:
    """Return a count as a linear combination of its atoms, which are not changed."""
    match node:
        case ast.Constant(value):
            return Linear(value, ())
        case ast.Add(left, right):
            return linear(left) + linear(right)
        case ast.Subtract(left, right):
            return linear(left) + linear(right) * -1
        case ast.Scale(factor, inner):
            return linear(inner) * factor
    return Linear(0, ((1, node),))


def bounds(combination: Linear) -> tuple[float, float]:
    """Return the least and the greatest possible value, taking each atom's range by itself."""
    low = high = float(combination.constant)
    for coefficient, atom in combination.terms:
        ends = [coefficient * end if end else 0.0 for end in _range(atom)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _range(atom: ast.Count) -> tuple[float, float]:
    match atom:
        case ast.Counting(_, None):
            return 0.0, math.inf
        case ast.Counting(_, offsets):
            return 0.0, float(len(offsets or ()))
        case ast.Conditional(_, then, otherwise):
            branches = bounds(linear(then)), bounds(linear(otherwise))
            return min(low for low, _ in branches), max(high for _, high in branches)
    raise CraspError(f"{type(atom).__name__} is not an atom of a linear combination")


def magnitude(count: Linear | ast.Count) -> int:
    """Return the largest absolute value of a count divided by n + 1, over all prefixes (n their length).

    It is |c| + sum |coefficient|: counts divided by n + 1 are at most 1, and conditionals at most the greater branch.
    """
    if isinstance(count, ast.Counting):
        return 1
    if isinstance(count, ast.Conditional):
        return max(magnitude(count.then), magnitude(count.otherwise))
    combination = count if isinstance(count, Linear) else linear(count)
    return abs(combination.constant) + sum(abs(k) * magnitude(atom) for k, atom in combination.terms)


def normal_program(program: Program) -> Program:
    """Return the program with each Boolean line in normal form; lines that are counts are left out."""
    normal = Normal()
    lines = [(name, normal.boolean(node)) for name, node in program.lines if isinstance(node, ast.Boolean)]
    return Program(program.alphabet, tuple(lines), program.outputs)


class Normal:
    """Converts expressions to normal form; each distinct expression is converted once."""

    def __init__(self) -> None:
        self._known: dict[ast.Node, Any] = {}

    def boolean(self, node: ast.Boolean) -> ast.Boolean:
        """Return the normal form of a Boolean."""
        if node not in self._known:
            self._known[node] = self._boolean(node)
        found: ast.Boolean = self._known[node]
        return found

    def _boolean(self, node: ast.Boolean) -> ast.Boolean:
        match node:
            case ast.Residue(_, 1):
                return TRUE
            case ast.Not(inner):
                return _negated(self.boolean(inner))
            case ast.And(terms):
                return _joined(ast.And, (self.boolean(t) for t in terms))
            case ast.Or(terms):
                return _joined(ast.Or, (self.boolean(t) for t in terms))
            case ast.Compare(left, op, right):
                return self._comparison(op, self.count(left) + self.count(right) * -1)
        return node

    def _comparison(self, op: str, d: Linear) -> ast.Boolean:
        one, flipped = Linear(1, ()), d * -1
        match op:
            case ">=":
                return _at_least_zero(d)
            case ">":
                return _at_least_zero(d + one * -1)
            case "<=":
                return _at_least_zero(flipped)
            case "<":
                return _at_least_zero(flipped + one * -1)
            case "=":
                return _joined(ast.And, (_at_least_zero(d), _at_least_zero(flipped)))
        return _negated(self._comparison("=", d))

    def count(self, node: ast.Count) -> Linear:
        """Return a count as a linear combination of atoms in normal form."""
        if node not in self._known:
            total = Linear(0, ())
            combination = linear(node)
            for coefficient, atom in combination.terms:
                total = total + self._atom(atom) * coefficient
            total = total + Linear(combination.constant, ())
            largest = max(abs(number) for number in (total.constant, *(k for k, _ in total.terms)))
            if largest > LARGEST_COEFFICIENT:
                raise CraspError(
                    f"the sum of the factors of its counts is {quoted_value(largest)}, "
                    "and weights are exact only up to "
                    f"{LARGEST_COEFFICIENT:,}: use smaller factors"
                )
            self._known[node] = total
        found: Linear = self._known[node]
        return found

    def _atom(self, atom: ast.Count) -> Linear:
        match atom:
            case ast.Counting(operand, offsets):
                counted = self.boolean(operand)
                return Linear(0, () if counted is FALSE else ((1, ast.Counting(counted, offsets)),))
            case ast.Conditional(condition, then, otherwise):
                return self._choice(self.boolean(condition), self.count(then), self.count(otherwise))
        raise CraspError(f"{type(atom).__name__} is not a C-RASP count")

    def _choice(self, condition: ast.Boolean, then: Linear, otherwise: Linear) -> Linear:
        one, other = then.expression(), otherwise.expression()
        if condition is TRUE or one is other:
            return then
        if condition is FALSE:
            return otherwise
        return Linear(0, ((1, ast.Conditional(condition, one, other)),))


def _at_least_zero(d: Linear) -> ast.Boolean:
    low, high = bounds(d)
    if low >= 0:
        return TRUE
    return FALSE if high < 0 else ast.Compare(d.expression(), ">=", ast.Constant(0))


def _negated(node: ast.Boolean) -> ast.Boolean:
    return node.operand if isinstance(node, ast.Not) else ast.Not(node)


def _joined(cls: type[ast.And] | type[ast.Or], terms: Iterable[ast.Boolean]) -> ast.Boolean:
    neutral, absorbing = (TRUE, FALSE) if cls is ast.And else (FALSE, TRUE)
    flat: dict[ast.Boolean, None] = {}
    for term in terms:
        flat |= dict.fromkeys(term.terms if isinstance(term, cls) else (term,))
    if absorbing in flat:
        return absorbing
    kept = tuple(term for term in flat if term is not neutral)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else cls(kept)
