"""The rows on which probes are fitted and tested, and the split of the sequences into these two uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from probes.fitting.linear import FOLDS
from workbench.core.errors import LensError
from workbench.measure.measurement import Observer, show
from workbench.tasks.base import Batch

WINDOW = 8
EMBEDDING = "blocks.0.hook_resid_pre"
MID, POST = ".hook_resid_mid", ".hook_resid_post"


class ProbeError(LensError, ValueError):
    """Raised for a probe that cannot be computed; the message states the reason and what to do."""


@dataclass(frozen=True)
class ProbeRows:
    """Vectors of the residual stream at one prefix length with their labels (for position: from a range of positions
    that ends there).

    Attributes:
        x: residual stream at every site (the embedding first, then in and after each block), float32.
        labels: per target name, the labels for a probe; int64 = class, float64 = real, possibly a vector.
        sequence: which sequence of the batch a row comes from.
        tokens: the last :data:`WINDOW` task tokens up to the query, the query's last; -1 before the start.
    """

    x: Float[Tensor, "site row d"]
    labels: dict[str, Shaped[Tensor, "row *s"]]
    sequence: Int[Tensor, "row"]
    tokens: Int[Tensor, "row window"]

    def __len__(self) -> int:
        return len(self.sequence)

    @cached_property
    def finite(self) -> bool:
        """Whether all activations are finite."""
        return bool(self.x.isfinite().all())

    def take(self, which: Shaped[Tensor, "chosen"]) -> ProbeRows:
        """Return the rows chosen by a mask or by indices."""
        labels = {name: label[which] for name, label in self.labels.items()}
        return ProbeRows(self.x[:, which], labels, self.sequence[which], self.tokens[which])


@dataclass(frozen=True)
class RowPlaces:
    """The positions in a batch at which vectors are taken, and their labels.

    Attributes:
        at: (sequence, index on the position axis) of every row.
        labels: as in :class:`ProbeRows`.
        tokens: as in :class:`ProbeRows`.
    """

    at: Int[Tensor, "row 2"]
    labels: dict[str, Shaped[Tensor, "row *s"]]
    tokens: Int[Tensor, "row window"]

    @classmethod
    def of(cls, batch: Batch, at: Int[Tensor, "row 2"], labels: dict[str, Shaped[Tensor, "row *s"]]) -> RowPlaces:
        """Return the given positions of a batch, with their last tokens."""
        sequence, index = at.cpu().unbind(1)
        window = index[:, None] + torch.arange(1 - WINDOW, 1)
        tokens = batch.tokens.cpu()[sequence[:, None], window.clamp(min=0)]
        return cls(at.cpu(), labels, tokens.masked_fill(window < (1 if batch.bos else 0), -1))

    def within(self, rows: slice) -> tuple[Int[Tensor, " of"], Int[Tensor, " of"], Int[Tensor, " of"]]:
        """Return the positions in some sequences.

        Returns:
            indices of the rows, sequences counted from the first one in ``rows``, and position indices.
        """
        sequence, index = self.at.unbind(1)
        which = ((sequence >= rows.start) & (sequence < rows.stop)).nonzero()[:, 0]
        return which, sequence[which] - rows.start, index[which]

    def rows(self, x: Float[Tensor, "site row d"]) -> ProbeRows:
        """Return the labels, positions and tokens of these rows with ``x`` as their activations."""
        return ProbeRows(x, self.labels, self.at[:, 0], self.tokens)


class RowCollector(Observer):
    """An observer that copies vectors of the residual stream out of a forward pass.

    Args:
        batch: the sequences.
        places: positions to copy, by name; each name gets the same activations.
        sites: names of the activations.
        dtype: dtype of the copies.
    """

    def __init__(
        self, batch: Batch, places: Mapping[str, RowPlaces], sites: Sequence[str], dtype: torch.dtype = torch.float32
    ) -> None:
        self.batch, self.groups, self.sites = batch, {i: [site] for i, site in enumerate(sites)}, list(sites)
        self._places, self._dtype = places, dtype
        self._x: dict[str, Tensor] = {}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (value,) = seen.values()
        for name, places in self._places.items():
            which, sequence, index = places.within(rows)
            if name not in self._x:
                self._x[name] = torch.zeros(len(self.sites), len(places.at), value.shape[-1], dtype=self._dtype)
            found = value[sequence.to(value.device), index.to(value.device)]
            self._x[name][key][which] = found.detach().to("cpu", self._dtype)

    def rows(self, name: str) -> ProbeRows:
        """Return the rows copied under this name."""
        return self._places[name].rows(self._x[name])


def join(parts: list[ProbeRows]) -> ProbeRows:
    """Return the concatenated rows of several lengths."""
    return ProbeRows(
        torch.cat([p.x for p in parts], 1),
        {name: torch.cat([p.labels[name] for p in parts]) for name in parts[0].labels},
        torch.cat([p.sequence for p in parts]),
        torch.cat([p.tokens for p in parts]),
    )


def gather(
    batch: Batch,
    cache: Mapping[str, Tensor],
    sites: list[str],
    at: Int[Tensor, "row 2"],
    labels: dict[str, Shaped[Tensor, "row *s"]],
) -> ProbeRows:
    """Return rows at the given (sequence, position index) pairs, copied out of the forward pass."""
    collector = RowCollector(batch, {"": RowPlaces.of(batch, at, labels)}, sites)
    show(collector, cache)
    return collector.rows("")


def sites_of(n_layers: int, mids: bool, layers: Sequence[int] | None = None) -> list[str]:
    """Return hook names of the embedding (layer -1) and of the residual stream in and after each block, in order.

    Args:
        n_layers: number of blocks.
        mids: whether blocks have a middle, between attention and MLP.
        layers: the layers; None = all.

    Raises:
        ProbeError: for a layer that the model does not have.
    """
    for layer in layers or ():
        if not -1 <= layer < n_layers:
            raise ProbeError(f"there is no layer {layer}; the layers are -1 (the embedding) to {n_layers - 1}")
    wanted = range(-1, n_layers) if layers is None else sorted(set(layers))
    parts = ("mid", "post") if mids else ("post",)
    named = [[f"blocks.{layer}.hook_resid_{part}" for part in parts] if layer >= 0 else [EMBEDDING] for layer in wanted]
    return [name for names in named for name in names]


def sites_in(cache: Mapping[str, Tensor], layers: Sequence[int] | None = None) -> list[str]:
    """Return the names of :func:`sites_of` that ``cache`` contains, at the given layers (None = all)."""
    held = [name for name in cache if name == EMBEDDING or name.endswith((MID, POST))]
    wanted = [name for name in held if layers is None or layer_of(name) in layers]
    return sorted(wanted, key=lambda name: (layer_of(name), name.endswith(POST)))


def layer_of(site: str) -> int:
    """Return the block of a site; -1 for the embedding."""
    return -1 if site == EMBEDDING else int(site.split(".")[1])


def halves(sequences: int, rng: np.random.Generator) -> Bool[Tensor, "sequence"]:
    """Return a mask of a random half of the sequences for fitting; the other half is for testing.

    One split serves every length. At different lengths, the same row of a batch may be a prefix of the same sequence.
    """
    fit = torch.zeros(sequences, dtype=torch.bool)
    fit[torch.from_numpy(rng.permutation(sequences)[: (sequences + 1) // 2])] = True
    return fit


def folds(sequence: Int[Tensor, "row"]) -> Int[Tensor, "row"]:
    """Return the fold of each row. Rows of one sequence share a fold, and folds are as equal as possible."""
    members = sequence.unique()
    return torch.searchsorted(members, sequence) % FOLDS


def pool_lengths(rows: Mapping[int, ProbeRows], rng: np.random.Generator) -> ProbeRows:
    """Return the vectors of several lengths together, such that each sequence is used at only one length.

    The lengths are assigned evenly, at random. So the pool has as many rows (and as many different sequences) as one
    length has. A probe fitted on the pool differs from one fitted at a single length by the lengths, not by the number
    of rows.
    """
    lengths = sorted(rows)
    members = torch.cat([rows[n].sequence for n in lengths]).unique()
    dealt = torch.from_numpy(rng.permutation(np.arange(len(members)) % len(lengths)))
    turn = {n: dealt[torch.searchsorted(members, rows[n].sequence)] for n in lengths}
    return join([rows[n].take(turn[n] == i) for i, n in enumerate(lengths)])
