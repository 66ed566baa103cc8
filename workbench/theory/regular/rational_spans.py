"""Linear spans over the rationals in exact arithmetic, which the deciders use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from math import lcm
from typing import Generic, TypeVar

from workbench.theory.errors import TheoryError

Number = int | Fraction
K = TypeVar("K", bound=Hashable)
Vector = dict[K, Number]
"""A sparse vector: coordinate -> value, zeros left out."""


class TooManyStepsError(TheoryError):
    """Exact arithmetic would take more steps than are allowed."""


class Allowance:
    """A budget of steps of exact arithmetic.

    Steps are counted and not timed, so that results are the same on every machine.

    Args:
        steps: numbers that may be changed, each counted once for every 64 binary digits of its multiplier.
    """

    def __init__(self, steps: int) -> None:
        self.steps = self.left = steps

    def spend(self, steps: int) -> None:
        """Count some steps of arithmetic against the limit.

        Raises:
            TooManyStepsError: if fewer are left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooManyStepsError(f"this takes more than {self.steps:,} steps of exact arithmetic")


class Span(Generic[K]):
    """The rational span of the vectors added so far, in echelon form.

    Coordinates are any hashable values; each receives an index at its first use. Every stored row has 1 at its pivot,
    which is the first of its indices, and no two rows share a pivot.

    Args:
        allowance: the steps that all additions and residues together may take; None = any number.

    Example:

        >>> span: Span[str] = Span()
        >>> span.add({"a": 2, "b": 1}), span.add({"a": 4, "b": 2})
        (True, False)
        >>> span.residue({"a": 1})
        {'b': Fraction(-1, 2)}
    """

    def __init__(self, allowance: Allowance | None = None) -> None:
        self._allowance = allowance
        self._places: dict[K, int] = {}
        self._names: list[K] = []
        self._rows: dict[int, dict[int, Number]] = {}

    @property
    def dimension(self) -> int:
        """The number of linearly independent vectors among those added."""
        return len(self._rows)

    def residue(self, vector: Mapping[K, Number]) -> Vector[K]:
        """Return the vector that differs from ``vector`` by an element of the span and is 0 at every pivot.

        So two vectors have equal residues exactly if their difference is in the span.
        """
        return {self._names[position]: value for position, value in self._reduced(vector).items()}

    def add(self, vector: Mapping[K, Number]) -> bool:
        """Add a vector to the span; return whether the span grew."""
        residue = self._reduced(vector)
        if not residue:
            return False
        pivot = min(residue)
        lead = residue[pivot]
        row = residue if lead == 1 else {position: _ratio(value, lead) for position, value in residue.items()}
        self._rows[pivot] = row
        return True

    def annihilators(self, names: Iterable[K]) -> list[dict[K, int]]:
        """Return a basis of the vectors whose product with every vector of the span is 0, scaled to integers.

        Their coordinates are those of the span and ``names``.
        """
        for name in names:
            self._place(name)
        basis = []
        for free in range(len(self._names)):
            if free in self._rows:
                continue
            values: dict[int, Number] = {free: 1}
            for pivot in sorted(self._rows, reverse=True):
                row = self._rows[pivot]
                product = sum((row[position] * value for position, value in values.items() if position in row), 0)
                if product:
                    values[pivot] = -product
            scale = lcm(*(Fraction(value).denominator for value in values.values()))
            basis.append({self._names[position]: int(value * scale) for position, value in values.items()})
        return basis

    def _reduced(self, vector: Mapping[K, Number]) -> dict[int, Number]:
        residue = {self._place(name): value for name, value in vector.items() if value}
        while pivots := residue.keys() & self._rows.keys():
            # A row is 0 before its pivot, so clearing the first pivot never brings back an earlier one.
            pivot = min(pivots)
            factor, row = residue[pivot], self._rows[pivot]
            if self._allowance is not None:
                self._allowance.spend(len(row) * (1 + _digits(factor) // 64))
            for position, value in row.items():
                changed = residue.get(position, 0) - factor * value
                if changed:
                    residue[position] = changed
                else:
                    residue.pop(position, None)
        return residue

    def _place(self, name: K) -> int:
        if name not in self._places:
            self._places[name] = len(self._names)
            self._names.append(name)
        return self._places[name]


def _digits(value: Number) -> int:
    """Return the number of binary digits of a number, including those of its denominator."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def _ratio(value: Number, by: Number) -> Number:
    quotient = Fraction(value) / by
    return quotient.numerator if quotient.denominator == 1 else quotient
