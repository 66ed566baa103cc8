"""Checks of labels and randomness: labels agree with the oracle, and sequences depend only on their seeds."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench.tasks.base import Task, TaskError
from workbench.tasks.testing.subject import (
    LAWS,
    Check,
    TaskSubject,
)


# ---- labels --------------------------------------------------------------------------------------
def _oracle(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for what, batch in one.small_batches():
        said = task.label(one.strings(batch))
        start = int(task.bos)
        for row, string in enumerate(one.strings(batch).tolist()):
            wanted = task.reference(string)
            asked = said.mask[row, start:].tolist()
            if [answer is not None for answer in wanted] != asked:
                name = _named(task, string)
                yield (
                    f"{what}: label() and reference() require answers at different positions of {name}; correct one of "
                    "them"
                )
                return
            wrong = _first_wrong(said.targets[row, start:], wanted)
            if wrong is not None:
                held = said.targets[row, start + wrong].tolist()
                yield (
                    f"{what}: after prefix length {wrong + 1} of {_named(task, string)} label() returns {held} and "
                    f"reference() returns {wanted[wrong]}; correct one of them"
                )
                return
        beyond = batch.mask & ~said.mask
        if batch.meta:  # what answers the last query may be drawn along, as the byte after a window of text
            beyond[:, -1] = False
        both = batch.mask & said.mask
        if bool(beyond.any()) or not torch.equal(batch.targets[both], said.targets[both]):
            yield (
                f"{what}: sample() and label() give different answers for the same sequences; compute both in "
                "label_strings()"
            )
            return


def _first_wrong(targets: Tensor, wanted: Sequence[Any]) -> int | None:
    """Return the first position whose target differs from the wanted answer; None if there is no such position."""
    asked = [i for i, answer in enumerate(wanted) if answer is not None]
    if not asked:
        return None
    expected = torch.as_tensor(np.array([wanted[i] for i in asked], dtype=np.float64)).reshape(len(asked), -1)
    numbers = targets[asked].double().flatten(1) if targets.ndim > 1 else targets[asked].double()[:, None]
    same = torch.isclose(numbers[:, : expected.shape[1]], expected, atol=1e-4, rtol=1e-4).all(1)
    return None if bool(same.all()) else asked[int(same.int().argmin())]


def _named(task: Task, string: Sequence[int]) -> str:
    names = [task.tokens_names[token] for token in string[:24]]
    return repr(" ".join(names) + (" .." if len(string) > 24 else ""))


def _prefixes(one: TaskSubject) -> Iterator[str]:
    """Check that labels depend only on the prefix, whatever follows it."""
    start = int(one.task.bos)
    for what, batch in one.small_batches():
        whole = one.task.label(one.strings(batch))
        for end in sorted({1, batch.length // 3, batch.length // 2, batch.length - 1} - {0}):
            try:
                part = one.task.label(one.strings(batch)[:, :end])
            except TaskError:  # a prompt that is cut off is not a sequence of the task
                continue
            both = whole.mask[:, : start + end] & part.mask
            if not torch.equal(whole.targets[:, : start + end][both], part.targets[both]):
                yield (
                    f"{what}: an answer at prefix length {end} or below depends on later tokens; compute it only from "
                    "the prefix"
                )
                return


def _automaton(one: TaskSubject) -> Iterator[str]:
    automaton = one.task.automaton()
    if automaton is None:
        return
    symbols = one.task.tokens_names[int(one.task.bos) :]
    if automaton.alphabet != symbols:
        yield (
            f"the alphabet of automaton() is {' '.join(automaton.alphabet)}; use all tokens except BOS: "
            f"{' '.join(symbols)}"
        )
        return
    for what, batch in one.small_batches():
        said = automaton.labels[automaton.run(one.strings(batch).numpy() - int(one.task.bos))]
        start = int(one.task.bos)
        mask, targets = batch.mask[:, start:].numpy(), batch.targets[:, start:].numpy()
        if (said[mask] != targets[mask]).any():
            yield f"{what}: automaton() and label() give different answers; correct automaton(), or return None"
            return


def _neutral(one: TaskSubject) -> Iterator[str]:
    """Check that a neutral token changes no later answer, at any position that allows one."""
    task = one.task
    if not task.neutral_tokens:
        return
    strings = one.strings(one.draw("matched", one.window))
    gaps = task.neutral_gaps(strings)
    for string, allowed in zip(strings, gaps, strict=True):
        for position in allowed.nonzero()[:, 0].tolist()[:4]:
            for token in task.neutral_tokens[:3]:
                longer = torch.cat([string[:position], string.new_tensor([token]), string[position:]])
                before, after = task.label(string[None]), task.label(longer[None])
                if bool(before.mask[0, -1]) and not torch.equal(before.targets[0, -1], after.targets[0, -1]):
                    name = task.tokens_names[token]
                    yield (
                        f"the neutral token {name} changes the answer of {_named(task, string.tolist())}; remove it "
                        "from neutral_tokens"
                    )
                    return


# ---- randomness ----------------------------------------------------------------------------------
def _seeds(one: TaskSubject) -> Iterator[str]:
    for law in LAWS:
        torch_state, numpy_state = torch.get_rng_state(), pickle.dumps(np.random.get_state())
        first = one.draw(law, one.length, seed=1)
        moved = not torch.equal(torch_state, torch.get_rng_state()) or numpy_state != pickle.dumps(
            np.random.get_state()
        )
        if moved or not torch.equal(first.tokens, one.draw(law, one.length, seed=1).tokens):
            yield (
                f"sequences of the {law} distribution use other random numbers than those of the given generator; draw "
                "everything from the generator"
            )
        other = one.draw(law, one.length, seed=2)
        if torch.equal(first.tokens, other.tokens) and not one.task.one_string_per_length:
            yield f"sequences of the {law} distribution are equal for two seeds; draw them from the given generator"


def _batches(one: TaskSubject) -> Iterator[str]:
    """Check that the labels of a sequence do not depend on the other sequences of its batch."""
    for what, batch in one.small_batches():
        strings = one.strings(batch)
        together, alone = one.task.label(strings), [one.task.label(strings[i : i + 1]) for i in range(4)]
        for name in ("targets", "mask", "output_summary", "update_summary"):
            whole = getattr(together, name)
            if whole is None:
                continue
            parts = torch.cat([getattr(part, name) for part in alone])
            if not torch.allclose(whole[:4].double(), parts.double(), atol=1e-5, equal_nan=True):
                said = name.replace("_", " ")
                yield (
                    f"{what}: the values of the {said} depend on the other sequences of the batch; label each sequence "
                    "alone"
                )
                return


CHECKS: Mapping[str, Check] = {
    "oracle": _oracle,
    "prefixes": _prefixes,
    "automaton": _automaton,
    "neutral tokens": _neutral,
    "seeds": _seeds,
    "batches": _batches,
}
"""The checks of this file by name, in the order in which they run."""
