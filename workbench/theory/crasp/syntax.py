"""The syntax of C-RASP[periodic, local]: Booleans and counts over positions.

C-RASP counts how many positions of the prefix satisfy a Boolean, and compares such counts. It is the language of Yang
and Chiang (2024, "Counting Like Transformers: Compiling Temporal Counting Logic Into Softmax Transformers",
2404.04393). Huang et al. (2410.02140) add *periodic* predicates, which read the position modulo a number. They also add
*local* ones, by which a count looks at boundedly many recent positions.

At position i (1, 2, ..) of a string the value of every expression depends only on the first i symbols. Booleans:

- ``Symbol(a)``: the i-th symbol is a;
- ``Residue(r, m)``: i mod m = r;
- ``Truth()``: true;
- ``Not``, ``And``, ``Or``;
- ``Compare(c, op, d)``: c op d, with op one of ``<= < >= > = !=``.

Counts:

- ``Counting(p)``: number of j <= i at which p is true;
- ``Counting(p, offsets)``: number of such j with i - j in offsets;
- ``Conditional(p, c, d)``: c if p is true at i, else d;
- ``Constant``, ``Add``, ``Subtract``, ``Scale``.

Nodes are immutable, and equal ones are one object, so that any table over nodes can be a plain dict. A program is a
list of named expressions (:mod:`workbench.theory.crasp.program`). It is easier to write with
:mod:`workbench.theory.crasp.builder` or as text (:mod:`workbench.theory.crasp.parser`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.core.interned import Interned, field_values
from workbench.theory.errors import TheoryError

COMPARISONS = ("<=", "<", ">=", ">", "=", "!=")


class CraspError(TheoryError):
    """An invalid program; the message is one sentence, with line and column if the program came from text."""


@dataclass(frozen=True, eq=False)
class Node(metaclass=Interned):
    """An expression. Equality is identity, because equal nodes are one object."""

    @property
    def children(self) -> tuple[Node, ...]:
        """Return the expressions that this expression contains, in order."""
        nodes: list[Node] = []
        for value in field_values(self):
            nodes += [value] if isinstance(value, Node) else [v for v in _sequence(value) if isinstance(v, Node)]
        return tuple(nodes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), field_values(self)


@dataclass(frozen=True, eq=False)
class Boolean(Node):
    """An expression that is true or false at every position."""


@dataclass(frozen=True, eq=False)
class Count(Node):
    """An expression that is an integer at every position."""


# ---- Booleans ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Symbol(Boolean):
    """Q_a(i): the symbol at this position is ``name``."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or any(c.isspace() or c == '"' for c in self.name):
            raise CraspError(f"a symbol is text without spaces and double quotes, not {self.name!r}")


@dataclass(frozen=True, eq=False)
class Residue(Boolean):
    """The position, counted from 1, leaves ``remainder`` when divided by ``modulus``."""

    remainder: int
    modulus: int

    def __post_init__(self) -> None:
        _integer("a modulus", self.modulus)
        _integer("a remainder", self.remainder)
        if self.modulus < 1:
            raise CraspError(f"a modulus is at least 1, not {self.modulus}")
        if not 0 <= self.remainder < self.modulus:
            raise CraspError(
                f"a remainder modulo {self.modulus} is in 0..{self.modulus - 1}, so it is never {self.remainder}"
            )


@dataclass(frozen=True, eq=False)
class Truth(Boolean):
    """The expression that is true at every position."""


@dataclass(frozen=True, eq=False)
class Not(Boolean):
    """True where ``operand`` is not."""

    operand: Boolean

    def __post_init__(self) -> None:
        _boolean("not", self.operand)


@dataclass(frozen=True, eq=False)
class And(Boolean):
    """True where all ``terms`` (at least two) are."""

    terms: tuple[Boolean, ...]

    def __post_init__(self) -> None:
        _several("and", self.terms)


@dataclass(frozen=True, eq=False)
class Or(Boolean):
    """True where any of ``terms`` (at least two) is."""

    terms: tuple[Boolean, ...]

    def __post_init__(self) -> None:
        _several("or", self.terms)


@dataclass(frozen=True, eq=False)
class Compare(Boolean):
    """The comparison of two counts by the relation ``op``, one of ``COMPARISONS``."""

    left: Count
    op: str
    right: Count

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            raise CraspError(f"unknown comparison {self.op!r}; there are {' '.join(COMPARISONS)}")
        _count(self.op, self.left)
        _count(self.op, self.right)


