"""The component in which an error first appears. Edits and probes here use the answer, so they name no cause.

There are three readings of the last query, block by block. A linear probe fitted at N and applied at n tests whether
the code stays the same. A probe fitted at n tests whether the answer is still present. Where the task states which
token contains the answer, that token's value replaces what one head reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.passes import Clean, Edit, edited_pass, evaluation_ids, pieces
from probes.fitting.logistic import logistic
from workbench.diagnosis.intervened_pass import clearly_right, last_classes
from workbench.diagnosis.recovered_share import Judged, balanced_accuracy, chance, halves
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.tasks.base import Batch, Task

CARRIES = 0.8
"""A head carries the answer if at least this share of answers changes with what it reads."""
KEPT = 0.5
"""Minimum share of three quantities.

It is the share of the surplus over chance that a block must have at N for its code to count. It is also the share of
the accuracy drop from which on a probe shows that drop, and the share that the answer's own key must recover.
"""
READABLE = 0.9
"""Share of the surplus over chance from which on the answer counts as present."""
UNTRAINED = 0.5
"""Maximum share of the surplus that untrained weights may have for a reading to count."""
LEAST_WEIGHT = 1e-6
"""Weights are clipped this far from 0 and 1 before their odds are computed."""
FRESH = 8
"""Number of untrained models of the same architecture in the control of an oracle's keys."""


@dataclass(frozen=True)
class BlockReading:
    """Balanced accuracies of probes on the residual stream at the last position, after one block.

    Attributes:
        layer: index of the block.
        at_n_trained: fitted at N, tested on other sequences at N.
        kept: fitted at N, applied at n.
        refit: fitted at n, tested on other sequences.
        untrained: fitted at n after the same block of untrained weights.
        shuffled: fitted at n on shuffled answers.
        ranked, ranked_untrained: as ``refit`` and ``untrained``, for the rank of each dimension among the fitting rows.
            Ranks keep the sign of an answer in a state, however small the state has become.
    """

    layer: int
    at_n_trained: float
    kept: float
    refit: float
    untrained: float
    shuffled: float
    ranked: float = 0.0
    ranked_untrained: float = 1.0


@dataclass(frozen=True)
class HeadReading:
    """The effect of making the last query of one head attend only to the key of the answer.

    Attributes:
        layer, head: indices of the head.
        carries: share of answers at N that change to the class of another sequence's key.
        right: ``[string]``, 0/1 at n with the own key.
        gap: median over wrong sequences at n of the key's score minus the best other score.
        weight_trained, weight: mean weight on the key at N and at n.
        untrained: largest distance from chance of untrained models at n with the same edit.
    """

    layer: int
    head: int
    carries: float
    right: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    gap: float = 0.0
    weight_trained: float = 0.0
    weight: float = 0.0
    untrained: float = 0.0

    @property
    def thinned(self) -> bool:
        """Whether the key has the highest score but less than half of its weight at N."""
        return self.gap > 0 and self.weight < 0.5 * self.weight_trained

    @property
    def nats_lost(self) -> float:
        """Decrease since N of the log odds of the weight on the key, in nats."""
        return _log_odds(self.weight_trained) - _log_odds(self.weight)


@dataclass(frozen=True)
class Blind:
    """What label-free interventions show about the location of the error.

    Attributes:
        passed: families that recover enough.
        nats_of_keys: log of the ratio between the numbers of keys at n and at N. The log odds of a weight decrease by
            this much if all scores stay the same.
    """

    passed: frozenset[str] = frozenset()
    nats_of_keys: float = 0.0

    @property
    def only_sharpening(self) -> bool:
        """Whether sharper attention recovers accuracy, and neither ids of N nor the number of keys of N do."""
        return "D" in self.passed and not self.passed & {"P", "K"}

    @property
    def moments(self) -> bool:
        """Whether rows with their mean and scale at N recover accuracy. Then their information has moved, but still
        exists.
        """
        return "C" in self.passed


@dataclass(frozen=True)
class Site:
    """The location in which the error first appears.

    Attributes:
        label: ``selection``, ``dispersion``, ``code``, ``read-out`` or ``lost``.
        layer, head: indices; None where they are unknown.
        note: one clause of evidence.
    """

    label: str
    layer: int | None = None
    head: int | None = None
    note: str = ""


