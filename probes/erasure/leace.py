"""Linear erasure of a concept with the smallest change (LEACE; Belrose et al. 2023, 2306.03819, theorem 4.2).

With W = Sxx^(-1/2) and U an orthonormal basis of the columns of W Sxz,

    r(x) = x - W^+ U U^T W (x - mean)

is the smallest change of x, in mean square, after which no linear predictor of z does better than a constant, for any
convex loss. This is exact on the fitting rows, and approximate on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

_NO_VARIANCE = 1e-10  # of the largest eigenvalue; below it, what varies is rounding
_NO_CORRELATION = 1e-7  # canonical correlation; below it, what correlates is rounding
_ROUNDING = 1e-9  # with few sequences all correlations are 1, and their last digits depend on the processor
SHUFFLES = 49


class LeftOut(NamedTuple):
    """Directions of the activations with almost no variance. Whitening them would amplify rounding.

    Attributes:
        directions: their number.
        of: the dimension of the activations.
        share: their share of the total variance; 0 where they do not vary at all.
    """

    directions: int
    of: int
    share: float

    def __str__(self) -> str:
        if not self.directions:
            return "no direction left out"
        return f"{self.directions} of {self.of} directions left out, with {self.share:.1g} of the variance"


@dataclass(frozen=True)
class Eraser:
    """An oblique projection away from a subspace, about a mean.

    Attributes:
        mean: mean of the fitting rows.
        proj_left: W^+ U, the directions that are subtracted.
        proj_right: U^T W, the erased linear functionals of the centred activation.
        left_out: directions that were ignored; see :attr:`Whitened.left_out`.
    """

    mean: Float[Tensor, "d"]
    proj_left: Float[Tensor, "d rank"]
    proj_right: Float[Tensor, "rank d"]
    left_out: LeftOut

    @property
    def rank(self) -> int:
        """The number of erased dimensions."""
        return len(self.proj_right)

    @property
    def variance(self) -> float:
        """Variance of the erased part in the fitting rows, summed over dimensions. The functionals are white there."""
        return float(self.proj_left.pow(2).sum())

    def part(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """Return the part of each activation that is erased."""
        mean, proj_left, proj_right = (t.to(x.dtype) for t in (self.mean, self.proj_left, self.proj_right))
        return (x - mean) @ proj_right.T @ proj_left.T

    def erase(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """Return the activations without the concept."""
        return x - self.part(x)

    def keep(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """Return the mean activation plus only the concept."""
        return self.mean.to(x.dtype) + self.part(x)


@dataclass(frozen=True)
class Whitened:
    """Activations of the sequences on which an eraser is fitted, with the eigenvectors of their covariance.

    Attributes:
        mean: their mean.
        basis: directions that vary.
        scale: standard deviation along each direction.
        x: the activations.
        left_out: the other directions. A concept that is coded only there is not erased.
    """

    mean: Float[Tensor, "d"]
    basis: Float[Tensor, "d k"]
    scale: Float[Tensor, "k"]
    x: Float[Tensor, "row d"]
    left_out: LeftOut

    @staticmethod
    def of(x: Float[Tensor, "row d"]) -> Whitened:
        """Centre activations and decompose their covariance.

        Raises:
            ValueError: for activations that are not finite, or that do not vary.
        """
        x = x.double()
        if not bool(x.isfinite().all()):
            raise ValueError("activations are not finite")
        mean = x.mean(0)
        sigma_xx = (x - mean).T @ (x - mean) / len(x)
        variance, basis = torch.linalg.eigh(sigma_xx)
        varying = variance > _NO_VARIANCE * variance[-1].clamp(min=torch.finfo(torch.float64).tiny)
        if not bool(varying.any()) or float(variance[-1]) <= 0:
            raise ValueError("activations do not vary")
        share = float(variance[~varying].clamp(min=0).sum() / variance.clamp(min=0).sum())
        left_out = LeftOut(int((~varying).sum()), len(varying), share)
        return Whitened(mean, basis[:, varying], variance[varying].sqrt(), x, left_out)

    def leace(self, z: Float[Tensor, "row concept"], rng: np.random.Generator | None = None) -> Eraser:
        """Return the eraser of a concept.

        Args:
            z: the concept, one row per fitted row.
            rng: if given, a concept that the activations predict no better than shuffled concepts is refused. Its
                eraser would remove directions that covary with it by chance.

        Raises:
            ValueError: for a concept that is not linearly decodable, or not better than chance.
        """
        white, z = self._white(), _whitened(z)
        if not z.shape[1]:
            raise ValueError("the concept does not vary")
        u, correlations, _ = torch.linalg.svd(white.T @ z / len(z), full_matrices=False)
        dealt = (z[torch.from_numpy(rng.permutation(len(z)))] for _ in range(SHUFFLES)) if rng is not None else ()
        chance = max((_strongest(white, one) for one in dealt), default=0.0)
        correlated = correlations > _NO_CORRELATION
        if not bool(correlated.any()) or float(correlations[0]) <= chance + _ROUNDING:
            raise ValueError("the concept is linearly there no more than by chance, so there is nothing to erase")
        return self._eraser(u[:, correlated])

    def random(self, rank: int, rng: np.random.Generator) -> Eraser:
        """Return the control of an eraser: as many random functionals, with variance 1 on whitened activations.

        A random subspace of unwhitened activations would contain almost no variance, and its erasure would have no
        effect.
        """
        drawn = torch.from_numpy(rng.standard_normal((len(self.scale), rank)))
        return self._eraser(torch.linalg.qr(drawn)[0])

    def _white(self) -> Tensor:
        return (self.x - self.mean) @ self.basis / self.scale

    def _eraser(self, directions: Float[Tensor, "k rank"]) -> Eraser:
        proj_left = (self.basis * self.scale) @ directions
        proj_right = ((self.basis / self.scale) @ directions).T
        return Eraser(self.mean, proj_left, proj_right, self.left_out)


def _whitened(z: Float[Tensor, "row concept"]) -> Float[Tensor, "row k"]:
    """Return a basis of the concept's variation, uncorrelated with variance 1. Erasing either erases both."""
    z = z.double() - z.double().mean(0)
    left, scale, _ = torch.linalg.svd(z, full_matrices=False)
    found: Tensor = left[:, scale > _NO_CORRELATION * max(1.0, float(scale[0]))] * math.sqrt(len(z))
    return found


def _strongest(white: Tensor, z: Tensor) -> float:
    """Return the largest canonical correlation."""
    values: Tensor = torch.linalg.svdvals(white.T @ z / len(z))
    return float(values[0])


def residual(z: Float[Tensor, "row concept"], given: Float[Tensor, "row known"]) -> Float[Tensor, "row concept"]:
    """Return a concept minus its linear prediction from ``given`` and a constant."""
    known = torch.cat([torch.ones(len(given), 1, dtype=torch.float64), given.double()], 1)
    weights: Tensor = torch.linalg.lstsq(known, z.double(), driver="gelsd").solution
    return z.double() - known @ weights
