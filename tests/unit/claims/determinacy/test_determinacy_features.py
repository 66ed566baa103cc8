"""Features inside the trained lengths: values by hand, and forecasts that are planted or absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from workbench.claims.determinacy import features
from workbench.claims.determinacy.cells import StudyCell
from workbench.claims.determinacy.feature_table import FIRST, cell_features, features_by_run
from workbench.claims.determinacy.features import (
    FEATURES,
    FIRST_STEP,
    code_drift,
    explained_variance,
    features_at,
    first_step_scores,
    margins,
    model_with,
    separation,
)
from workbench.claims.determinacy.forecasts import best_forecast, holm
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.models.architectures import make_model

CELL = StudyCell("majority-none", "majority", "none")


def initial_weights(seed: int = 0) -> dict[str, torch.Tensor]:
    model = make_model(CELL.config(seed).model, seed)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def test_the_share_between_groups_by_hand() -> None:
    """Means 1 and 5 about 3: 16 of a total of 20."""
    values = torch.tensor([[0.0], [2.0], [4.0], [6.0]], dtype=torch.float64)
    groups = torch.tensor([[0, 7], [0, 7], [1, 7], [1, 7]])
    assert explained_variance(values, groups) == pytest.approx(16 / 20)
    assert separation(values, groups[:, 0]) == pytest.approx(4.0)
    assert explained_variance(values, torch.zeros(4, 1)) == pytest.approx(0.0)


def test_the_margin_is_to_the_largest_other_output() -> None:
    outputs = torch.tensor([[1.0, 4.0, 2.5], [1.0, 4.0, 2.5]])
    assert margins(outputs, torch.tensor([1, 2])).tolist() == [1.5, -1.5]


def test_code_drift_by_hand() -> None:
    """0 for a shift and a change of scale, 2 for a reversed code."""
    short = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    answers = torch.tensor([0, 1])
    assert code_drift(short, answers, 3 * short + 5, answers) == pytest.approx(0.0, abs=1e-6)
    assert code_drift(short, answers, -short, answers) == pytest.approx(2.0)
    assert code_drift(short, answers, short[:1], answers[:1]) != code_drift(short, answers, short, answers)


def test_uniform_attention_has_an_entropy_slope_of_one() -> None:
    """Without queries, all keys have the same weight and the entropy is the log of their number."""
    weights = initial_weights()
    for name in weights:
        if name.endswith(("W_Q", "b_Q")):
            weights[name] = torch.zeros_like(weights[name])
    found = features_at(CELL, weights, seed=0, step=150)
    task = CELL.make_task()
    half, full = task.next_length(8), task.next_length(16)
    assert found["entropy_slope"] == pytest.approx(np.log((full + 1) / (half + 1)) / np.log(full / half), abs=1e-6)
    assert list(found) == list(FEATURES)


def test_loss_gap_and_norm_are_those_of_the_model() -> None:
    weights = initial_weights(3)
    found = features_at(CELL, weights, seed=3, step=200)
    norm = np.sqrt(sum(float((w.double() ** 2).sum()) for w in weights.values()))
    assert found["weight_norm"] == pytest.approx(norm)
    model, task = model_with(CELL, weights), CELL.make_task()
    long, short = (task.batch(4096, task.next_length(n), 9) for n in (16, 8))
    with torch.no_grad():
        gap = float(task.loss(model(long.tokens), long) - task.loss(model(short.tokens), short))
    assert found["loss_gap"] == pytest.approx(gap, abs=0.05)


def test_the_first_step_is_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step ten times smaller gives the same shares."""
    monkeypatch.setattr(features, "SEQUENCES", 64)
    found = first_step_scores(CELL, 1)
    monkeypatch.setattr(features, "STEP_SIZE", features.STEP_SIZE / 10)
    assert first_step_scores(CELL, 1) == pytest.approx(found, abs=1e-3)
    assert list(found) == list(FIRST_STEP)
    assert all(0 <= value <= 1 for value in found.values())


def test_the_first_step_of_majority_follows_the_answer_more_than_the_first_tokens() -> None:
    found = first_step_scores(CELL, 0)
    assert found["answer"] > found["first_tokens"]


def test_rows_of_a_cell_hold_every_feature_of_every_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from workbench.claims.determinacy import cells, feature_table, study

    monkeypatch.setattr(cells, "STEPS", 4)
    monkeypatch.setattr(features, "SEQUENCES", 16)
    for module in (feature_table, study):
        monkeypatch.setattr(module, "FORK_STEPS", (1, 2))
    rows = cell_features(CELL, [4, 5])
    assert len(rows) == 2 * (len(FIRST_STEP) + 2 * len(FEATURES))
    later = features_by_run(rows, CELL, 2, list(FEATURES))
    assert set(later) == {4, 5}
    assert later[4].tolist() == [row["value"] for row in rows if (row["parent"], row["step"]) == (4, 2)]
    assert set(features_by_run(rows, CELL, FIRST, list(FIRST_STEP))) == {4, 5}
    assert read_rows(tmp_path, "none.parquet") == []


def test_a_planted_forecast_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    noise, reach = rng.normal(size=(24, 8)), rng.random(24)
    noise[:, 5] = -(reach**3)
    planted = best_forecast([(noise, reach)])
    assert planted.feature == 5
    assert planted.correlation == pytest.approx(-1.0)
    assert planted.p == pytest.approx(1 / 2001)
    assert 0.4 < planted.chance < 0.7
    chance = [best_forecast([(rng.normal(size=(24, 8)), rng.random(24))], seed).p for seed in range(40)]
    assert 0.2 < np.mean(chance) < 0.8
    assert np.mean(np.array(chance) < 0.05) < 0.2


def test_a_constant_feature_forecasts_nothing_and_groups_are_averaged() -> None:
    reach = np.array([0.1, 0.2, 0.3, 0.4])
    up, down = reach[:, None], -reach[:, None]
    assert best_forecast([(np.ones((4, 1)), reach)]).correlation == 0
    assert best_forecast([(up, reach), (down, reach)]).correlation == pytest.approx(0.0)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
