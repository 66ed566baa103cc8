"""Peak memory of observing a checkpoint with all measurements, against holding what they look at.

    python -m benchmarks.measurements.observing

A pass is shown to all measurements chunk by chunk and layer by layer, and what nobody waits for any more is freed.
What is left is what measurements keep until the end: above all the rows of the residual stream, of every site and
length, that probes are fitted on. The peer holds the activations of all layers and sequences, as ``run_with_cache``
does, and keeps nothing else.
"""

from __future__ import annotations

from benchmarks.tools.memory import peak_mib
from benchmarks.tools.table import Line, show

WIDTH, HEADS, TRAINED = 64, 4, 32
SMALL, LARGE = (2, 128), (8, 512)
"""Layers and sequences: sixteen times the activations."""

SETUP = f"""
from workbench.measure.grid import make_grid
from workbench.measure.registry import choose, make_measurement
from workbench.measure.running.applicable import lacking
from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all
from workbench.measure.model_study import ModelStudy
from workbench.measure.study import Evaluation, forward
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
task = make_task("majority")
grid = make_grid(task, {TRAINED})
def case(layers, sequences):
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=layers, d_model={WIDTH}, n_heads={HEADS}, n_ctx=300)
    model, evaluation = HookedTransformer(cfg).eval(), Evaluation(task, grid, 0, sequences)
    study = ModelStudy(model, task, grid, sequences, 0)
    for law in ("matched", "challenge"):
        for n in grid.lengths:
            evaluation.batch(law, n), study.batch(law, n)
    made = [m for m in map(make_measurement, choose(None)) if not lacking(m, model, task)]
    return model, evaluation, [ObservedMeasurement(m, study, m.name) for m in made]
def ours(model, evaluation, watching):
    apart = Isolation()
    observe_all(model, evaluation, watching, apart)
    assert not apart.failures, apart.failures
def peer(model, evaluation, watching):
    names = sorted({{name for one in watching for name in one.measurement.hooks(model.cfg)}})
    return forward(model, evaluation.source("matched", max(grid.lengths)), names)
ours(*case(1, 2))
"""


def peak(who: str, layers: int, sequences: int) -> float:
    """MiB that observing adds to a process that holds model and strings."""
    return peak_mib(f"{SETUP}\nstudied = case({layers}, {sequences})", f"held = {who}(*studied)")


def measure() -> list[Line]:
    (few, less), (layers, strings) = SMALL, LARGE
    found = {(who, case): peak(who, *case) for who in ("ours", "peer") for case in (SMALL, LARGE)}
    ours, peer = (found[who, LARGE] for who in ("ours", "peer"))
    growth, of_peer = ours / found["ours", SMALL], peer / found["peer", SMALL]
    what = f"observing, {layers} layers x {strings} strings to {8 * TRAINED}"
    return [
        Line(what, "ours / all activations held, peak memory", ours / peer, None,
             f"{ours:.0f} MiB against {peer:.0f} MiB"),
        Line(what, f"peak memory / that of {few} x {less} strings", growth, None,
             f"all activations held: {of_peer:.1f}"),
    ]  # fmt: skip


if __name__ == "__main__":
    print(show(measure()))
