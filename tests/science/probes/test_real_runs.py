"""What the probes say of trained models: those of the gallery, and a parity that fits its short strings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes import probe
from tests.support.places import GALLERY
from workbench.runs import Run
from workbench.tasks.random_generator import generator

Measured = Callable[..., list[dict[str, Any]]]


def scores(run: Run, step: int, length: int) -> dict[str, float]:
    """Refit, untrained and selectivity after the last block, at one length."""
    task = run.task
    batches = [task.sample(256, n, generator("real", n), "matched") for n in (task.next_length(length / 2), length)]
    result = probe(run.load(step), batches, inside=[b.length for b in batches], untrained=run.load(0), resamples=20)
    rows = [r for r in result.rows if r["length"] == length and r["site"] == result.sites[-1] and r["mode"] == "refit"]
    return {r["quantity"] + r["control"]: r["value"] for r in rows}


def test_selectivity_rises_for_an_automaton_and_not_for_a_count() -> None:
    automaton, count = Run.open(GALLERY / "flip_flop_rotary_s0"), Run.open(GALLERY / "majority_nope_s0")
    first, last = (scores(automaton, automaton.steps[i], 32) for i in (0, -1))
    assert first["selectivity"] <= 0
    assert last["selectivity"] > 0.15
    # The trap: the untrained model decodes counts as well as the trained one.
    counted = scores(count, count.steps[-1], 31)
    assert counted["summary_decodability"] > 0.95
    assert counted["summary_decodabilityuntrained"] > 0.9
    assert counted["selectivity"] < 0.1


def test_a_robust_count_keeps_its_code_and_an_automaton_loses_it(measured: Measured) -> None:
    for name, low, high in (("majority_nope_s0", 0, 0.05), ("flip_flop_rotary_s0", 0.2, 1)):
        run = Run.open(GALLERY / name)
        one = measured(run, run.steps[-1], "probes.length_coupling", sequences=256, resamples=50)[0]
        assert one["status"] == "ok"
        assert low <= one["value"] <= high, name


def test_a_fitted_parity_loses_its_code_past_training(tmp_path: Path, measured: Measured) -> None:
    from workbench.cli.run_config import build
    from workbench.cli.train_request import TrainRequest
    from workbench.training.trainer import Trainer

    options = {"lengths": "1-4", "d_model": 32, "heads": 2, "steps": 600, "learning_rate": 3e-3, "n_ctx": 64}
    run = Trainer(build(TrainRequest("parity", options)), tmp_path / "parity").run()
    task, model = run.task, run.load(run.steps[-1])
    batch = task.sample(256, 4, generator("fitted"), "matched")
    assert float(task.correct(model(batch.tokens), batch)[:, 1:].double().mean()) > 0.99
    rows = measured(run, run.steps[-1], "probes.length_coupling", sequences=256, resamples=50, law="matched")
    assert (rows[0]["quantity"], rows[0]["mode"]) == ("length_coupling", "used")
    assert rows[0]["value"] > 0.8
    assert rows[1]["value"] < 0.1  # inside training the code is one


@pytest.mark.parametrize(
    ("task", "options", "settings", "gain"),
    [
        ("parity", {"lengths": "1-8", "layers": 3, "learning_rate": 1e-3, "steps": 250}, (), 0.2),
        (
            "kgram_retrieval",
            {"lengths": "3-16", "layers": 2, "learning_rate": 3e-3, "steps": 200, "positions": "rotary"},
            ((("task", "symbols"), 6), (("training", "weight_decay"), 1.5)),
            0.4,
        ),
    ],
)
def test_selectivity_rises_with_training(
    task: str, options: dict[str, Any], settings: tuple[Any, ...], gain: float, tmp_path: Path
) -> None:
    """The runs of the sweep ``probes``, as far as the step where the summary has appeared."""
    from workbench.cli.run_config import build
    from workbench.cli.train_request import TrainRequest
    from workbench.training.trainer import Trainer

    sizes = {"d_model": 64, "heads": 4, "batch_size": 64}
    run = Trainer(build(TrainRequest(task, {**sizes, **options}, settings)), tmp_path / task).run()
    first, last = (scores(run, run.steps[i], run.trained_length)["selectivity"] for i in (0, -1))
    assert first < 0.1
    assert last > gain
