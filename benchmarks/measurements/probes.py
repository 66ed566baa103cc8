"""The grid of summary and position probes against its forward passes alone, and against a loop over scikit-learn.

    python -m benchmarks.measurements.probes

Three blocks of width 64, 24 checkpoints, 8 prefix lengths, summary and position at every site of the residual
stream, in every mode and with every control. Some checkpoints are timed and stand for the rest: the first pays for
what all share, the others are alike. The baseline is what one would write: one ``LogisticRegression`` on
standardised rows per cell, position in 8 bins. It does less than ours: no choice of the penalty, no intervals.
"""

from __future__ import annotations

import statistics
import tempfile
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.tools.table import Line

LAYERS, WIDTH, HEADS, VOCABULARY = 3, 64, 4, 3
TRAINED, LENGTHS = 50, (12, 75, 100, 200, 300, 400)  # and those inside training: 13, 25, 50
CHECKPOINTS, TIMED, SEQUENCES = 24, 3, 512
PEER_LENGTHS = (50, 400)
BINS = 8
PROBES = ("probes.summary", "probes.position")
Times = dict[str, list[float]]


def make_run(folder: Path) -> Any:
    """A run of untrained models: what a probe costs does not depend on what it finds."""
    from workbench.models import HookedTransformer, ModelConfig
    from workbench.runs import Run
    from workbench.runs.checkpoints import write_checkpoint, write_config
    from workbench.runs.weights import weights_bytes
    from workbench.tasks import make_task
    from workbench.training.config import RunConfig, Seeds, TrainingConfig

    cfg = ModelConfig(
        d_vocab=VOCABULARY, d_vocab_out=2, n_layers=LAYERS, d_model=WIDTH, n_heads=HEADS, n_ctx=max(LENGTHS) + 1
    )
    training = TrainingConfig(steps=TIMED, curriculum={"law": "uniform", "low": 1, "high": TRAINED})
    write_config(folder, RunConfig(task=make_task("parity"), model=cfg, training=training, seeds=Seeds()).as_json())
    run = Run.open(folder)
    for step in range(TIMED + 1):
        write_checkpoint(run, step, weights_bytes(HookedTransformer(cfg, seed=step)), [[0, TRAINED]])
    return run


def ours(run: Any) -> Times:
    """Seconds per checkpoint of the forward pass alone, and of the pass with all probes."""
    from workbench.measure.grid import make_grid
    from workbench.measure.registry import make_measurement
    from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all
    from workbench.measure.study import CheckpointStudy, Evaluation, forward

    grid = make_grid(run.task, TRAINED, LENGTHS)
    evaluation = Evaluation(run.task, grid, 0, SEQUENCES)
    found: Times = {"forward": [], "probes": []}
    source = evaluation.source("matched", max(grid.lengths))
    for step in range(1, TIMED + 1):
        model = run.load(step)
        names = make_measurement(PROBES[0]).hooks(model.cfg)
        start = process_time()
        forward(model, source, names)
        found["forward"].append(process_time() - start)
        start = process_time()
        study = CheckpointStudy(run, step, model, evaluation, SEQUENCES)
        watching = [ObservedMeasurement(make_measurement(name), study, name) for name in PROBES]
        observe_all(model, evaluation, watching, Isolation())
        rows = [row for one in watching for row in one.measurement.finish(study)]
        # Of models that were never trained, some numbers say nothing: their intervals are too wide.
        assert {row["status"] for row in rows} <= {"ok", "undefined"}
        assert sum(row["status"] == "ok" for row in rows) > len(rows) / 2
        found["probes"].append(process_time() - start)
    return found


def whole(times: list[float]) -> float:
    """Seconds of all checkpoints: the first, and as many like the others as there are."""
    return times[0] + (CHECKPOINTS - 1) * statistics.mean(times[1:])


def peer(run: Any) -> float:
    """Seconds of a loop over scikit-learn for all checkpoints and lengths, from one checkpoint and some lengths."""
    from probes.position import Position
    from probes.summary import Summary
    from workbench.measure.grid import make_grid
    from workbench.measure.study import Evaluation, forward

    grid = make_grid(run.task, TRAINED, LENGTHS)
    evaluation = Evaluation(run.task, grid, 0, SEQUENCES)
    model, untrained = run.load(1), run.load(0)
    each, once = 0.0, 0.0
    for measurement in (Summary(), Position()):
        names = measurement.hooks(model.cfg)
        for length in PEER_LENGTHS:
            batch = evaluation.batch("matched", length)
            rows, first = (
                measurement.reduce(batch, length, forward(m, batch, names), names) for m in (model, untrained)
            )
            for label in rows.labels.values():
                y = classes(label)
                each += loop(rows.x, y, len(measurement.label_controls))
                tokens = [rows.tokens[:, -1:], rows.tokens][: len(measurement.token_controls)]
                once += sum(timed(x.double().numpy(), y) for x in [*first.x, *tokens])
    return (CHECKPOINTS * each + once) * len(grid.lengths) / len(PEER_LENGTHS)


def classes(label: Tensor) -> Any:
    """A class as it is, a position in 8 bins of equally many rows."""
    if not label.is_floating_point():
        return label.numpy()
    edges = label.quantile(torch.linspace(0, 1, BINS + 1, dtype=label.dtype)[1:-1])
    return torch.bucketize(label, edges).numpy()


def timed(x: Any, y: Any) -> float:
    """Seconds of one fit on one half of the rows, and of scoring the other."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    half, start = len(y) // 2, process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its default number of steps is too few, and counted in its favour
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[:half], y[:half])
        model.score(x[half:], y[half:])
    return process_time() - start


def loop(x: Tensor, y: Any, label_controls: int) -> float:
    """Seconds of the fits of one checkpoint, length and target: refit, recalibrated and label controls.

    Transfer is left out: its one fit per site serves all lengths, and scoring costs next to nothing.
    """
    rng, seconds = np.random.default_rng(0), 0.0
    for site in x.double().numpy():
        seconds += timed(site, y)
        seconds += timed(site[:, :1], y)  # recalibrated: a threshold on one score
        seconds += sum(timed(site, rng.permutation(y)) for _ in range(label_controls))
    return seconds


def measure() -> list[Line]:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder) / "run")
        times, other = ours(run), peer(run)
    forward, grid = whole(times["forward"]), whole(times["probes"])
    what = f"summary and position probes, {CHECKPOINTS} checkpoints"
    return [
        Line(what, "/ their forward passes, those included", grid / forward, 4.0,
             f"{grid:.0f} s against {forward:.0f} s", at_most=True),
        Line(what, "loop of LogisticRegression / ours, forward passes apart", other / (grid - forward), 10.0,
             f"{other:.0f} s against {grid - forward:.0f} s"),
        Line(what, "the same with the forward passes of both", (other + forward) / grid, None),
    ]  # fmt: skip


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
