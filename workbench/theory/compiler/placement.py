"""Maps a program to the dimensions, heads and hidden units of a transformer that computes it.

The construction behind Huang et al. 2024 (2410.02140, Theorem 9: every C-RASP[periodic, local] program has a limit
transformer), made concrete for softmax attention in floating point. A BOS token comes first; at prefix length n a query
sees K = n + 1 keys. There is no normalization and no bias: the dimension ``one`` is 1 everywhere. Each quantity has a
named dimension of the residual stream:

- ``one``, ``bos``, ``real``: 1; 1 at BOS; 1 elsewhere;
- ``tok:a``, ``pos:r``: the token is a; the position is r modulo Delta;
- ``u``: 1 / K, which one occurrence adds to a mean;
- ``m:P``: mean of P over the visible keys, which is count(P) / K;
- ``l@t:P``: P at t positions before;
- ``b:C``, ``c:C``: the comparison C, coarse (with a rounding error) and clean (0 or 1);
- ``g:B``: a conjunction or disjunction;
- ``ul:C``, ``q:C``: u times a local count; u times a conditional.

**Invariant**: every Boolean is an affine expression in these dimensions that is 0 or 1, and 0 at BOS.

Attention sub-layer l runs at time 2l, its MLP at 2l + 1. Every quantity goes into the first sub-layer of its kind after
its inputs. A Boolean uses S(y) = relu(y) - relu(y - 1), two hidden units, with y at least 1 if it is true and at most 0
if not. For a comparison of means y is the difference times the gain 4 (n_max + 1). So a difference of one occurrence is
2 or more at every n <= n_max.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.normal_form import Linear, linear, magnitude, normal_program
from workbench.theory.crasp.printer import expression_text
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import Boolean, Conditional, CraspError, Node

__all__ = ["Affine", "Column", "Unit", "Wiring"]

Affine = Mapping[str, float]
"""Coefficients by dimension; the constant is the coefficient of ``one``."""

AnyNode = TypeVar("AnyNode", bound=Node)

ONE, BOS, REAL, U = "one", "bos", "real", "u"
AFTER_EMBEDDING = -1


class Signal(NamedTuple):
    """A value, as an expression in the residual stream, and the time of the sub-layer that completes it."""

    value: Affine
    time: int


@dataclass(frozen=True)
class Column:
    """One dimension of a head's value: the head reads ``value`` at the keys and adds its mean to ``writes``.

    ``offset`` is the lag that the head attends to; None stands for uniform attention.
    """

    layer: int
    offset: int | None
    value: Affine
    writes: str


@dataclass(frozen=True)
class Unit:
    """One hidden unit of an MLP: it adds ``sign * relu(value)`` to ``writes``."""

    layer: int
    value: Affine
    writes: str
    sign: float


def total(*parts: tuple[float, Affine]) -> Affine:
    """The weighted sum of expressions."""
    found: dict[str, float] = {}
    for weight, part in parts:
        for dimension, coefficient in part.items():
            found[dimension] = found.get(dimension, 0.0) + weight * coefficient
    return {dimension: coefficient for dimension, coefficient in found.items() if coefficient}


@dataclass
class Wiring:
    """All residual dimensions, head dimensions and hidden units of one compiled program, exact for prefixes up to
    ``n_max``.
    """

    program: Program
    n_max: int
    dims: dict[str, None] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    outputs: dict[str, Affine] = field(default_factory=dict)
    meaning: dict[str, tuple[str, Node]] = field(default_factory=dict)
    """For dimensions of compiled nodes: kind (``m``, ``l@1``, ``b``, ...) and the node, in normal form."""

    def __post_init__(self) -> None:
        normal = normal_program(self.program)
        self._names: dict[Node, str] = {}
        for name, node in normal.lines:
            self._names.setdefault(node, name)
        self.period = normal.modulus
        self._signals: dict[tuple[str, Node], Signal] = {}
        for dimension in (ONE, BOS, REAL, *(f"tok:{a}" for a in self.program.alphabet)):
            self._dimension(dimension)
        for residue in range(self.period if self.period > 1 else 0):
            self._dimension(f"pos:{residue}")
        for name in self.program.outputs:
            self.outputs[name] = self.clean(normal.boolean(name)).value

    @property
    def gain(self) -> float:
        """Factor from a difference of means to y."""
        return 4.0 * (self.n_max + 1)

    @property
    def layers(self) -> int:
        """Number of blocks; at least one, because a model has one."""
        used = [column.layer for column in self.columns] + [unit.layer for unit in self.units]
        return 1 + max(used, default=0)

    # ---- Booleans ----------------------------------------------------------------------------
    def clean(self, node: Boolean) -> Signal:
        """Return a Boolean that is exactly 0 or 1, as counts and outputs need it."""
        match node:
            case ast.Not(inner):
                return self._negation(self.clean(inner))
            case ast.Compare():
                return self._known("c", node, self._cleaned)
        return self.coarse(node)

    def coarse(self, node: Boolean) -> Signal:
        """Return a Boolean with a small rounding error, which conjunctions and disjunctions tolerate."""
        match node:
            case ast.Truth():
                return Signal({REAL: 1.0}, AFTER_EMBEDDING)
            case ast.Symbol(name):
                return Signal({f"tok:{name}": 1.0}, AFTER_EMBEDDING)
            case ast.Residue(remainder, modulus):
                positions = range(remainder, self.period, modulus)
                return Signal({f"pos:{r}": 1.0 for r in positions}, AFTER_EMBEDDING)
            case ast.Not(inner):
                return self._negation(self.coarse(inner))
            case ast.And() | ast.Or():
                return self._known("g", node, self._gate)
            case ast.Compare():
                return self._known("b", node, self._comparison)
        raise CraspError(f"{type(node).__name__} is not a C-RASP Boolean")

    def _negation(self, signal: Signal) -> Signal:
        return Signal(total((1, {REAL: 1.0}), (-1, signal.value)), signal.time)

    def _cleaned(self, node: ast.Compare, name: str) -> Signal:
        coarse = self.coarse(node)
        return self._step(total((2, coarse.value), (-0.5, {ONE: 1.0})), coarse.time, name)

    def _gate(self, node: ast.And | ast.Or, name: str) -> Signal:
        terms = [self.coarse(term) for term in node.terms]
        threshold = 2 * len(terms) - 1.5 if isinstance(node, ast.And) else 0.5
        y = total(*((2, term.value) for term in terms), (-threshold, {ONE: 1.0}))
        return self._step(y, _latest(terms), name)

    def _comparison(self, node: ast.Compare, name: str) -> Signal:
        d = linear(node.left)
        return self._local_comparison(d, name) if d.local else self._mean_comparison(d, name)

    def _local_comparison(self, d: Linear, name: str) -> Signal:
        """y = 2 d + 1.5, and below 0 at BOS, where every local count is 0."""
        parts = [(float(k), self._local(atom)) for k, atom in d.terms]
        doubled = total(*((2 * k, part.value) for k, part in parts), (2 * d.constant, {ONE: 1.0}))
        y = total((1, doubled), (1.5, {ONE: 1.0}), (-2.0 * abs(d.constant) - 3, {BOS: 1.0}))
        return self._step(y, _latest(part for _, part in parts), name)

    def _mean_comparison(self, d: Linear, name: str) -> Signal:
        """y = G (d + 1/2) / K, and below 0 at BOS, where u is 1, counts are 0 and conditionals bounded."""
        mean, unit = self._mean(d), self._unit()
        chosen = sum(abs(k) * magnitude(atom) for k, atom in d.terms if isinstance(atom, Conditional))
        at_bos = abs(d.constant) + chosen + 1
        y = total((self.gain, mean.value), (self.gain / 2, unit.value), (-self.gain * at_bos, {BOS: 1.0}))
        return self._step(y, max(mean.time, unit.time), name)

    # ---- counts ------------------------------------------------------------------------------
    def _mean(self, combination: Linear) -> Signal:
        """A combination of counts divided by K."""
        parts = [(float(k), self._atom(atom)) for k, atom in combination.terms]
        if combination.constant:
            parts.append((float(combination.constant), self._unit()))
        return Signal(total(*((k, part.value) for k, part in parts)), _latest(part for _, part in parts))

    def _atom(self, atom: ast.Count) -> Signal:
        match atom:
            case ast.Conditional():
                return self._known("q", atom, self._choice)
            case ast.Counting(operand, None):
                return self._known("m", operand, self._share)
            case ast.Counting():
                return self._known("ul", atom, self._local_share)
        raise CraspError(f"{type(atom).__name__} is not a C-RASP count")

    def _unit(self) -> Signal:
        if U not in self.dims:
            self._column(None, Signal({BOS: 1.0}, AFTER_EMBEDDING), U)
        return Signal({U: 1.0}, 0)

    def _share(self, operand: Boolean, name: str) -> Signal:
        return self._column(None, self.clean(operand), name)

    def _local(self, atom: ast.Count) -> Signal:
        """A local count: the sum of what stands at its offsets."""
        parts = self._looks_back(atom)
        return Signal(total(*((1, part.value) for part in parts)), _latest(parts))

    def _looks_back(self, atom: ast.Count) -> list[Signal]:
        """The counted Boolean at each offset; at offset 0 it is at hand without attention."""
        if not isinstance(atom, ast.Counting) or atom.offsets is None:
            raise CraspError(f"{type(atom).__name__} is not a local count")
        here = self.clean(atom.operand)

        def at(offset: int) -> Signal:
            return self._known(f"l@{offset}", atom.operand, lambda _, name: self._column(offset, here, name))

        return [at(offset) if offset else here for offset in atom.offsets]

    def _local_share(self, atom: ast.Counting, name: str) -> Signal:
        """u where the Boolean held, per offset: relu(u + B - 1) with B either 0 or 1."""
        parts, unit = self._looks_back(atom), self._unit()
        layer = _next_mlp(max(_latest(parts), unit.time))
        for part in parts:
            self._add(Unit(layer, total((1, unit.value), (1, part.value), (-1, {ONE: 1.0})), name, 1.0))
        return Signal({name: 1.0}, 2 * layer + 1)

    def _choice(self, atom: Conditional, name: str) -> Signal:
        """relu(x + M (P - 1)) - relu(-x + M (P - 1)) is x where P holds and 0 elsewhere, if |x| <= M."""
        condition = self.clean(atom.condition)
        then, otherwise = self._mean(linear(atom.then)), self._mean(linear(atom.otherwise))
        bound = magnitude(atom)
        layer = _next_mlp(_latest((condition, then, otherwise)))
        holds = total((bound, condition.value), (-bound, {ONE: 1.0}))
        fails = total((-bound, condition.value))
        for branch, mask in ((then, holds), (otherwise, fails)):
            for sign in (1.0, -1.0):
                self._add(Unit(layer, total((sign, branch.value), (1, mask)), name, sign))
        return Signal({name: 1.0}, 2 * layer + 1)

    # ---- making ------------------------------------------------------------------------------
    def _known(self, kind: str, node: AnyNode, make: Callable[[AnyNode, str], Signal]) -> Signal:
        """The signal of a node, made once, in the dimension named after kind and node."""
        key = (kind, node)
        if key not in self._signals:
            name = f"{kind}:{expression_text(node, self._names)}"
            self._signals[key] = make(node, name)
            self.meaning[name] = key
        return self._signals[key]

    def _dimension(self, name: str) -> None:
        self.dims[name] = None

    def _column(self, offset: int | None, signal: Signal, name: str) -> Signal:
        layer = (signal.time + 2) // 2
        self._dimension(name)
        self.columns.append(Column(layer, offset, signal.value, name))
        return Signal({name: 1.0}, 2 * layer)

    def _add(self, unit: Unit) -> None:
        self._dimension(unit.writes)
        self.units.append(unit)

    def _step(self, y: Affine, time: int, name: str) -> Signal:
        """S(y) = relu(y) - relu(y - 1)."""
        layer = _next_mlp(time)
        self._add(Unit(layer, y, name, 1.0))
        self._add(Unit(layer, total((1, y), (-1, {ONE: 1.0})), name, -1.0))
        return Signal({name: 1.0}, 2 * layer + 1)


def _latest(signals: Iterable[Signal]) -> int:
    return max((signal.time for signal in signals), default=AFTER_EMBEDDING)


def _next_mlp(time: int) -> int:
    """Layer of the first MLP after ``time``."""
    return (time + 1) // 2
