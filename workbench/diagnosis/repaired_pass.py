"""A forward pass under blind repairs, any number of them at once.

Edits take hold in the order ids, scores, head outputs, rows, block by block. Those that use statistics of the run have
them taken under the repairs before them, on strings of their own (:meth:`RepairedPass.fit`): statistics of the clean
pass would spoil a row that another repair has already mended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.interventions.ablate_components import answers
from circuits.interventions.replaced_attention import head_output_edits
from circuits.passes import Clean, Edit, edited_pass, evaluation_ids, pieces
from workbench.diagnosis.shares import Judged, balanced_weights
from workbench.measure.edits.repairs import Repair, log_growth, repaired_ids
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.models.transformer.kernels import blocks
from workbench.models.transformer.scores import ScoreInputs
from workbench.tasks.base import Batch, Task

SMALLEST_GAP = 0.5
"""Smallest gap in the scores of a query above which its keys count as a set apart; below it all keys are the set."""
TIE = 1e-5
"""Answers tie whose logits differ by less than this, or this share of the largest."""
SINK_LOG = math.log(4.0)
"""By how much ``hold_sink`` raises its key in the trial at N, where it would do nothing."""

Moments = tuple[Float[Tensor, " d_model"], Float[Tensor, " d_model"]]
"""Mean and standard deviation of a row, each dimension by itself."""


@dataclass
class Statistics:
    """What the last query of strings of one length shows, by layer.

    Attributes:
        rms: root mean square of each head's output.
        mass: mean weight of each head on its gap set.
        moments: of the row after each block, every class of answers with the same weight.
    """

    rms: dict[int, Float[Tensor, " head"]] = field(default_factory=dict)
    mass: dict[int, Float[Tensor, " head"]] = field(default_factory=dict)
    moments: dict[int, Moments] = field(default_factory=dict)


@dataclass(frozen=True)
class Inside:
    """What training was like, as far as repairs need it.

    Attributes:
        last: the last position id at N.
        keys: K_N, the number of keys that the last query at N sees.
        top: the largest id seen in training.
        sinks: by layer, the key that each head's ``hold_sink`` raises; -1 = none.
        statistics: of clean passes at N.
    """

    last: int
    keys: int
    top: int
    sinks: Mapping[int, Tensor]
    statistics: Statistics


class RepairedPass:
    """Runs a model under repairs.

    Args:
        model: any model with TransformerLens's hook names.
        inside: what training was like.
        repairs: which; at most one of family P. None at all is the clean pass.
        trial: a trial at N: repairs of ids aim at half of it, and ``hold_sink`` raises its key as at 4 N.

    Raises:
        ValueError: for two repairs of ids.
    """

    def __init__(self, model: HookedModel, inside: Inside, repairs: Sequence[Repair] = (), trial: bool = False) -> None:
        self.model, self.inside, self.repairs, self.trial = model, inside, tuple(repairs), trial
        of_ids = [repair for repair in repairs if repair.family == "P"]
        if len(of_ids) > 1:
            raise ValueError(f"{of_ids[0].name} and {of_ids[1].name} both change ids: one pass takes one of them")
        self._ids = of_ids[0] if of_ids else None
        self._by_kind = {repair.kind: repair for repair in repairs}
        self._pools = {repair.layer: repair for repair in repairs if repair.kind == "pool_rows"}
        self.outside = Statistics()
        """Statistics at n, under these repairs; empty before :meth:`fit`."""

    @property
    def fitted(self) -> bool:
        """Whether its repairs use statistics at n."""
        return bool(self._pools) or "hold_scale" in self._by_kind

    @property
    def last(self) -> int:
        """The last id that counts as inside training."""
        return self.inside.last // 2 if self.trial else self.inside.last

    def ids(self, batch: Batch) -> Tensor:
        """The position ids of a batch under the repair of ids."""
        ids = evaluation_ids(self.model, batch)
        if self._ids is None:
            return ids
        encoding = self.model.cfg.positions
        top = min(self.inside.top, self.last) if self.trial else self.inside.top
        return repaired_ids(self._ids, ids, self.last, encoding.between, encoding.absolute, top)

    def fit(self, batch: Batch) -> Statistics:
        """Take the statistics that its repairs need from strings of length n, each under the repairs before it."""
        self.outside = Statistics()
        weights = torch.as_tensor(balanced_weights(last_classes(batch)))
        self._run(batch, weights)
        return self.outside

    def judge(self, task: Task, batch: Batch) -> Judged:
        """Which strings are answered right."""
        right = [clearly_right(task, self._run(piece, None), piece) for piece in pieces(batch)]
        return Judged(np.concatenate(right), last_classes(batch))

    def outputs(self, batch: Batch) -> Float[Tensor, "batch pos out"]:
        """What the model gives out."""
        return torch.cat([self._run(piece, None) for piece in pieces(batch)])

    # ---- one pass -----------------------------------------------------------------------------
    def _run(self, batch: Batch, weights: Tensor | None) -> Float[Tensor, "batch pos out"]:
        """One pass; with the weights of strings it takes statistics on its way, without it uses those taken."""
        ids = self.ids(batch)
        edits: dict[str, Edit] = {}
        for layer in range(self.model.cfg.n_layers):
            if any(repair.family in ("D", "K") or repair.kind == "clip_lags" for repair in self.repairs):
                edits |= self._head_edits(layer, ids, weights)
            if "slow_steps" in self._by_kind:
                edits[f"blocks.{layer}.mixer.hook_ssm_gates"] = self._slowed
            if layer in self._pools:
                edits[f"blocks.{layer}.hook_resid_post"] = self._pool_edit(layer, weights)
        outputs, _ = edited_pass(self.model, Clean(batch.tokens, ids, (), {}, ids), edits)
        return outputs

    def _head_edits(self, layer: int, ids: Tensor, weights: Tensor | None) -> dict[str, Edit]:
        at = f"blocks.{layer}.attn.hook_"
        kinds = self._by_kind

        def make(own: Tensor, inputs: ScoreInputs, held: Mapping[str, Tensor]) -> Tensor:
            made, v = own.clone(), held[f"{at}v"]
            raw = (held.get(f"{at}q", inputs.q), held.get(f"{at}k", inputs.k))
            if kinds.keys() & {"clip_lags", "scale_by_log", "sharpen", "hold_sink"}:
                for queries in blocks(inputs):
                    pattern = self._scores(layer, inputs, raw, ids, queries).softmax(-1)
                    rows = torch.einsum("bhqk,bkhe->bqhe", pattern, v[:, : queries.stop])
                    made[:, queries.start : queries.stop] = rows
            if kinds.keys() & {"gap_set", "hold_mass", "hold_scale"}:
                made[:, -1] = self._last_row(layer, made[:, -1], inputs, raw, ids, v, weights)
            return made

        reads = [f"{at}q", f"{at}k"] if "clip_lags" in kinds else []
        return head_output_edits(self.model, layer, ids, make, reads)

    def _scores(
        self, layer: int, inputs: ScoreInputs, raw: tuple[Tensor, Tensor], ids: Tensor, queries: range
    ) -> Float[Tensor, "batch head query key"]:
        """Scores of some queries over the keys up to the last of them, under the repairs of scores."""
        scores = inputs.scores(queries, queries.stop)
        if "clip_lags" in self._by_kind:
            scores = self._clipped_lags(scores, inputs, raw, ids, queries)
        if repair := self._by_kind.get("hold_sink"):
            scores = scores + self._raised(repair, layer, scores, queries)
        if repair := self._by_kind.get("scale_by_log"):
            factor = log_growth(self._seen(scores, queries), self.inside.keys)
            scores = scores * (1.0 / factor if repair.wrong else factor)[:, None]
        if repair := self._by_kind.get("sharpen"):
            scores = scores * (1.0 / repair.factor if repair.wrong else repair.factor)
        return scores

    def _growth(self, like: Tensor, queries: range) -> Float[Tensor, " query"]:
        """max(1, K_q / K_N) of each query, K_q the keys that it sees."""
        return (self._seen(like, queries) / self.inside.keys).clamp(min=1.0)

    def _seen(self, like: Tensor, queries: range) -> Float[Tensor, " query"]:
        """The keys that each query sees."""
        return torch.tensor([float(q + 1) for q in queries], dtype=like.dtype, device=like.device)

    def _raised(self, repair: Repair, layer: int, scores: Tensor, queries: range) -> Tensor:
        """What is added to the score of the sink of each head."""
        by = self._growth(scores, queries).log()
        if self.trial:
            by = torch.full_like(by, SINK_LOG)
        keys = torch.arange(scores.shape[-1], device=scores.device)
        sink = (keys == self.inside.sinks[layer].to(keys)[:, None])[:, None].to(scores.dtype)
        return sink * (-by if repair.wrong else by)[:, None]

    def _clipped_lags(
        self, scores: Tensor, inputs: ScoreInputs, raw: tuple[Tensor, Tensor], ids: Tensor, queries: range
    ) -> Tensor:
        """Scores in which lags from N on read as N - 1; with the wrong constant, as the longest of all."""
        encoding, keys = self.model.cfg.positions, queries.stop
        rows = slice(queries.start, queries.stop)
        lags = ids[:, rows, None] - ids[:, None, :keys]
        beyond = (lags >= self.last)[:, None]
        lag = int(ids.max() - ids.min()) if self._by_kind["clip_lags"].wrong else self.last - 1
        factor = 1.0 if inputs.factor is None else inputs.factor[:, rows].transpose(1, 2)[..., None]
        if encoding.turns:
            q, k = raw
            turn = encoding.turn(torch.tensor([[lag]]), q.shape[-1], q.dtype)
            assert turn is not None
            far = torch.einsum("bqhe,bkhe->bhqk", encoding.turned(q[:, rows], turn), k[:, :keys])
            far = far / math.sqrt(q.shape[-1])
            if encoding.biased:
                own = inputs.bias(queries, keys)
                assert own is not None
                far = far + own
            scores = torch.where(beyond & (scores > -math.inf), far * factor, scores)
        if encoding.biased:
            assert inputs.bias_weights is not None
            bias_weights = inputs.bias_weights
            bias_weights = bias_weights if bias_weights.shape[1] == 1 else bias_weights[:, rows]
            changed = torch.where(lags >= self.last, torch.full_like(lags, lag), lags)
            change = encoding.bias_at(bias_weights, changed) - encoding.bias_at(bias_weights, lags)
            scores = scores + change * factor
        return scores

    def _last_row(
        self,
        layer: int,
        own: Float[Tensor, "batch head d_head"],
        inputs: ScoreInputs,
        raw: tuple[Tensor, Tensor],
        ids: Tensor,
        v: Float[Tensor, "batch pos head d_head"],
        weights: Tensor | None,
    ) -> Float[Tensor, "batch head d_head"]:
        """The last query's head outputs under the repairs of them."""
        z = own
        if self._by_kind.keys() & {"gap_set", "hold_mass"}:
            last = v.shape[1] - 1
            scores = self._scores(layer, inputs, raw, ids, range(last, last + 1))[:, :, 0]
            if repair := self._by_kind.get("gap_set"):
                z = _mean_of(gap_set(scores, below=repair.wrong), v)
            if repair := self._by_kind.get("hold_mass"):
                mass = self.inside.statistics.mass[layer]
                z = _held_mass(scores, v, 1 - mass if repair.wrong else mass)
        if repair := self._by_kind.get("hold_scale"):
            if weights is not None:
                self.outside.rms[layer] = root_mean_square(z)
            inside, outside = self.inside.statistics.rms[layer], self.outside.rms[layer]
            ratio = torch.where(outside > 0, inside / outside.clamp(min=torch.finfo(z.dtype).tiny), 1.0)
            z = z * (1.0 / ratio.clamp(min=torch.finfo(z.dtype).tiny) if repair.wrong else ratio)[:, None]
        return z

    def _slowed(self, gates: Float[Tensor, "batch pos d_inner d_state"]) -> Tensor:
        """Gates of which as many as a string has forget what they forget in N steps, signs kept."""
        power = min(1.0, self.inside.keys / (2 if self.trial else 1) / gates.shape[1])
        if self._by_kind["slow_steps"].wrong:
            power = 1 / power
        return gates.sign() * gates.abs() ** power

    def _pool_edit(self, layer: int, weights: Tensor | None) -> Edit:
        repair = self._pools[layer]

        def edit(x: Tensor) -> Tensor:
            if weights is not None:
                self.outside.moments[layer] = moments(x[:, -1], weights)
            made = x.clone()
            made[:, -1] = _moved(x[:, -1], self.outside.moments[layer], self.inside.statistics.moments[layer], repair)
            return made

        return edit