# ---- counts --------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Constant(Count):
    """A count with the same integer value at every position."""

    value: int

    def __post_init__(self) -> None:
        _integer("a constant", self.value)


@dataclass(frozen=True, eq=False)
class Counting(Count):
    """The number of positions j <= i at which ``operand`` is true.

    With ``offsets`` only the positions with i - j among them count (a local count). ``offsets`` is a tuple of distinct
    integers from 0 in ascending order, or None for the whole prefix.
    """

    operand: Boolean
    offsets: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.operand, Boolean):
            raise CraspError(f"count takes a Boolean, but {kind(self.operand)} was given")
        if self.offsets is not None:
            object.__setattr__(self, "offsets", _bounded(self.offsets))


@dataclass(frozen=True, eq=False)
class Conditional(Count):
    """``then`` where ``condition`` holds, ``otherwise`` elsewhere."""

    condition: Boolean
    then: Count
    otherwise: Count

    def __post_init__(self) -> None:
        if not isinstance(self.condition, Boolean):
            raise CraspError(f"the condition of where is a Boolean, but {kind(self.condition)} was given")
        _count("where", self.then)
        _count("where", self.otherwise)


@dataclass(frozen=True, eq=False)
class Add(Count):
    """The sum of two counts."""

    left: Count
    right: Count

    def __post_init__(self) -> None:
        _count("+", self.left)
        _count("+", self.right)


@dataclass(frozen=True, eq=False)
class Subtract(Count):
    """The difference of two counts."""

    left: Count
    right: Count

    def __post_init__(self) -> None:
        _count("-", self.left)
        _count("-", self.right)


@dataclass(frozen=True, eq=False)
class Scale(Count):
    """A count times an integer."""

    factor: int
    operand: Count

    def __post_init__(self) -> None:
        _integer("a factor", self.factor)
        _count("*", self.operand)


# ---- over nodes -----------------------------------------------------------------------------------
def subterms(roots: Iterable[Node]) -> list[Node]:
    """Return every distinct node below ``roots`` once, each after its children (without recursion)."""
    ordered: dict[Node, None] = {}
    for root in roots:
        stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(root.children))]
        while stack:
            node, rest = stack[-1]
            child = next((c for c in rest if c not in ordered), None)
            if child is not None:
                stack.append((child, iter(child.children)))
            else:
                ordered[node] = None
                stack.pop()
    return list(ordered)


def written_out(roots: Iterable[Node]) -> int:
    """Return the number of nodes of expressions written out in full, each part as often as it is used."""
    sizes: dict[Node, int] = {}
    expressions = list(roots)
    for node in subterms(expressions):
        sizes[node] = 1 + sum(sizes[child] for child in node.children)
    return sum(sizes[root] for root in expressions)


def kind(value: object) -> str:
    """Return the kind of an expression (such as a count or a truth value), in words for error messages."""
    if isinstance(value, Boolean):
        return "a Boolean"
    if isinstance(value, Count):
        return "a count"
    return f"{value!r}"


# ---- checks --------------------------------------------------------------------------------------
def _sequence(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _integer(what: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CraspError(f"{what} is an integer, not {value!r}")


def _boolean(operator: str, operand: object) -> None:
    if not isinstance(operand, Boolean):
        raise CraspError(f"{operator} joins Booleans, but {kind(operand)} was given")


def _count(operator: str, operand: object) -> None:
    if not isinstance(operand, Count):
        raise CraspError(f"{operator} takes counts, but {kind(operand)} was given")


def _several(operator: str, terms: tuple[Boolean, ...]) -> None:
    for term in terms:
        _boolean(operator, term)
    if len(terms) < 2:
        raise CraspError(f"{operator} joins at least two Booleans, not {len(terms)}")


def _bounded(offsets: object) -> tuple[int, ...]:
    """Return offsets in ascending order; raise CraspError if they are not finitely many."""
    if not isinstance(offsets, Collection) or isinstance(offsets, str):
        raise CraspError(
            "a local predicate is given by finitely many offsets i - j, such as {1} or range(4), "
            f"but {offsets!r} is unbounded; leave offsets out to count over the whole prefix"
        )
    for offset in offsets:
        _integer("an offset", offset)
        if offset < 0:
            raise CraspError(
                f"an offset i - j must be at least 0, not {offset}, because a count never reads later positions"
            )
    if not offsets:
        raise CraspError("a local count needs at least one offset")
    return tuple(sorted(set(offsets)))
