"""In-context linear regression: the prediction of y from the pairs of x and y so far."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, field_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.base import BOS, Batch, Law, TaskError
from workbench.tasks.in_context.chance_by_draws import ChanceByDraws
from workbench.tasks.sampling import flat_shares, integers, uniforms

__all__ = ["LinearRegression"]


class Moments(NamedTuple):
    """Sums over pairs (x, y), in steps of the grid of levels.

    Attributes:
        xx: of the products of the components of x.
        xy: of the products of x and y.
        pairs: the number of pairs.
    """

    xx: Float[Tensor, "*batch x x2"]
    xy: Float[Tensor, "*batch x"]
    pairs: Float[Tensor, "*batch"]


class LinearRegression(ChanceByDraws):
    """Report what the linear fit through the pairs so far predicts for this x.

    A sequence is ``x y x y .. x``: an x is one token for each of its ``dimension`` components, and a y is one token.
    All take values on a grid of ``levels`` values from -1 to 1, and each component has tokens of its own. The last
    component of each x except the first is supervised. The answer is x . w, where w minimises the mean of (y - x . w)^2
    over the pairs so far, plus ``ridge`` |w|^2. It is right if it is within ``tolerance``.

    With a w that is drawn for each sequence this is in-context linear regression (Garg et al. 2022, "What Can
    Transformers Learn In-Context?"). The target is the ridge estimator rather than y itself, so that there is one right
    answer.

    Distributions: for each sequence the components of w are independent and uniform on [-1, 1], divided by
    ``dimension``. Each component of x has level shares of its own, uniform on the simplex, so that the moments of x
    keep their distribution at every length. The token y is x . w, rounded to the grid. *challenge* draws two w and uses
    one for the first c pairs and the other for the rest, with c uniform on 0..all. Either end of the sequence then
    contains only one of them, and the fit depends on both.

    Task states: ``output_summary`` is the moment matrices and then the queried x. The moment matrices are means over
    the pairs: of products of components of x, and of x and y. The fitted w depends on nothing else, for any number of
    pairs. ``update_summary`` is the sums of those products in steps of the grid and the number of pairs. Then come the
    x so far (0 beyond), the position in the pair, and 1 once the sequence breaks the format.

    Example: after x = 1, y = 0.5, the fit with a tiny ridge is y = x / 2.

        >>> task = LinearRegression(levels=5, ridge=1e-6)
        >>> task.tokens_names[5], task.tokens_names[9]
        ('x=1', 'y=0.5')
        >>> [None if a is None else round(a, 4) for a in task.reference([5, 9, 1])]
        [None, None, -0.5]
    """

    name: ClassVar[str] = "linear_regression"
    question: ClassVar[str] = "What does the linear fit through the pairs so far predict for this x?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "the moment matrices of the pairs so far, and x"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    dimension: int = Field(1, ge=1, le=4)
    """Number of components of x."""
    levels: int = Field(17, ge=3, le=129)
    """Number of values on the grid; odd, so that 0 is one of them."""
    ridge: float = Field(0.01, gt=0)
    """Weight of |w|^2, relative to the mean squared error."""
    tolerance: float = Field(0.05, gt=0, lt=0.5)
    """Largest distance from the prediction that still counts as right."""

    @field_validator("levels")
    @classmethod
    def _zero_is_a_level(cls, levels: int) -> int:
        if levels % 2 == 0:
            raise TaskError(f"levels must be an odd integer from 3 to 129, not {levels}")
        return levels

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, the levels of each component of x, those of y."""
        return _names(self.dimension, self.levels)

    @property
    def step(self) -> float:
        """The distance between two levels."""
        return 2 / (self.levels - 1)

    def admissible(self, length: int) -> bool:
        """Whether the length is that of at least one pair and an x."""
        return length > self.dimension + 1 and length % (self.dimension + 1) == self.dimension

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        d, middle = self.dimension, self.levels // 2
        pairs = (length + 1) // (d + 1)  # the y of the last pair is not in the sequence
        bounds = flat_shares((batch * d, self.levels), generator).cumsum(1)[:, :-1].contiguous()
        uniform = uniforms((batch * d, pairs), generator)
        x = torch.searchsorted(bounds, uniform, right=True).view(batch, d, pairs)
        kinds = 2 if law == "challenge" else 1
        w = uniforms((kinds, batch, d, 1), generator)
        means = ((2 * w - 1) / d * (x - middle)).sum(2)
        changed = torch.zeros_like(means[0], dtype=torch.bool)
        if law == "challenge":
            changed = torch.arange(pairs, device=bounds.device) >= integers(pairs, (batch, 1), generator)
        y = middle + torch.where(changed, means[-1], means[0]).round().long()
        rows = torch.cat([x, y[:, None]], 1) + self.levels * torch.arange(d + 1, device=x.device)[:, None]
        return 1 + rows.transpose(1, 2).flatten(1)[:, :length], {}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        d, (batch, length) = self.dimension, strings.shape
        groups = -(-length // (d + 1))
        level, component = self._levels(F.pad(strings, (0, groups * (d + 1) - length), value=1))
        expected = torch.arange(groups * (d + 1), device=strings.device) % (d + 1)
        broken = (component != expected).long().cummax(1).values
        pair = level.view(batch, groups, d + 1)
        sums = _sums(pair[..., :d], pair[..., d])
        before = Moments(*(F.pad(s, (0, 0) * (s.dim() - 2) + (1, -1)) for s in sums))

        x = pair[..., :d].double()
        predicted = (self._weights(before) * x).sum(-1) * self.step
        means = self._means(before)
        position = torch.arange(d + 1, device=strings.device)
        at_query = (position == d - 1) & (before.pairs > 0)[..., None]
        answers = predicted[..., None].where(at_query, 0.0).flatten(1)[:, :length]
        summary = torch.cat([means, x * self.step], -1)[:, :, None].where(at_query[..., None], 0.0)

        visible = x[:, :, None].where(position[:d] <= position[:, None], 0.0).where(position[:, None] < d, 0.0)
        after = torch.stack([_flat(before), _flat(sums)], 2)[:, :, (position == d).long()]
        update = torch.cat([after, visible, ((position + 1) % (d + 1)).expand(batch, groups, -1)[..., None]], -1)
        update = torch.cat([update.flatten(1, 2), broken[..., None]], -1)[:, :length].long()
        supervised = at_query.flatten(1)[:, :length] & (broken[:, :length] == 0)
        return answers[..., None].float(), supervised, summary.flatten(1, 2)[:, :length].float(), update

    def _levels(
        self, tokens: Int[Tensor, "batch length"]
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
        """Return the value of each token in steps of the grid, and the component it belongs to (y comes last)."""
        return (tokens - 1) % self.levels - self.levels // 2, (tokens - 1) // self.levels

    def _means(self, sums: Moments) -> Float[Tensor, "*batch moment"]:
        """Return the moment matrices: the upper triangle of that of x with its diagonal, then that of x and y."""
        flat = _flat(sums)[..., :-1] * self.step**2
        return flat / sums.pairs.clamp(min=1)[..., None]

    def _weights(self, sums: Moments) -> Float[Tensor, "*batch x"]:
        """Return the ridge estimate of w."""
        number = sums.pairs.clamp(min=1)[..., None]
        eye = torch.eye(self.dimension, dtype=torch.float64, device=number.device)
        matrix = sums.xx / number[..., None] * self.step**2 + self.ridge * eye
        weights: Tensor = torch.linalg.solve(matrix, sums.xy / number * self.step**2)
        return weights

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the prediction from the complete pairs before the last x; 0 if x itself is not visible."""
        d = self.dimension
        if tokens.shape[1] < d:
            return torch.zeros(len(tokens), 1, dtype=torch.float64, device=tokens.device)
        whole = (tokens.shape[1] - d) // (d + 1) * (d + 1)
        return self._seen(tokens[:, tokens.shape[1] - d - whole : tokens.shape[1] - d], tokens[:, -d:])

    def _seen(self, evidence: Int[Tensor, "batch window"], query: Int[Tensor, "batch x"]) -> Float[Tensor, "batch out"]:
        """Return the prediction for the x of the query from the pairs in the evidence, which must be complete."""
        d = self.dimension
        pair = self._levels(evidence)[0].unflatten(1, (-1, d + 1)) if evidence.shape[1] else None
        if pair is None:
            return torch.zeros(len(query), 1, dtype=torch.float64, device=query.device)
        sums = Moments(*(s[:, -1] for s in _sums(pair[..., :d], pair[..., d])))
        x = self._levels(query)[0].double()
        return (self._weights(sums) * x).sum(1, keepdim=True) * self.step

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; the first window also knows the queried x."""
        hits = super().shortcuts(batch, window)
        if "first_window" in hits:
            d, strings = self.dimension, batch.tokens[:, 1:]
            guess = self._seen(strings[:, : window // (d + 1) * (d + 1)], strings[:, -d:])
            hits["first_window"] = self._expected_correct(guess, batch.targets[:, -1])
        return hits

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        names, d = [self.tokens_names[token] for token in tokens], self.dimension
        roles = [name.partition("=")[0] for name in _names(d, self.levels)[1 :: self.levels]]
        values = [Fraction(name.partition("=")[2]) for name in names]
        answers: list[float | None] = []
        for n in range(1, len(names) + 1):
            formed = all(name.partition("=")[0] == roles[t % (d + 1)] for t, name in enumerate(names[:n]))
            if not formed or not self.admissible(n):
                answers.append(None)
                continue
            pairs = [(values[t : t + d], values[t + d]) for t in range(0, n - d, d + 1)]
            answers.append(float(_ridge_prediction(pairs, values[n - d : n], Fraction(self.ridge))))
        return answers


def _sums(x: Int[Tensor, "batch pair x"], y: Int[Tensor, "batch pair"]) -> Moments:
    """Return the moments of the first pairs, for every number of pairs."""
    x, y = x.double(), y.double()
    number = torch.arange(1, x.shape[1] + 1, dtype=torch.float64, device=x.device).expand_as(y)
    return Moments((x[..., None] * x[..., None, :]).cumsum(1), (x * y[..., None]).cumsum(1), number)


def _flat(sums: Moments) -> Float[Tensor, "*batch moment"]:
    """Return the sums as one vector; symmetric entries occur once."""
    above = torch.triu_indices(sums.xx.shape[-1], sums.xx.shape[-1])
    return torch.cat([sums.xx[..., above[0], above[1]], sums.xy, sums.pairs[..., None]], -1)


@lru_cache(maxsize=32)
def _names(dimension: int, levels: int) -> tuple[str, ...]:
    """Return the token names."""
    components = [f"x{j + 1}" for j in range(dimension)] if dimension > 1 else ["x"]
    grid = [2 * level / (levels - 1) - 1 for level in range(levels)]
    return (BOS, *(f"{role}={value:.12g}" for role in [*components, "y"] for value in grid))


def _ridge_prediction(
    pairs: Sequence[tuple[Sequence[Fraction], Fraction]], x: Sequence[Fraction], ridge: Fraction
) -> Fraction:
    """Return x . w, where w solves the normal equations, by Gaussian elimination in exact fractions."""
    d = len(x)
    mean = Fraction(1, len(pairs))
    rows = [
        [mean * sum(p[i] * p[j] for p, _ in pairs) + (ridge if i == j else 0) for j in range(d)]
        + [mean * sum(p[i] * y for p, y in pairs)]
        for i in range(d)
    ]
    for i in range(d):  # positive definite, so no pivot is zero
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(d):
            if j != i:
                rows[j] = [b - rows[j][i] * a for a, b in zip(rows[i], rows[j], strict=True)]
    return sum((w * component for (*_, w), component in zip(rows, x, strict=True)), Fraction(0))