def _moved(row: Tensor, outside: Moments, inside: Moments, repair: Repair) -> Tensor:
    """Rows brought from their moments at n to those at N; with the wrong constant as far the other way."""
    (mean, sd), (mean_inside, sd_inside) = outside, inside
    # A dimension that does not vary at n has no scale that could be brought to N's.
    ratio = torch.where((sd > 0) & (sd_inside > 0), sd_inside / sd.clamp(min=torch.finfo(row.dtype).tiny), 1.0)
    if repair.wrong:
        return (row - mean) / ratio + mean - (mean_inside - mean)
    return (row - mean) * ratio + mean_inside


def gap_set(scores: Float[Tensor, "batch head key"], below: bool = False) -> Bool[Tensor, "batch head key"]:
    """The keys above the largest gap among the better half of a query's sorted scores; all, where that gap is small.

    Not the tie set of the nearest hardmax, which turns into all keys just when attention disperses.

    Args:
        scores: of a query over all keys that it sees.
        below: look for the gap in the worse half.
    """
    ranked = scores.sort(-1, descending=True).values
    gaps = ranked[..., :-1] - ranked[..., 1:]
    half = max(1, scores.shape[-1] // 2)
    if gaps.shape[-1] == 0:
        return torch.ones_like(scores, dtype=torch.bool)
    part = gaps[..., half:] if below and gaps.shape[-1] > half else gaps[..., :half]
    offset = half if below and gaps.shape[-1] > half else 0
    size, place = part.max(-1)
    edge = ranked.gather(-1, (place + offset)[..., None])
    return (scores >= edge) | (size < SMALLEST_GAP)[..., None]


def gap_mass(scores: Float[Tensor, "batch head key"]) -> Float[Tensor, "batch head"]:
    """Weight of a query on its gap set."""
    return (scores.softmax(-1) * gap_set(scores)).sum(-1)


def _mean_of(chosen: Bool[Tensor, "batch head key"], v: Tensor) -> Float[Tensor, "batch head d_head"]:
    """Mean value of the chosen keys."""
    weights = chosen.to(v.dtype)
    return torch.einsum("bhk,bkhe->bhe", weights / weights.sum(-1, keepdim=True), v)


def _held_mass(scores: Tensor, v: Tensor, wanted: Float[Tensor, " head"]) -> Float[Tensor, "batch head d_head"]:
    """Head outputs with the weight of the gap set brought to ``wanted``, both of its parts with their directions."""
    chosen = gap_set(scores)
    whole = chosen.all(-1, keepdim=True)
    # Each part by its own softmax: where one part has all the weight, the other's cannot be told from the whole.
    inside = scores.masked_fill(~chosen, -math.inf).softmax(-1)
    outside = scores.masked_fill(chosen & ~whole, -math.inf).softmax(-1)
    held = wanted[:, None] * inside + (1 - wanted)[:, None] * outside
    return torch.einsum("bhk,bkhe->bhe", torch.where(whole, scores.softmax(-1), held), v)


def root_mean_square(z: Float[Tensor, "batch head d_head"]) -> Float[Tensor, " head"]:
    """Of each head's output, over strings and dimensions."""
    return z.pow(2).mean((0, 2)).sqrt()


def moments(row: Float[Tensor, "batch d_model"], weights: Float[Tensor, " batch"]) -> Moments:
    """Weighted mean and standard deviation of each dimension."""
    w = weights.to(row.dtype)[:, None]
    mean = (w * row).sum(0)
    return mean, (w * (row - mean).pow(2)).sum(0).sqrt()


def last_classes(batch: Batch) -> NDArray[np.int64]:
    """``[string]`` the class of the last answer; 0 for all where answers are real or several tokens."""
    last = batch.targets[:, -1]
    if last.is_floating_point() or batch.prompt is not None:
        return np.zeros(len(batch), dtype=np.int64)
    return np.asarray(last.numpy(force=True), dtype=np.int64)


def clearly_right(task: Task, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> NDArray[np.float64]:
    """``[string]`` 0/1: the last answer is right, and no other comes up to it.

    A repair that makes a wrong answer tie with the right one has mended nothing, though one of two ties reads as right.
    """
    right = answers(task, outputs, batch).right
    if task.real or batch.prompt is not None:
        return right
    last = outputs[:, -1].double()
    best = last.topk(2, -1).values
    margin = (best[:, 0] - best[:, 1]) > TIE * (1 + last.abs().amax(-1))
    strictly: NDArray[np.float64] = right * margin.numpy(force=True)
    return strictly


def asking(batch: Batch) -> Batch:
    """The strings that ask something at their own length."""
    asked = batch.mask.any(1) if batch.prompt is not None else batch.mask[:, -1]
    return batch if bool(asked.all()) else batch.take(asked.nonzero()[:, 0])


def inside_of(model: HookedModel, batch: Batch, top: int | None = None) -> Inside:
    """What training was like, from strings of length N.

    Args:
        model: the model.
        batch: strings of length N, which serve for nothing else.
        top: the largest id seen in training; None = the largest at N.
    """
    ids = evaluation_ids(model, batch)
    last = int(ids.max())
    found, sinks = Statistics(), dict[int, Tensor]()
    layers = range(model.cfg.n_layers)
    rows = {layer: f"blocks.{layer}.hook_resid_post" for layer in layers}
    heads = {layer: f"blocks.{layer}.attn.hook_z" for layer in layers if model.cfg.attention != "none"}
    scored = model.cfg.attention == "softmax"
    names = [*rows.values(), *heads.values()]
    if scored:
        names += [name for layer in layers for name in model.cfg.score_hooks(layer)]
    seen = forward(model, batch, list(dict.fromkeys(names)))
    weights = torch.as_tensor(balanced_weights(last_classes(batch)))
    query = batch.tokens.shape[1] - 1
    for layer in layers:
        found.moments[layer] = moments(seen[rows[layer]][:, -1], weights)
        if layer in heads:
            found.rms[layer] = root_mean_square(seen[heads[layer]][:, -1])
        if scored:
            scores = model.cfg.score_inputs(layer, seen).scores([query])[:, :, 0]
            found.mass[layer] = gap_mass(scores).mean(0)
            best = scores.argmax(-1)
            common = torch.where((best == best[:1]).all(0), best[0], -1)
            sinks[layer] = torch.zeros_like(common) if batch.bos else common
    return Inside(last, query + 1, last if top is None else max(top, last), sinks, found)
