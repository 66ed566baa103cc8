"""A retrieval model trained from scratch: its circuit is proven by what its ablation destroys, and what it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from circuits.heads.head_scores import head_statistics
from circuits.interventions.ablation import ablation_statistics
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import config_of
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.measure.result import Result
from workbench.training.trainer import Trainer

SWEEP = find_sweep(Path("retrieval"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    """Ablations and head scores of the sweep's run at its last step."""
    config = config_of(read_sweep(SWEEP).cells[0])
    run = Trainer(config, tmp_path_factory.mktemp("retrieval") / "run").run()
    model, n = run.load(run.steps[-1]), run.trained_length
    options = {"trained": n, "lengths": [n], "sequences": 256}
    ablated = ablation_statistics(model, run.task, factors=[1], modes=["mean", "resample"], **options)
    return ablated, head_statistics(model, run.task, **options)


@pytest.mark.parametrize("mode", ["mean", "resample"])
def test_the_circuit_is_necessary_and_all_other_heads_together_are_not(
    trained: tuple[Result, Result], mode: str
) -> None:
    found, _ = trained
    assert found.value("ablated_accuracy", target="nothing") > 0.95
    chance = 1 / 6
    assert found.value("ablated_accuracy", target="matching heads", mode=mode) < chance + 0.17
    assert found.value("ablated_accuracy", target="previous-token heads", mode=mode) < chance + 0.25
    assert found.value("ablated_accuracy", target="all other heads", mode=mode) > 0.85


def test_the_circuit_goes_through_induction_edges(trained: tuple[Result, Result]) -> None:
    found, _ = trained
    assert found.value("ablated_accuracy", target="induction edges") < 0.5
    assert found.value("accuracy_drop", target="anti-induction edges") == pytest.approx(0.0, abs=0.03)


def test_the_heads_are_what_their_scores_say(trained: tuple[Result, Result]) -> None:
    """The best matching head is an induction head on random repeats too; the best writer is below it."""
    _, scores = trained
    frame = scores.frame()
    task = frame[frame["mode"] == "task"]
    best = {
        kind: task[task["quantity"] == kind].sort_values("value").iloc[-1]
        for kind in ("answer_token", "induction", "previous_token")
    }
    assert int(best["previous_token"]["layer"]) == 0
    assert int(best["answer_token"]["layer"]) == 1
    assert best["answer_token"]["value"] > 0.5
    assert best["previous_token"]["value"] > 0.3
    place = {"layer": int(best["answer_token"]["layer"]), "head": int(best["answer_token"]["head"]), "mode": "repeats"}
    assert scores.value("induction", **place) > 0.3
    assert np.isfinite(scores.value("ov_copying", layer=place["layer"], head=place["head"]))
