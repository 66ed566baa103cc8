"""One sequence through one checkpoint, clean and edited: outputs, the oracle, and attention of one head or of all.

The dashboard's worker calls these functions by name; everything that they return is plain data or numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import CELLS, pool_attention, scores_at
from workbench.measure.edits.chosen_sequence import decisive_keys
from workbench.measure.edits.edit import Edit, intervention_words, parse_edits
from workbench.measure.edits.edited_forward import score_factor
from workbench.measure.edits.interventions.sharpening import ScaleScores
from workbench.measure.edits.one_sequence import OneSequence, Progress, one_sequence, quiet
from workbench.measure.edits.reading import Answer, Pass, SequenceReading
from workbench.models.transformer.kernels import query_blocks
from workbench.models.transformer.scores import ScoreInputs
from workbench.models.transformer.tie_sets import tie_set_pattern

_STAGES = 4


def look(
    run_path: str,
    step: int,
    sequence: Mapping[str, Any],
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    edits: str = "",
    cells: int = CELLS,
    queries: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
    progress: Progress = quiet,
    strength: float = 1.0,
) -> SequenceReading:
    """Return outputs and attention on one sequence, in the clean pass and under edits.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        sequence: typed or drawn, see :func:`workbench.measure.edits.one_sequence.one_sequence`.
        layer, head: the head whose attention is returned; None = the mean over all heads, with scores relative to the
            highest of their row.
        query: prefix length of the query whose row is returned unpooled; None = that of the whole sequence.
        edits: text of a link, joined by commas; "" = none.
        cells: largest side of the pooled arrays.
        queries: first position of the queries in the pooled arrays, and the one after the last, to show a part of a
            long sequence unpooled; None = all.
        keys: likewise for the keys.
        progress: called at each of a few stages.
        strength: strength of the interventions among them: 0 = the model as it is, 1 = the full intervention.

    Raises:
        RunError, TaskError, EditError: as :func:`workbench.measure.edits.one_sequence.one_sequence`.
        PositionError: for a sequence longer than the model's positions.
        ValueError: for a layer, head, query or range of positions that does not exist.
    """
    parsed_edits = parse_edits(edits, strength)
    progress(0, _STAGES, "reading the checkpoint")
    sample = one_sequence(run_path, step, sequence, parsed_edits)
    _check_place(sample, layer, head, query)
    at = sample.batch.index(sample.batch.length if query is None else query)
    part = _Part(layer, head, at, _within(queries, sample, "queries"), _within(keys, sample, "keys"), cells)
    progress(1, _STAGES, "the clean pass")
    clean = _pass(sample, (), part)
    if parsed_edits:
        progress(2, _STAGES, "the edited pass")
    edited = _pass(sample, parsed_edits, part) if parsed_edits else None
    progress(3, _STAGES, "the oracle")
    query_mask = sample.batch.mask[0].tolist()
    oracle = [None] * int(sample.batch.bos) + list(sample.task.reference(sample.strings))
    return SequenceReading(
        clean=clean,
        edited=edited,
        tokens=list(sample.tokens),
        text=sample.text,
        bos=bool(sample.batch.bos),
        length=sample.batch.length,
        oracle=[_plain(answer) if a else None for answer, a in zip(oracle, query_mask, strict=True)],
        outputs_names=None if sample.task.output_names is None else list(sample.task.output_names),
        asked=query_mask,
        query=at,
        queries=(part.queries.start, part.queries.stop),
        keys=(part.keys.start, part.keys.stop),
        pool=-(-max(len(part.queries), len(part.keys)) // cells),
        trained=sample.run.trained_length,
        step=step,
        layer=layer,
        head=head,
        edits=edits,
        components=list(sample.task.component_names),
        within=sample.task.right_within,
        intervention=intervention_words(edits),
        strength=strength,
        graded=all(edit.intervention.has_strengths(sample.model.cfg) for edit in parsed_edits if edit.intervention),
        decisive=decisive_keys(sample.task, sample.batch),
        chosen=sample.chosen,
    )


def attention_row(
    run_path: str, step: int, sequence: Mapping[str, Any], layer: int, head: int, query: int, edits: str = ""
) -> dict[str, Any]:
    """Return one query's attention weights over all its keys, unpooled: ``{"query": index, "row": [key] float32}``.

    Raises:
        as :func:`look`.
    """
    parsed_edits = parse_edits(edits)
    sample = one_sequence(run_path, step, sequence, parsed_edits)
    _check_place(sample, layer, head, query)
    at = sample.batch.index(query)
    cache = sample.forward(parsed_edits, sample.model.score_hooks(layer))
    return {
        "query": at,
        "row": _row(_inputs(sample, cache, layer, head, parsed_edits), at, _hard(parsed_edits, layer, head)),
    }


@dataclass(frozen=True)
class _Part:
    """The part of a sequence's attention that is returned: a head or all, one query's row, and a rectangle in cells."""

    layer: int | None
    head: int | None
    at: int
    queries: range
    keys: range
    cells: int


def _within(limits: Sequence[int] | None, sample: OneSequence, name: str) -> range:
    """Return a range of positions, cut to those that the sequence has."""
    count = len(sample.tokens)
    start, stop = (0, count) if limits is None else (int(limits[0]), int(limits[1]))
    if not 0 <= start < min(stop, count):
        raise ValueError(f"there are no {name} {start} to {stop - 1}; this sequence has positions 0 to {count - 1}")
    return range(start, min(stop, count))


def _pass(sample: OneSequence, edits: Sequence[Edit], part: _Part) -> Pass:
    layers = [i for i in range(sample.model.cfg.n_layers) if f"blocks.{i}.attn.hook_pattern" in sample.model.hook_dict]
    layers = [i for i in layers if part.layer in (None, i)]
    cache = sample.forward(edits, [name for layer in layers for name in sample.model.score_hooks(layer)])
    logits = cache["logits"]
    correct = sample.task.correct(logits, sample.batch)[0].tolist()
    asked = sample.batch.mask[0].tolist()
    common = (
        sample.task.shown_outputs(logits[0]).numpy(force=True),
        [c if a else None for c, a in zip(correct, asked, strict=True)],
    )
    if not layers:
        return Pass(*common)
    heads = range(int(sample.model.cfg.n_heads)) if part.head is None else (part.head,)
    looks = [_look(sample, cache, (layer, head), edits, part) for layer in layers for head in heads]
    if part.head is not None:
        return Pass(*common, *looks[0])
    patterns, scores, tops, rows = ([look[i] for look in looks] for i in range(4))
    below = [score - top[:, None] for score, top in zip(scores, tops, strict=True)]
    return Pass(*common, _mean(patterns), _mean(below), np.zeros_like(tops[0]), _mean(rows))


def _mean(arrays: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.asarray(np.stack(arrays).mean(0, dtype=np.float64), dtype=np.float32)


def _look(
    sample: OneSequence, cache: Mapping[str, Tensor], at: tuple[int, int], edits: Sequence[Edit], part: _Part
) -> tuple[NDArray[np.float32], ...]:
    """Return one head's pattern, scores and highest scores in cells, and the whole row of the query."""
    inputs, hard = _inputs(sample, cache, *at, edits), _hard(edits, *at)
    pooled = pool_attention(_Hardened(**vars(inputs)) if hard else inputs, part.cells, part.queries, part.keys)
    return pooled["pattern_max"], pooled["scores_max"], pooled["row_top"], _row(inputs, part.at, hard)


