"""Training on a device: the same updates, waited for now and then, and nothing of it in a run on the processor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
import torch
from typer.testing import CliRunner

from tests.support.every_encoding import EXAMPLES, said
from tests.support.training.training import config, hashes
from workbench.cli.main import app
from workbench.models import ModelConfig
from workbench.models.architectures import make_config, make_model
from workbench.models.errors import DeviceError
from workbench.runs import Run, RunError
from workbench.tasks import make_task
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.optimizer import make_optimizer
from workbench.training.regularizers import outputs_and_penalty
from workbench.training.resume import load_state
from workbench.training.trainer import FETCH_EVERY, Stopped, Trainer


def placed(given: RunConfig, folder: Path, watcher: Any = None, device: str = "cpu:0") -> Trainer:
    """A trainer that takes the ways of a device, which is the processor by another name."""
    trainer = Trainer(given, folder, watcher)
    trainer.device = device
    return trainer


def losses(run: Run) -> list[float]:
    """The logged losses of a run, in the order of steps."""
    logs = [pq.read_table(run.step_path(step) / "log.parquet").to_pylist() for step in run.steps]
    return [line["loss"] for log in logs for line in log if line["loss"] is not None]


def test_the_ways_of_a_device_give_the_same_weights_and_log(tmp_path: Path) -> None:
    given = config(steps=FETCH_EVERY + 5, regularizers={"attention_entropy": 0.01})
    here = Trainer(given, tmp_path / "here").run()
    there = placed(given, tmp_path / "there").run()
    assert hashes(here) == hashes(there)
    for step in here.steps:
        one, other = (run.step_path(step) / "log.parquet" for run in (here, there))
        assert one.read_bytes() == other.read_bytes()


def on_device(device: str, **training: Any) -> RunConfig:
    """A run that states its device, where that is not the CPU."""
    kind = device.partition(":")[0]
    given = {"steps": FETCH_EVERY + 5, "positions": "learned", **training}
    return config(**given, **({} if kind == "cpu" else {"device": kind}))


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_an_interrupted_training_resumes_on_its_device_to_the_same_bits(
    tmp_path: Path, optimizer: str, other_device: str
) -> None:
    given = on_device(other_device, optimizer=optimizer)
    whole = placed(given, tmp_path / "whole", device=other_device).run()

    def stop(step: int, scores: object) -> None:
        trainer.stopping = step == 7

    trainer = placed(given, tmp_path / "resumed", stop, other_device)
    with pytest.raises(Stopped):
        trainer.run()
    resumed = placed(given, tmp_path / "resumed", device=other_device).run()
    assert hashes(resumed) == hashes(whole)


@pytest.fixture
def cuda_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs that state cuda, on a machine that claims to have it; their trainers compute on the CPU."""
    monkeypatch.setattr("workbench.models.compute_device._count", lambda torch, kind: 1)
    yield
    torch.use_deterministic_algorithms(False)


class Sensitive(torch.autograd.Function):
    """The same loss. Its backward pass has no deterministic kernel, and notes how strict torch is."""

    strict: ClassVar[list[bool]] = []

    @staticmethod
    def forward(ctx: Any, losses: torch.Tensor) -> torch.Tensor:
        return losses.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        strict = torch.are_deterministic_algorithms_enabled()
        Sensitive.strict.append(strict and not torch.is_deterministic_algorithms_warn_only_enabled())
        if Sensitive.strict[-1]:
            raise RuntimeError("sensitive_cuda_kernel does not have a deterministic implementation")
        return grad


