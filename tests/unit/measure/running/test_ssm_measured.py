"""State-space models on the road of every run: trained, stored, loaded and measured; what needs attention says so."""

from __future__ import annotations

import torch

from tests.support.measure.ssm_measured import config
from workbench.cli.options import suggestions
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.measure.registry import make_measurement, measurements
from workbench.measure.request import MeasureRequest
from workbench.measure.running.applicable import lacking
from workbench.measure.running.plan import plan
from workbench.models.handmade.state_space import flip_flop, parity
from workbench.models.handmade.transformers import uniform_head
from workbench.tasks import make_task


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
    assert plan(MeasureRequest([run.path])).notices == []
    (said,) = plan(MeasureRequest([run.path], only=["circuits.hardmax", "behaviour"])).notices
    assert said.startswith("handmade: circuits.hardmax does not apply: it is about attention")
    (said,) = plan(
        MeasureRequest([make_run(uniform_head(), make_task("parity"), 8, "heads").path], only=["circuits."])
    ).notices
    assert "it is about the scan of a state-space model, and this transformer has none; circuits.hardmax is" in said


def test_signs_of_gates_make_another_run() -> None:
    ids = {config(gates=gates).as_json()["id"] for gates in ("nonnegative", "signed")}
    assert len(ids | {build(TrainRequest("parity", {"lengths": "1-12"})).as_json()["id"]}) == 3
    assert config().as_json()["model"]["architecture"] == "ssm"


def test_what_a_task_suggests_for_a_transformer_is_not_meant_for_another_machine() -> None:
    task = make_task("uf")
    assert "positions" in suggestions(task, {})
    assert "positions" not in suggestions(task, {"architecture": "ssm"})


def test_a_flip_flop_reads_the_table_of_its_task() -> None:
    batch = make_task("flip_flop").label(torch.tensor([[2, 3, 5, 1, 4]]))
    assert flip_flop()(batch.tokens).argmax(-1)[0, 1:].tolist() == [1, 1, 1, 0, 0]
