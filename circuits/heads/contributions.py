"""``circuits.contributions``: what a head's preferred keys contribute to the answer, and what all other keys do.

A head that attends to the right keys fails only if the other keys outvote them. The log odds between the masses of the
two sets fall as prefixes grow. Whether that matters depends on the values. So each head's output is split into the part
from a set of keys and the part from the rest. Each part is read through the head's own W_O, the final LayerNorm with
its actual scale, and W_U. This is direct logit attribution (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"). Effects through later blocks are left out.

Within training the set is each query's tie set (the k* keys of the nearest hardmax). Past it, a head's attention may
disperse until its nearest hardmax is all keys, so the set is carried. It has as many of the highest keys as at the
longest trained length. If the set grew in proportion to length, it has the same share of all keys instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import layer_inputs, scores_at
from circuits.hardmax.critical_lengths import PROPORTIONAL, growth_exponent
from circuits.head_rows import head_rows
from workbench.core.names import MATCHED
from workbench.measure.measurement import MeasurementWithoutBatches, Observer, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import missing_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count
from workbench.models.transformer.tie_sets import in_tie_set
from workbench.table.schema import Row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch, Task

NAME = "circuits.contributions"
LAW = MATCHED

QUANTITIES = (
    Quantity(
        "answer_logit_set",
        "Direct logit attribution of what a head reads from its set of keys, at the query of length n. It is what "
        "this part of the output adds to the correct answer's logit, minus its mean contribution to the other logits. "
        "Up to N the set is the tie set; at longer lengths it is the set carried over from N. Positive values favour "
        "the correct answer (Elhage et al. 2021).",
        "nats",
        formula="⟨λ(Σ_{j ∈ S} p_{j} v_{j} W_{O})⟩",
        where="λ(z): logit of the correct answer minus the mean of the others, through the final LayerNorm at its "
        "own scale; v_{j}: value of key j, S: the set",
    ),
    Quantity(
        "answer_logit_rest",
        "As `answer_logit_set`, for all keys outside the set. Negative values mean that these keys favour other "
        "answers.",
        "nats",
        formula="⟨λ(Σ_{j ∉ S} p_{j} v_{j} W_{O})⟩",
        where="symbols as in answer_logit_set",
    ),
    Quantity(
        "set_log_odds",
        "Log odds of the set of keys: log of the attention mass on the set divided by the mass on all other keys. 0 "
        "means half of the mass on each side; the value falls as attention disperses. It is undefined if the set "
        "contains all keys.",
        "nats",
        formula="⟨log(Σ_{j ∈ S} p_{j} / Σ_{j ∉ S} p_{j})⟩",
        where="S: the set of keys",
    ),
)


class Contributions(MeasurementWithoutBatches):
    """Measure the direct contributions of each head's preferred keys, and of all other keys, to the right logit.

    Args:
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 2
    title = "What heads contribute to the answer"
    quantities = QUANTITIES
    laws = ()
    sequences = 128
    needs = "attention"

    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        if study.task.real:
            why = "the task's answers are numbers: there is no logit of the right one"
            return [missing_row("not_applicable", why, quantity=q.name, law=LAW) for q in QUANTITIES]
        sets = [CarriedSets(study.grid.trained) for _ in range(study.cfg.n_layers)]
        return [made for length in study.grid.lengths for made in self._rows(study, length, sets)]

    def _rows(self, study: Study, length: int, sets: Sequence[CarriedSets]) -> list[Row]:
        batch = study.batch(LAW, length)
        query_mask = batch.mask[:, -1].numpy(force=True)
        if not query_mask.any():
            why = "the task asks nothing at this length"
            return [missing_row("undefined", why, quantity=q.name, law=LAW, length=length) for q in QUANTITIES]
        observer = _SplitHeads(study.cfg, batch, length, sets)
        study.show(LAW, length, [observer])
        rows = []
        for layer in range(study.cfg.n_layers):
            values = {
                "answer_logit_set": observer.logits(study.model, layer, "inside"),
                "answer_logit_rest": observer.logits(study.model, layer, "outside"),
                "set_log_odds": observer.log_odds(layer),
            }
            notes = sets[layer].notes
            rng, everything = study.rng(NAME, length, layer), "the set is all keys in every sequence"
            place: dict[str, Any] = {"law": LAW, "length": length, "layer": layer}
            made = head_rows({q: x[query_mask] for q, x in values.items()}, rng, self.resamples, everything, **place)
            rows += [{**r, "note": "; ".join(filter(None, (notes[r["head"]], r["note"])))} for r in made]
        return rows


