"""Rounding errors of a compiled program, and the precision that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.core.errors import quoted_value
from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.normal_form import linear, magnitude, normal_program
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError

__all__ = ["ErrorBudget", "error_budget"]

SPACING = {"float32": 2.0**-23, "float64": 2.0**-52}
"""Distance from 1 to the next number."""
TOLERANCE = 0.25
"""Largest error of a Boolean that the next step still rounds to 0 or 1."""


@dataclass(frozen=True)
class ErrorBudget:
    """Rounding errors against margins, for prefixes of up to ``n_max`` symbols.

    A comparison of counts reads y = gain * (d + 1/2) / K from means, with K = n + 1 keys. Here d is an integer, so that
    y is at least 2 or at most -2, and an error of 1 to either side does not matter.

    Errors grow with the size of y: |y| is at most gain * magnitude. A coarse Boolean is the difference of relu(y) and
    relu(y - 1), so that its error is up to the spacing of numbers of that size. The next step tolerates 1/4.

    Attributes:
        n_max: longest prefix.
        magnitude: the greatest sum of absolute coefficients among comparisons of counts over the prefix.
        depth: nesting of such counts. A count over n positions multiplies the error of its operand by up to n, in units
            of one occurrence. So it reads cleaned Booleans, whose error is 0.
        gain: factor from means to y, 4 (n_max + 1).
        margin: half an occurrence in a mean, 1 / (2 (n_max + 1)).
    """

    n_max: int
    magnitude: float
    depth: int

    @property
    def gain(self) -> float:
        return 4.0 * (self.n_max + 1)

    @property
    def margin(self) -> float:
        return 0.5 / (self.n_max + 1)

    def coarse_error(self, dtype: Literal["float32", "float64"] = "float32") -> float:
        """Return a bound on the error of a coarse Boolean: gain * magnitude * spacing."""
        return self.gain * self.magnitude * SPACING[dtype]

    @property
    def dtype(self) -> Literal["float32", "float64"]:
        """The cheapest precision whose coarse error is within the tolerance.

        It is never bfloat16 or float16: 1 / K is below their resolution from lengths of 2^8 and 2^11 on.
        """
        return "float32" if self.coarse_error("float32") <= TOLERANCE else "float64"

    @property
    def longest(self) -> int:
        """Longest prefix for which float32 is within the tolerance."""
        return int(TOLERANCE / (4.0 * max(self.magnitude, 1.0) * SPACING["float32"])) - 1


def error_budget(program: Program, n_max: int) -> ErrorBudget:
    """Return the budget of a program compiled for prefixes of up to ``n_max`` symbols.

    Raises:
        CraspError: for an ``n_max`` below 1, and for factors for which not even float64 suffices.
    """
    if n_max < 1:
        raise CraspError(f"n_max is the longest prefix and at least 1, not {n_max}")
    normal = normal_program(program)
    used = ast.subterms(normal[name] for name in normal.outputs)
    compared = [linear(node.left) for node in used if isinstance(node, ast.Compare)]
    largest = max((magnitude(d) for d in compared if not d.local), default=0)
    if (most := int(TOLERANCE / SPACING["float64"]) // (4 * (n_max + 1))) < largest:
        raise CraspError(
            f"the factors in one comparison of counts add up to {quoted_value(largest)}, "
            f"but at most {most:,} is exact for "
            f"prefixes up to {n_max:,}: use smaller factors or shorter prefixes"
        )
    return ErrorBudget(n_max, float(largest), normal.depth)
