"""Checks of what a task states: names, settings, lengths, shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
            yield f"it does not state its {name}; set the class variable to a short text"
    if task.kind not in KINDS:
        yield f"its kind is {task.kind!r}; it is one of {', '.join(KINDS)}"
    names = task.tokens_names
    if len(set(names)) < len(names):
        yield "two tokens have one name; give each its own"
    if BOS in names[1:]:
        yield f"{BOS} is not the first token; put it first, or leave it out"
    if task.output_names is not None and len(set(task.output_names)) < max(2, len(task.output_names)):
        yield "its answer classes are not two or more different names; name each answer once"
    if not all(0 <= token < task.d_vocab for token in task.neutral_tokens):
        yield "a neutral token is no token id; give ids of the vocabulary"
    if not task.bos and (highest := _highest_id(one)) >= task.d_vocab:
        yield (
            f"the first of tokens_names is the token that begins every string, {BOS}, and here it is {names[0]}, while "
            f"ids up to {highest} are drawn; put {BOS} first in the vocabulary, so that {names[0]} has id 1, or draw "
            f"ids from 0 to {task.d_vocab - 1}"
        )


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
        yield "its parameters do not survive a way through JSON; let each field be plain JSON or a pydantic type"
    if type(task)(**task.parameters).tokens_names != task.tokens_names:
        yield "made again from its parameters it has another vocabulary; ids must follow from the parameters alone"


# ---- lengths -------------------------------------------------------------------------------------
def _lengths(one: TaskSubject) -> Iterator[str]:
    task = one.task
    if task.admissible(0):
        yield "it admits length 0; a string has a token at least"
    longest = max(LONGEST_LISTED, one.length)
    own = [n for n in range(1, longest + 1) if task.admissible(n)]
    if task.lengths(1, longest) != own:
        yield "lengths() is not what admissible() says; leave lengths() as it is and override admissible()"
    for n in (1, own[0], own[-1], own[-1] + 1):
        following = task.next_length(n)
        if following < n or not task.admissible(following) or any(n <= m < following for m in own):
            yield f"next_length({n}) is {following}, not the first admissible length from there on"
    drawn = own[: MOST_LENGTHS // 2] + own[-(MOST_LENGTHS // 2) :]
    for law in LAWS:
        for n in dict.fromkeys(drawn):
            batch = one.draw(law, n, count=3)
            if batch.length != n or one.strings(batch).shape != (3, n):
                held = tuple(one.strings(batch).shape)
                yield f"the law {law} at length {n} gives strings of shape {held}, not (3, {n})"
    refused = next((n for n in range(1, longest) if n not in own), None)
    if refused is not None and not refuses(lambda: one.draw("matched", refused)):
        yield f"it draws strings of length {refused}, which it does not admit; let sample() refuse it"
    if not refuses(lambda: one.draw("no such law", own[0])):
        yield "it draws strings of a law that does not exist; let sample() refuse it"


# ---- shapes --------------------------------------------------------------------------------------
def _shapes(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for what, batch in one.some():
        wide = (len(batch), batch.length + int(task.bos))
        if tuple(batch.tokens.shape) != wide or batch.tokens.dtype != torch.long:
            yield f"{what}: tokens are {batch.tokens.dtype} {tuple(batch.tokens.shape)}, not torch.int64 {wide}"
            continue
        if not bool(((batch.tokens >= 0) & (batch.tokens < task.d_vocab)).all()):
            yield f"{what}: a token id is outside 0..{task.d_vocab - 1}; ids are places in tokens_names"
        if batch.bos != task.bos or (
            task.bos and bool((one.strings(batch) == 0).any() | (batch.tokens[:, 0] != 0).any())
        ):
            yield f"{what}: BOS stands in a string, or not in front of it; draw ids without BOS, which sample() adds"
        if tuple(batch.mask.shape) != wide or batch.mask.dtype != torch.bool:
            yield f"{what}: the mask is no bool {wide}; it says for each place whether it is asked"
            continue
        if task.bos and bool(batch.mask[:, 0].any()):
            yield f"{what}: something is asked at BOS; ask from the first token on"
        if not bool(batch.mask[:, -1].all()):
            yield f"{what}: nothing is asked at the end of a string; the last query of an admissible length is asked"
        yield from _targets(task, what, batch, wide)
        for name, summary in (("output", batch.output_summary), ("update", batch.update_summary)):
            if summary is not None and (tuple(summary.shape[:2]) != wide or not bool(summary.isfinite().all())):
                held = tuple(summary.shape)
                yield f"{what}: the {name} summary is {held}; it is finite and {wide}, or has one axis more"
        yield from _answers(one, what, batch)


def _targets(task: Task, what: str, batch: Batch, wide: tuple[int, int]) -> Iterator[str]:
    if task.real:
        if tuple(batch.targets.shape) != (*wide, task.d_vocab_out) or not bool(batch.targets.isfinite().all()):
            yield f"{what}: targets are {tuple(batch.targets.shape)}, not finite {(*wide, task.d_vocab_out)}"
    elif tuple(batch.targets.shape) != wide or batch.targets.dtype != torch.long:
        yield f"{what}: targets are {batch.targets.dtype} {tuple(batch.targets.shape)}, not torch.int64 {wide}"
    elif not bool(((batch.targets >= 0) & (batch.targets < task.d_vocab_out)).all()):
        yield f"{what}: a target is outside 0..{task.d_vocab_out - 1}; give classes, and 0 where nothing is asked"


def _answers(one: TaskSubject, what: str, batch: Batch) -> Iterator[str]:
    task = one.task
    guess = task.answer(one.strings(batch))
    if tuple(guess.shape) != (len(batch), task.d_vocab_out) or not bool(guess.isfinite().all()):
        yield f"{what}: answer() gives {tuple(guess.shape)}, not finite {(len(batch), task.d_vocab_out)}"
    elif not task.real and not bool(((guess >= 0).all(1) & (guess.sum(1) > 0)).all()):
        yield f"{what}: answer() gives weights below 0, or only 0; give each class one, all alike for a plain guess"
    if not task.real:  # for real targets only the task's correct() knows which outputs are right
        right = task.correct(torch.nn.functional.one_hot(batch.targets, task.d_vocab_out).double(), batch)
        if not bool(right[batch.mask].all()):
            yield f"{what}: correct() calls the targets themselves wrong; compare the likeliest class with the target"
    if not bool(task.answered(torch.ones_like(batch.mask), batch).all()):
        yield f"{what}: answered() does not count a sequence all of whose queries are right; let it"


CHECKS: Mapping[str, Check] = {
    "statement": _statement,
    "settings": _settings,
    "lengths": _lengths,
    "shapes": _shapes,
}
"""The checks of this file by name, in the order in which they run."""
