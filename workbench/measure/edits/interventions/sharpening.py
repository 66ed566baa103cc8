"""Family D, sharpening: keeps attention weight on the preferred keys of a head as the number of keys grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.measure.edits.interventions.intervention import (
    Family,
    HeadOutputEdit,
    Intervention,
    LastQuery,
    ScoreEdit,
    ScoresContext,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor

    from workbench.models.base.architecture import Architecture

    Scores = Float[Tensor, "batch head query key"]
    Factors = Float[Tensor, "#batch #head query"] | Float[Tensor, " query"]

SMALLEST_GAP = 0.5
"""Smallest gap in the scores of a query that separates a set of keys. With smaller gaps, all keys are the set."""
ADAPTIVE_POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
"""Coefficients of the factor of adaptive temperature as a polynomial of the entropy in nats, highest power first."""
LEAST_ENTROPY = 0.5
"""Entropy in nats up to which adaptive temperature keeps the scores as they are."""


@dataclass(frozen=True)
class ScaleScores(ScoreEdit):
    """The scores of every query are multiplied by a factor."""

    family: ClassVar[Family] = "D"
    order: ClassVar[int] = 2
    single_pass: ClassVar[bool] = True

    def has_strengths(self, cfg: Architecture) -> bool:
        """Return True: factors between 1 and the full one multiply scores just as well."""
        return True

    def factor(self, scores: Scores, visible_keys: Float[Tensor, " query"], keys: int) -> Factors:
        """Return the factor for the scores of each query, ``[query]`` or ``[batch, head, query]``.

        Args:
            scores: the scores, -inf at keys that a query does not see.
            visible_keys: number of keys that each query sees.
            keys: K_N, the number of keys that the last query at N sees.
        """
        raise NotImplementedError

    def edit(self, scores: Tensor, at: ScoresContext) -> Tensor:
        return scores * self.factor(scores, at.visible_keys(scores), at.inside.keys)[..., None]


class ScaleByLog(ScaleScores):
    """Scores are multiplied by log n / log N; with the wrong constant, by the inverse."""

    def factor(self, scores: Scores, visible_keys: Float[Tensor, " query"], keys: int) -> Factors:
        growth = log_growth(visible_keys, keys)
        return 1.0 / growth if self.wrong else growth


@dataclass(frozen=True)
class Multiply(ScaleScores):
    """Scores are multiplied by a number; with the wrong constant, by its inverse.

    Attributes:
        by: the number.
    """

    by: float

    def factor(self, scores: Scores, visible_keys: Float[Tensor, " query"], keys: int) -> Factors:
        return visible_keys.new_full(visible_keys.shape, 1.0 / self.by if self.wrong else self.by)


class AdaptiveTemperature(ScaleScores):
    """Scores are multiplied by a factor that grows with the entropy of the attention weights; with the wrong constant,
    by the inverse.

    A diagnosis does not test it, because its factor is not derived from N.
    """

    diagnosed: ClassVar[bool] = False

    def factor(self, scores: Scores, visible_keys: Float[Tensor, " query"], keys: int) -> Factors:
        by = adaptive_factor(scores)
        return 1.0 / by if self.wrong else by


class TopKeys(HeadOutputEdit):
    """The keys of the gap set get equal weights.

    With the wrong constant, the gap set is that of the lower half of scores.
    """

    family: ClassVar[Family] = "D"
    order: ClassVar[int] = 0

    def edit(self, outputs: Tensor, at: LastQuery) -> Tensor:
        import torch

        weights = gap_set(at.scores(), below=self.wrong).to(at.values.dtype)
        return torch.einsum("bhk,bkhe->bhe", weights / weights.sum(-1, keepdim=True), at.values)


class HoldMass(HeadOutputEdit):
    """The intervention that gives the keys with the top scores the total weight that they have at N; the control gives
    them 1 minus this weight.
    """

    family: ClassVar[Family] = "D"
    order: ClassVar[int] = 1

    def edit(self, outputs: Tensor, at: LastQuery) -> Tensor:
        mass = at.inside.mass[at.layer]
        return with_mass(at.scores(), at.values, 1 - mass if self.wrong else mass)


SHARPENING: tuple[Intervention, ...] = (
    ScaleByLog("D.logn", "scores \u00d7 log n", "scores scaled by log n"),
    Multiply("D.beta2", "scores \u00d7 2", "doubled scores", by=2.0),
    Multiply("D.beta4", "scores \u00d7 4", "quadrupled scores", by=4.0),
    TopKeys("D.gap", "top keys alone", "equal weights on the top keys alone"),
    HoldMass("D.mass", "weight kept at N", "weights of the top keys kept as at N"),
    AdaptiveTemperature("D.adaptive", "adaptive temperature", "scores sharpened by adaptive temperature"),
)


def log_growth(visible_keys: Float[Tensor, " query"], keys: int) -> Float[Tensor, " query"]:
    """Return the log of each query's number of keys, divided by log K_N; 1 up to K_N keys.

    Args:
        visible_keys: number of keys that each query sees.
        keys: K_N.
    """
    return (visible_keys / keys).clamp(min=1.0).log() / math.log(keys) + 1.0


def adaptive_factor(scores: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows"]:
    """Return the factor of adaptive temperature for each row of scores (Velickovic et al. 2025, 2410.01104).

    It is a polynomial of the entropy of the row's weights in nats, and at least 1. Rows with an entropy of at most
    0.5 nats keep their scores.
    """
    import torch

    entropy = torch.special.entr(scores.softmax(-1)).sum(-1)
    factor = torch.zeros_like(entropy)
    for coefficient in ADAPTIVE_POLYNOMIAL:
        factor = factor * entropy + coefficient
    return torch.where(entropy > LEAST_ENTROPY, factor.clamp(min=1.0), torch.ones_like(entropy))


def gap_set(scores: Float[Tensor, "batch head key"], below: bool = False) -> Bool[Tensor, "batch head key"]:
    """Return the keys above the largest gap in the upper half of a query's sorted scores, as a mask.

    If that gap is small, all keys are returned. This is not the tie set of the nearest hardmax, which becomes all keys
    exactly when attention disperses.

    Args:
        scores: scores of a query over all keys that it sees.
        below: look for the gap in the lower half.
    """
    import torch

    ranked = scores.sort(-1, descending=True).values
    gaps = ranked[..., :-1] - ranked[..., 1:]
    half = max(1, scores.shape[-1] // 2)
    if gaps.shape[-1] == 0:
        return torch.ones_like(scores, dtype=torch.bool)
    part = gaps[..., half:] if below and gaps.shape[-1] > half else gaps[..., :half]
    offset = half if below and gaps.shape[-1] > half else 0
    size, place = part.max(-1)
    edge = ranked.gather(-1, (place + offset)[..., None])
    return (scores >= edge) | (size < SMALLEST_GAP)[..., None]


def gap_mass(scores: Float[Tensor, "batch head key"]) -> Float[Tensor, "batch head"]:
    """Return the weight of a query on its gap set."""
    return (scores.softmax(-1) * gap_set(scores)).sum(-1)


def with_mass(
    scores: Float[Tensor, "batch head key"],
    values: Float[Tensor, "batch pos head d_head"],
    mass: Float[Tensor, " head"],
) -> Float[Tensor, "batch head d_head"]:
    """Return head outputs with the weight of the gap set changed to ``mass``.

    The relative weights inside and outside the gap set stay the same.
    """
    import torch

    chosen = gap_set(scores)
    whole = chosen.all(-1, keepdim=True)
    # Each part has its own softmax. If one part has all the weight, the other cannot be computed from the whole.
    inside = scores.masked_fill(~chosen, -math.inf).softmax(-1)
    outside = scores.masked_fill(chosen & ~whole, -math.inf).softmax(-1)
    weights = mass[:, None] * inside + (1 - mass)[:, None] * outside
    return torch.einsum("bhk,bkhe->bhe", torch.where(whole, scores.softmax(-1), weights), values)
