"""C-RASP programs written in Python.

    >>> from workbench.theory.crasp.builder import Q, count, program
    >>> opened, closed = count(Q("a")), count(Q("b"))
    >>> below = opened < closed
    >>> dyck = program("ab", {"V": below, "accept": (count(below) == 0) & (opened == closed)})
    >>> print(dyck)
    alphabet a b
    V := count(Q(a)) < count(Q(b))
    accept := count(V) = 0 and count(Q(a)) = count(Q(b))

Booleans are joined by ``& | ~``; counts by ``+ - *`` and compared by ``< <= > >= == !=``, where integers
stand for constants. The objects here only carry the operators; the expression is in ``.node``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError, kind

__all__ = ["MOD", "TRUE", "Predicate", "Q", "Term", "all_of", "any_of", "count", "program", "where"]


class _Expression:
    """Base class of Booleans and counts, which have no truth value in Python."""

    def __bool__(self) -> bool:
        raise CraspError(
            "an expression has no truth value in Python: join Booleans with & | ~, each comparison in "
            "parentheses, and do not chain comparisons"
        )


@dataclass(frozen=True, eq=False)
class Predicate(_Expression):
    """A Boolean expression under construction."""

    node: ast.Boolean

    def __and__(self, other: Predicate) -> Predicate:
        return all_of([self, other])

    def __or__(self, other: Predicate) -> Predicate:
        return any_of([self, other])

    def __invert__(self) -> Predicate:
        return Predicate(ast.Not(self.node))


@dataclass(frozen=True, eq=False)
class Term(_Expression):
    """A count under construction."""

    node: ast.Count

    def __add__(self, other: Term | int) -> Term:
        return Term(ast.Add(self.node, _count(other)))

    def __radd__(self, other: int) -> Term:
        return Term(ast.Add(_count(other), self.node))

    def __sub__(self, other: Term | int) -> Term:
        return Term(ast.Subtract(self.node, _count(other)))

    def __rsub__(self, other: int) -> Term:
        return Term(ast.Subtract(_count(other), self.node))

    def __mul__(self, factor: int) -> Term:
        return Term(ast.Scale(factor, self.node))

    __rmul__ = __mul__

    def __neg__(self) -> Term:
        return Term(ast.Scale(-1, self.node))

    def __le__(self, other: Term | int) -> Predicate:
        return self._compare("<=", other)

    def __lt__(self, other: Term | int) -> Predicate:
        return self._compare("<", other)

    def __ge__(self, other: Term | int) -> Predicate:
        return self._compare(">=", other)

    def __gt__(self, other: Term | int) -> Predicate:
        return self._compare(">", other)

    def __eq__(self, other: Term | int) -> Predicate:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: Term | int) -> Predicate:  # type: ignore[override]
        return self._compare("!=", other)

    __hash__ = None  # type: ignore[assignment]  # == builds a comparison, so sets and dicts cannot work

    def _compare(self, op: str, other: Term | int) -> Predicate:
        return Predicate(ast.Compare(self.node, op, _count(other)))


TRUE = Predicate(ast.Truth())
"""True at every position."""


def Q(symbol: str) -> Predicate:
    """Return the Boolean that the symbol at this position is ``symbol``."""
    return Predicate(ast.Symbol(symbol))


def MOD(remainder: int, modulus: int) -> Predicate:
    """Return the Boolean that the position, counted from 1, leaves ``remainder`` when divided by ``modulus``."""
    return Predicate(ast.Residue(remainder, modulus))


def count(operand: Predicate, offsets: Collection[int] | None = None) -> Term:
    """Return the count of positions j of the prefix at which ``operand`` is true.

    Args:
        operand: the Boolean to count.
        offsets: if given, only positions with i - j among them count: ``{1}`` is only the previous position.

    Raises:
        CraspError: for offsets that are unbounded, negative or empty, or an operand that is not a Boolean.
    """
    # The node checks the offsets and puts them in order.
    return Term(ast.Counting(_boolean(operand), offsets))  # type: ignore[arg-type]


def where(condition: Predicate, then: Term | int, otherwise: Term | int) -> Term:
    """Return the count ``then`` at positions at which ``condition`` is true, and ``otherwise`` elsewhere."""
    return Term(ast.Conditional(_boolean(condition), _count(then), _count(otherwise)))


def all_of(operands: Iterable[Predicate]) -> Predicate:
    """Return the conjunction of all operands: ``a & b & c`` as one conjunction of three."""
    return _joined(ast.And, operands)


def any_of(operands: Iterable[Predicate]) -> Predicate:
    """Return the disjunction of all operands."""
    return _joined(ast.Or, operands)


def program(
    alphabet: Sequence[str], lines: Mapping[str, Predicate | Term], outputs: Sequence[str] | None = None
) -> Program:
    """Return a program of named lines. The last line is its output unless ``outputs`` names others.

    Args:
        alphabet: its symbols; a text stands for its letters.
        lines: name and expression, in order. Only named lines appear in a trace.
        outputs: names of the lines that are the answer.

    Raises:
        CraspError: for anything that is not a program, e.g. with a symbol outside the alphabet.
    """
    nodes = []
    for name, line in lines.items():
        if not isinstance(line, (Predicate, Term)):
            raise CraspError(f"the line {name} is {line!r}, not an expression; comparisons need a count on the left")
        nodes.append((name, line.node))
    chosen = tuple(lines)[-1:] if outputs is None else tuple(outputs)
    return Program(tuple(alphabet), tuple(nodes), chosen)


def _joined(cls: type[ast.And] | type[ast.Or], operands: Iterable[Predicate]) -> Predicate:
    terms: list[ast.Boolean] = []
    for operand in operands:
        node = _boolean(operand)
        terms += node.terms if isinstance(node, cls) else [node]
    return Predicate(terms[0] if len(terms) == 1 else cls(tuple(terms)))


def _boolean(operand: object) -> ast.Boolean:
    if not isinstance(operand, Predicate):
        given = operand.node if isinstance(operand, Term) else operand
        raise CraspError(f"a Boolean is needed here, but {kind(given)} was given")
    return operand.node


def _count(operand: object) -> ast.Count:
    if isinstance(operand, int) and not isinstance(operand, bool):
        return ast.Constant(operand)
    if not isinstance(operand, Term):
        given = operand.node if isinstance(operand, Predicate) else operand
        raise CraspError(f"a count or an integer is needed here, but {kind(given)} was given")
    return operand.node
