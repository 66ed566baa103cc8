"""Which sequence of a test set is shown, and which of its tokens decides the right answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.measure.edits.reading import FirstWrong
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.runs.run import Run
from workbench.tasks.base import Batch, Task

MOST_DECISIVE = 512
"""Number of positions up to which every query has its decisive token; of longer sequences only the last query has."""

_TOGETHER, _TOKENS = 1 << 14, 1 << 18
_KEPT = 64
_CHOSEN: OrderedDict[tuple[object, ...], FirstWrong] = OrderedDict()


def draw(run: Run, task: Task, sequence: Mapping[str, Any]) -> Batch:
    """Return a batch with one sequence of a test set, which its length and its seed determine.

    Raises:
        TaskError: for a length or a test set that the task does not have.
    """
    drawn = torch.Generator().manual_seed(int(sequence["seed"]))
    return task.sample(1, int(sequence["length"]), drawn, str(sequence["law"]), window=run.trained_length)


def first_wrong(model: HookedModel, run: Run, task: Task, step: int, sequence: Mapping[str, Any]) -> FirstWrong:
    """Return the first sample of a test set whose last answer the model gets wrong, and how many samples were tried.

    The choice does not depend on any edit. Of long sequences, fewer samples are tried.

    Args:
        model: the checkpoint.
        run, task, step: where it comes from.
        sequence: ``{"law": ..., "length": ..., "wrong_of": ...}``; the samples are those with seeds from 0.
    """
    law, length = str(sequence["law"]), int(sequence["length"])
    tried = max(1, min(int(sequence["wrong_of"]), _TOKENS // length))
    key = (str(run.path), step, run.meta(step)["sha256"], law, length, tried)
    if key not in _CHOSEN:
        while len(_CHOSEN) >= _KEPT:
            _CHOSEN.popitem(last=False)
        _CHOSEN[key] = _search(model, run, task, FirstWrong(0, tried, law, False), length)
    _CHOSEN.move_to_end(key)
    return _CHOSEN[key]


def _search(model: HookedModel, run: Run, task: Task, none: FirstWrong, length: int) -> FirstWrong:
    together = max(1, _TOGETHER // length)
    for start in range(0, none.tried, together):
        seeds = range(start, min(start + together, none.tried))
        drawn = [draw(run, task, {"law": none.law, "length": length, "seed": seed}) for seed in seeds]
        batch = Batch.join(drawn)
        logits = forward(model, batch, [])["logits"]
        wrong = (~task.sequence_correct(task.correct(logits, batch), batch)).nonzero().flatten().tolist()
        if wrong:
            return replace(none, sample=start + int(wrong[0]), wrong=True)
    return none


def decisive_keys(task: Task, batch: Batch) -> list[int | None]:
    """Return, per position of one sequence, the index of the token that decides the right answer there.

    None where no query is supervised, or the task names no such token. A task that stores the position of a single
    query's answer names it for the last query only.
    """
    asked, count = batch.mask[0].tolist(), batch.tokens.shape[1]
    last = task.answer_index(batch)
    keys: list[int | None] = [None] * count
    if last is None:
        return keys
    keys[-1] = int(last[0]) if asked[-1] else None
    if "answer_position" in batch.meta or count > MOST_DECISIVE:
        return keys
    first = int(batch.bos)
    for at in range(first, count - 1):
        found = task.answer_index(batch.prefix(at + 1 - first)) if asked[at] else None
        keys[at] = None if found is None else int(found[0])
    return keys
