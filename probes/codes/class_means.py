"""The code of a task state: its class means in the residual stream, from two halves of the sequences.

The code at prefix length n is the matrix of class means mu_s(n), one row per class. Probe weights would also depend on
the covariance of the noise, which changes with length for other reasons. Every inner product of codes is taken between
disjoint halves of the sequences. Sampling noise is independent between the halves, so it adds nothing on average. A
squared norm is unbiased, and 0 on average where there is no code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from probes.fitting.probe_rows import ProbeRows
from probes.residual_stream import TARGET
from workbench.core.errors import LensError

#: Minimum sequences of a class in each half. With fewer, bootstrap means hardly vary.
FEWEST = 4
#: Number of bins for each component of a real task state, by its quantiles at lengths inside training.
BINS = 4
#: Numbers in memory at once while resamples are processed.
HELD = 1 << 22


class NoCode(LensError, ValueError):
    """A length has no code that can be compared; the message states the reason."""


@dataclass(frozen=True)
class Labelling:
    """The class, or bin, of each row. Bins of different components of a vector overlap; those of one component do not.

    Attributes:
        edges: inner edges of the bins, per component; None = the task state is a class.
        classes: the classes that are compared.
        note: what is left out, or "".
    """

    edges: Float[Tensor, "edge component"] | None
    classes: tuple[int, ...]
    note: str = ""

    @staticmethod
    def of(rows: Mapping[int, ProbeRows], inside: Sequence[int], fit: Bool[Tensor, "sequence"]) -> Labelling:
        """Return the classes with enough rows in both halves at every length inside training.

        Args:
            rows: rows per prefix length.
            inside: the lengths inside training.
            fit: which sequences are in the first half.

        Raises:
            NoCode: if fewer than two classes remain.
        """
        measured = [n for n in inside if n in rows]
        if not measured:
            raise NoCode("none of the lengths inside training was measured")
        labels = torch.cat([rows[n].labels[TARGET] for n in measured])
        if not len(labels):
            raise NoCode("no query of the lengths inside training is supervised")
        if labels.is_floating_point():
            edges = _edges(labels)
            every = tuple(range((len(edges) + 1) * edges.shape[1]))
        else:
            edges, every = None, tuple(int(c) for c in labels.unique())
        whole = Labelling(edges, every)
        counts = torch.stack([whole.sizes(rows[n], fit) for n in measured])
        kept = tuple(c for c, enough in zip(every, (counts >= FEWEST).all(1).all(0).tolist(), strict=True) if enough)
        if len(kept) < 2:
            least = f"fewer than 2 of {len(every)} classes have {FEWEST} sequences per half inside training"
            raise NoCode("the summary has one class only" if len(every) == 1 else least)
        return Labelling(edges, kept, "" if len(kept) == len(every) else f"{len(kept)} of {len(every)} classes")

    def member(self, labels: Shaped[Tensor, "row *s"]) -> Bool[Tensor, "class row"]:
        """Return which rows are in which class."""
        if self.edges is None:
            return labels[None] == torch.tensor(self.classes)[:, None]
        values = labels.double().reshape(len(labels), -1)
        bins = (values[:, None] > self.edges).sum(1)
        found = torch.nn.functional.one_hot(bins, len(self.edges) + 1).bool()
        return found.permute(1, 2, 0).flatten(0, 1)[list(self.classes)]

    def sizes(self, rows: ProbeRows, fit: Bool[Tensor, "sequence"]) -> Int[Tensor, "half class"]:
        """Return the number of rows per half and class."""
        member, first = self.member(rows.labels[TARGET]), fit[rows.sequence]
        return torch.stack([(member & first).sum(1), (member & ~first).sum(1)])


def _edges(labels: Float[Tensor, "row *s"]) -> Float[Tensor, "edge component"]:
    values = labels.double().reshape(len(labels), -1)
    return values.quantile(torch.arange(1, BINS, dtype=torch.float64) / BINS, 0)


@dataclass(frozen=True)
class Draws:
    """The vectors of one length: all of them (draw 0), and bootstrap samples inside each half and class.

    Bins of a vector overlap, so its rows are resampled inside halves only.

    Attributes:
        index: per half, the rows of each class.
        weight: per half and class, how often each of those rows is drawn, ``[draw, row of the class]``.
    """

    index: list[list[Int[Tensor, "_"]]]
    weight: list[list[Float[Tensor, "draw _"]]]

    @staticmethod
    def of(
        rows: ProbeRows, labelling: Labelling, fit: Bool[Tensor, "sequence"], rng: np.random.Generator, resamples: int
    ) -> Draws:
        """Draw the resamples of one length.

        Raises:
            NoCode: if a class has too few rows.
        """
        sizes = labelling.sizes(rows, fit)
        if bool((sizes < FEWEST).any()):
            poor = labelling.classes[int(sizes.min(0).values.argmin())]
            what = "bin" if labelling.edges is not None else "class"
            raise NoCode(f"{what} {poor} has {int(sizes.min())} sequences in a half; at least {FEWEST} are needed")
        member, first = labelling.member(rows.labels[TARGET]), fit[rows.sequence]
        overlap = labelling.edges is not None
        index, weight = [], []
        for side in (first, ~first):
            chosen = [(m & side).nonzero()[:, 0] for m in member]
            if overlap:
                own = side.nonzero()[:, 0]
                drawn = torch.zeros(resamples + 1, len(rows), dtype=torch.float64)
                drawn[:, own] = _multinomial(len(own), rng, resamples)
                counts = [drawn[:, rows_of] for rows_of in chosen]
            else:
                counts = [_multinomial(len(rows_of), rng, resamples) for rows_of in chosen]
            index.append(chosen)
            weight.append(counts)
        return Draws(index, weight)

    def means(self, x: Float[Tensor, "row d"], draws: slice) -> Float[Tensor, "half draw class d"]:
        """Return class means for some of the draws; NaN where a resample lacks a class."""
        x = x.double()

        def mean(rows: Tensor, weight: Tensor) -> Tensor:
            return (weight[draws] @ x[rows]) / weight[draws].sum(1, keepdim=True)

        sides = [
            torch.stack([mean(*pair) for pair in zip(*side, strict=True)], 1)
            for side in zip(self.index, self.weight, strict=True)
        ]
        return torch.stack(sides)

    def still(self, x: Float[Tensor, "row d"]) -> bool:
        """Return whether all rows of each class are equal. Then a bootstrap interval has no width."""
        return all(bool((x[rows] == x[rows[:1]]).all()) for side in self.index for rows in side)


def _multinomial(n: int, rng: np.random.Generator, resamples: int) -> Tensor:
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    return torch.from_numpy(np.concatenate([np.ones((1, n)), drawn]))


def codes(
    xs: Mapping[int, Float[Tensor, "_ d"]], draws: Mapping[int, Draws]
) -> Iterator[dict[int, Float[Tensor, "half draw class d"]]]:
    """Yield class means by length, some draws at a time, which bounds the memory for many classes."""
    some = next(iter(draws.values()))
    total, classes = len(some.weight[0][0]), len(some.index[0])
    width = max(x.shape[1] for x in xs.values())
    step = max(1, HELD // (2 * classes * width * len(draws)))
    for start in range(0, total, step):
        yield {n: d.means(xs[n], slice(start, start + step)) for n, d in draws.items()}


def inner(a: Float[Tensor, "half draw class d"], b: Float[Tensor, "half draw class d"]) -> Float[Tensor, "draw"]:
    """Return the inner product of two codes, each half of one with the other half of the other."""
    return (a[0] * b[1] + a[1] * b[0]).sum((-2, -1)) / 2


def centre_means(means: Float[Tensor, "half draw class d"]) -> Float[Tensor, "half draw class d"]:
    """Return class means minus the mean of all classes: only differences between classes remain."""
    return means - means.mean(2, keepdim=True)
