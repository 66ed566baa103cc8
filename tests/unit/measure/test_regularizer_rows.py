"""The measurement ``regularizer``: R(T) of a run's weights, and where it is not stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.measure.measuring import measured
from workbench.measure.registry import choose
from workbench.models.handmade.transformers import majority
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import make_task
from workbench.theory.limit_transformers.norm_regularizer import norm_regularizer


@pytest.mark.asserts("norm_regularizer", "norm_regularizer_part")
def test_rows_are_the_parts_and_their_sum(make_run: Callable[..., Any]) -> None:
    model = majority(40, window=15, n_ctx=64)  # reads learned positions; trained to 15 and BOS
    run = make_run(model, make_task("majority"), 15)
    table, problems = measured(run, only=["regularizer"], settings={"regularizer": {"bits": 8.0}})
    assert not problems
    found = table.frame(measurement="regularizer")
    wanted = norm_regularizer(model, 16, bits=8)
    parts = found[found["quantity"] == "norm_regularizer_part"].set_index("target")["value"]
    assert parts.to_dict() == pytest.approx(wanted.parts)
    (total,) = found[found["quantity"] == "norm_regularizer"]["value"]
    assert total == pytest.approx(wanted.total)


def test_positions_without_vectors_or_a_local_term_have_none(make_run: Callable[..., Any]) -> None:
    model = HookedTransformer(
        ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_heads=2, n_ctx=64, positions="alibi"), seed=1
    )
    table, _ = measured(make_run(model, make_task("majority"), 15), only=["regularizer"])
    (row,) = table.frame(measurement="regularizer").to_dict("records")
    assert row["status"] == "not_applicable"
    assert "alibi" in row["note"]


def test_it_is_measured_where_it_is_named() -> None:
    assert "regularizer" not in choose(None)
