"""The rows probes are fitted and tested on, and the split of the sequences into the two uses."""

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
    """A probe that cannot be had from what was given; the message says why and the way out."""


@dataclass(frozen=True)
class ProbeRows:
    """Probe rows taken at one prefix length (or, for position, in the band that ends there).

    Attributes:
        x: residual stream at every site (the embedding first, then in and after each block), float32.
        labels: per target name, what a probe is to read; int64 = class, float64 = real, maybe a vector.
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
        """The rows chosen by a mask or by indices."""
        labels = {name: label[which] for name, label in self.labels.items()}
        return ProbeRows(self.x[:, which], labels, self.sequence[which], self.tokens[which])


@dataclass(frozen=True)
class RowPlaces:
    """Where rows are taken from a batch, and what probes are to read from them.

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
        """Those places of a batch."""
        sequence, index = at.cpu().unbind(1)
        window = index[:, None] + torch.arange(1 - WINDOW, 1)
        tokens = batch.tokens.cpu()[sequence[:, None], window.clamp(min=0)]
        return cls(at.cpu(), labels, tokens.masked_fill(window < (1 if batch.bos else 0), -1))

    def within(self, rows: slice) -> tuple[Int[Tensor, " of"], Int[Tensor, " of"], Int[Tensor, " of"]]:
        """The places in some sequences: which of all they are, the sequence counted from the first, and the index."""
        sequence, index = self.at.unbind(1)
        which = ((sequence >= rows.start) & (sequence < rows.stop)).nonzero()[:, 0]
        return which, sequence[which] - rows.start, index[which]

    def rows(self, x: Float[Tensor, "site row d"]) -> ProbeRows:
        """The rows that hold ``x``."""
        return ProbeRows(x, self.labels, self.at[:, 0], self.tokens)


class RowCollector(Observer):
    """Copies rows out of a forward pass.

    Args:
        batch: the strings.
        places: where, by name; of each the same activations.
        sites: names of the activations.
        dtype: of the copies.
    """

    def __init__(
        self, batch: Batch, places: Mapping[str, RowPlaces], sites: Sequence[str], dtype: torch.dtype = torch.float32
    ) -> None:
        self.batch, self.groups, self.sites = batch, {i: [site] for i, site in enumerate(sites)}, list(sites)
        self._places, self._dtype = places, dtype
        self._x: dict[str, dict[int, Tensor]] = {name: {} for name in places}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (value,) = seen.values()
        for name, places in self._places.items():
            which, sequence, index = places.within(rows)
            if key not in self._x[name]:
                self._x[name][key] = torch.zeros(len(places.at), value.shape[-1], dtype=self._dtype)
            found = value[sequence.to(value.device), index.to(value.device)]
            self._x[name][key][which] = found.detach().to("cpu", self._dtype)

    def rows(self, name: str) -> ProbeRows:
        """The rows at those places."""
        found = self._x[name]
        return self._places[name].rows(torch.stack([found[key] for key in self.groups]))


def join(parts: list[ProbeRows]) -> ProbeRows:
    """All rows of several lengths, one after the other."""
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
    """Rows at given (sequence, index on the position axis) pairs, copied out of the forward pass."""
    collector = RowCollector(batch, {"": RowPlaces.of(batch, at, labels)}, sites)
    show(collector, cache)
    return collector.rows("")


def sites_of(n_layers: int, mids: bool, layers: Sequence[int] | None = None) -> list[str]:
    """Hook names of the embedding (layer -1) and of the residual stream in and after each block, in order.

    Args:
        n_layers: blocks of the model.
        mids: whether blocks have a middle, between attention and MLP.
        layers: the layers wanted; None = all.

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
    """Those names of :func:`sites_of` that ``cache`` holds, at the layers wanted (None = all)."""
    held = [name for name in cache if name == EMBEDDING or name.endswith((MID, POST))]
    wanted = [name for name in held if layers is None or layer_of(name) in layers]
    return sorted(wanted, key=lambda name: (layer_of(name), name.endswith(POST)))


def layer_of(site: str) -> int:
    """The block a site lies in; -1 for the embedding."""
    return -1 if site == EMBEDDING else int(site.split(".")[1])


def halves(sequences: int, rng: np.random.Generator) -> Bool[Tensor, "sequence"]:
    """A random half of the sequences, True, is fitted on; the other half is tested on.

    One split serves every length, since at different lengths the same row of a batch may be the same
    sequence cut differently.
    """
    fit = torch.zeros(sequences, dtype=torch.bool)
    fit[torch.from_numpy(rng.permutation(sequences)[: (sequences + 1) // 2])] = True
    return fit


def folds(sequence: Int[Tensor, "row"]) -> Int[Tensor, "row"]:
    """Fold of each row, whole sequences together, as even as can be."""
    members = sequence.unique()
    return torch.searchsorted(members, sequence) % FOLDS


def pooled(rows: Mapping[int, ProbeRows], rng: np.random.Generator) -> ProbeRows:
    """Rows of several lengths together, each sequence at one of them only.

    The lengths are dealt out evenly, at random, so that the pool has as many rows (and as many different
    sequences) as one length has, and a probe fitted on it differs from one fitted at a single length by
    what it saw and not by how much.
    """
    lengths = sorted(rows)
    members = torch.cat([rows[n].sequence for n in lengths]).unique()
    dealt = torch.from_numpy(rng.permutation(np.arange(len(members)) % len(lengths)))
    turn = {n: dealt[torch.searchsorted(members, rows[n].sequence)] for n in lengths}
    return join([rows[n].take(turn[n] == i) for i, n in enumerate(lengths)])
