"""Answers as they come, part by part: what is kept of the first sequences, and what is counted of all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.measure.behaviour import observed
from workbench.measure.behaviour.observed import AnswerObserver, Observed, join_observed, string_hashes, tally
from workbench.measure.study import LOGITS
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

TASK = make_task("majority")


@pytest.mark.parametrize(
    ("kept", "found"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3, 4]), (9, [0, 1, 2, 3, 4])],
)
def test_outputs_of_the_first_sequences_are_kept(monkeypatch: pytest.MonkeyPatch, kept: int, found: list[int]) -> None:
    monkeypatch.setattr(observed, "reduce_batch", lambda study, length, part, seen: (length, part))
    outputs = torch.arange(5.0)[:, None, None]
    one = AnswerObserver(None, 7, "batch", ["ids"], kept)  # type: ignore[arg-type]
    assert one.groups == {0: ["ids", LOGITS]}
    for rows in (slice(0, 2), slice(2, 4), slice(4, 5)):
        one.see(0, rows, rows.start, {LOGITS: outputs[rows], "ids": outputs[rows] + 1})  # type: ignore[arg-type]
    assert one.answered.parts == [(7, 0), (7, 2), (7, 4)]
    assert {name: value.flatten().tolist() for name, value in one.answered.first.items()} == (
        {LOGITS: found, "ids": [i + 1 for i in found]} if found else {}
    )
    assert not found or one.answered.first[LOGITS].data_ptr() != outputs.data_ptr(), (
        "what is shown may be changed later"
    )


def part(*values: float, tokens: bool = False) -> Observed:
    made = np.array(values)
    return Observed(made, made + 1, made + 2 if tokens else None, made + 3, {"ids": made + 4})


@pytest.mark.parametrize("tokens", [False, True])
def test_parts_become_the_whole(tokens: bool) -> None:
    found = join_observed([part(1, 2, tokens=tokens), part(3, tokens=tokens)])
    assert [found.correct.tolist(), found.exact.tolist(), found.loss.tolist()] == [[1, 2, 3], [2, 3, 4], [4, 5, 6]]
    assert found.parts["ids"].tolist() == [5, 6, 7]
    assert (found.tokens is not None) == tokens
    assert not tokens or found.tokens.tolist() == [3, 4, 5]  # type: ignore[union-attr]


def test_counts_of_what_was_asked_and_right() -> None:
    study: Any = SimpleNamespace(task=TASK)
    batch = TASK.sample(6, 5, generator("counts"), "matched")
    right = torch.nn.functional.one_hot(batch.targets.clamp(min=0), TASK.d_vocab_out).float()
    wrong = right.clone()
    wrong[:2, -1] = -right[:2, -1]
    strings: set[int] = {1}
    found = tally(study, [(batch, {LOGITS: right}), (batch, {LOGITS: wrong})], strings)
    assert (found.right, found.n) == (10, 12)
    assert found.distinct == len(strings) == 1 + len({tuple(row) for row in batch.tokens.tolist()})
    some = torch.tensor([True, False, False, True, False, False])
    assert len(string_hashes(batch, some)) == len({tuple(batch.tokens[i].tolist()) for i in (0, 3)})
    assert string_hashes(batch, ~batch.mask[:, -1]) == set()
