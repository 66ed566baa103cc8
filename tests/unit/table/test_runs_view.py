"""The view of the runs: one row per run, read as plain JSON and folder names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.held import Held
from tests.support.table.making import RunMaker
from workbench.storage.seal import sealed_json
from workbench.table.layout import read_config
from workbench.table.runs_view import describe_run


def test_what_runs_tell_of_themselves(make_run: Callable[..., RunMaker], held: Held) -> None:
    run = make_run()
    run.checkpoint(100)
    run.checkpoint(20)
    configs: list[dict[str, Any]] = [
        read_config(run.path), {}, {"task": 3, "model": {"positions": {"name": "limit", "period": 2}, "ids": 3, "n_layers": True}, "seeds": {"init": 1.0}},
        {"training": {"early_stop": {"x": 1}, "curriculum": {"low": 2, "high": 9}, "learning_rate": 1}}, {"training": {"trained_length": 7, "curriculum": {"high": 9}, "learning_rate": True}},
    ]  # fmt: skip
    found = [{**describe_run("name", run.path, config), "path": ""} for config in configs]
    found.append({**describe_run("name", run.path.parent, {}), "path": ""})
    (run.path / "steps" / "00000100" / "meta.json").write_bytes(
        sealed_json({"step": 100, "sha256": "", "ended": "it was right"})
    )
    assert describe_run("name", run.path, configs[3])["ended"] == "it was right"
    assert describe_run("name", run.path, configs[0])["ended"] == "", "it was not to end early"
    held(found)
