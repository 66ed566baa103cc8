"""Whether a run fits is said where it is shown, and only there."""

from __future__ import annotations

from typing import Any

import torch

from workbench.measure.behaviour.solves_trained_lengths import fit_sentence
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

TASK = make_task("majority")


def test_what_is_shown_to_fit_is_said_to(make_run: Any) -> None:
    said = fit_sentence(make_run(majority(), TASK, trained=9))
    assert said == "accuracy at the longest training length 9: 1.000 [0.993, 1.000], n 512, chance 0.50: fitted"


def test_what_is_shown_not_to_fit_is_said_not_to(make_run: Any) -> None:
    model = majority()
    with torch.no_grad():
        model.unembed.W_U.zero_()
    said = fit_sentence(make_run(model, TASK, trained=9))
    assert ": not fitted (skill " in said
    assert said.endswith("; fitted needs 0.95)")


def test_too_few_strings_are_no_proof_that_it_does_not_fit(make_run: Any) -> None:
    said = fit_sentence(make_run(majority(), TASK, trained=9), sequences=20)
    assert "not fitted" not in said
    assert said.endswith(
        "n 20, chance 0.50; it is not known yet whether it fits: skill 1.000 [0.574, 1.000] at trained length 3, "
        "the bar is 0.95; 190 strings would decide"
    )
