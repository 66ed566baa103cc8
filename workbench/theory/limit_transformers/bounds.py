"""Training lengths that suffice by theorem, from stated parameters; each result lists its inputs.

Theorems 4.1, 4.2 and 5.2 are those of "Quantitative Bounds for Length Generalization in Transformers" (Izzo, Nichani,
Lee, arXiv 2510.27015). Theorem 4.3 is that of "The Role of Sparsity for Length Generalization in Transformers"
(Golowich et al., arXiv 2502.16792). The theorems are asymptotic. Constants and some composite quantities are not
stated; they are taken as 1 or as described, and :attr:`Bound.unknown` lists them. So use a bound to compare models, or
to see how a length must grow, not to choose a length. Values can exceed any float; they are stored as log10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.precision import log10_p_bit_length

QUANTITATIVE = "Izzo, Nichani, Lee, arXiv 2510.27015"
SPARSITY = "Golowich et al., arXiv 2502.16792"
PAPERS: Mapping[str, str] = {
    "theorem 4.1": QUANTITATIVE,
    "theorem 4.2": QUANTITATIVE,
    "theorem 4.3": SPARSITY,
    "theorem 5.2": QUANTITATIVE,
}
"""The paper of each theorem. Rows of the measurement ``bound`` store only the theorem."""
NO_CONSTANT = "the constant of the O(.), taken as 1"
Reading = Literal["inside", "outside"]


@dataclass(frozen=True)
class Bound:
    """One theorem with the numbers of a model inserted.

    Attributes:
        theorem: e.g. ``theorem 4.1``.
        source: the paper.
        quantity: the quantity of the value.
        log10: log10 of the value; infinite if the theorem gives no finite one.
        parts: every input quantity, by name.
        unknown: quantities that the source does not state, and the values taken instead.
    """

    theorem: str
    source: str
    quantity: str
    log10: float
    parts: Mapping[str, float]
    unknown: tuple[str, ...]

    @property
    def value(self) -> float:
        """The value; infinite if it exceeds all floats."""
        return 10.0**self.log10 if self.log10 < 308 else math.inf


def citation(theorem: str) -> str:
    """Return a theorem with its paper; unchanged for a theorem that has no bound here.

    Example:

        >>> citation("theorem 4.3")
        'theorem 4.3 of Golowich et al., arXiv 2502.16792'
    """
    return f"{theorem} of {PAPERS[theorem]}" if theorem in PAPERS else theorem


def one_layer_worst_case(
    *, lipschitz: float, period: int, alphabet: int, locality: int, epsilon: float, gamma: float, bits: float
) -> Bound:
    """Return the bound of theorem 4.1: one layer, finite precision, every string.

    Two limit transformers that agree to epsilon up to this length agree to O(epsilon) at all lengths. The bound is
    max(2^(p/gamma), L^2 Delta^7 |Sigma|^6 tau^2 / epsilon^2).

    Args:
        lipschitz: L, a composite of the parameter norms of both; 0 = attention does not reach the output.
        period: Delta.
        alphabet: number of symbols.
        locality: tau; 0 counts as 1, because the bound would be 0 otherwise.
        epsilon: accuracy.
        gamma: the smaller of the two margins, per log K; infinite if all scores always tie.
        bits: p, precision.
    """
    _positive(period=period, alphabet=alphabet, epsilon=epsilon)
    hardmax = 0.0 if math.isinf(gamma) else log10_p_bit_length(bits, gamma)
    tau = max(locality, 1)
    counting = (
        (2 * math.log10(lipschitz) if lipschitz > 0 else -math.inf)
        + 7 * math.log10(period)
        + 6 * math.log10(alphabet)
        + 2 * math.log10(tau)
        - 2 * math.log10(epsilon)
    )
    return Bound(
        "theorem 4.1",
        QUANTITATIVE,
        "training length",
        max(hardmax, counting),
        {
            "lipschitz": lipschitz,
            "period": period,
            "alphabet": alphabet,
            "locality": locality,
            "epsilon": epsilon,
            "gamma": gamma,
            "bits": bits,
            "log10_hardmax_term": hardmax,
            "log10_counting_term": counting,
        },
        (
            NO_CONSTANT,
            "which composite of norms L is",
            "the number of heads assumed: with H heads each, strings may need epsilon^-(2H-1), not epsilon^-2",
            "the other function's parameters, taken to be no worse",
        ),
    )


def one_layer_average_case(*, epsilon: float, prior: float) -> Bound:
    """Return the bound of theorem 4.2: one layer, strings whose token frequencies are Dirichlet-distributed.

    It is epsilon^(-2 - 2/alpha_0), up to logarithms; the conclusion is O(sqrt(epsilon)), not O(epsilon). The
    distribution of the short strings must cover that of the long strings. On disjoint supports no bound exists.

    Args:
        epsilon: accuracy.
        prior: alpha_0, the smallest parameter of the Dirichlet distribution.
    """
    _positive(epsilon=epsilon, prior=prior)
    return Bound(
        "theorem 4.2",
        QUANTITATIVE,
        "training length",
        -(2 + 2 / prior) * math.log10(epsilon),
        {"epsilon": epsilon, "prior": prior},
        (NO_CONSTANT, "the logarithms that O~(.) hides, taken as 1"),
    )


def two_layers(*, log10_complexity: float, epsilon: float, gamma: float, reading: Reading = "inside") -> Bound:
    """Return the bound of theorem 5.2: two layers, infinite precision, local term scaled by log i.

    It is (max(C(f), C(g)) / epsilon)^max(1/gamma, 3) (reading ``inside``). One statement in the paper has C outside the
    power, max(C) epsilon^-max(1/gamma, 3) (reading ``outside``). The rate n^(-1/3) of lemma 5.3, solved for n, gives
    the first.

    Args:
        log10_complexity: log10 of max(C(f), C(g)), which is exponential in the first layer's weights.
        epsilon: accuracy.
        gamma: the smaller position margin; infinite if the local terms set none.
        reading: see above.
    """
    if reading not in ("inside", "outside"):
        raise TheoryError(
            f"reading must be inside or outside (where the constant C is in theorem 5.2), not {reading!r}"
        )
    _positive(epsilon=epsilon)
    power = max(1 / gamma if gamma > 0 else math.inf, 3.0)
    accuracy = -math.log10(epsilon)
    inside = power * (log10_complexity + accuracy)
    return Bound(
        "theorem 5.2",
        QUANTITATIVE,
        "training length",
        inside if reading == "inside" else log10_complexity + power * accuracy,
        {"log10_complexity": log10_complexity, "epsilon": epsilon, "gamma": gamma, "exponent": power},
        (
            NO_CONSTANT,
            f"whether C stands inside the power; read {reading} it",
            "the other function's parameters, taken to be no worse",
        ),
    )


def sparse_attention_error(
    *, length: int, longest: int, local: int, coverage: float, coverage_longest: float, realizability: float
) -> Bound:
    """Return theorem 4.3 of the sparsity paper: the error at ``longest`` after fitting lengths up to ``length``.

    It is eta_L eta_Lbar L Lbar^2 delta, for sparse functional attention that is local and relative.

    Args:
        length: L; fitted on lengths L/2..L.
        longest: Lbar.
        local: L_local, the span of the tokens that an answer depends on.
        coverage: eta_L: the largest ratio of the probabilities of a set of positions at two lengths, after a shift.
        coverage_longest: eta_Lbar. A fixed distribution shifted uniformly has eta_l = l.
        realizability: delta, the loss of the best hypothesis at every length.

    Raises:
        TheoryError: unless L >= 4 L_local and L_local divides Lbar - L.
    """
    if local < 1 or length < 4 * local:
        raise TheoryError(f"theorem 4.3 needs L >= 4 L_local >= 4; got L = {length}, L_local = {local}")
    if longest < length or (longest - length) % local:
        raise TheoryError(
            f"theorem 4.3 needs Lbar - L to be a multiple of L_local; got {longest} - {length} and {local}"
        )
    if realizability < 0 or min(coverage, coverage_longest) < 1:
        raise TheoryError(
            "theorem 4.3 needs eta (coverage) of at least 1 and a training loss (realizability) of at least 0"
        )
    value = coverage * coverage_longest * length * longest**2 * realizability
    return Bound(
        "theorem 4.3",
        SPARSITY,
        "error",
        math.log10(value) if value > 0 else -math.inf,
        {
            "L": length,
            "Lbar": longest,
            "L_local": local,
            "eta_L": coverage,
            "eta_Lbar": coverage_longest,
            "delta": realizability,
        },
        (NO_CONSTANT,),
    )


def _positive(**parameters: float) -> None:
    for name, value in parameters.items():
        if not value > 0:
            raise TheoryError(f"{name} must be positive, not {value}")
