"""Which tokens a task needs, string by string, and whether leave-one-out finds those that a model by hand needs."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.circuits.planted_adder import adder
from workbench.claims.trained.needed_tokens import needed_places, needed_rows
from workbench.claims.trained.trained_run import TrainedRun
from workbench.tasks import Task, make_task
from workbench.tasks.base import Batch


def spelt(task: Task, *strings: str) -> Batch:
    tokens = [[task.tokens_names.index(name) for name in string.split()] for string in strings]
    return task.label(torch.tensor(tokens))


def test_of_sparse_parity_a_small_number_and_its_bit_are_needed_where_the_bit_is_one() -> None:
    task = make_task("sparse_parity", values=4, k=2)
    batch = spelt(task, "1 t1 3 t1 2 t0 <sep>", "3 t0 2 t1 1 t1 <sep>", "1 t0 4 t1 3 t1 <sep>")
    assert batch.bos
    assert needed_places(task, batch) == [{1, 2}, {3, 4, 5, 6}, set()]


def test_of_planted_numbers_each_is_needed_but_the_last_token_is_never_left_out() -> None:
    task = make_task("planted", k=2, modulus=5, fillers=2, span=4)
    assert needed_places(task, spelt(task, "f1 p3 f0 p3 f1", "f1 f1 p4 f0 p1")) == [{2, 4}, {3}]


@dataclass(frozen=True)
class Request(TrainedRun):
    """A run that is asked strings that are given."""

    batch: Batch

    def strings(self, *how: Any) -> Batch:
        return self.batch


def found(task: Task, model: Any, groups: str, *strings: str) -> dict[str, dict[str, float]]:
    batch = spelt(task, *strings)
    run = Request(SimpleNamespace(trained_length=batch.length), model, task, batch)  # type: ignore[arg-type]
    return {row["quantity"]: row for row in needed_rows(run, groups)}  # type: ignore[arg-type]


TASK = make_task("planted", k=2, modulus=32, fillers=2, span=8)
EQUAL = ("f1 f0 f1 p3 f0 p3 f1 f1 f0", "f0 p9 f1 f1 f0 f1 f0 p9 f1")
APART = ("f1 f0 f1 p3 f0 p9 f1 f1 f0", "f0 p9 f1 f1 f0 f1 f0 p2 f1")


@pytest.mark.parametrize(("groups", "strings", "share"), [
    ("token", APART, 1.0),
    ("type", APART, 1.0),
    ("type", EQUAL, 1.0),
    ("token", (APART[0], "f1 f0 f1 p3 f0 f1 f0 f1 p9"), 1.0),
])  # fmt: skip
def test_what_a_model_that_adds_needs_is_found(groups: str, strings: tuple[str, ...], share: float) -> None:
    rows = found(TASK, adder(TASK), groups, *strings)  # type: ignore[arg-type]
    assert rows["needed tokens found"]["value"] == share
    assert rows["needed tokens found"]["n"] == 2


def test_by_chance_as_many_of_the_tokens_before_the_last_are_right() -> None:
    rows = found(TASK, adder(TASK), "token", APART[0], "f1 f0 f1 p3 f0 f1 f0 f1 p9")  # type: ignore[arg-type]
    assert rows["needed tokens found by chance"]["value"] == pytest.approx((2 / 8 + 1 / 8) / 2)
    assert rows["needed tokens found by chance"]["length"] == 9