def contribution_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 128, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.contributions`` for one model, without a run; see :class:`Contributions`."""
    made = Contributions(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


class CarriedSets:
    """The set of keys of each head of one layer at each length, in ascending order, for use at longer lengths.

    Args:
        trained: N. Up to N, sets are the tie sets; past it, those of the longest such length are carried.

    Attributes:
        notes: for each head, a description of its sets at the last length if they are not the tie sets.
    """

    def __init__(self, trained: int) -> None:
        self.trained = trained
        self.notes: list[str] = []
        self._known: list[tuple[int, int, NDArray[np.float64]]] = []
        self._sizes: list[NDArray[np.float64]] = []

    def choose(self, length: int, scores: Float[Tensor, "sequence head key"]) -> Bool[Tensor, "sequence head key"]:
        """Return the sets of some sequences at one length. Call :meth:`learn` after all sequences of the length."""
        keys, heads = scores.shape[-1], scores.shape[1]
        tie_sets = in_tie_set(scores[:, :, None])[:, :, 0]
        if length <= self.trained:
            self._sizes.append(tie_sets.sum(-1).numpy(force=True).astype(np.float64))
        if length <= self.trained or not self._known:
            self.notes = [""] * heads
            return tie_sets
        rank = torch.argsort(torch.argsort(scores, dim=-1, descending=True, stable=True), dim=-1)
        carried = [self._carried(head, keys) for head in range(heads)]
        kept = torch.tensor([keys if count is None else count for count, _ in carried])
        self.notes = [note for _, note in carried]
        return rank < kept[:, None]

    def learn(self, length: int, keys: int) -> None:
        """Store the sets of a trained length for longer lengths; ``keys`` is the number of visible keys there."""
        if not self._sizes:
            return
        size = np.concatenate(self._sizes)
        self._sizes = []
        partial = size < keys
        size[~partial] = np.nan
        # A head whose set is all keys in most sequences has no set to carry.
        common = partial.mean(0) >= 0.5
        median = np.array([np.nanmedian(size[:, n]) if common[n] else np.nan for n in range(size.shape[1])])
        self._known.append((length, keys, median))

    def _carried(self, head: int, keys: int) -> tuple[int | None, str]:
        """Return how many of the highest keys are in the set (None = all), and the reason."""
        known_sets = [
            (length, keys_then, median[head]) for length, keys_then, median in self._known if not np.isnan(median[head])
        ]
        if not known_sets:
            return None, "set: all keys, as within training"
        length, keys_then, size = known_sets[-1]
        _, first_seen, first = self._known[0]
        if first_seen < keys_then:
            before = float(first_seen) if np.isnan(first[head]) else first[head]
            if growth_exponent(size, before, keys_then, first_seen) > PROPORTIONAL:
                return max(
                    1, round(size * keys / keys_then)
                ), f"set: top {size / keys_then:.3g} of all keys, as at {length}"
        return max(1, round(size)), f"set: top {round(size):g} keys, as at {length}"


class _SplitHeads(Observer):
    """Collects what each head reads from its set and from the rest, at the last query of every sequence."""

    def __init__(self, cfg: Architecture, batch: Batch, length: int, sets: Sequence[CarriedSets]) -> None:
        self.batch, self._cfg, self._length, self._sets = batch, cfg, length, sets
        self._stream = f"blocks.{cfg.n_layers - 1}.hook_resid_post"
        layers = {n: [*cfg.score_hooks(n), f"blocks.{n}.attn.hook_v"] for n in range(cfg.n_layers)}
        self.groups = {**layers, cfg.n_layers: [self._stream]}
        self._splits: dict[int, list[Split]] = {layer: [] for layer in layers}
        self._scale: list[Tensor] = []

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        if key == self._cfg.n_layers:
            # Not from hook_scale: observing it turns off the fused LayerNorm, which changes the last bits of outputs.
            last = seen[self._stream][:, -1].double()
            self._scale.append((last.var(-1, correction=0) + self._cfg.eps).sqrt())
            return
        inputs = layer_inputs(self._cfg, key, seen)
        scores = scores_at(inputs, [part.tokens.shape[1] - 1])
        chosen = self._sets[key].choose(self._length, scores[:, :, 0])
        self._splits[key].append(split(inputs, scores, chosen, seen[f"blocks.{key}.attn.hook_v"]))

    def close(self) -> None:
        for sets in self._sets:
            sets.learn(self._length, self.batch.tokens.shape[1])

    def logits(self, model: HookedModel, layer: int, part: Literal["inside", "outside"]) -> NDArray[np.float64]:
        """Return ``[sequence, head]``: what a part of a layer's heads adds to the right answer's logit."""
        z = torch.cat([getattr(one, part) for one in self._splits[layer]])
        whole = torch.cat([one.inside + one.outside for one in self._splits[layer]])
        return answer_logits(model, layer, z, torch.cat(self._scale), self.batch.targets[:, -1], whole)

    def log_odds(self, layer: int) -> NDArray[np.float64]:
        """Return ``[sequence, head]``, the log odds of the set."""
        return torch.cat([one.log_odds for one in self._splits[layer]]).numpy(force=True)


@dataclass(frozen=True)
class Split:
    """The attention output of one layer at the last query of each sequence, split into two sums over keys.

    Attributes:
        inside, outside: ``[sequence, head, d_head]`` from the set and from the rest.
        log_odds: ``[sequence, head]``, NaN where the set is all keys.
    """

    inside: Float[Tensor, "sequence head d_head"]
    outside: Float[Tensor, "sequence head d_head"]
    log_odds: Float[Tensor, "sequence head"]


def split(
    inputs: ScoreInputs,
    scores: Float[Tensor, "sequence head 1 key"],
    chosen: Bool[Tensor, "sequence head key"],
    values: Float[Tensor, "sequence key head d_head"],
) -> Split:
    """Split the output of the last query of each sequence into the parts from a set of keys and from all others.

    Args:
        inputs: score inputs of one layer, which define how scores become weights.
        scores: scores of the last query.
        chosen: the set.
        values: the layer's ``hook_v``.
    """
    weights = inputs.pattern(scores.double())[:, :, 0]
    # The rest is summed separately: 1 - mass would lose all digits where the set has nearly all mass.
    inside, outside = torch.where(chosen, weights, 0.0), torch.where(chosen, 0.0, weights)
    of_set, of_rest = (torch.einsum("bhk,bkhe->bhe", part, values.double()) for part in (inside, outside))
    tiny = torch.finfo(weights.dtype).tiny
    odds = inside.sum(-1).clamp(min=tiny).log() - outside.sum(-1).clamp(min=tiny).log()
    return Split(of_set, of_rest, torch.where(chosen.all(-1), torch.nan, odds))


def answer_logits(
    model: HookedModel,
    layer: int,
    z: Float[Tensor, "sequence head d_head"],
    scale: Float[Tensor, " sequence"],
    targets: Int[Tensor, " sequence"],
    whole: Float[Tensor, "sequence head d_head"] | None = None,
) -> NDArray[np.float64]:
    """Return ``[sequence, head]``: what heads add directly to the right answer's logit minus the mean of all others.

    Args:
        model: a model with TransformerLens's weights.
        layer, z: the layer, and head outputs before W_O.
        scale: the number by which the final LayerNorm divides.
        targets: the right answers.
        whole: all that each head outputs; ``z`` may be a part of it. A norm after attention divides all parts by one
            number, which follows from the whole output of its layer. None = ``z`` has no further part.
    """
    block: Any = model.blocks[layer]  # type: ignore[attr-defined]
    with torch.no_grad():
        weights = block.attn.W_O.double()
        written = torch.einsum("bhe,hed->bhd", z, weights)
        if (norm := getattr(block, "ln1_post", None)) is not None:
            output = torch.einsum("bhe,hed->bd", z if whole is None else whole, weights) + block.attn.b_O.double()
            deviation = (output.var(-1, correction=0) + norm.eps).sqrt()
            written = (written - written.mean(-1, keepdim=True)) / deviation[:, None, None] * norm.w.double()
    return direct_logits(model, written, scale, targets)


def direct_logits(
    model: HookedModel,
    written: Float[Tensor, "sequence part d_model"],
    scale: Float[Tensor, " sequence"],
    targets: Int[Tensor, " sequence"],
) -> NDArray[np.float64]:
    """Return ``[sequence, part]``: what parts of the residual stream add directly to the right answer's logit minus the
    mean of all others.

    Args:
        model: a model with TransformerLens's weights.
        written: what each part writes to the residual stream, in float64.
        scale: the number by which the final LayerNorm divides.
        targets: the right answers.
    """
    parts: Any = model
    with torch.no_grad():
        if model.cfg.normalization_type:
            written = written - written.mean(-1, keepdim=True)
            written = written / scale[:, None, None] * parts.ln_final.w.double()
        logits = written @ parts.unembed.W_U.double()
        own = torch.take_along_dim(logits, targets[:, None, None], -1)[..., 0]
        others = (logits.sum(-1) - own) / (logits.shape[-1] - 1)
        found: NDArray[np.float64] = (own - others).numpy(force=True)
    return found
