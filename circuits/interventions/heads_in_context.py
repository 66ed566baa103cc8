"""``circuits.in_context``: do the heads that read an answer in a prompt decide whether a model gives it?

At only the shortest length, the heads with the most attention on the keys of the answer are selected, and each is
ablated separately. Heads without which the answer is less likely are the *readers*. The others are called
*suppressors*, by only the sign of the effect. Whether one suppresses what it reads (McDougall et al. 2023, 2310.04625,
"Copy Suppression") is shown by its own row, with its interval.

At every length the readers are changed together. The control changes as many other heads of the same layers, drawn at
random. One change forces the readers' attention onto the keys of the answer. It tests whether losing these keys is the
failure. Other changes sharpen their attention. They test whether sharpening would fix it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.score_observer import EveryLayer, LayerReducer
from circuits.attention.target_keys import ANSWER_META, named_positions
from circuits.interventions.ablate_components import Head
from circuits.interventions.replaced_attention import head_output_edits, replaced_head_output, tie_set
from circuits.passes import Edit, edits_in_place, evaluation_ids, pieces
from workbench.core.names import ALL_HEADS, MATCHED, OTHER_HEADS, READERS
from workbench.measure.in_context.measurement import AnswerShares, Shares
from workbench.measure.intervals import Bounds
from workbench.measure.measurement import MeasurementWithoutBatches, Observer, Quantity
from workbench.measure.rows import mean_row, missing_row
from workbench.measure.settings import Count, Positive
from workbench.measure.study import CHUNK_TOKENS, Shown, show_pass
from workbench.table.schema import Row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

NAME = "circuits.in_context"
LAW = MATCHED
SUPPRESSORS = "suppressors"
OTHERS, ALL, ALONE = OTHER_HEADS, ALL_HEADS, "one head alone"
CHANGES = ("ablated", "held", "hardmax", "logn", "sharper")
CHANGES_OF = {READERS: CHANGES, SUPPRESSORS: ("ablated",), OTHERS: CHANGES, ALL: ("logn", "sharper")}
"""Group of heads -> the changes made to it."""
NONE_OF = {
    READERS: "of the heads that attend to the answer most there is none without which it is less likely",
    SUPPRESSORS: "of the heads that attend to the answer most there is none without which it is as likely or likelier",
    OTHERS: "there are no other heads in the layers of the readers",
}
"""Group of heads -> note if it is empty."""

QUANTITIES = (
    Quantity(
        "reading_mass",
        "Attention mass of a head on the tokens of the question that contain the answer: mean over the answer "
        "tokens of a sequence, then over sequences. Near 1, the head reads the answer directly.",
        "share", 0, 1,
        formula="⟨(1/m) Σ_{t} M_{t}⟩",
        where="M = Σ_{j ∈ T} p_{j}, T: keys that contain the answer, t: an answer token, m: how many",
    ),
    Quantity(
        "changed_accuracy",
        "Share of the answers that are correct when the attention of some heads is changed. The model chooses from "
        "its whole vocabulary. The target names the heads, and the mode names the change.",
        "share", 0, 1,
        formula="a′(n)", where="a′: answer_accuracy under the change",
    ),
    Quantity(
        "changed_gain",
        "`changed_accuracy` minus the accuracy of the unchanged model. Positive values mean that the change helps.",
        "share", -1, 1,
        formula="a′(n) − a(n)", where="a: answer_accuracy, a′: under the change",
    ),
    Quantity(
        "changed_log_probability_gain",
        "Log-probability of the correct answer with the change of `changed_accuracy`, minus its log-probability in "
        "the unchanged model. Positive values mean that the change helps.",
        "nats",
        formula="l′(n) − l(n)", where="l: answer_log_probability, l′: under the change",
    ),
)  # fmt: skip


class HeadsInContext(MeasurementWithoutBatches):
    """Find the heads that read an answer in a prompt, change their attention, and measure the answers.

    Five changes exist. ``ablated`` replaces a head's output by its mean over sequences; for suppressors, the answer may
    become more likely. ``held`` forces all weight onto the keys that contain the answer, evenly, at positions of
    answers. ``hardmax`` gives equal weight to the keys of the nearest hardmax. ``logn`` multiplies scores by max(1, log
    K / log K_0), where K_0 is the number of keys of the shortest prompt. ``sharper`` multiplies scores by a constant.

    Args:
        heads: number of selected heads, readers and suppressors; at most half of all heads.
        sharpness: the factor of ``sharper``.
        resamples: bootstrap resamples.
    """

    name = NAME
    title = "Heads in context"
    quantities = QUANTITIES
    sequences = 32
    needs = "attention"
    presented = "only"
    on_request = True

    heads: Count = 6
    sharpness: Positive = 2.0
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        cfg, lengths = study.cfg, study.grid.lengths
        if cfg.attention != "softmax" or cfg.n_layers * cfg.n_heads < 2:
            why = "readers are sought among several heads of attention by softmax, which this model has not"
            return [missing_row("not_applicable", why, quantity=q.name, law=LAW) for q in QUANTITIES]
        rows: list[Row] = []
        chosen: dict[str, list[Head]] = {}
        for n in lengths:
            batch = study.batch(LAW, n)
            clean, masses = as_it_is(study, batch)
            if not chosen:
                most = most_reading(masses, min(self.heads, cfg.n_layers * cfg.n_heads // 2))
                alone = {head: scores_with_edits(study, batch, [head], mean_ablation_edits) for head in most}
                for (layer, head), shares in alone.items():
                    place = {"law": LAW, "length": n, "mode": "ablated", "target": ALONE, "layer": layer, "head": head}
                    rows += self._gains(study, clean, shares, place)
                chosen = by_sign(clean, alone)
                chosen[OTHERS] = others_of(chosen[READERS], cfg.n_heads, study.rng(NAME, "others"), most)
                keys = float(batch.tokens.shape[1])
            rows += self._masses(study, n, masses, chosen)
            for target, heads in {**chosen, ALL: [*np.ndindex(cfg.n_layers, cfg.n_heads)]}.items():
                for change in CHANGES_OF[target]:
                    place = {"law": LAW, "length": n, "mode": change, "target": target}
                    if not heads:
                        why = NONE_OF[target]
                        names = [q.name for q in QUANTITIES[1:]]
                        rows += [missing_row("not_applicable", why, quantity=name, **place) for name in names]
                        continue
                    shares = scores_with_edits(study, batch, heads, self._edits(change, keys))
                    rows += self._gains(study, clean, shares, place)
        return rows

    def _edits(self, change: str, keys: float) -> EditsOf:
        if change == "logn":
            return partial(score_scaling_edits, factor=lambda seen: (seen.log() / np.log(keys)).clamp(min=1.0))
        if change == "sharper":
            return partial(score_scaling_edits, factor=lambda seen: torch.full_like(seen, self.sharpness))
        return {"ablated": mean_ablation_edits, "held": force_onto_answer, "hardmax": hard}[change]

    def _masses(self, study: Study, length: int, masses: Masses, chosen: Mapping[str, Sequence[Head]]) -> list[Row]:
        rng = study.rng(NAME, length, "masses")
        why = "no earlier token of the question is the answer"
        return [
            mean_row(
                masses[:, layer, head], rng, self.resamples, why, (0.0, 1.0),
                quantity="reading_mass", law=LAW, length=length, layer=layer, head=head, target=target,
            )
            for target, heads in chosen.items() for layer, head in heads
        ]  # fmt: skip

    def _gains(self, study: Study, clean: Shares, shares: Shares, place: Mapping[str, Any]) -> list[Row]:
        rng = study.rng(NAME, *place.values())
        accuracy, likely = (shares[name] - clean[name] for name in ("answer_accuracy", "answer_log_probability"))

        def mean(values: NDArray[np.float64], quantity: str, bounds: Bounds | None = None) -> Row:
            return mean_row(values, rng, self.resamples, "nothing is asked", bounds, quantity=quantity, **place)

        return [
            mean(shares["answer_accuracy"], "changed_accuracy", (0.0, 1.0)),
            mean(accuracy, "changed_gain", (-1.0, 1.0)),
            mean(likely, "changed_log_probability_gain"),
        ]


Masses = Float[np.ndarray, "sequence layer head"]  # jaxtyping knows no NDArray of numpy 2.5
EditsOf = Callable[["HookedModel", "Batch", Sequence[Head], "Means"], Mapping[str, Edit]]
"""Maps a model, sequences, heads and means to edits by hook name; each edit receives all sequences at once."""
Means = Mapping[int, Tensor]
"""By layer, head outputs ``[1, pos, head, d_head]``, means over sequences."""


def as_it_is(study: Study, batch: Batch) -> tuple[Shares, Masses]:
    """Return the model's scores per sequence, and the mass of each head on the keys that contain the answer."""
    layer_masses: list[NDArray[np.float64]] = []
    layers = range(study.cfg.n_layers)
    masses = EveryLayer(study.cfg, batch, [_ReadingMass() for _ in layers], layer_masses.extend)
    shares = AnswerShares(study, batch)
    study.passes += show_pass(study.model, batch, [Shown(shares), Shown(masses)])
    return shares.shares(), np.stack(layer_masses, 1)


