"""``python -m probes`` over a folder: layers, targets, what is refused, and going on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workbench.cli.commands.measure import family
from workbench.cli.errors import UsageError
from workbench.cli.measure_plan import measure_with_progress
from workbench.measure.request import MeasureRequest
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.table.query import Table
from workbench.tasks.counting.majority import Majority

POSITION = ["probes.conditional", "probes.erasure", "probes.position"]


def test_targets_and_layers_choose_measurements_and_settings() -> None:
    only, settings = family("probes", "position", None)
    assert (sorted(only), settings) == (POSITION, {})
    only, settings = family("probes", "position", "-1,1")
    assert settings == {name: {"layers": [-1, 1]} for name in only}
    every, _ = family("probes", "summary, position", None)
    assert set(every) == set(family("probes", None, None)[0])
    with pytest.raises(UsageError, match="'parity'"):
        family("probes", "parity", None)
    with pytest.raises(UsageError, match="--layers"):
        family("probes", None, "first")


def test_a_folder_is_measured_once_and_a_layer_that_is_not_there_is_named(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(majority(gain_length=400), Majority(), 9)

    def measure(layers: str) -> str:
        only, settings = family("probes", "position", layers)
        only = ["probes.position"]
        own = {name: settings[name] for name in only}
        measure_with_progress(MeasureRequest([run.path], only, None, [19], 64, own, executor="serial"))
        return capsys.readouterr().out

    assert "1 of 1 checkpoint measured in 1 run:" in measure("1")
    assert "Nothing left to measure in 1 run: 1 measurement existed already." in measure("1")
    rows = Table.load(run.path).frame()
    assert set(rows["site"]) == {"blocks.1.hook_resid_mid", "blocks.1.hook_resid_post"}
    with pytest.raises(MeasurementError, match="layer 7"):
        measure("7")
