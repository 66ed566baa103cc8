"""State-space models on the road of every run: trained, stored, loaded and measured; what needs attention says so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.measure.measuring import measured
from workbench.cli.options import assignments, suggestions
from workbench.cli.run_config import build
from workbench.measure.registry import make_measurement, measurements
from workbench.measure.running.applicable import lacking
from workbench.measure.running.plan import plan
from workbench.models import HookedSSM
from workbench.models.handmade.state_space import flip_flop, parity
from workbench.models.handmade.transformers import uniform_head
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.trainer import Stopped, Trainer


def test_what_a_model_lacks_is_said_with_what_fits_it() -> None:
    said = lacking(make_measurement("circuits.hardmax"), parity())
    assert said.startswith("it is about attention, and this state-space model has none; behaviour, dynamics and the")
    assert lacking(make_measurement("circuits.hardmax"), uniform_head()) == ""
    for name in ("behaviour", "dynamics", "bound", "probes.summary", "probes.position"):
        assert lacking(make_measurement(name), parity()) == ""


def test_a_hook_that_a_model_lacks_is_named() -> None:
    class Reads(measurements()["behaviour"]):  # type: ignore[misc]
        def hooks(self, cfg: object) -> list[str]:
            return ["blocks.0.attn.hook_z"]

    assert lacking(Reads(), parity()) == "it reads blocks.0.attn.hook_z, which this state-space model does not have"


def test_who_asks_for_what_does_not_apply_is_told(make_run) -> None:
    run = make_run(parity(), make_task("parity"), trained=8)
    assert plan([run.path]).notices == []
    (said,) = plan([run.path], only=["circuits.hardmax", "behaviour"]).notices
    assert said.startswith("handmade: circuits.hardmax does not apply: it is about attention")
    (said,) = plan([make_run(uniform_head(), make_task("parity"), 8, "heads").path], only=["circuits."]).notices
    assert "it is about the scan of a state-space model, and this transformer has none; circuits.hardmax is" in said


@pytest.mark.science
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


def config(**more):
    options = {"architecture": "ssm", "layers": 1, "d_model": 8, "lengths": "1-12", "steps": 12, "batch_size": 8}
    return build("parity", {**options, **more}, assignments(["training.checkpoints.log=3"]))


@pytest.mark.science
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


def test_signs_of_gates_make_another_run() -> None:
    ids = {config(gates=gates).as_json()["id"] for gates in ("nonnegative", "signed")}
    assert len(ids | {build("parity", {"lengths": "1-12"}, []).as_json()["id"]}) == 3
    assert config().as_json()["model"]["architecture"] == "ssm"


def test_what_a_task_suggests_for_a_transformer_is_not_meant_for_another_machine() -> None:
    task = make_task("uf")
    assert "positions" in suggestions(task, {})
    assert "positions" not in suggestions(task, {"architecture": "ssm"})


def test_a_flip_flop_reads_the_table_of_its_task() -> None:
    batch = make_task("flip_flop").label(torch.tensor([[2, 3, 5, 1, 4]]))
    assert flip_flop()(batch.tokens).argmax(-1)[0, 1:].tolist() == [1, 1, 1, 0, 0]
