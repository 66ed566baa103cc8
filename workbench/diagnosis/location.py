"""Where it first goes wrong: what knows the answer's key locates, what knows the answer bounds; neither names a cause.

Three readings of the last query, block by block: a linear probe fitted at N and applied at n (is the code kept?), one
fitted at n (is the answer still there?), and, where the task says which token holds the answer, that token put in place
of what one head reads.
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
"""Share of answers that must turn with what a head reads for it to carry the answer."""
KEPT = 0.5
"""Share of the surplus over chance that a block must have at N for its code to be one, and share of the loss from which
on a probe that was fitted there shows it; also the share that the own key must restore."""
READABLE = 0.9
"""Share of the surplus from which on the answer counts as still there, or as kept."""
UNTRAINED = 0.5
"""Share of the surplus that untrained weights may show, for a reading to count."""
LEAST_WEIGHT = 1e-6
"""Weights are held this far from 0 and 1 where their odds are taken."""
FRESH = 8
"""Untrained models of the same architecture that stand beside an oracle's keys."""


@dataclass(frozen=True)
class BlockReading:
    """What probes read off the last row behind one block, as balanced accuracies.

    Attributes:
        layer: the block.
        at_n_trained: fitted at N, other strings at N.
        kept: fitted at N, applied at n.
        refit: fitted at n, on other strings.
        untrained: fitted at n behind the same block of untrained weights.
        shuffled: fitted at n on shuffled answers.
        ranked, ranked_untrained: as refit and untrained, of the rank of each dimension among the rows that the probe
            is fitted on: what a state keeps of the answer's sign, however small it has become.
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
    """One head with the answer's key in place of what its last query reads.

    Attributes:
        layer, head: which.
        carries: share of answers at N that turn to the class of another string's key.
        right: ``[string]`` 0/1 at n with the own key.
        gap: median over wrong strings at n of the key's score less the best other score.
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
        """Whether the key is on top, with less than half of its weight at N."""
        return self.gap > 0 and self.weight < 0.5 * self.weight_trained

    @property
    def nats_lost(self) -> float:
        """By how much the odds of the weight on the key have fallen since N, as a logarithm."""
        return _log_odds(self.weight_trained) - _log_odds(self.weight)


@dataclass(frozen=True)
class Blind:
    """What label-free interventions say about a site.

    Attributes:
        passed: families that restore enough.
        nats_of_keys: logarithm of how many times as many keys there are as at N: so much do the odds of a weight fall
            when all scores stay as they are.
    """

    passed: frozenset[str] = frozenset()
    nats_of_keys: float = 0.0

    @property
    def only_sharpening(self) -> bool:
        """Whether sharper attention restores it, and neither ids of N nor the number of keys of N do."""
        return "D" in self.passed and not self.passed & {"P", "K"}

    @property
    def moments(self) -> bool:
        """Whether rows with their moments of N restore it: what they hold has moved, and is not gone."""
        return "C" in self.passed


