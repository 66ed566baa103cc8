"""Rows of other prompts in a model by hand that copies as far as it reaches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from circuits.interchange.rows_in_context import SAME, SHORTEST, RowsInContext, answers_with_rows, last_of
from circuits.passes import DeadHookError
from tests.support.circuits.copying_in_context import LENGTHS, copying, model_by_hand
from workbench.measure.in_context.layers_read import spread
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy, run
from workbench.tasks.base import Batch

PART = 12
"""Strings."""


@pytest.fixture(scope="module")
def result() -> Any:
    task = copying()
    return run(RowsInContext(), model_by_hand(), task, trained=task.fitting, sequences=PART)


@pytest.mark.asserts("row_followed", "row_ceiling")
def test_behind_the_head_that_copies_the_row_is_the_answer_at_any_length(result) -> None:
    """At 16 items the copier is right, and at 32 it is not: a row of 16 says there what it said."""
    short, long = LENGTHS
    for n, target, right in ((short, SAME, 1.0), (long, SAME, 0.0), (long, SHORTEST, 1.0)):
        assert result.value("row_ceiling", length=n, target=target) == right
        assert result.value("row_followed", length=n, target=target, layer=1) == right
    assert not [r for r in result.rows if r["length"] == short and r["target"] == SHORTEST]


@pytest.mark.asserts("row_followed")
def test_behind_the_layer_below_the_row_is_a_question_that_its_new_prompt_answers(result) -> None:
    """The row says which symbol is to be found; what follows that is read off the prompt that it comes to."""
    short = LENGTHS[0]
    task = copying()
    study = ModelStudy(model_by_hand(), task, Grid(short, (short,), (short,), ()), PART, 0)
    batch: Batch = study.batch("matched", short)
    last = last_of(batch)
    followed, counted = 0, 0
    for i in range(PART):
        j = (i + 1) % PART
        wanted = int(batch.targets[j, last])
        if wanted == int(batch.targets[i, last]):
            continue
        counted += 1
        items, asked = batch.tokens[i, 1 : 1 + short].tolist(), int(batch.tokens[j, last])
        at = items.index(asked) + 1 if asked in items else short
        followed += at < short and items[at] == wanted
    assert result.value("row_followed", length=short, target=SAME, layer=0) == pytest.approx(followed / counted)
    assert followed < counted / 2


def test_layers_are_spread_and_the_last_one_is_among_them() -> None:
    assert spread(30, 8)[-1] == 29
    assert len({*spread(30, 8)}) == 8
    assert spread(2, 8) == [0, 1]
    assert spread(7, 1) == [6]


def test_an_edit_that_was_never_called_is_an_error(monkeypatch) -> None:
    task = copying()
    study = ModelStudy(model_by_hand(), task, Grid(16, (16,), (16,), ()), 4, 0)
    batch = study.batch("matched", 16)
    monkeypatch.setattr("circuits.interchange.rows_in_context.show_pass", lambda *args: 0)
    with pytest.raises(DeadHookError, match="never called"):
        answers_with_rows(study, batch, 1, torch.zeros(4, study.cfg.d_model), batch.targets[:, -1])
