"""Everything that is measured, of a model that computes elsewhere: the same rows to the bit, no tensor elsewhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.models.unplaced import meta_while_computing
from tests.support.training.training import config
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.models.compute_device import ComputeDevice, computing_on
from workbench.runs import Run
from workbench.table import Table
from workbench.training.trainer import Trainer


def rows(run: Run, to: Path, only: list[str] | None) -> Any:
    import shutil

    shutil.copytree(run.path, to)
    assert (
        execute(
            plan(MeasureRequest([to], only=only, steps="last", sequences=32, lengths=[5, 9, 13], executor="serial"))
        )
        == []
    )
    return Table.load(to).frame().drop(columns=["run"])


def test_every_measurement_and_the_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Trainer(config(steps=12, positions="rotary"), tmp_path / "run").run()
    plain = rows(run, tmp_path / "plain", None)
    fake = SimpleNamespace(kind="another", device="cpu", dtype="")
    monkeypatch.setattr("workbench.runs.weights.current_device", lambda: fake)
    with meta_while_computing(monkeypatch):
        made = rows(run, tmp_path / "placed", None)
    assert plain.equals(made)
    assert len(set(plain["measurement"])) > 15
    assert (
        execute(
            plan(
                MeasureRequest([tmp_path / "placed"], only=["diagnosis"], steps="last", sequences=32, executor="serial")
            )
        )
        == []
    )


def test_bfloat16_moves_numbers_a_little_and_has_keys_of_its_own(tmp_path: Path) -> None:
    run = Trainer(config(steps=12, positions="rotary"), tmp_path / "run").run()
    only = ["behaviour", "circuits.hardmax"]
    plain = rows(run, tmp_path / "plain", only)
    with computing_on(ComputeDevice("cpu", "bfloat16")):
        short = rows(run, tmp_path / "short", only)
        assert (
            plan(MeasureRequest([tmp_path / "short"], only=only, steps="last", sequences=32, lengths=[5, 9, 13])).jobs
            == []
        )
    assert (
        len(plan(MeasureRequest([tmp_path / "short"], only=only, steps="last", sequences=32, lengths=[5, 9, 13])).jobs)
        == 1
    )
    keys = ["law", "length", "layer", "head", "quantity", "target", "mode"]
    both = plain.merge(short, on=keys, suffixes=("", "_short"))
    both = both[(both["quantity"] == "hardmax_distance") & (both["status"] == "ok")]
    off = (both["value"] - both["value_short"]).abs()
    assert len(both) > 4
    assert 0 < off.max() < 0.05
