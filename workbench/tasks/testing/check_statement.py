"""Checks of what a task states: names, settings, lengths, shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import torch

from workbench.tasks.base import BOS, Batch, Task
from workbench.tasks.testing.subject import (
    KINDS,
    LAWS,
    LONGEST_LISTED,
    MOST_LENGTHS,
    Check,
    TaskSubject,
    refuses,
)


# ---- what it states ------------------------------------------------------------------------------
def _statement(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for name in ("name", "question", "summary", "family"):
        if not isinstance(getattr(task, name, None), str) or not getattr(task, name):
            yield f"the class variable {name} is empty or no text; set {name} to a short text"
    if task.kind not in KINDS:
        yield f"kind is {task.kind!r}; set kind to one of {', '.join(KINDS)}"
    names = task.tokens_names
    if len(set(names)) < len(names):
        yield (
            f"two tokens in tokens_names have the same name: {', '.join(_repeated(names))}; give each token its own "
            "name"
        )
    if BOS in names[1:]:
        yield f"{BOS} has id {names.index(BOS, 1)} in tokens_names; put {BOS} first, or leave it out"
    if task.output_names is not None and len(set(task.output_names)) < max(2, len(task.output_names)):
        yield (
            f"output_names is {', '.join(map(str, task.output_names))}; give at least two answer classes with "
            "different names"
        )
    if not all(0 <= token < task.d_vocab for token in task.neutral_tokens):
        yield (
            f"neutral_tokens is {', '.join(map(str, task.neutral_tokens))}; give token ids from 0 to {task.d_vocab - 1}"
        )
    if not task.bos and (highest := _highest_id(one)) >= task.d_vocab:
        yield (
            f"every sequence begins with the first of tokens_names, {BOS}, but the first is {names[0]}, and sample() "
            f"draws ids up to {highest}; put {BOS} first in the vocabulary, so that {names[0]} has id 1, or draw ids "
            f"from 0 to {task.d_vocab - 1}"
        )


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _highest_id(one: TaskSubject) -> int:
    """Return the highest token id of some sequences; -1 if none can be drawn, which other checks report."""
    with suppress(Exception):
        return int(one.draw("training", one.window).tokens.max())
    return -1


def _settings(one: TaskSubject) -> Iterator[str]:
    task = one.task
    written = json.loads(json.dumps(task.parameters))
    again = type(task)(**written)
    if again != task or again.parameters != task.parameters:
        yield (
            f"the parameters {written} change when they are written as JSON and read again; declare each field as "
            "plain JSON or as a pydantic type"
        )
    if type(task)(**task.parameters).tokens_names != task.tokens_names:
        yield (
            f"a second task with the parameters {written} has another vocabulary; compute tokens_names only from the "
            "parameters"
        )


# ---- lengths -------------------------------------------------------------------------------------
def _lengths(one: TaskSubject) -> Iterator[str]:
    task = one.task
    if task.admissible(0):
        yield "admissible(0) is True, but a sequence has at least one token; return False"
    longest = max(LONGEST_LISTED, one.length)
    own = [n for n in range(1, longest + 1) if task.admissible(n)]
    if task.lengths(1, longest) != own:
        yield (
            f"lengths(1, {longest}) differs from the lengths for which admissible() is True; override only admissible()"
        )
    for n in (1, own[0], own[-1], own[-1] + 1):
        following = task.next_length(n)
        if following < n or not task.admissible(following) or any(n <= m < following for m in own):
            yield (
                f"next_length({n}) is {following}, which is not the first admissible length from {n} on; override only "
                "admissible()"
            )
    drawn = own[: MOST_LENGTHS // 2] + own[-(MOST_LENGTHS // 2) :]
    for law in LAWS:
        for n in dict.fromkeys(drawn):
            batch = one.draw(law, n, count=3)
            if batch.length != n or one.strings(batch).shape != (3, n):
                held = tuple(one.strings(batch).shape)
                yield (
                    f"the {law} distribution at length {n} gives token ids of shape {held}, not (3, {n}); correct "
                    "draw_strings()"
                )
    refused = next((n for n in range(1, longest) if n not in own), None)
    if refused is not None and not refuses(lambda: one.draw("matched", refused)):
        yield (
            f"sample() draws sequences of length {refused}, but admissible({refused}) is False; do not override "
            "sample(), because the base class raises TaskError then"
        )
    if not refuses(lambda: one.draw("no such law", own[0])):
        yield (
            "sample() accepts the unknown distribution 'no such law'; do not override sample(), because the base class "
            "raises TaskError then"
        )


# ---- shapes --------------------------------------------------------------------------------------
def _shapes(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for what, batch in one.small_batches():
        wide = (len(batch), batch.length + int(task.bos))
        if tuple(batch.tokens.shape) != wide or batch.tokens.dtype != torch.long:
            yield (
                f"{what}: tokens are {batch.tokens.dtype} of shape {tuple(batch.tokens.shape)}; return torch.int64 of "
                f"shape {wide}"
            )
            continue
        if not bool(((batch.tokens >= 0) & (batch.tokens < task.d_vocab)).all()):
            yield (
                f"{what}: token ids run from {int(batch.tokens.min())} to {int(batch.tokens.max())}; draw indices of "
                f"tokens_names, from 0 to {task.d_vocab - 1}"
            )
        if batch.bos != task.bos or (
            task.bos and bool((one.strings(batch) == 0).any() | (batch.tokens[:, 0] != 0).any())
        ):
            yield (
                f"{what}: BOS is missing at the start, or occurs later; draw ids without BOS, because sample() adds it"
            )
        if tuple(batch.mask.shape) != wide or batch.mask.dtype != torch.bool:
            yield (
                f"{what}: the mask is {batch.mask.dtype} of shape {tuple(batch.mask.shape)}; return torch.bool of "
                f"shape {wide}, True at positions that need an answer"
            )
            continue
        if task.bos and bool(batch.mask[:, 0].any()):
            yield f"{what}: the mask is True at BOS; the first position that can need an answer is the first token"
        if not bool(batch.mask[:, -1].all()):
            yield f"{what}: the mask is False at the last position; require an answer there for every admissible length"
        yield from _targets(task, what, batch, wide)
        for name, summary in (("output", batch.output_summary), ("update", batch.update_summary)):
            if summary is not None and (tuple(summary.shape[:2]) != wide or not bool(summary.isfinite().all())):
                held = tuple(summary.shape)
                yield (
                    f"{what}: the {name} summary has shape {held} or values that are not finite; return finite numbers "
                    f"of shape {wide}, with at most one more axis"
                )
        yield from _answers(one, what, batch)


def _targets(task: Task, what: str, batch: Batch, wide: tuple[int, int]) -> Iterator[str]:
    if task.real:
        if tuple(batch.targets.shape) != (*wide, task.d_vocab_out) or not bool(batch.targets.isfinite().all()):
            yield (
                f"{what}: targets have shape {tuple(batch.targets.shape)} or values that are not finite; return finite "
                f"numbers of shape {(*wide, task.d_vocab_out)}"
            )
    elif tuple(batch.targets.shape) != wide or batch.targets.dtype != torch.long:
        yield (
            f"{what}: targets are {batch.targets.dtype} of shape {tuple(batch.targets.shape)}; return torch.int64 of "
            f"shape {wide}"
        )
    elif not bool(((batch.targets >= 0) & (batch.targets < task.d_vocab_out)).all()):
        yield (
            f"{what}: a target is outside 0..{task.d_vocab_out - 1}; return answer classes, and 0 where the mask is "
            "False"
        )


def _answers(one: TaskSubject, what: str, batch: Batch) -> Iterator[str]:
    task = one.task
    guess = task.answer(one.strings(batch))
    if tuple(guess.shape) != (len(batch), task.d_vocab_out) or not bool(guess.isfinite().all()):
        yield (
            f"{what}: answer() returns shape {tuple(guess.shape)} or values that are not finite; return finite numbers "
            f"of shape {(len(batch), task.d_vocab_out)}"
        )
    elif not task.real and not bool(((guess >= 0).all(1) & (guess.sum(1) > 0)).all()):
        yield (
            f"{what}: answer() returns a negative weight, or only zeros; return a weight for each class, equal weights "
            "for a plain guess"
        )
    if not task.real:  # for real targets only the task's correct() knows which outputs are right
        right = task.correct(torch.nn.functional.one_hot(batch.targets, task.d_vocab_out).double(), batch)
        if not bool(right[batch.mask].all()):
            yield (
                f"{what}: correct() is False for the targets themselves; compare the most likely class with the target"
            )
    if not bool(task.sequence_correct(torch.ones_like(batch.mask), batch).all()):
        yield f"{what}: sequence_correct() is False for a sequence with only right answers; return True for it"


CHECKS: Mapping[str, Check] = {
    "statement": _statement,
    "settings": _settings,
    "lengths": _lengths,
    "shapes": _shapes,
}
"""The checks of this file by name, in the order in which they run."""
