"""``python -m probes`` over a folder: layers, targets, what is refused, and going on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workbench.cli.commands.measure import family, measure_folders
from workbench.cli.errors import UsageError
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
    with pytest.raises(UsageError, match="position or summary, not 'parity'"):
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
        measure_folders([run.path], only, None, "19", 64, [], "serial", None, {n: settings[n] for n in only})
        return capsys.readouterr().out

    assert "1 of 1 checkpoint measured in 1 run:" in measure("1")
    assert "Nothing left to measure in 1 run: 1 measurement was already there." in measure("1")
    rows = Table.load(run.path).frame()
    assert set(rows["site"]) == {"blocks.1.hook_resid_mid", "blocks.1.hook_resid_post"}
    with pytest.raises(MeasurementError, match=r"layers names layer 7, which handmade lacks: it has -1, .* to 1"):
        measure("7")
