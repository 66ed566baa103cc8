"""State-space models on the road of every run: trained, stored, loaded and measured; what needs attention says so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.measure.measuring import measured
from tests.support.measure.ssm_measured import config
from workbench.measure.registry import make_measurement
from workbench.models import HookedSSM
from workbench.models.handmade.state_space import parity
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.trainer import Stopped, Trainer


def test_handmade_machines_are_scale_robust_and_their_state_is_decodable(make_run) -> None:
    table, problems = measured(make_run(parity(), make_task("parity"), trained=8), only=None, sequences=512)
    assert problems == []
    assert table.frame(quantity="verdict")["label"].item() == "scale-robust"
    refit = table.frame(quantity="summary_decodability", layer=0, mode="refit", control="")
    assert len(refit)
    assert (refit["value"] == 1).all()
    hardmax = table.frame(measurement="circuits.hardmax")
    assert set(hardmax["status"]) == {"not_applicable"}
    assert set(hardmax["quantity"]) == {q.name for q in make_measurement("circuits.hardmax").spec.quantities}
    assert hardmax["note"].str.contains("state-space model has none").all()
    assert (table.frame(measurement="bound")["status"] == "not_applicable").all()
    assert len(table.frame(quantity="gradient_cosine"))


def test_it_is_trained_stored_and_loaded_and_goes_on_to_the_same_bits(tmp_path) -> None:
    whole = Trainer(config(gates="signed"), tmp_path / "whole").run()
    stopped = Trainer(config(gates="signed"), tmp_path / "stopped")
    stopped.watcher = lambda step, scores: setattr(stopped, "stopping", stopped.stopping or step >= 5)
    with pytest.raises(Stopped):
        stopped.run()
    again = Trainer(config(gates="signed"), tmp_path / "stopped").run()
    assert {s: whole.meta(s)["sha256"] for s in whole.steps} == {s: again.meta(s)["sha256"] for s in again.steps}
    model = Run.open(whole.path).load(12)
    assert isinstance(model, HookedSSM)
    assert model.cfg.gates == "signed"
    tokens = torch.ones(1, 5, dtype=torch.long)
    assert not np.allclose(model(tokens).detach(), whole.load(0)(tokens).detach())
