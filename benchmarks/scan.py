"""Our state-space layer against mambapy's of the same shape: forward and backward, time and memory.

    python -m benchmarks.scan

Both have two layers of width 64 (128 channels of 16 states), a convolution of four tokens, float32, one
thread. *Layers* are whole residual layers, ours with LayerNorm, theirs with RMSNorm; *scan* is what both do
with the same step sizes, rates, inputs, B and C.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.tools.memory import peak_mib
from benchmarks.tools.table import Line, interleaved

WIDTH, LAYERS, STATES = 64, 2, 16
SHAPES = {512: 8, 4096: 1}
"""Length -> sequences."""


def ours() -> nn.Module:
    from workbench.models import HookedSSM, SSMConfig

    cfg = SSMConfig(d_vocab=16, n_layers=LAYERS, d_model=WIDTH, d_state=STATES, n_ctx=64)
    return nn.Sequential(*HookedSSM(cfg).blocks)


def peer() -> nn.Module:
    from mambapy.mamba import Mamba, MambaConfig

    made: nn.Module = Mamba(MambaConfig(d_model=WIDTH, n_layers=LAYERS, d_state=STATES))
    return made


def layers(model: nn.Module, length: int, batch: int) -> Callable[[], None]:
    """Forward and backward through both layers."""
    x = torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(0))

    def run() -> None:
        model.zero_grad(set_to_none=True)
        model(x).sum().backward()

    return run


def scans(length: int, batch: int) -> dict[str, Callable[[], None]]:
    """Forward and backward through the scan alone."""
    from mambapy.mamba import MambaBlock, MambaConfig

    from workbench.models.ssm.scan import selective_scan

    inner, g = 2 * WIDTH, torch.Generator().manual_seed(0)
    x, dt = (torch.rand(batch, length, inner, generator=g) for _ in range(2))
    b, c = (torch.randn(batch, length, STATES, generator=g) for _ in range(2))
    decay, skip = torch.arange(1.0, STATES + 1).repeat(inner, 1), torch.ones(inner)
    given = [t.requires_grad_() for t in (x, 0.1 * dt, decay, b, c, skip)]
    block = MambaBlock(MambaConfig(d_model=WIDTH, n_layers=1, d_state=STATES))

    def our_scan(x: Tensor, dt: Tensor, decay: Tensor, b: Tensor, c: Tensor, skip: Tensor) -> Tensor:
        return selective_scan(x, dt, decay, b, c, "nonnegative") + skip * x

    def their_scan(x: Tensor, dt: Tensor, decay: Tensor, b: Tensor, c: Tensor, skip: Tensor) -> Tensor:
        y: Tensor = block.selective_scan(x, dt, -decay, b, c, skip)
        return y

    def both(scan: Callable[..., Tensor]) -> Callable[[], None]:
        return lambda: (torch.autograd.grad(scan(*given).sum(), given), None)[1]

    return {"ours": both(our_scan), "mambapy": both(their_scan)}


def peak(which: str, length: int) -> float:
    """Peak memory of forward and backward through the layers on one sequence, in MiB."""
    setup = (
        f"from benchmarks import scan\nmodel = scan.{which}()\nscan.layers(model, 64, 1)()\n"
        f"run = scan.layers(model, {length}, 1)"
    )
    return peak_mib(setup, "run()")


def measure(rounds: int = 5) -> list[Line]:
    torch.set_num_threads(1)
    lines, per_token = [], {}
    for length, batch in SHAPES.items():
        work = {"ours": layers(ours(), length, batch), "mambapy": layers(peer(), length, batch)}
        for what, contestants in (("layers", work), ("scan alone", scans(length, batch))):
            times = interleaved(contestants, rounds, warm=1)
            milliseconds = times.median("ours")
            name = f"state-space {what}, n = {length:,}, batch {batch}"
            lines.append(
                Line(name, "mambapy / ours, time", times.ratio("mambapy", "ours"), 1.0, f"{milliseconds:.0f} ms ours")
            )
            per_token[what, length] = milliseconds / (length * batch)
    for what in ("layers", "scan alone"):
        grown = per_token[what, 4096] / per_token[what, 512]
        lines.append(Line(f"state-space {what}", "time per token at 4,096 / at 512", grown, 2.0, at_most=True))
    short, long, theirs = peak("ours", 4096), peak("ours", 16_384), peak("peer", 4096)
    what = "state-space layers, n = 4,096, batch 1"
    return [
        *lines,
        Line(what, "ours / mambapy, peak memory", short / theirs, 1.0, f"{short:.0f} MiB ours", at_most=True),
        Line("state-space layers", "peak memory per token at 16,384 / at 4,096", long / 4 / short, 1.2, at_most=True),
    ]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