def _log_odds(share: float) -> float:
    within = min(max(share, LEAST_WEIGHT), 1 - LEAST_WEIGHT)
    return math.log(within / (1 - within))


def last_rows(model: HookedModel, batch: Batch) -> list[Float[Tensor, "batch d_model"]]:
    """Return the last row after each block, each ``[batch, d_model]``."""
    names = [f"blocks.{layer}.hook_resid_post" for layer in range(model.cfg.n_layers)]
    rows_by_layer: list[list[Tensor]] = [[] for _ in names]
    for piece in pieces(batch):
        seen = forward(model, piece, names)
        for rows, name in zip(rows_by_layer, names, strict=True):
            rows.append(seen[name][:, -1])
    return [torch.cat(rows) for rows in rows_by_layer]


def read_blocks(
    model: HookedModel, untrained: HookedModel, fit: Batch, inside: Batch, batch: Batch, rng: np.random.Generator
) -> list[BlockReading]:
    """Return the readings of every block.

    Args:
        model: the model.
        untrained: the same architecture before training.
        fit: sequences at N, on which probes are fitted.
        inside: other sequences at N.
        batch: sequences at n.
        rng: shuffles answers.
    """
    classes = sorted({*last_classes(fit).tolist(), *last_classes(batch).tolist(), *last_classes(inside).tolist()})

    def labels(of: Batch) -> NDArray[np.int64]:
        return np.searchsorted(np.array(classes), last_classes(of)).astype(np.int64)

    y_fit, y_inside, y = labels(fit), labels(inside), labels(batch)
    rows = zip(*(last_rows(model, one) for one in (fit, inside, batch)), last_rows(untrained, batch), strict=True)
    shuffled = rng.permutation(y)
    readings = []
    for layer, (x_fit, x_inside, x, x_untrained) in enumerate(rows):
        probe = logistic(x_fit, torch.as_tensor(y_fit), len(classes))
        readings.append(
            BlockReading(
                layer,
                balanced_accuracy(probe(x_inside) == y_inside, y_inside),
                balanced_accuracy(probe(x) == y, y),
                cross_validated_accuracy(x, y, len(classes)),
                cross_validated_accuracy(x_untrained, y, len(classes)),
                cross_validated_accuracy(x, shuffled, len(classes)),
                cross_validated_accuracy(x, y, len(classes), ranks=True),
                cross_validated_accuracy(x_untrained, y, len(classes), ranks=True),
            )
        )
    return readings


def cross_validated_accuracy(
    x: Float[Tensor, "row d"], y: NDArray[np.int64], classes: int, ranks: bool = False
) -> float:
    """Return the balanced accuracy of a probe on each half of the rows, fitted on the other half.

    With ``ranks``, the probe reads the rank of each value within its dimension.
    """
    first, second = halves(len(y))
    right = np.zeros(len(y))
    for fit, test in ((first, second), (second, first)):
        here, there = x[torch.as_tensor(fit)], x[torch.as_tensor(test)]
        if ranks:
            here, there = midranks(here, here), midranks(there, here)
        probe = logistic(here, torch.as_tensor(y[fit]), classes)
        right[test] = probe(there) == y[test]
    return balanced_accuracy(right, y)


def midranks(x: Float[Tensor, "row d"], among: Float[Tensor, "other d"]) -> Float[Tensor, "row d"]:
    """Return the rank of each value among the values ``among`` of its dimension, from -1/2 to 1/2; ties share the
    middle rank.
    """
    values, ordered = x.T.contiguous(), among.sort(0).values.T.contiguous()
    below = torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True)
    return (below.T / (2 * len(among)) - 0.5).to(x)


# ---- heads --------------------------------------------------------------------------------------
def key_values(model: HookedModel, layer: int, batch: Batch, keys: Tensor) -> Float[Tensor, "batch head d_head"]:
    """Return what each head would read if it attended only to these keys."""
    name = f"blocks.{layer}.attn.hook_v"
    v = torch.cat([forward(model, piece, [name])[name] for piece in pieces(batch)])
    return v[torch.arange(len(v)), keys]


