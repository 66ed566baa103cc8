"""A forward pass under any number of interventions.

The order of edits is ids, scores, head outputs, gates, rows, block by block. Some edits use statistics of sequences of
length n. These are taken under the edits before them, on separate sequences (:meth:`IntervenedPass.fit`). Statistics of
the clean pass would damage a row that another intervention has already corrected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.interventions.ablate_components import answers
from circuits.interventions.replaced_attention import head_output_edits
from circuits.passes import Clean, Edit, edited_pass, evaluation_ids, pieces
from workbench.diagnosis.recovered_share import Judged, balanced_weights
from workbench.measure.edits.interventions.content import moments
from workbench.measure.edits.interventions.intervention import (
    GateEdit,
    HeadOutputEdit,
    IdEdit,
    Inside,
    Intervention,
    LastQuery,
    RowEdit,
    ScoreEdit,
    ScoresContext,
    Statistics,
    TrainedIds,
)
from workbench.measure.edits.interventions.one_key import root_mean_square
from workbench.measure.edits.interventions.sharpening import gap_mass
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.models.transformer.kernels import query_blocks
from workbench.models.transformer.scores import ScoreInputs
from workbench.tasks.base import Batch, Task

TIE = 1e-5
"""Two answers tie if their logits differ by less than this, absolutely or relative to the largest."""


class IntervenedPass:
    """Runs a model under interventions.

    Args:
        model: any model with TransformerLens's hook names.
        inside: facts about training.
        interventions: the interventions; at most one of family P. An empty sequence is the clean pass.
        trial: whether this is a trial at N: edits of ids aim at half of it, and ``K.sink`` raises its key as at 4 N.

    Raises:
        ValueError: for two interventions of family P.
    """

    def __init__(
        self, model: HookedModel, inside: Inside, interventions: Sequence[Intervention] = (), trial: bool = False
    ) -> None:
        self.model, self.inside, self.interventions, self.trial = model, inside, tuple(interventions), trial
        of_ids = [intervention for intervention in interventions if intervention.family == "P"]
        if len(of_ids) > 1:
            raise ValueError(
                f"{of_ids[0].name} and {of_ids[1].name} both change position ids; apply one of them per forward pass"
            )
        self._ids = [edit for edit in interventions if isinstance(edit, IdEdit)]
        self._scores = sorted((e for e in interventions if isinstance(e, ScoreEdit)), key=lambda edit: edit.order)
        self._outputs = sorted((e for e in interventions if isinstance(e, HeadOutputEdit)), key=lambda edit: edit.order)
        self._gates = [edit for edit in interventions if isinstance(edit, GateEdit)]
        self._rows = {edit.layer: edit for edit in interventions if isinstance(edit, RowEdit)}
        self.outside = Statistics()
        """Statistics at n, under these interventions; empty before :meth:`fit`."""

    @property
    def needs_statistics(self) -> bool:
        """Whether an intervention of this pass uses statistics at the tested length n."""
        return any(intervention.fitted for intervention in self.interventions)

    @property
    def last(self) -> int:
        """The last id that counts as inside training."""
        return self.inside.last // 2 if self.trial else self.inside.last

    def ids(self, batch: Batch) -> Tensor:
        """Return the position ids of a batch under the edits of ids."""
        ids = evaluation_ids(self.model, batch)
        encoding = self.model.cfg.positions
        top = min(self.inside.top, self.last) if self.trial else self.inside.top
        for edit in self._ids:
            ids = edit.edit(ids, TrainedIds(self.last, top, encoding.between, encoding.absolute))
        return ids

    def fit(self, batch: Batch) -> Statistics:
        """Store the statistics that the interventions need from sequences of length n, each after earlier edits."""
        self.outside = Statistics()
        weights = torch.as_tensor(balanced_weights(last_classes(batch)))
        self._run(batch, weights)
        return self.outside

    def judge(self, task: Task, batch: Batch) -> Judged:
        """Return which sequences are answered right."""
        right = [clearly_right(task, self._run(piece, None), piece) for piece in pieces(batch)]
        return Judged(np.concatenate(right), last_classes(batch))

    def outputs(self, batch: Batch) -> Float[Tensor, "batch pos out"]:
        """Return the outputs of the model under the interventions."""
        return torch.cat([self._run(piece, None) for piece in pieces(batch)])

    # ---- one pass -----------------------------------------------------------------------------
    def _run(self, batch: Batch, weights: Tensor | None) -> Float[Tensor, "batch pos out"]:
        """Make one pass. With weights of sequences it takes statistics; without, it uses those taken earlier."""
        ids = self.ids(batch)
        edits: dict[str, Edit] = {}
        for layer in range(self.model.cfg.n_layers):
            if self._scores or self._outputs:
                edits |= self._head_edits(layer, ids, weights)
            if self._gates:
                edits[f"blocks.{layer}.mixer.hook_ssm_gates"] = self._edit_gates
            if layer in self._rows:
                edits[f"blocks.{layer}.hook_resid_post"] = self._row_edit(layer, weights)
        outputs, _ = edited_pass(self.model, Clean(batch.tokens, ids, (), {}, ids), edits)
        return outputs

    def _head_edits(self, layer: int, ids: Tensor, weights: Tensor | None) -> dict[str, Edit]:
        at = f"blocks.{layer}.attn.hook_"

        def make(clean: Tensor, inputs: ScoreInputs, cached: Mapping[str, Tensor]) -> Tensor:
            outputs, v = clean.clone(), cached[f"{at}v"]
            raw = (cached.get(f"{at}q", inputs.q), cached.get(f"{at}k", inputs.k))

            def scores(queries: range) -> Float[Tensor, "batch head query key"]:
                context = ScoresContext(
                    layer, inputs, raw, ids, queries, self.model.cfg.positions, self.inside, self.last, self.trial
                )
                edited = inputs.scores(queries, queries.stop)
                for edit in self._scores:
                    edited = edit.edit(edited, context)
                return edited

            if self._scores:
                for queries in query_blocks(inputs):
                    rows = torch.einsum("bhqk,bkhe->bqhe", scores(queries).softmax(-1), v[:, : queries.stop])
                    outputs[:, queries.start : queries.stop] = rows
            if self._outputs:
                last = v.shape[1] - 1
                last_scores = cache(lambda: scores(range(last, last + 1))[:, :, 0])
                query = LastQuery(layer, last_scores, v, self.inside.statistics, self.outside)
                for edit in self._outputs:
                    if weights is not None:
                        edit.fit(outputs[:, -1], query)
                    outputs[:, -1] = edit.edit(outputs[:, -1], query)
            return outputs

        reads = [f"{at}q", f"{at}k"] if any(edit.reads_raw for edit in self._scores) else []
        return head_output_edits(self.model, layer, ids, make, reads)

    def _edit_gates(self, gates: Float[Tensor, "batch pos d_inner d_state"]) -> Tensor:
        for edit in self._gates:
            gates = edit.edit(gates, self.inside.keys / (2 if self.trial else 1))
        return gates

    def _row_edit(self, layer: int, weights: Tensor | None) -> Edit:
        def edit(x: Tensor) -> Tensor:
            if weights is not None:
                self.outside.moments[layer] = moments(x[:, -1], weights)
            outside, inside = self.outside.moments[layer], self.inside.statistics.moments[layer]
            edited = x.clone()
            edited[:, -1] = self._rows[layer].edit(x[:, -1], outside, inside)
            return edited

        return edit


def last_classes(batch: Batch) -> NDArray[np.int64]:
    """Return ``[string]``, the class of the last answer; all 0 where answers are real or have several tokens."""
    last = batch.targets[:, -1]
    if last.is_floating_point() or batch.prompt is not None:
        return np.zeros(len(batch), dtype=np.int64)
    return np.asarray(last.numpy(force=True), dtype=np.int64)


def clearly_right(task: Task, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> NDArray[np.float64]:
    """Return ``[string]``, 1 where the last answer is right and no other answer ties with it, else 0.

    An intervention that makes a wrong answer tie with the right one recovers nothing, even if the tie counts as right
    elsewhere.
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
    """Return the sequences with a query at their end."""
    asked = batch.mask.any(1) if batch.prompt is not None else batch.mask[:, -1]
    return batch if bool(asked.all()) else batch.take(asked.nonzero()[:, 0])