@dataclass(frozen=True)
class Site:
    """Where it first goes wrong.

    Attributes:
        label: ``selection``, ``dispersion``, ``code``, ``read-out`` or ``lost``.
        layer, head: where; None where that is not said.
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
    """The last row behind each block."""
    names = [f"blocks.{layer}.hook_resid_post" for layer in range(model.cfg.n_layers)]
    found: list[list[Tensor]] = [[] for _ in names]
    for piece in pieces(batch):
        seen = forward(model, piece, names)
        for rows, name in zip(found, names, strict=True):
            rows.append(seen[name][:, -1])
    return [torch.cat(rows) for rows in found]


def read_blocks(
    model: HookedModel, untrained: HookedModel, fit: Batch, inside: Batch, batch: Batch, rng: np.random.Generator
) -> list[BlockReading]:
    """The readings of every block.

    Args:
        model: the model.
        untrained: one of the same architecture before training.
        fit: strings at N, on which probes are fitted.
        inside: other strings at N.
        batch: strings at n.
        rng: shuffles answers.
    """
    classes = sorted({*last_classes(fit).tolist(), *last_classes(batch).tolist(), *last_classes(inside).tolist()})

    def labels(of: Batch) -> NDArray[np.int64]:
        return np.searchsorted(np.array(classes), last_classes(of)).astype(np.int64)

    y_fit, y_inside, y = labels(fit), labels(inside), labels(batch)
    rows = zip(*(last_rows(model, one) for one in (fit, inside, batch)), last_rows(untrained, batch), strict=True)
    shuffled = rng.permutation(y)
    found = []
    for layer, (x_fit, x_inside, x, x_untrained) in enumerate(rows):
        probe = logistic(x_fit, torch.as_tensor(y_fit), len(classes))
        found.append(
            BlockReading(
                layer,
                balanced_accuracy(probe(x_inside) == y_inside, y_inside),
                balanced_accuracy(probe(x) == y, y),
                crossed(x, y, len(classes)),
                crossed(x_untrained, y, len(classes)),
                crossed(x, shuffled, len(classes)),
                crossed(x, y, len(classes), ranks=True),
                crossed(x_untrained, y, len(classes), ranks=True),
            )
        )
    return found


def crossed(x: Float[Tensor, "row d"], y: NDArray[np.int64], classes: int, ranks: bool = False) -> float:
    """Balanced accuracy of a probe on each half of the rows, fitted on the other half; of their ranks if asked."""
    first, second = halves(len(y))
    right = np.zeros(len(y))
    for fit, test in ((first, second), (second, first)):
        here, there = x[torch.as_tensor(fit)], x[torch.as_tensor(test)]
        if ranks:
            here, there = ranked(here, here), ranked(there, here)
        probe = logistic(here, torch.as_tensor(y[fit]), classes)
        right[test] = probe(there) == y[test]
    return balanced_accuracy(right, y)


def ranked(x: Float[Tensor, "row d"], among: Float[Tensor, "other d"]) -> Float[Tensor, "row d"]:
    """The rank of each value among those of its dimension, from -1/2 to 1/2; equal values share the middle rank."""
    values, ordered = x.T.contiguous(), among.sort(0).values.T.contiguous()
    below = torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True)
    return (below.T / (2 * len(among)) - 0.5).to(x)


# ---- heads --------------------------------------------------------------------------------------
def key_values(model: HookedModel, layer: int, batch: Batch, keys: Tensor) -> Float[Tensor, "batch head d_head"]:
    """What each head would read if it attended to these keys alone."""
    name = f"blocks.{layer}.attn.hook_v"
    v = torch.cat([forward(model, piece, [name])[name] for piece in pieces(batch)])
    return v[torch.arange(len(v)), keys]


def with_head_reading(
    model: HookedModel, batch: Batch, layer: int, head: int, values: Float[Tensor, "batch d_head"]
) -> Float[Tensor, "batch pos out"]:
    """Outputs when the last query of one head reads these values."""
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
    """The heads of some blocks that carry the answer, each with the own key in place of what it reads.

    Empty where the task names no key, the attention is not by softmax, or no head carries.
    """
    keys_inside, keys = task.answer_index(inside), task.answer_index(batch)
    if keys_inside is None or keys is None or model.cfg.attention != "softmax":
        return []
    classes = last_classes(inside)
    donors = other_class(classes, rng)
    if donors is None:
        return []
    found = []
    wrong = torch.as_tensor(at.right < 0.5)
    for layer in layers:
        theirs = key_values(model, layer, inside, keys_inside)[torch.as_tensor(donors)]
        own = key_values(model, layer, batch, keys)
        for head in range(model.cfg.n_heads):
            turned = with_head_reading(model, inside, layer, head, theirs[:, head])[:, -1].argmax(-1)
            carried = float((turned.numpy(force=True) == classes[donors]).mean())
            if carried < CARRIES:
                continue
            right = clearly_right(task, with_head_reading(model, batch, layer, head, own[:, head]), batch)
            gaps, weight = key_scores(model, batch, keys, layer, head)
            _, weight_inside = key_scores(model, inside, keys_inside, layer, head)
            beside = [_untrained_distance(one, task, batch, keys, layer, head) for one in fresh]
            weights = float(weight_inside.mean()), float(weight.mean())
            gap = float(gaps[wrong].median())
            found.append(HeadReading(layer, head, carried, right, gap, *weights, max(beside, default=0.0)))
    return found


def other_class(classes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64] | None:
    """For each string another one whose class is another; None where there is only one class."""
    if len(np.unique(classes)) < 2:
        return None
    return np.array([rng.choice(np.flatnonzero(classes != c)) for c in classes], dtype=np.int64)


def key_scores(
    model: HookedModel, batch: Batch, keys: Tensor, layer: int, head: int
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Score of each string's key less the best other score, and the weight on it, of the last query of a head."""
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
    """The first block that has the answer at N and whose code loses at n what the model loses; None where none does.

    What is lost is held against the loss of the model, not against the surplus over chance: a block that loses .24 of
    .5 is where a model goes wrong that loses .25.
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
    """The site, from readings: the first of these that holds, for where it first goes wrong is asked.

    1. *selection*: another key is on top where a head reads the answer, and the own key restores.
    2. *dispersion*: the own key is on top with less than half of its weight at N and restores, and of the interventions
       sharpening restores and nothing that holds ids or the number of keys: an offset that grows with the keys is
       outweighed by sharper heads as well, but goes with the number held.
    3. *read-out*: no block loses what the model loses.
    4. *code*: a probe that is fitted anew reads the answer at the first bad block, and it is the model that put it
       there: untrained weights do not show it, or the row with its moments of N is answered right.
    5. *selection* again: the own key is on top still, and its weight has fallen by more than twice the nats by which
       more keys alone would thin it, so that scores have moved; *dispersion* where they have not.
    6. *code* too where a probe of ranks reads the answer at the first bad block and the model put it there: a state
       that leaks keeps its sign.
    7. *lost* before the first bad block.

    Args:
        blocks: of every block.
        heads: of the heads that carry the answer.
        shares: what each of them restores with the own key.
        blind: what label-free interventions show.
        a_reference: accuracy at N.
        a_at: accuracy at n.
        guess: that of a guess.
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
