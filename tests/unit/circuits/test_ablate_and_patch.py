"""``ablate`` and ``patch``, the two interventions of one line, on a model whose effects are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits import ablate, patch
from circuits.passes import DeadHookError
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

TASK = make_task("majority")
LAST = "blocks.0.hook_resid_post"


def test_the_head_that_counts_is_needed_and_named_either_way() -> None:
    model, batch = majority(), TASK.batch(64, 9)
    assert ablate(model, batch, TASK).right.mean() == 1.0
    by_label = ablate(model, batch, TASK, heads=["L0H0"], mode="zero")
    by_pair = ablate(model, batch, TASK, heads=[(0, 0)], mode="zero")
    assert by_label.right.mean() < 0.9
    np.testing.assert_array_equal(by_label.loss, by_pair.loss)


def test_the_same_seed_resamples_the_same_sequences() -> None:
    model, batch = majority(), TASK.batch(64, 9)
    first, again = (ablate(model, batch, TASK, heads=["L0H0"], mode="resample", seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.loss, again.loss)


@pytest.mark.parametrize("head", ["L0", "0.1", "L0H0H0", "L9H0"])
def test_a_head_that_does_not_exist_is_refused(head: str) -> None:
    with pytest.raises(ValueError, match=r"L0H1|layer 9"):
        ablate(majority(), TASK.batch(4, 9), TASK, heads=[head])


def test_the_last_residual_of_the_donor_gives_the_answer_of_the_donor() -> None:
    model, batch, donor = majority(), TASK.batch(32, 9, seed=1), TASK.batch(32, 15, seed=2)
    patched = patch(model, batch, donor, LAST, into=-1, source=-1)
    plain = model(batch.tokens)
    torch.testing.assert_close(patched[:, -1], model(donor.tokens)[:, -1])
    torch.testing.assert_close(patched[:, :-1], plain[:, :-1])


def test_without_a_position_all_positions_are_replaced() -> None:
    model, batch, donor = majority(), TASK.batch(8, 9, seed=1), TASK.batch(8, 9, seed=2)
    torch.testing.assert_close(patch(model, batch, donor, LAST), model(donor.tokens))


def test_what_cannot_be_patched_is_refused() -> None:
    model, batch = majority(), TASK.batch(8, 9)
    with pytest.raises(ValueError, match="into="):
        patch(model, batch, TASK.batch(8, 11), LAST)
    with pytest.raises(ValueError, match="8 sequences"):
        patch(model, batch, TASK.batch(4, 9), LAST)
    with pytest.raises(ValueError, match="source=10"):
        patch(model, batch, TASK.batch(8, 9), LAST, into=2, source=10)
    with pytest.raises(DeadHookError, match="hook_nothing"):
        patch(model, batch, TASK.batch(8, 9), "blocks.0.hook_nothing")