def inside_of(model: HookedModel, batch: Batch, top: int | None = None) -> Inside:
    """Compute facts about training from sequences of length N.

    Args:
        model: the model.
        batch: sequences of length N that are used for nothing else.
        top: the largest id seen in training; None = the largest at N.
    """
    ids = evaluation_ids(model, batch)
    last = int(ids.max())
    statistics, sinks = Statistics(), dict[int, Tensor]()
    layers = range(model.cfg.n_layers)
    rows = {layer: f"blocks.{layer}.hook_resid_post" for layer in layers}
    heads = {layer: f"blocks.{layer}.attn.hook_z" for layer in layers if model.cfg.attention != "none"}
    scored = model.cfg.attention == "softmax"
    names = [*rows.values(), *heads.values()]
    if scored:
        names += [name for layer in layers for name in model.cfg.score_hooks(layer)]
    activations = forward(model, batch, list(dict.fromkeys(names)))
    weights = torch.as_tensor(balanced_weights(last_classes(batch)))
    query = batch.tokens.shape[1] - 1
    for layer in layers:
        statistics.moments[layer] = moments(activations[rows[layer]][:, -1], weights)
        if layer in heads:
            statistics.rms[layer] = root_mean_square(activations[heads[layer]][:, -1])
        if scored:
            scores = model.cfg.score_inputs(layer, activations).scores([query])[:, :, 0]
            statistics.mass[layer] = gap_mass(scores).mean(0)
            best = scores.argmax(-1)
            common = torch.where((best == best[:1]).all(0), best[0], -1)
            sinks[layer] = torch.zeros_like(common) if batch.bos else common
    return Inside(last, query + 1, last if top is None else max(top, last), sinks, statistics)