def most_reading(masses: Masses, count: int) -> list[Head]:
    """Return the heads with most mass, averaged over sequences, in descending order."""
    mean = np.nan_to_num(np.nanmean(masses, 0))
    order = np.argsort(-mean, axis=None, kind="stable")[:count]
    return [(int(i) // mean.shape[1], int(i) % mean.shape[1]) for i in order]


def by_sign(clean: Shares, alone: Mapping[Head, Shares]) -> dict[str, list[Head]]:
    """Return heads without which the answer is less likely, and the others, from the scores without each head."""
    likely = "answer_log_probability"
    lost = {head: float((clean[likely] - found[likely]).mean()) for head, found in alone.items()}
    return {
        READERS: [head for head, cost in lost.items() if cost > 0],
        SUPPRESSORS: [head for head, cost in lost.items() if cost <= 0],
    }


def others_of(
    readers: Sequence[Head], heads: int, rng: np.random.Generator, without: Sequence[Head] = ()
) -> list[Head]:
    """Return the same number of other heads of the same layers, at random and without those in ``without``; fewer if
    there are not enough.
    """
    other_heads: list[Head] = []
    for layer in sorted({layer for layer, _ in readers}):
        own = {head for at, head in readers if at == layer}
        free = [head for head in range(heads) if head not in own and (layer, head) not in without]
        drawn = rng.permutation(free)[: len(own)]
        other_heads += [(layer, int(head)) for head in drawn]
    return other_heads


def answer_keys(batch: Batch, queries: Int[Tensor, " query"]) -> Bool[Tensor, "batch query key"]:
    """Return the keys that contain each answer: those that the task names, or the items with the answer's token."""
    named = named_positions(batch, queries, ANSWER_META)
    if named is not None:
        return named
    keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
    items = torch.zeros_like(keys, dtype=torch.bool)
    items[list(batch.item_places)] = True  # type: ignore[attr-defined]  # the batch of a presented task
    same = batch.tokens[:, None] == batch.targets[:, queries, None]
    return same & items & batch.mask[:, queries, None] & (keys < queries[:, None])


class _ReadingMass(LayerReducer[NDArray[np.float64]]):
    """Computes ``[sequence, head]``, mass on the keys that contain the answer, averaged over answers; NaN without such
    keys.
    """

    def __init__(self) -> None:
        self._parts: list[Tensor] = []

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        queries = part.mask.any(0).nonzero()[:, 0]
        targets = answer_keys(part, queries)
        for row in range(len(part)):  # one sequence at a time, because it may have many queries
            one = inputs.select(slice(row, row + 1))
            pattern = one.pattern(scores_at(one, queries.tolist()).double())[0]
            has = targets[row].any(-1)
            mass = (pattern * targets[row].to(pattern.device)).sum(-1)[:, has]
            self._parts.append(mass.mean(-1))

    def result(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = torch.stack(self._parts).numpy(force=True)
        return found


def scores_with_edits(study: Study, batch: Batch, heads: Sequence[Head], edits_of: EditsOf) -> Shares:
    """Return the model's scores per sequence while some of its heads are changed.

    Raises:
        DeadHookError: if the model lacks an edited hook, or an edit was never called.
    """
    means = _means(study, batch, heads) if edits_of is mean_ablation_edits else {}
    parts: list[Shares] = []
    for piece in pieces(batch, CHUNK_TOKENS):
        edits = edits_of(study.model, piece, heads, means)
        shares = AnswerShares(study, piece)
        with edits_in_place(study.model, edits):
            study.passes += show_pass(study.model, piece, [Shown(shares)], len(piece))
        parts.append(shares.shares())
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def _by_layer(heads: Sequence[Head]) -> Iterator[tuple[int, list[int]]]:
    for at in sorted({layer for layer, _ in heads}):
        yield at, [head for layer, head in heads if layer == at]


def _means(study: Study, batch: Batch, heads: Sequence[Head]) -> Means:
    """Return head outputs of the layers of some heads, averaged over all sequences."""
    names = {layer: f"blocks.{layer}.attn.hook_z" for layer, _ in _by_layer(heads)}
    observer = _Sums(batch, names)
    study.passes += show_pass(study.model, batch, [Shown(observer)])
    return {layer: total / len(batch) for layer, total in observer.totals.items()}


class _Sums(Observer):
    """Sums named activations over sequences, by key."""

    def __init__(self, batch: Batch, names: Mapping[int, str]) -> None:
        self.batch, self.groups, self.totals = batch, {key: (name,) for key, name in names.items()}, dict[int, Tensor]()

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (value,) = seen.values()
        total = value.double().sum(0, keepdim=True)
        self.totals[key] = self.totals[key] + total if key in self.totals else total


def mean_ablation_edits(model: HookedModel, batch: Batch, heads: Sequence[Head], means: Means) -> Mapping[str, Edit]:
    """Return edits that replace the outputs of heads by their means over sequences."""

    def edit(value: Tensor, layer: int, own: list[int]) -> Tensor:
        made = value.clone()
        made[:, :, own] = means[layer][:, :, own].to(value.dtype)
        return made

    return {f"blocks.{n}.attn.hook_z": partial(edit, layer=n, own=own) for n, own in _by_layer(heads)}


def force_onto_answer(model: HookedModel, batch: Batch, heads: Sequence[Head], means: Means) -> Mapping[str, Edit]:
    """Return edits that force all weight onto the keys with the answer, evenly; other positions are unchanged."""
    queries = batch.mask.any(0).nonzero()[:, 0]
    targets = answer_keys(batch, queries).float()
    weights = targets / targets.sum(-1, keepdim=True).clamp(min=1.0)
    has = targets.any(-1)[..., None]
    cached: dict[str, Tensor] = {}

    def keep(value: Tensor, name: str) -> Tensor:
        cached[name] = value
        return value

    def edit(value: Tensor, name: str, layer_heads: list[int]) -> Tensor:
        edited, v = value.clone(), cached[name].float()
        shared = value.shape[2] // v.shape[2]  # queries of several heads may read the same values
        for head in layer_heads:
            read = torch.einsum("bqk,bke->bqe", weights.to(v.device), v[:, :, head // shared]).to(value.dtype)
            edited[:, queries, head] = torch.where(has.to(v.device), read, value[:, queries, head])
        return edited

    edits: dict[str, Edit] = {}
    for layer, layer_heads in _by_layer(heads):
        values = f"blocks.{layer}.attn.hook_v"
        edits[values] = partial(keep, name=values)
        edits[f"blocks.{layer}.attn.hook_z"] = partial(edit, name=values, layer_heads=layer_heads)
    return edits


def hard(model: HookedModel, batch: Batch, heads: Sequence[Head], means: Means) -> Mapping[str, Edit]:
    """Return edits that give equal weight to the keys of the nearest hardmax."""
    ids = evaluation_ids(model, batch)
    edits: dict[str, Edit] = {}
    for layer, layer_heads in _by_layer(heads):

        def z(
            value: Tensor,
            inputs: ScoreInputs,
            kept: Mapping[str, Tensor],
            at: int = layer,
            layer_heads: Any = layer_heads,
        ) -> Tensor:
            edited, v = value.clone(), kept[f"blocks.{at}.attn.hook_v"]
            for head in layer_heads:
                edited[:, :, head] = replaced_head_output(inputs, v, head, tie_set)
            return edited

        edits |= head_output_edits(model, layer, ids, z)
    return edits


def score_scaling_edits(
    model: HookedModel, batch: Batch, heads: Sequence[Head], means: Means, factor: Callable[[Tensor], Tensor]
) -> Mapping[str, Edit]:
    """Return edits that multiply scores by a factor that depends on the number of visible keys.

    The edit multiplies q. A soft cap is applied afterwards, and what an encoding adds to q . k is unchanged.
    """
    seen = torch.arange(1, batch.tokens.shape[1] + 1, dtype=torch.float32)
    times = factor(seen)[:, None, None]

    def edit(value: Tensor, own: list[int]) -> Tensor:
        made = value.clone()
        made[:, :, own] = (value[:, :, own].float() * times.to(value.device)).to(value.dtype)
        return made

    return {model.cfg.score_hooks(n)[0]: partial(edit, own=own) for n, own in _by_layer(heads)}
