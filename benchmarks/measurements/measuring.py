"""All measurements of a checkpoint, against the forward passes that they share.

    python -m benchmarks.measurements.measuring

The last checkpoint of a run of the gallery is given to every measurement that is made unasked, with 512 strings to
eight times its trained length. The peer runs the strings that they share through the same model, and looks at nothing.
Edited passes, fits of probes and bootstraps are all on our side.
"""

from __future__ import annotations

import time
from pathlib import Path

import torch

from benchmarks.tools.table import Line, show

RUN = Path(__file__).resolve().parents[2] / "checkpoints" / "gallery" / "flip_flop_rotary_s0"
STRINGS, SLOWEST = 512, 3


def measure() -> list[Line]:
    from workbench.measure.grid import make_grid
    from workbench.measure.registry import choose, make_measurement
    from workbench.measure.running.applicable import lacking
    from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all, one_thread
    from workbench.measure.study import CheckpointStudy, Evaluation, chunks
    from workbench.runs.run import Run

    run = Run.open(RUN)
    step, task = max(run.steps), run.task
    model, grid = run.load(step), make_grid(task, run.trained_length)
    evaluation = Evaluation(task, grid, run.config["seeds"]["evaluation"], STRINGS)
    sources = {(law, evaluation.source_length(law, n)) for law in ("matched", "challenge") for n in grid.lengths}
    for law, n in sources:
        evaluation.source(law, n)
    made = [m for m in map(make_measurement, choose(None)) if not lacking(m, model, task)]
    watching = [
        ObservedMeasurement(m, CheckpointStudy(run, step, model, evaluation, m.spec.sequences, True), m.name)
        for m in made
    ]
    apart, spent = Isolation(), {}
    with one_thread():
        start = time.process_time()
        observe_all(model, evaluation, watching, apart)
        shown = time.process_time() - start
        for one in watching:
            start = time.process_time()
            one.measurement.finish(one.study)
            spent[one.name] = time.process_time() - start
        start = time.process_time()
        for law, n in sorted(sources):
            for tokens, ids in chunks(model, evaluation.source(law, n)):
                with torch.no_grad():
                    model(tokens, ids)
        passes = time.process_time() - start
    assert not apart.failures, apart.failures
    slow = sorted(spent, key=lambda name: -spent[name])[:SLOWEST]
    note = f"{passes:.1f} s of passes; most of it {', '.join(f'{name} {spent[name]:.1f} s' for name in slow)}"
    what = f"{len(made)} measurements of a demo checkpoint"
    return [
        Line(what, "while it runs / forward passes, processor time", shown / passes, None, f"{shown:.1f} s"),
        Line(what, "in all / forward passes", (shown + sum(spent.values())) / passes, 2, note, at_most=True),
    ]


if __name__ == "__main__":
    print(show(measure()))