class _Hardened(ScoreInputs):
    """Score inputs whose pattern is uniform on each row's tie set, like the hardmax edit."""

    def pattern(self, scores: Tensor) -> Tensor:
        return tie_set_pattern(scores)


def _inputs(
    sample: OneSequence, cache: Mapping[str, Tensor], layer: int, head: int, edits: Sequence[Edit]
) -> ScoreInputs:
    """Return the inputs of the head's scores, under the interventions that multiply them."""
    inputs: ScoreInputs = sample.model.cfg.score_inputs(layer, cache).select(slice(None), slice(head, head + 1))
    for edit in edits:
        if isinstance(edit.intervention, ScaleScores):
            own = 1.0 if inputs.factor is None else inputs.factor
            inputs = replace(inputs, factor=own * _factors(inputs, edit.intervention, sample, edit.strength))
    return inputs


def _factors(inputs: ScoreInputs, scaling: ScaleScores, sample: OneSequence, strength: float) -> Tensor:
    """Return the factors ``[batch or 1, query, head or 1]`` of an intervention, block by block, the last one first."""
    keys = sample.training_facts.positions
    blocks = [
        score_factor(scaling, inputs.scores(queries, queries.stop), queries, keys, strength)
        for queries in query_blocks(inputs)
    ]
    factors = torch.cat(blocks[::-1], -1)
    return factors[None, :, None] if factors.ndim == 1 else factors.transpose(1, 2)


def _hard(edits: Sequence[Edit], layer: int, head: int) -> bool:
    return any(e.kind == "hardmax" and e.layer in (None, layer) and e.head in (None, head) for e in edits)


def _row(inputs: ScoreInputs, at: int, hard: bool) -> NDArray[np.float32]:
    made = _Hardened(**vars(inputs)) if hard else inputs
    with torch.no_grad():
        row: NDArray[np.float32] = made.pattern(scores_at(made, [at]))[0, 0, 0].numpy(force=True)
    return row


def _check_place(sample: OneSequence, layer: int | None, head: int | None, query: int | None) -> None:
    cfg = sample.model.cfg
    if (layer is None) != (head is None):
        raise ValueError(
            f"a head needs its layer and its number, not layer {layer} and head {head}; None means all heads"
        )
    if layer is not None and not 0 <= layer < cfg.n_layers:
        raise ValueError(f"there is no layer {layer}; this model has layers 0 to {cfg.n_layers - 1}")
    # A model without heads has outputs, but no pattern.
    heads = int(cfg.n_heads)
    if heads and head is not None and not 0 <= head < heads:
        raise ValueError(f"there is no head {head}; each layer has heads 0 to {cfg.n_heads - 1}")
    if query is not None:
        sample.batch.index(query)


def _plain(answer: Any) -> Answer:
    if answer is None or isinstance(answer, int | float):
        return answer
    return [float(v) for v in answer]
