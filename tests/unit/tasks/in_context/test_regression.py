"""In-context linear regression: labels in exact fractions and by scikit-learn, moments, laws."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from workbench.tasks import TaskError, make_task


def agree(task, strings: torch.Tensor) -> None:
    batch = task.label(strings)
    rows = zip(strings.tolist(), batch.targets[:, 1:, 0].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        for found, asked, expected in zip(target, mask, task.reference(string), strict=True):
            assert asked == (expected is not None)
            assert not asked or found == pytest.approx(expected, abs=1e-6)


def test_labels_agree_with_exact_fractions_on_every_string(every_string):
    """All 6^5 strings over three levels of x and of y, malformed ones included."""
    agree(make_task("linear_regression", levels=3), every_string(6, 5))


@pytest.mark.parametrize(("dimension", "levels"), [(1, 17), (2, 5), (3, 9)])
def test_labels_of_samples_agree_with_exact_fractions_and_with_scikit_learn(dimension, levels, seeded):
    task = make_task("linear_regression", dimension=dimension, levels=levels, ridge=0.05)
    length = task.next_length(40)
    for law in ("matched", "challenge"):
        batch = task.sample(4, length, seeded(dimension), law)
        agree(task, batch.tokens[:, 1:])
        values = np.array([[0.0, *(2 * (t % levels) / (levels - 1) - 1 for t in range((dimension + 1) * levels))]])
        for row, target in zip(batch.tokens[:, 1:].numpy(), batch.targets[:, -1, 0].tolist(), strict=True):
            seen = values[0, row]
            pairs = seen[: length - dimension].reshape(-1, dimension + 1)
            fit = Ridge(alpha=0.05 * len(pairs), fit_intercept=False).fit(pairs[:, :-1], pairs[:, -1])
            assert target == pytest.approx(float(fit.predict(seen[None, -dimension:])[0]), abs=1e-5)


def test_summaries_by_hand():
    """Levels -1, 0, 1: (1, 1), then (-1, 0), then x = 1. The means are 1 and 1/2."""
    task = make_task("linear_regression", levels=3, ridge=0.5)
    batch = task.label(torch.tensor([[3, 6, 1, 5, 3]]))
    assert batch.mask[0].tolist() == [False, False, False, True, False, True]
    assert batch.output_summary[0, 5].tolist() == [1.0, 0.5, 1.0]
    assert batch.targets[0, 5, 0].item() == pytest.approx(0.5 / 1.5)
    assert batch.targets[0, 3, 0].item() == pytest.approx(-1 / 1.5)
    assert batch.update_summary[0, 1:].tolist() == [  # xx, xy, pairs, x so far, place, broken
        [0, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, -1, 1, 0], [2, 1, 2, 0, 0, 0], [2, 1, 2, 1, 1, 0],
    ]  # fmt: skip


def test_the_moment_matrices_of_two_components():
    task = make_task("linear_regression", dimension=2, levels=3)
    string = [task.tokens_names.index(name) for name in ("x1=1", "x2=-1", "y=1", "x1=1", "x2=0")]
    batch = task.label(torch.tensor([string]))
    assert batch.output_summary[0, 5].tolist() == [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 0.0]
    assert batch.update_summary[0, 5].tolist() == [1, -1, 1, 1, -1, 1, 1, 0, 2, 0]


@pytest.mark.parametrize(("dimension", "levels", "length"), [(1, 3, 4), (2, 3, 3)])
def test_update_summary_can_be_carried_on_and_summaries_determine_the_answer(dimension, levels, length, every_string):
    task = make_task("linear_regression", dimension=dimension, levels=levels)
    batch = task.label(every_string((dimension + 1) * levels, length))
    state, tokens = batch.update_summary[:, 1:].double(), batch.tokens[:, 1:, None].double()
    whole = state[..., -1] == 0  # broken strings count on, but are asked nothing

    def kinds(*columns: torch.Tensor) -> int:
        return len(torch.cat([c.reshape(-1, c.shape[-1]) for c in columns], 1).unique(dim=0))

    assert kinds(state[:, :-1], tokens[:, 1:]) == kinds(state[:, :-1], tokens[:, 1:], state[:, 1:])
    answer, asked = batch.targets[:, 1:].double(), batch.mask[:, 1:, None].double()
    assert kinds(state) == kinds(state, (answer * asked).round(decimals=5), asked)
    assert (whole | ~batch.mask[:, 1:]).all()
    summary = batch.output_summary[batch.mask].double().round(decimals=5)
    target = batch.targets[batch.mask].double().round(decimals=5)
    assert kinds(summary) == kinds(summary, target)


def test_windows_align_with_the_pairs():
    """x = 1 asked after (1, 1), (1, -1), (1, 1): the last 4 tokens hold one whole pair, the first 4 hold two."""
    task = make_task("linear_regression", levels=3, ridge=1e-6, tolerance=0.01)
    batch = task.label(torch.tensor([[3, 6, 3, 4, 3, 6, 3]]))
    assert batch.targets[0, -1, 0].item() == pytest.approx(1 / 3, abs=1e-5)
    assert task.answer(batch.tokens[:, -4:]).item() == pytest.approx(1.0, abs=1e-5)
    assert task.answer(batch.tokens[:, -1:]).item() == 0.0
    found = task.shortcuts(batch, 4)
    assert found["last_window"].tolist() == [0.0]
    assert found["first_window"].tolist() == [0.0]
    assert task.shortcuts(batch, 6)["first_window"].tolist() == [1.0]


def test_lengths_and_parameters():
    assert make_task("linear_regression").lengths(1, 8) == [3, 5, 7]
    assert make_task("linear_regression", dimension=3).lengths(1, 12) == [7, 11]
    with pytest.raises(TaskError) as caught:
        make_task("linear_regression", levels=4)
    assert str(caught.value) == "linear_regression: levels must be an odd integer from 3 to 129, not 4"