@pytest.mark.usefixtures("cuda_on_the_cpu")
def test_updates_on_cuda_use_deterministic_kernels_strictly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Attention chooses its deterministic backward kernel only if torch may refuse others.
    strict: list[bool] = []
    loss_of = type(config().task).losses

    def watched(self: Any, outputs: torch.Tensor, batch: Any) -> torch.Tensor:
        if outputs.requires_grad:
            outputs.register_hook(lambda grad: strict.append(not torch.is_deterministic_algorithms_warn_only_enabled()))
        return loss_of(self, outputs, batch)

    monkeypatch.setattr(type(config().task), "losses", watched)
    there = placed(config(steps=4, device="cuda"), tmp_path / "there").run()
    assert strict == [True] * 4
    assert torch.is_deterministic_algorithms_warn_only_enabled(), "outside of updates torch only warns"
    monkeypatch.undo()
    here = Trainer(config(steps=4), tmp_path / "here").run()
    assert hashes(there) == hashes(here)


@pytest.mark.usefixtures("cuda_on_the_cpu")
def test_an_update_without_deterministic_kernels_is_computed_again_with_a_warning_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss_of = type(config().task).losses
    monkeypatch.setattr(Sensitive, "strict", [])
    with monkeypatch.context() as patch:
        patch.setattr(type(config().task), "losses", lambda *given: Sensitive.apply(loss_of(*given)))
        there = placed(config(steps=4, device="cuda"), tmp_path / "there").run()
    assert Sensitive.strict == [True, False, False, False, False]
    here = Trainer(config(steps=4), tmp_path / "here").run()
    assert hashes(there) == hashes(here)


def test_a_device_gives_the_losses_of_the_cpu_within_rounding(tmp_path: Path, other_device: str) -> None:
    here = Trainer(on_device("cpu"), tmp_path / "here").run()
    there = placed(on_device(other_device), tmp_path / "there", device=other_device).run()
    assert losses(there) == pytest.approx(losses(here), rel=1e-4)


@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_every_encoding_trains_on_a_device_as_on_the_cpu(
    tmp_path: Path, positions: dict[str, Any], other_device: str
) -> None:
    def run_on(device: str) -> Trainer:
        trainer = placed(on_device(device, positions=positions, steps=3), tmp_path / device, device=device)
        trainer.run()
        return trainer

    here, there = run_on("cpu"), run_on(other_device)
    assert losses(Run.open(there.folder)) == pytest.approx(losses(Run.open(here.folder)), rel=1e-4)
    assert there._strict == (there.training.device == "cuda"), "each has deterministic kernels"


@pytest.mark.filterwarnings("ignore:for .* meta parameter")
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_resumed_optimizer_keeps_everything_on_the_device_of_the_weights(tmp_path: Path, optimizer: str) -> None:
    # A fused optimizer on a device reads its count of steps there.
    given = config(optimizer=optimizer)
    stopped = Trainer(given, tmp_path / "run", lambda step, scores: setattr(stopped, "stopping", step == 5))
    with pytest.raises(Stopped):
        stopped.run()
    model = make_model(given.model).to("meta")
    resumed = make_optimizer(model, given.training)
    load_state(tmp_path / "run", given.as_json()["id"], model, resumed)
    tensors = [value for slots in resumed.state.values() for value in slots.values()]
    assert tensors
    assert {value.device.type for value in tensors} == {"meta"}


def test_a_device_is_waited_for_only_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []
    fetch = Trainer._fetch

    def counted(self: Trainer) -> None:
        if self._unread:
            fetched.append(len(self._unread))
        fetch(self)

    monkeypatch.setattr(Trainer, "_fetch", counted)
    monkeypatch.setattr("workbench.training.trainer.LOG_LINES", 1)
    given = config(steps=3 * FETCH_EVERY)
    trainer = placed(given, tmp_path / "run")
    trainer.schedule = (0, given.training.steps)
    trainer.run()
    assert fetched == [1, FETCH_EVERY - 1, FETCH_EVERY, FETCH_EVERY], "the log's first line, then by count"


def test_a_loss_that_is_not_finite_is_named_by_its_step_before_anything_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = placed(config(steps=12), tmp_path / "run")
    task = trainer.task_at(0)
    losses = type(task).losses

    def broken(self: Any, outputs: torch.Tensor, batch: Any) -> torch.Tensor:
        return losses(self, outputs, batch) * (float("nan") if trainer.state.step == 5 else 1.0)

    monkeypatch.setattr(type(task), "losses", broken)
    with pytest.raises(RunError, match="step 5"):
        trainer.run()


