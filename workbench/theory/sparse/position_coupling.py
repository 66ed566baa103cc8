"""Position coupling as a change of the problem: PC[.] of Golowich et al. (arXiv 2502.16792, section 4 and appendix D).

A coupling psi maps positions to positions; positions with the same image get the same position id. PC turns a string
into another one of length l. Its symbol at position i contains all tokens with image i, each with its rank among the
positions that the answer depends on. If psi brings those positions close together, a problem that was not local becomes
local, and theorem 4.3 applies to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from workbench.theory.errors import TheoryError
from workbench.theory.sparse.functional_attention import Content, Places, Planted, SparseAttention, span

Coupled = tuple[tuple[int, int], ...]
"""A symbol of the coupled vocabulary: (rank, token) pairs by rank, at most k of them."""
CoupledString = tuple[Coupled, ...]
Known = Coupled | int | None
"""A symbol, a token that still lacks a rank, or nothing."""
Coupling = Callable[[int], int]


def is_local_coupling(psi: Coupling, positions: Places, length: int, local: int) -> bool:
    """Whether psi is a local coupling for one string (definition 4.1, its first two conditions).

    The images of the positions span at most ``local``, and every other position has an image of its own. The third
    condition is about all strings: the relative positions of the images do not depend on the length.
    """
    images = [psi(i) for i in positions]
    others = [psi(i) for i in range(1, length + 1) if i not in positions]
    separate = len(set(others)) == len(others) and not set(others) & set(images)
    return separate and max(images) - min(images) <= local


def expand(symbols: tuple[Coupled, ...]) -> Coupled:
    """Return all (rank, token) pairs of some symbols, by rank, without duplicates."""
    return tuple(sorted({pair for symbol in symbols for pair in symbol}))


@dataclass(frozen=True)
class CoupledAttention:
    """PC[h]: sparse functional attention on coupled strings.

    A set of positions is admitted if its symbols together contain one token of each rank 1..k, within ``local``
    positions, and h admits those tokens. Its value is that of h.

    Attributes:
        inner: h, whose scores must not depend on the positions.
        size: k', the number of images of the answer's positions.
        local: L_local.
        otherwise: y0, the value of sets without a complete content.
    """

    inner: SparseAttention[int]
    size: int
    local: int
    otherwise: Fraction = Fraction(0)

    def content(self, symbols: tuple[Coupled, ...]) -> Content | None:
        """Return the tokens at ranks 1..k, or None unless there is exactly one of each."""
        pairs = expand(symbols)
        ranks = tuple(rank for rank, _ in pairs)
        return tuple(token for _, token in pairs) if ranks == tuple(range(1, self.inner.k + 1)) else None

    def __call__(self, x: CoupledString) -> Fraction:
        """Return the exact value on a coupled string."""

        def admits(positions: Places, symbols: tuple[Coupled, ...]) -> bool:
            content = self.content(symbols)
            ranks = tuple(range(1, self.inner.k + 1))
            return content is not None and span(positions) <= self.local and self.inner.admits(ranks, content)

        def value(symbols: tuple[Coupled, ...]) -> Fraction:
            content = self.content(symbols)
            return self.otherwise if content is None else self.inner.value(content)

        # The same evaluator; its tokens are symbols here.
        return SparseAttention(self.size, admits, value)(x)


@dataclass(frozen=True)
class CoupledLaw:
    """PC[P]: the distribution of coupled strings (equation 19).

    The symbol at the image of positions of S* contains their ranks and tokens. At the image of another position it
    contains that position's token, with a rank drawn uniformly from 1..k. (The paper has the length in place of k,
    which is outside the coupled vocabulary.) At positions that are not an image, rank and token are drawn.

    Attributes:
        law: P.
        k: size of S*.
        coupling: ``coupling(S*, length)``, the psi of a string.
    """

    law: Planted
    k: int
    coupling: Callable[[Places, int], Coupling]

    def skeleton(self, positions: Places, x: Content) -> Mapping[int, Known]:
        """Return, per position of the coupled string, the part of its symbol that the string determines.

        Raises:
            TheoryError: if psi leads outside the string, or joins positions that it must not join.
        """
        length = len(x)
        psi = self.coupling(positions, length)
        fibres: dict[int, list[int]] = {i: [] for i in range(1, length + 1)}
        for j in range(1, length + 1):
            if psi(j) not in fibres:
                raise TheoryError(f"the coupling sends position {j} to {psi(j)}, outside a sequence of {length}")
            fibres[psi(j)].append(j)
        symbols: dict[int, Known] = {}
        for i, fibre in fibres.items():
            ranked = tuple((positions.index(j) + 1, x[j - 1]) for j in fibre if j in positions)
            if len(fibre) > max(1, len(ranked)):
                raise TheoryError(
                    f"the coupling gives position {fibre[-1]}, on which no output depends, the same id as another "
                    "position"
                )
            symbols[i] = ranked or (x[fibre[0] - 1] if fibre else None)
        return symbols

    def sample(self, length: int, rng: np.random.Generator) -> tuple[Places, CoupledString, Fraction]:
        """Draw one (S*, coupled string, answer)."""
        positions, x, answer = self.law.sample(length, rng)
        tokens = list(self.law.background)
        chances = [float(self.law.background[t]) for t in tokens]

        def symbol(part: Known) -> Coupled:
            if isinstance(part, tuple):
                return part
            token = tokens[int(rng.choice(len(tokens), p=chances))][0] if part is None else part
            return ((int(rng.integers(1, self.k + 1)), token),)

        skeleton = self.skeleton(positions, x)
        return positions, tuple(symbol(skeleton[i]) for i in range(1, length + 1)), answer

    def loss(self, hypothesis: Callable[[CoupledString], Fraction], length: int) -> Fraction:
        """Return the expected distance of a hypothesis on coupled strings from the answer, exactly."""
        total = Fraction(0)
        for chance, positions, x, answer in self.law.outcomes(length):
            skeleton = self.skeleton(positions, x)
            choices = [self._symbols(skeleton[i]) for i in range(1, length + 1)]
            for symbols in product(*choices):
                weight = chance
                for _, p in symbols:
                    weight *= p
                total += weight * abs(hypothesis(tuple(s for s, _ in symbols)) - answer)
        return total

    def _symbols(self, part: Known) -> list[tuple[Coupled, Fraction]]:
        if isinstance(part, tuple):
            return [(part, Fraction(1))]
        tokens = self.law.background if part is None else {(part,): Fraction(1)}
        ranks = range(1, self.k + 1)
        return [(((rank, token),), p / self.k) for (token,), p in tokens.items() for rank in ranks]