def with_head_reading(
    model: HookedModel, batch: Batch, layer: int, head: int, values: Float[Tensor, "batch d_head"]
) -> Float[Tensor, "batch pos out"]:
    """Return outputs of the model when the last query of one head reads these values."""
    outputs, start = [], 0
    for piece in pieces(batch):
        given = values[start : start + len(piece)]

        def edit(z: Tensor, given: Tensor = given) -> Tensor:
            made = z.clone()
            made[:, -1, head] = given
            return made

        ids = evaluation_ids(model, piece)
        edits: dict[str, Edit] = {f"blocks.{layer}.attn.hook_z": edit}
        outputs.append(edited_pass(model, Clean(piece.tokens, ids, (), {}, ids), edits)[0])
        start += len(piece)
    return torch.cat(outputs)


def read_heads(
    model: HookedModel,
    task: Task,
    inside: Batch,
    batch: Batch,
    at: Judged,
    fresh: Sequence[HookedModel],
    layers: Sequence[int],
    rng: np.random.Generator,
) -> list[HeadReading]:
    """Return the heads of some blocks that carry the answer, each with the own key in place of what it reads.

    The list is empty where the task names no key, the attention is not by softmax, or no head carries the answer.
    """
    keys_inside, keys = task.answer_index(inside), task.answer_index(batch)
    if keys_inside is None or keys is None or model.cfg.attention != "softmax":
        return []
    classes = last_classes(inside)
    donors = other_class(classes, rng)
    if donors is None:
        return []
    readings = []
    wrong = torch.as_tensor(at.right < 0.5)
    for layer in layers:
        theirs = key_values(model, layer, inside, keys_inside)[torch.as_tensor(donors)]
        own_values = key_values(model, layer, batch, keys)
        for head in range(model.cfg.n_heads):
            turned = with_head_reading(model, inside, layer, head, theirs[:, head])[:, -1].argmax(-1)
            carried = float((turned.numpy(force=True) == classes[donors]).mean())
            if carried < CARRIES:
                continue
            right = clearly_right(task, with_head_reading(model, batch, layer, head, own_values[:, head]), batch)
            gaps, weight = key_scores(model, batch, keys, layer, head)
            _, weight_inside = key_scores(model, inside, keys_inside, layer, head)
            beside = [_untrained_distance(one, task, batch, keys, layer, head) for one in fresh]
            weights = float(weight_inside.mean()), float(weight.mean())
            gap = float(gaps[wrong].median())
            readings.append(HeadReading(layer, head, carried, right, gap, *weights, max(beside, default=0.0)))
    return readings


