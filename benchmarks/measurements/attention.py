"""``circuits.hardmax`` at long prefixes against the fused forward pass and against a stored pattern.

    python -m benchmarks.measurements.attention

The baseline is what a user of TransformerLens would write: ``run_with_cache`` for the patterns, then
largest weight (``amax``), entropy and sorted mass for the same queries. It does less than ours does: no margins,
verdicts or intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.peers.training_step import HEADS, LAYERS, VOCABULARY, WIDTH
from benchmarks.tools.memory import peak_mib
from benchmarks.tools.table import Line, interleaved
from workbench.models.positions import ENCODINGS

LENGTH, BATCH, WINDOW = 4096, 4, 16
LONG = 16_384


def setting(positions: str | dict[str, object], length: int, batch: int):  # type: ignore[no-untyped-def]
    """A model and a batch of a task whose every prefix is asked."""
    from workbench.models import HookedTransformer, ModelConfig
    from workbench.tasks import make_task
    from workbench.tasks.random_generator import generator

    task = make_task("parity")
    model = HookedTransformer(
        ModelConfig(
            d_vocab=VOCABULARY, n_layers=LAYERS, d_model=WIDTH, n_heads=HEADS, n_ctx=length + 1, positions=positions
        )
    )
    return model, task.sample(batch, length, generator("benchmark", length), "matched")


def pattern_statistics(model: torch.nn.Module, tokens: Tensor) -> list[Tensor]:
    """The peer: patterns by ``run_with_cache``, then largest weight, entropy and sorted mass."""
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(LAYERS)]
    with torch.no_grad():
        _, cache = model.run_with_cache(tokens, names_filter=names)  # type: ignore[operator]
    found = []
    for name in names:
        rows = cache[name][:, :, -WINDOW:]
        top = rows.amax(-1)
        entropy = -(rows * rows.clamp(min=1e-38).log()).sum(-1)
        found += [top, entropy, rows.sort(-1, descending=True).values.cumsum(-1)]
    return found


def contestants(positions: str | dict[str, object]) -> dict[str, Callable[[], object]]:
    from circuits import hardmax_statistics

    model, batch = setting(positions, LENGTH, BATCH)

    def fused() -> None:
        with torch.no_grad():
            model(batch.tokens)

    return {
        "forward": fused,
        "hardmax": lambda: hardmax_statistics(model, batch),
        "run_with_cache": lambda: pattern_statistics(model, batch.tokens),
    }


def peak(what: str, positions: str | dict[str, object], length: int, batch: int) -> float:
    """Peak memory in MiB that ``what`` adds to a process that has imported everything and built the model."""
    setup = (
        "from benchmarks.measurements import attention as a\n"
        "from circuits import hardmax_statistics\n"
        "small, few = a.setting('none', 64, 2)\n"
        "hardmax_statistics(small, few); a.pattern_statistics(small, few.tokens)\n"
        f"model, batch = a.setting({positions!r}, {length}, {batch})"
    )
    return peak_mib(setup, f"with torch.no_grad():\n    {what}")


def measure(rounds: int = 5) -> list[Line]:
    torch.set_num_threads(1)
    times = interleaved(contestants("none"), rounds, warm=1)
    inside = {
        "hardmax": "hardmax_statistics(model, batch)",
        "run_with_cache": "a.pattern_statistics(model, batch.tokens)",
    }
    memory = {name: peak(code, "none", LENGTH, BATCH) for name, code in inside.items()}
    what = f"circuits.hardmax, n = {LENGTH:,}, batch {BATCH}"
    lines = [
        Line(what, "/ fused forward pass, that pass included", times.ratio("hardmax", "forward"), 1.3,
             f"{times.median('hardmax') / 1e3:.2f} s", at_most=True),
        Line(what, "run_with_cache / ours, time", times.ratio("run_with_cache", "hardmax"), 4.0),
        Line(what, "ours / run_with_cache, peak memory", memory["hardmax"] / memory["run_with_cache"], 0.2,
             f"{memory['hardmax']:.0f} MiB against {memory['run_with_cache']:.0f} MiB", at_most=True),
    ]  # fmt: skip
    for name, kind in ENCODINGS.items():
        gib = peak("hardmax_statistics(model, batch)", kind.examples()[0].model_dump(), LONG, 1) / 1024
        lines.append(Line(f"circuits.hardmax, n = {LONG:,}, {name}", "GiB of peak memory", gib, 1.5, at_most=True))
    return lines


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
