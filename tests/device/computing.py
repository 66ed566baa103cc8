"""Run by check_device in a process of its own: rounding of single operations, and the speed of models of two sizes.

python -m tests.device.computing rounding|speed DEVICE OUT.json [THREADS] [DTYPE]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from workbench.models.architectures import make_config, make_model
from workbench.models.base.other_device import compute_elsewhere
from workbench.tasks import make_task
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.trainer import Trainer, Watcher


@dataclass(frozen=True)
class Case:
    """A model and its batches. On the CPU, ``cpu_steps`` updates are timed, on a device ``device_steps``."""

    model: dict[str, Any]
    length: int
    batch: int
    cpu_steps: int
    device_steps: int


ROTARY = {"positions": "rotary"}
WARM_UP = 2
"""Updates before those that are timed."""
CASES = {
    "small": Case({**ROTARY, "n_layers": 2, "d_model": 32, "n_heads": 2}, 32, 64, 60, 60),
    "state-space": Case({"architecture": "ssm", "n_layers": 2, "d_model": 32}, 256, 64, 10, 10),
    "medium": Case({**ROTARY, "n_layers": 4, "d_model": 512, "n_heads": 8}, 2048, 8, 4, 24),
}
"""The gallery's size, a recurrence, and a size at which a GPU pays."""


def rounding(device: str) -> dict[str, float]:
    """Operation -> relative error ||out - ref|| / ||ref|| of float32 on the device, against float64 on the CPU."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    heads = (4, 8, 512, 64)
    operations: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
        "matrix product, 1024": (torch.matmul, (normal(1024, 1024), normal(1024, 1024))),
        "causal attention, fused": (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            (normal(*heads), normal(*heads), normal(*heads)),
        ),
        "attention with a bias": (
            F.scaled_dot_product_attention,
            (*(normal(*heads) for _ in range(3)), normal(512, 512)),
        ),
        "depthwise convolution": (
            lambda x, w: F.conv1d(x, w, groups=128),
            (normal(8, 128, 512), normal(128, 1, 4)),
        ),
        "einsum of patterns and values": (
            lambda p, v: torch.einsum("bhqk,bkhe->bqhe", p, v),
            (normal(4, 8, 512, 512).softmax(-1), normal(4, 512, 8, 64)),
        ),
        "layer norm": (lambda x: F.layer_norm(x, x.shape[-1:]), (normal(64, 512),)),
    }
    errors = {}
    for name, (operation, inputs) in operations.items():
        reference = operation(*inputs)
        with torch.no_grad():
            output = operation(*(x.float().to(device) for x in inputs)).cpu().double()
        errors[name] = float((output - reference).norm() / reference.norm())
    for positions in ("none", "learned"):
        errors[f"hardmax weights that differ, positions {positions}"] = other_hardmax_weights(device, positions)
    return errors


def other_hardmax_weights(device: str, positions: str) -> float:
    """The share of attention weights of a hardmax model that differ by more than 0.01; without positions keys tie."""
    sizes = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 2, "d_model": 32, "n_heads": 2, "n_ctx": 64}
    here, there = (
        make_model(make_config({**sizes, "positions": positions, "attention": "hardmax"}), seed=0) for _ in range(2)
    )
    tokens = torch.randint(3, (32, 64), generator=torch.Generator().manual_seed(0))
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
    with torch.no_grad():
        expected = here.eval().run_with_cache(tokens)[1]
        actual = there.eval().to(device).run_with_cache(tokens.to(device))[1]
    return float(torch.cat([((expected[n] - actual[n].cpu()).abs() > 0.01).flatten() for n in names]).double().mean())


def repeated(device: str) -> dict[str, Any]:
    """Whether two trainings of the longest case end in the same bits: as we train, and if torch only warns."""
    facts: dict[str, Any] = {}
    for dtype in ("float32", "bfloat16"):
        for name, strict in (("strict", True), ("torch only warns", False)):
            weights = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    trainer = trainer_of(CASES["medium"], device, 1, dtype, 4, Path(folder), None)
                    trainer._strict &= strict
                    trainer.run()
                    facts[f"{dtype}, {name}: deterministic kernels for all"] = trainer._strict
                    weights.append([p.detach().clone() for p in trainer.model.parameters()])
            gaps = [float((one - two).abs().max()) for one, two in zip(*weights, strict=True)]
            facts[f"{dtype}, {name}: bit-identical"] = all(map(torch.equal, *weights))
            facts[f"{dtype}, {name}: largest difference of a weight"] = max(gaps)
    return facts


def wait(device: str) -> None:
    """Wait until the device has computed everything."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def median_seconds(compute: Callable[[], Any], device: str, repeats: int) -> float:
    """The median wall time of a computation, after one that is not timed."""
    times = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        compute()
        wait(device)
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def speed(device: str, threads: int, dtype: str, names: Sequence[str]) -> dict[str, Any]:
    """Case -> seconds per training step and per forward pass."""
    return {name: speed_of(CASES[name], device, threads, dtype) for name in names}


