"""The measurement ``bound``: rows on actual weights, and what no theorem covers."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.measure.measuring import measured
from workbench.measure.registry import make_measurement
from workbench.measure.settings import MeasurementError
from workbench.measure.training_length_bound import _bounded, _part
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import make_task
from workbench.theory.limit_transformers.bounds import Bound
from workbench.theory.limit_transformers.checkpoint_bounds import checkpoint_bound


def rows(make_run: Callable[..., Any], config: dict[str, Any], **settings: Any) -> Any:
    fields: dict[str, Any] = {"d_vocab": 3, "d_vocab_out": 2, "d_model": 8, "n_heads": 2, "n_ctx": 64}
    model = HookedTransformer(ModelConfig(**fields | config), seed=1)
    run = make_run(model, make_task("majority"), 15)
    table, problems = measured(run, only=["bound"], settings={"bound": settings})
    assert not problems
    return model, table.frame(measurement="bound")


ONE_LAYER = {"n_layers": 1, "normalization_type": None, "log_scaling": "all"}


@pytest.mark.asserts("training_length_bound", "training_length_bound_log10", "bound_part")
def test_rows_are_the_theorem_on_these_weights(make_run: Callable[..., Any]) -> None:
    model, found = rows(make_run, ONE_LAYER, bits=2.0, prior=1.0)
    bound, parts = checkpoint_bound(model, 0, epsilon=0.1, bits=2.0)
    by = found.set_index(["quantity", "target"])
    log10 = by.loc[("training_length_bound_log10", "theorem 4.1"), "value"]
    assert log10 == pytest.approx(bound.log10)  # type: ignore[union-attr]
    main = by.loc[("training_length_bound", "theorem 4.1")]
    if log10 < 308:
        assert main["value"] == pytest.approx(10**log10)
    else:
        assert main["status"] == "undefined"
    assert "constant" in by.loc[("training_length_bound_log10", "theorem 4.1"), "note"]
    for name in ("gamma_top", "lipschitz", "period", "locality", "alphabet"):
        assert by.loc[("bound_part", name), "value"] == pytest.approx(parts[name])
    assert by.loc[("training_length_bound", "theorem 4.2"), "value"] == pytest.approx(1e4)
    assert by.loc[("training_length_bound", "theorem 4.3"), "status"] == "not_applicable"
    assert not found["value"].isin([float("inf")]).any()


def test_what_is_not_covered_says_why_and_keeps_its_parts(make_run: Callable[..., Any]) -> None:
    _, found = rows(make_run, {"n_layers": 2, "positions": "learned"})
    bounds = found[found["quantity"] == "training_length_bound"]
    assert set(bounds["status"]) == {"not_applicable"}
    assert "not learned" in bounds.set_index("target").loc["theorem 5.2", "note"]
    assert "scores_2" in set(found["target"])


def test_a_prior_that_is_not_stated_gives_no_average_case(make_run: Callable[..., Any]) -> None:
    _, found = rows(make_run, ONE_LAYER)
    average = found[found["target"] == "theorem 4.2"].iloc[0]
    assert average["status"] == "not_applicable"
    assert "prior" in average["note"]


def test_a_uniform_head_has_no_margin(make_run: Callable[..., Any]) -> None:
    model = HookedTransformer(
        ModelConfig(d_vocab=3, d_vocab_out=2, d_model=8, n_heads=1, n_ctx=64, **ONE_LAYER), seed=1
    )
    with torch.no_grad():
        model.blocks[0].attn.W_Q.zero_()
    run = make_run(model, make_task("majority"), 15)
    table, _ = measured(run, only=["bound"])
    found = table.frame(measurement="bound").set_index(["quantity", "target"])
    assert found.loc[("bound_part", "gamma_top"), "status"] == "undefined"
    assert found.loc[("bound_part", "log10_hardmax_term"), "value"] == 0.0


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(MeasurementError, match=r"bound\.epsilon"):
        make_measurement("bound", {"epsilon": 0.0})
    with pytest.raises(MeasurementError, match="'outside'"):
        make_measurement("bound", {"reading": "above"})


def test_rows_of_bounds_that_no_float_holds() -> None:
    assert [(r["value"], r["status"], r["note"]) for r in (_part("gap", 2), _part("gap", math.inf), _part("gap", -math.inf))] == [
        (2.0, "ok", ""), (None, "undefined", "all scores always tie, so there is no gap"),
        (None, "undefined", "attention does not reach the output"),
    ]  # fmt: skip

    def told(log10: float) -> list[Any]:
        bound = SimpleNamespace(theorem="t", log10=log10, value=10**log10 if log10 < 308 else math.inf)
        found: Bound = bound  # type: ignore[assignment]
        return [(r["quantity"], r["value"], r["note"]) for r in _bounded(found, "n")]

    assert told(2.0) == [("training_length_bound", 100.0, "n"), ("training_length_bound_log10", 2.0, "n")]
    assert told(400.0) == [
        ("training_length_bound", None, "10^400, larger than any float"), ("training_length_bound_log10", 400.0, "n"),
    ]  # fmt: skip
    assert told(math.inf) == [("training_length_bound", None, "no finite length")]