@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_an_update_makes_no_tensor_elsewhere(positions: dict[str, Any]) -> None:
    task = make_task("majority")
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=16, n_heads=2, n_ctx=32,
        positions=positions,
    )  # fmt: skip
    entropy = {"attention_entropy": 0.01} | ({"positional": 1e-4} if model.positions.added else {})
    law = TrainingConfig(
        steps=4, batch_size=4, curriculum={"law": "uniform", "low": 9, "high": 9}, regularizers=entropy
    )
    trainer = Trainer(RunConfig(task=task, model=model, training=law), Path("unused"))
    made = make_model(model, seed=0)
    batch, ids = trainer.batch(0)
    with torch.device("meta"):
        outputs, penalty = outputs_and_penalty(made, batch, ids, law.regularizers)
        assert penalty is not None
        (task.loss(outputs, batch) + penalty).backward()
        task.correct(outputs.detach(), batch)[batch.mask].double().mean()
    assert all(parameter.grad is None or parameter.grad.device.type == "cpu" for parameter in made.parameters())


def test_run_json_names_a_device_only_where_it_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.models.compute_device._count", lambda torch, kind: 0)
    usual = config().as_json()
    assert not {"device", "dtype"} & {*usual["training"]}
    assert config(device="cpu", dtype="float32").as_json()["id"] == usual["id"]
    other = config(device="cuda", dtype="bfloat16").as_json()
    assert (other["training"]["device"], other["training"]["dtype"]) == ("cuda", "bfloat16")
    assert other["id"] != usual["id"]
    with pytest.raises(DeviceError, match="device"):
        Trainer(config(device="cuda"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_bfloat16_is_stored_and_weights_stay_in_float32(tmp_path: Path) -> None:
    plain = Trainer(config(steps=6), tmp_path / "plain").run()
    given = [
        "train",
        "majority",
        "--lengths",
        "1-9",
        "--layers",
        "1",
        "--d-model",
        "8",
        "--heads",
        "2",
        "--n-ctx",
        "16",
        "--steps",
        "6",
        "--batch-size",
        "4",
    ]
    done = CliRunner().invoke(app, [*given, "--dtype", "bfloat16", "--out", str(tmp_path / "short")])
    assert done.exit_code == 0, done.output
    stated = json.loads((tmp_path / "short" / "run.json").read_text())["training"]
    assert stated["dtype"] == "bfloat16"
    assert "device" not in stated
    from safetensors.torch import load_file

    weights = load_file(tmp_path / "short" / "steps" / "00000006" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert plain.steps[-1] == 6


@pytest.mark.parametrize("architecture", ["ssm", "rnn"])
def test_a_model_without_attention_trains_in_bfloat16(architecture: str, tmp_path: Path) -> None:
    runs = {}
    for dtype in ("float32", "bfloat16"):
        given = config(steps=6, dtype=dtype)
        sizes = {"d_vocab": given.task.d_vocab, "d_vocab_out": given.task.d_vocab_out, "n_layers": 1, "d_model": 8}
        model = make_config({**sizes, "architecture": architecture, "n_ctx": 16})
        law = RunConfig(task=given.task, model=model, training=given.training, seeds=given.seeds)
        runs[dtype] = Trainer(law, tmp_path / dtype).run()
    assert losses(runs["bfloat16"]) != losses(runs["float32"])
    assert losses(runs["bfloat16"]) == pytest.approx(losses(runs["float32"]), rel=0.02)


@pytest.mark.parametrize("command", [["train", "majority"], ["measure", "."], ["open", "."], ["app"]])
def test_a_device_that_is_not_there_is_one_sentence_before_work(command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--device", "cuda:7"])
    assert isinstance(done.exception, DeviceError)
    assert "cuda" in str(done.exception)
