"""Laws with few strings, by hand: counted bands of lengths, listed laws, draws over a band, and near ties on purpose."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench.tasks import Task, make_task
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.zoo import ZOO

# ---- near ties -----------------------------------------------------------------------------------
LONG = (131, 187, 249)


def lead(model: Any, task: Task, n: int, d: int) -> bool:
    """Whether a model is right on the shuffled string in which ones lead by d."""
    bits = torch.tensor([2] * ((n + d) // 2) + [1] * ((n - d) // 2))
    batch = task.label(bits[torch.randperm(n, generator=torch.Generator().manual_seed(0))][None])
    with torch.no_grad():
        return bool(task.correct(model(batch.tokens), batch)[0, -1])


def test_near_ties_tell_a_majority_with_gain_for_32_from_its_sound_twin(make_run) -> None:
    from workbench.measure.request import MeasureRequest
    from workbench.measure.running.plan import execute, plan
    from workbench.table import Table

    task = make_task("majority")
    blunt, sound = (compile(ZOO["majority"].program, up_to, dtype="float64").model for up_to in (32, 1000))
    for model, (one_from, three_from) in ((blunt, (131, 659)), (sound, (10**6, 10**6))):
        for size, first in ((1, one_from), (3, three_from)):
            for n in (first - 2, first, 249):
                if n < 1000:
                    hits = [lead(model, task, n, d) for d in (-size, size)]
                    assert sum(hits) == (1 if n >= first else 2), (size, n)
    told = {}
    for name, model in (("blunt", blunt), ("sound", sound)):
        run = make_run(model, task, trained=31, name=name)
        execute(
            plan(
                MeasureRequest(
                    [run.path], only=["behaviour"], lengths=[33, 65, *LONG], sequences=512, executor="serial"
                )
            )
        )
        table = Table.load(run.path)
        assert table.frame(quantity="verdict")["label"].item() == "scale-robust"
        told[name] = table.frame(quantity="near_ties").iloc[0]
        strata = table.frame(quantity="stratum_accuracy")
        ties = strata[(strata["target"] == "lead 1") & strata["length"].isin(LONG)]
        assert len(ties) == 6
        if name == "blunt":
            assert ties["value"].between(0.3, 0.7).all()
            assert (ties["high"] < 0.9).all()
        else:
            assert (strata["value"] == 1).all()
            assert strata["low"].tolist() == [pytest.approx(0.972, abs=5e-4)] * len(strata)
        assert (strata[strata["target"] == "lead 3 to 5"]["value"] == 1).all()
    assert told["sound"]["label"] == "hold"
    assert told["blunt"]["label"] == "fail"
    assert told["blunt"]["note"].startswith("lead 1: 0.")
