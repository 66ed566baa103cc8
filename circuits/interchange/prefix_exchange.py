"""Exchanging what a model computes from a prefix: the prefix itself, or its keys and values.

Let u, u' be prefixes of lengths n, n', and w a suffix. *Prefix exchange* compares f(u w) with f(u' w). *KV splice* runs
w on the keys and values of u', while w keeps the position ids it has after u. In a causal model the latter is the pass
over u' w in which the suffix enters the first block as it does after u. Lags to the keys of u' are those of u' w: a
head that attends one position back finds the last token of u'.

So for encodings that read only lags the two measures are equal. In a recurrent model the splice exchanges the state.
Now let both prefixes have the same task state for updates. A scale-invariant function gives 1 on prefix exchange, and a
scale-invariant rule gives 1 on both. A model with 1 on only the splice keeps its state in the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from circuits.passes import Edit, clean_pass, edited_pass, evaluation_ids, pieces

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NONE = -1
"""Index that means no donor."""

Chosen = NDArray[np.int64]


def choose_donors(
    recipients: Shaped[Tensor, "recipient ..."],
    donors: Shaped[Tensor, "donor ..."],
    rng: np.random.Generator,
    *,
    same: bool = True,
    one_batch: bool = False,
) -> Chosen:
    """Return, for each recipient, a random donor with the same task state, or with a different one.

    Args:
        recipients, donors: a task state per sequence.
        rng: the source of the choice.
        same: whether task states must be equal, or must differ.
        one_batch: whether both are the same sequences; then no sequence is its own donor.

    Returns:
        ``[recipient]`` indices of donors, :data:`NONE` where no donor qualifies.
    """
    both = torch.cat([recipients.reshape(len(recipients), -1), donors.reshape(len(donors), -1)])
    codes = np.unique(both.numpy(force=True), axis=0, return_inverse=True)[1].reshape(-1)
    of_recipients, of_donors = codes[: len(recipients)], codes[len(recipients) :]
    indices = np.full(len(recipients), NONE, dtype=np.int64)
    for i, code in enumerate(of_recipients):
        fits = (of_donors == code) == same
        if one_batch:
            fits[i] = False
        places = np.flatnonzero(fits)
        if len(places):
            indices[i] = rng.choice(places)
    return indices


def random_donors(recipients: int, donors: int, rng: np.random.Generator, *, one_batch: bool = False) -> Chosen:
    """Return, for each recipient, any donor except itself, whatever its task state: a control."""
    if not one_batch:
        return rng.integers(0, donors, recipients)
    if donors < 2:
        return np.full(recipients, NONE, dtype=np.int64)
    return (np.arange(recipients) + rng.integers(1, donors, recipients)) % donors


@dataclass(frozen=True)
class Exchanged:
    """Outputs on the suffix after the recipient's own and after the donor's prefix.

    Attributes:
        own: f(u w) ``[sequence, suffix, out]``.
        exchanged: f(u' w).
        spliced: w on the keys and values of u', entering the first block as it does after u.
        by_layer: the same with those of u' in layers 0..l only, for each l; empty unless requested.
        asked: ``[sequence, suffix]``, positions with a query in both sequences.
        sequences: indices of the recipients that have a donor.
    """

    own: Float[Tensor, "sequence suffix out"]
    exchanged: Float[Tensor, "sequence suffix out"]
    spliced: Float[Tensor, "sequence suffix out"]
    by_layer: tuple[Tensor, ...]
    asked: Bool[Tensor, "sequence suffix"]
    sequences: NDArray[np.int64]


def exchange(
    model: HookedModel,
    task: Task,
    recipients: Batch,
    donors: Batch,
    chosen: Chosen,
    suffix: int,
    layers: bool = False,
) -> Exchanged:
    """Replace each recipient's prefix by that of another sequence (its donor), as tokens and as keys and values, and
    return the model's answers.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task, which determines positions with a query.
        recipients: sequences ``u w``; w is their last ``suffix`` tokens.
        donors: sequences whose prefix, all but the last ``suffix`` tokens, is u'.
        chosen: for each recipient the index of its donor, or :data:`NONE`.
        suffix: r, the number of tokens of w.
        layers: whether to splice layer by layer too.

    Raises:
        ValueError: if a sequence is not longer than the suffix, or no recipient has a donor.
    """
    if suffix < 1 or min(recipients.length, donors.length) <= suffix:
        raise ValueError(
            f"sequences of {recipients.length} and {donors.length} tokens have no prefix before a suffix of {suffix}"
        )
    with_donor = np.flatnonzero(chosen != NONE)
    if not len(with_donor):
        raise ValueError("no recipient has a donor; draw more of them")
    mine, theirs = take(recipients, with_donor), take(donors, chosen[with_donor])
    parts = [
        _exchange(model, task, piece, theirs.rows(start, start + len(piece)), suffix, layers)
        for start, piece in _with_starts(mine)
    ]
    own, exchanged, spliced, asked = (torch.cat([part[i] for part in parts]) for i in range(4))
    by_layer = tuple(torch.cat(of_layer) for of_layer in zip(*(part[4:] for part in parts), strict=True))
    return Exchanged(own, exchanged, spliced, by_layer, asked.bool(), with_donor)


def agreement(
    task: Task,
    a: Float[Tensor, "sequence suffix out"],
    b: Float[Tensor, "sequence suffix out"],
    asked: Bool[Tensor, "sequence suffix"],
    batch: Batch,
) -> NDArray[np.float64]:
    """Return ``[sequence]``: share of queries on the suffix at which two outputs give the same answer; NaN without a
    query.
    """
    same = task.correct(a, ending(batch, a.shape[1], b if task.real else b.argmax(-1)))
    count = asked.sum(1).double()
    found: NDArray[np.float64] = ((same & asked).sum(1) / count.where(count > 0, torch.nan)).numpy(force=True)
    return found


def ending(batch: Batch, count: int, targets: Tensor) -> Batch:
    """Return the last ``count`` positions of a batch with other targets, for comparison with outputs there."""
    return replace(batch._map(lambda x: x[:, -count:]), targets=targets)


def take(batch: Batch, rows: NDArray[np.int64]) -> Batch:
    """Return the sequences at some indices, in that order."""
    index = torch.as_tensor(rows, device=batch.tokens.device)
    chosen = batch._map(lambda x: x if x.shape[0] == 1 and len(batch) > 1 else x[index])
    return replace(chosen, meta={key: value[index] for key, value in batch.meta.items()})


def _exchange(
    model: HookedModel, task: Task, recipients: Batch, donors: Batch, suffix: int, layers: bool
) -> list[Tensor]:
    cut = donors.tokens.shape[1] - suffix
    tokens = torch.cat([donors.tokens[:, :cut], recipients.tokens[:, -suffix:]], 1)
    labelled = task.label(tokens[:, int(donors.bos) :])
    own_ids, donor_ids = evaluation_ids(model, recipients), evaluation_ids(model, donors)
    enter = "blocks.0.hook_resid_pre"
    ends = [f"blocks.{layer}.hook_resid_post" for layer in range(model.cfg.n_layers)] if layers else []

    def ending(rows: Tensor) -> Edit:
        return lambda value: torch.cat([value[:, :-suffix], rows[:, -suffix:]], 1)

    own_pass = clean_pass(model, recipients.tokens, own_ids, [enter])
    donor_pass = clean_pass(model, tokens, donor_ids)
    spliced, seen = edited_pass(model, donor_pass, {enter: ending(own_pass.seen[enter])}, ends)
    by_layer = [edited_pass(model, own_pass, {name: ending(seen[name])})[0][:, -suffix:] for name in ends]
    asked = recipients.mask[:, -suffix:] & labelled.mask[:, -suffix:]
    return [own_pass.outputs[:, -suffix:], donor_pass.outputs[:, -suffix:], spliced[:, -suffix:], asked, *by_layer]


def _with_starts(batch: Batch) -> Sequence[tuple[int, Batch]]:
    found, start = [], 0
    for piece in pieces(batch):
        found.append((start, piece))
        start += len(piece)
    return found
