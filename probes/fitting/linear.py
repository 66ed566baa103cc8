"""Closed-form linear probes: ridge scores in float64, and a rule that turns scores into answers.

A probe has two parts, so that they can be refitted separately. The *directions* are a ridge regression onto the target
(onto class indicators where it is categorical). The *rule* turns their scores into an answer. For a real target, it is
a gain and an offset. A vector has one gain and offset per component, and its directions share one ridge strength. For a
categorical target, the rule is linear discriminant analysis of the scores with equal class priors.

Ridge onto indicators followed by discriminant analysis of the fitted values is penalised discriminant analysis (Hastie,
Buja and Tibshirani 1995). Without the second step, a class between two others is never predicted, and rare classes are
predicted too seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

#: Ridge strengths tried, relative to the mean feature variance (which standardising makes 1).
RIDGES = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
FOLDS = 4
_NO_VARIANCE = 1e-9  # relative to the size of the feature; below it, what varies is rounding
_SCORE_RIDGE = 1e-9  # relative to the total variance of the scores


@dataclass(frozen=True)
class Directions:
    """Linear functions of the features, one set per site in the model.

    Attributes:
        weight: weights on the unstandardised features.
        bias: constant of each score.
        ridge: the strength chosen at each site.
    """

    weight: Float[Tensor, "site d target"]
    bias: Float[Tensor, "site 1 target"]
    ridge: Float[Tensor, "site"]

    def __call__(self, x: Float[Tensor, "site row d"]) -> Float[Tensor, "site row target"]:
        return x.double() @ self.weight + self.bias


def ridge(
    x: Float[Tensor, "site row d"],
    targets: Sequence[Float[Tensor, "row _"]],
    fold: Int[Tensor, "row"],
    strengths: Sequence[float] = RIDGES,
) -> list[Directions]:
    """Fit ridge regressions of every target on the features of every site, with unpenalised intercepts.

    It minimises mean squared error + strength * |weights on standardised features|^2. All targets share one X^T X per
    site, and the folds are downdates of it. With several strengths, the one with the least squared error on held-out
    folds is taken, per site and target. A weak position signal under token noise needs almost no penalty. With about as
    many rows as features, any strength below 1e-2 fits the noise.

    Args:
        x: features; any float type, computed in float64.
        targets: targets to fit, each with its own strength.
        fold: fold of each row; rows of one sequence must share it. Unused with a single strength.
        strengths: candidates, all > 0.

    Returns:
        the fitted directions, one per target.

    Raises:
        ValueError: for no rows, a strength that is not positive, or one fold to choose among several.
    """
    if not x.shape[1]:
        raise ValueError("a probe needs rows to be fitted on, and there is none")
    if min(strengths) <= 0:
        raise ValueError(f"ridge strengths must be positive, not {min(strengths):g}")
    folds = fold.unique() if len(strengths) > 1 else []
    if len(strengths) > 1 and len(folds) < 2:
        raise ValueError("choosing among several ridge strengths needs rows of at least two folds")
    x = x.double()
    mean, scale = x.mean(1, keepdim=True), x.std(1, correction=0, keepdim=True)
    scale = scale.where(scale > _NO_VARIANCE * (1 + mean.abs()), 1.0)
    z = (x - mean) / scale
    y = torch.cat([t.double() for t in targets], 1)
    bias = y.mean(0)
    y = y - bias
    widths = [t.shape[1] for t in targets]

    gram, cross = z.mT @ z, z.mT @ y
    parts = [(z[:, fold == k], y[fold == k]) for k in folds]
    grams = torch.stack([gram] + [gram - zk.mT @ zk for zk, _ in parts])
    crosses = torch.stack([cross] + [cross - zk.mT @ yk for zk, yk in parts])
    counts = torch.tensor([len(y)] + [len(y) - len(yk) for _, yk in parts], dtype=torch.float64)

    weights, errors = [], []
    for strength in strengths:
        solved = _solve(grams, crosses, strength * counts)
        weights.append(solved[0])
        error = sum((((zk @ w) - yk).pow(2).sum(1) for (zk, yk), w in zip(parts, solved[1:], strict=True)))
        errors.append(_by_target(error, widths) if parts else x.new_zeros(len(x), len(targets)))
    best = torch.stack(errors).argmin(0)

    site, tried = torch.arange(len(x)), torch.tensor(strengths, dtype=torch.float64)
    pieces = zip(torch.stack(weights).split(widths, -1), bias.split(widths), best.T, strict=True)
    fitted = []
    for weight, constant, chosen in pieces:
        raw = weight[chosen, site] / scale.mT
        fitted.append(Directions(raw, constant - mean @ raw, tried[chosen]))
    return fitted


def _solve(grams: Tensor, crosses: Tensor, penalty: Tensor) -> Tensor:
    """Solve (gram + penalty I) w = cross for every fold and site."""
    eye = torch.eye(grams.shape[-1], dtype=torch.float64)
    return torch.cholesky_solve(crosses, torch.linalg.cholesky(grams + penalty[:, None, None, None] * eye))


def _by_target(error: Tensor, widths: Sequence[int]) -> Tensor:
    """Sum the errors of the columns that belong to one target: ``[site, column]`` -> ``[site, target]``."""
    return torch.stack([columns.sum(1) for columns in error.split(list(widths), 1)], 1)


@dataclass(frozen=True)
class GainOffset:
    """Rule for a real target: least squares of each component of the target on its own score.

    Attributes:
        gain: per component.
        offset: per component.
        vector: whether answers have an axis of components.
    """

    gain: Float[Tensor, "site target"]
    offset: Float[Tensor, "site target"]
    vector: bool = False

    def __call__(self, scores: Float[Tensor, "site row target"]) -> Float[Tensor, "site row *s"]:
        answers = scores * self.gain[:, None] + self.offset[:, None]
        return answers if self.vector else answers[..., 0]


@dataclass(frozen=True)
class Discriminant:
    """Rule for a categorical target: the nearest class mean of the scores, in within-class deviations."""

    weight: Float[Tensor, "site target class"]
    bias: Float[Tensor, "site 1 class"]

    def __call__(self, scores: Float[Tensor, "site row target"]) -> Int[Tensor, "site row"]:
        return (scores @ self.weight + self.bias).argmax(-1)


Rule = GainOffset | Discriminant


def gain_offset(scores: Float[Tensor, "site row target"], y: Float[Tensor, "row *s"]) -> GainOffset:
    """Fit gain and offset; the gain is 0 where the score does not vary."""
    wanted = code(y, 0)
    mean, level = scores.mean(1), wanted.mean(0)
    centred = scores - mean[:, None]
    power = centred.pow(2).sum(1)
    gain = (centred * (wanted - level)).sum(1) / power.where(power > 0, 1.0)
    return GainOffset(gain, level - gain * mean, vector=y.dim() == 2)


def discriminant(scores: Float[Tensor, "site row target"], y: Int[Tensor, "row"], classes: int) -> Discriminant:
    """Fit linear discriminant analysis with equal priors; a class without rows is never predicted."""
    member = torch.nn.functional.one_hot(y, classes).double()
    size = member.sum(0)
    means = (member.T @ scores) / size.clamp(min=1)[:, None]
    within = scores - means[:, y]
    centred = scores - scores.mean(1, keepdim=True)
    # The ridge is relative to the total variance, so that a noiseless code, whose variance within
    # classes is zero, is read too; the smallest float keeps constant scores solvable.
    total = centred.pow(2).mean((1, 2))
    # For constant scores, class means may differ in their last bit, and so may deviations within classes.
    total = total.where(total > 0, within.pow(2).mean((1, 2))) + torch.finfo(torch.float64).tiny
    eye = torch.eye(scores.shape[-1], dtype=torch.float64)
    spread = within.mT @ within / len(y) + _SCORE_RIDGE * total[:, None, None] * eye
    weight = torch.cholesky_solve(means.mT, torch.linalg.cholesky(spread))
    bias = -0.5 * (means.mT * weight).sum(1, keepdim=True)
    return Discriminant(weight, bias.masked_fill(size == 0, -torch.inf))


@dataclass(frozen=True)
class Probe:
    """Linear functions of the features, with the rule that turns their values into a prediction."""

    directions: Directions
    rule: Rule

    def __call__(self, x: Float[Tensor, "site row d"]) -> Shaped[Tensor, "site row *s"]:
        """Return the predicted class, value or vector."""
        return self.rule(self.directions(x))

    def recalibrate(self, x: Float[Tensor, "site row d"], y: Shaped[Tensor, "row *s"], classes: int) -> Probe:
        """Return a probe with the same directions and the rule refitted on other rows."""
        return Probe(self.directions, fit_rule(self.directions(x), y, classes))

    def sign_flips(self, other: Probe) -> list[bool]:
        """Return, per site, whether ``other`` reads the same directions with the opposite sign.

        Defined for one direction (real numbers and two classes); all False otherwise.
        """
        mine, theirs = _gain(self.rule), _gain(other.rule)
        if mine is None or theirs is None:
            return [False] * len(self.directions.weight)
        return [bool(flip) for flip in mine * theirs < 0]


def _gain(rule: Rule) -> Tensor | None:
    if isinstance(rule, GainOffset):
        return rule.gain[:, 0] if rule.gain.shape[1] == 1 else None
    return rule.weight[:, 0, 1] - rule.weight[:, 0, 0] if rule.weight.shape[1] == 1 else None


def fit_rule(scores: Float[Tensor, "site row target"], y: Shaped[Tensor, "row *s"], classes: int) -> Rule:
    """Return the rule for ``classes`` classes, or for a real target if ``classes`` is 0."""
    return discriminant(scores, y, classes) if classes else gain_offset(scores, y)


def code(y: Shaped[Tensor, "row *s"], classes: int) -> Float[Tensor, "row target"]:
    """Return the regression target: the value or vector itself, or the indicators of all classes except the last."""
    if not classes:
        return y.double().reshape(len(y), -1)
    return torch.nn.functional.one_hot(y, classes)[:, :-1].double()


def fit_probes(
    x: Float[Tensor, "site row d"],
    labels: Sequence[Shaped[Tensor, "row ..."]],
    classes: Sequence[int],
    fold: Int[Tensor, "row"],
    strengths: Sequence[float] = RIDGES,
) -> list[Probe]:
    """Return one probe per labelling of the same rows (``classes`` 0 = real target)."""
    if not labels:
        return []
    coded = [code(y, c) for y, c in zip(labels, classes, strict=True)]
    fitted = ridge(x, coded, fold, strengths)
    return [Probe(f, fit_rule(f(x), y, c)) for f, y, c in zip(fitted, labels, classes, strict=True)]