def other_class(classes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Return, for each sequence, the index of a random one of another class; None if there is only one class."""
    if len(np.unique(classes)) < 2:
        return None
    return np.array([rng.choice(np.flatnonzero(classes != c)) for c in classes], dtype=np.int64)


def key_scores(
    model: HookedModel, batch: Batch, keys: Tensor, layer: int, head: int
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Return, for the last query of a head, each key's score minus the best other score, and the weight on the key."""
    names = model.cfg.score_hooks(layer)
    gaps, weights, start = [], [], 0
    for piece in pieces(batch):
        inputs = model.cfg.score_inputs(layer, forward(model, piece, names))
        scores = inputs.select(slice(None), slice(head, head + 1)).scores([piece.tokens.shape[1] - 1])[:, 0, 0]
        chosen = keys[start : start + len(piece), None]
        gaps.append(scores.gather(1, chosen)[:, 0] - scores.scatter(1, chosen, -torch.inf).amax(1))
        weights.append(scores.softmax(-1).gather(1, chosen)[:, 0])
        start += len(piece)
    return torch.cat(gaps), torch.cat(weights)


def _untrained_distance(model: HookedModel, task: Task, batch: Batch, keys: Tensor, layer: int, head: int) -> float:
    values = key_values(model, layer, batch, keys)[:, head]
    right = clearly_right(task, with_head_reading(model, batch, layer, head, values), batch)
    classes = last_classes(batch)
    return abs(balanced_accuracy(right, classes) - chance(classes))


# ---- the rule -----------------------------------------------------------------------------------
def first_bad_block(
    blocks: Sequence[BlockReading], a_reference: float, a_at: float, guess: float
) -> BlockReading | None:
    """Return the first block that has the answer at N and whose code drops at n as the model does; None if none does.

    The drop of a block is compared with the accuracy drop of the model, not with the surplus over chance. If the
    model's accuracy drops by 0.25, the block at which a probe drops by 0.24 is the location.
    """
    for block in blocks:
        there = block.at_n_trained - guess >= KEPT * (a_reference - guess)
        if there and block.at_n_trained - block.kept >= KEPT * (a_reference - a_at):
            return block
    return None


def name_site(
    blocks: Sequence[BlockReading],
    heads: Sequence[HeadReading],
    shares: Sequence[float],
    blind: Blind,
    a_reference: float,
    a_at: float,
    guess: float,
) -> Site:
    """Return the location: the first of these rules that is true gives where the error first appears.

    1. *selection*: another key has the highest score where a head reads the answer, and the own key recovers accuracy.
    2. *dispersion*: the own key has the highest score, with less than half of its weight at N, and recovers accuracy.
      Also, sharpening recovers accuracy, and no intervention that keeps ids or the number of keys at N does. (Sharper
      heads can also outweigh an offset that grows with the keys, but that disappears when their number is kept.)
    3. *read-out*: no block drops as the model does.
    4. *code*: a probe fitted at n reads the answer at the first bad block, and training put it there. Training did so
      if untrained weights do not show it, or if the row with its mean and scale at N is answered right.
    5. *selection* again: the own key still has the highest score, and its weight has fallen by more than twice the nats
      that more keys explain. So scores have moved. *dispersion* where they have not.
    6. *code* again: a probe of ranks reads the answer at the first bad block, and training put it there. A state that
      leaks keeps its sign.
    7. *lost* before the first bad block.

    Args:
        blocks: readings of every block.
        heads: readings of the heads that carry the answer.
        shares: share that each of these heads recovers with the own key.
        blind: what label-free interventions show.
        a_reference: accuracy at N.
        a_at: accuracy at n.
        guess: accuracy of a guess.
    """
    bad = first_bad_block(blocks, a_reference, a_at, guess)
    last = blocks[-1].layer if bad is None else bad.layer
    up_to = [(head, share) for head, share in zip(heads, shares, strict=True) if head.layer <= last]
    restoring = [head for head, share in up_to if share >= KEPT]
    for head in restoring:
        if head.gap < 0:
            return Site("selection", head.layer, head.head, f"the answer's key scores {-head.gap:.1f} below the best")
    for head in restoring:
        if head.thinned and blind.only_sharpening:
            return _dispersion(head)
    if bad is None:
        return Site("read-out", note=f"a probe fitted at N reads {blocks[-1].kept:.2f} behind the last block")
    surplus = a_reference - guess
    own = bad.untrained - guess < UNTRAINED * surplus or blind.moments
    if own and bad.refit - guess >= READABLE * surplus:
        note = f"a probe fitted at n reads {bad.refit:.2f}, one fitted at N {bad.kept:.2f}"
        return Site("code", bad.layer, note=note)
    for head in restoring:
        if head.gap > 0 and head.nats_lost > 2 * blind.nats_of_keys:
            note = (
                f"weight on the answer's key fell by {head.nats_lost:.1f} nats, by more keys {blind.nats_of_keys:.1f}"
            )
            return Site("selection", head.layer, head.head, note)
    for head, _ in up_to:
        if head.thinned:
            return _dispersion(head)
    if bad.ranked - guess >= READABLE * surplus and bad.ranked_untrained - guess < UNTRAINED * surplus:
        note = f"a probe of ranks fitted at n reads {bad.ranked:.2f}, one of the rows {bad.refit:.2f}"
        return Site("code", bad.layer, note=note)
    return Site("lost", bad.layer, note=f"a probe fitted at n reads {bad.refit:.2f} behind block {bad.layer}")


def _dispersion(head: HeadReading) -> Site:
    note = f"weight on the answer's key {head.weight:.2f}, at N {head.weight_trained:.2f}"
    return Site("dispersion", head.layer, head.head, note)