def trainer_of(
    case: Case, device: str, threads: int, dtype: str, steps: int, folder: Path, watcher: Watcher | None
) -> Trainer:
    """A trainer of a case at one length. It scores no checkpoint: that is no part of a step."""
    task = make_task("majority")
    length = task.next_length(case.length)
    vocabulary = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out}
    model = make_config({**case.model, **vocabulary, "n_ctx": max(length, 64)})
    training = TrainingConfig(
        steps=steps, batch_size=case.batch, checkpoints={"log": 0, "linear": 1}, threads=threads, dtype=dtype,
        curriculum={"law": "uniform", "low": length, "high": length}, device=device.partition(":")[0],
    )  # fmt: skip
    trainer = Trainer(RunConfig(task=task, model=model, training=training), folder / "run", watcher)
    trainer._score = dict  # type: ignore[method-assign]
    return trainer


def speed_of(case: Case, device: str, threads: int, dtype: str) -> dict[str, Any]:
    """The same of one case. A training step draws its batch on the CPU, as ``lengthlens train`` does."""
    steps = case.cpu_steps if device == "cpu" else case.device_steps
    times: dict[int, float] = {}

    def note(step: int, scores: object) -> None:
        if step in (WARM_UP, steps + WARM_UP):
            wait(device)
            times[step] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(case, device, threads, dtype, steps + WARM_UP, Path(folder), note)
        trainer.run()
        length = trainer.training.trained_length
        facts: dict[str, Any] = {"length": length, "batch": case.batch, "threads": threads, "dtype": dtype}
        seconds = (times[steps + WARM_UP] - times[WARM_UP]) / steps
        facts |= {
            "parameters": sum(p.numel() for p in trainer.model.parameters()),
            "timed_steps": steps,
            "seconds_per_step": seconds,
            "steps_per_second": 1 / seconds,
            "seconds_per_batch_drawn": median_seconds(lambda: trainer.batch(0), "cpu", 3),
        }
    if device.startswith("cuda"):
        facts["peak_gpu_mib"] = torch.cuda.max_memory_allocated() / 2**20
    if dtype == "float32":
        facts |= forward_seconds(trainer.config.model, device, length, case.batch)
    return facts


def forward_seconds(model: Any, device: str, length: int, batch: int) -> dict[str, float]:
    """Seconds of a pass as ``measure`` makes it: tokens and results on the CPU, without and with all activations."""
    hooked = make_model(model, seed=0).eval()
    if device != "cpu":
        twin = make_model(model, seed=0)
        twin.load_state_dict(hooked.state_dict())
        hooked = compute_elsewhere(hooked, twin.eval(), device)
    tokens = torch.randint(model.d_vocab, (batch, length), generator=torch.Generator().manual_seed(0))
    short = tokens[:, :512]
    with torch.no_grad():
        return {
            "seconds_per_pass": median_seconds(lambda: hooked(tokens), device, 3),
            "seconds_per_pass_with_cache": median_seconds(lambda: hooked.run_with_cache(short), device, 3),
            "length_with_cache": min(length, 512),
        }


if __name__ == "__main__":
    part, name, out, *rest = sys.argv[1:]
    if part == "speed":
        thread_count = int(rest[0])
        torch.set_num_threads(thread_count)
        report: Any = speed(name, thread_count, rest[1], rest[2].split(","))
    else:
        report = {"rounding": rounding, "repeated": repeated}[part](name)
    Path(out).write_text(json.dumps(report))
