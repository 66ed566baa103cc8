"""What is asked for is checked before any work: runs named twice, settings without their measurement, layers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.cli.measure_plan import report
from workbench.jobs.share import Share
from workbench.measure.measurement import Spec
from workbench.measure.request import MeasureRequest
from workbench.measure.running.engine import JobResult
from workbench.measure.running.plan import Plan, execute, plan, refuse_layers
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task
from workbench.tasks.base import TaskError


@pytest.fixture
def run(make_run):
    return make_run(majority(), make_task("majority"), 9, name="runs/a", steps=(0, 3))


def test_a_run_that_is_named_twice_is_measured_once(run, tmp_path: Path) -> None:
    once = plan(MeasureRequest([run.path], only=["behaviour"]))
    (tmp_path / "linked").symlink_to(run.path)
    for roots in ([run.path, run.path], [run.path.parent, run.path], [run.path, tmp_path / "linked"]):
        found = plan(MeasureRequest(roots, only=["behaviour"]))
        assert [r.path.resolve() for r in found.runs] == [run.path.resolve()]
        assert [item.step for item in found.jobs] == [item.step for item in once.jobs] == [0, 3]


def test_the_report_says_whether_nothing_is_left_or_nothing_was_there(run) -> None:
    asked = plan(MeasureRequest([run.path], only=["behaviour"]))
    done = JobResult("a", 0, rows=1, passes=2, extra_passes=0, seconds=0.1)
    there = "0 measurements existed already."
    said = f"1 of 2 checkpoints measured in 1 run: 1 row, 2 forward passes and 0 further; {there}"
    assert report(asked, [done]) == said
    left = "Nothing left to measure in 1 run: 1 measurement existed already."
    assert report(Plan(asked.request, runs=asked.runs, present=1), []) == left
    share = next(one for k in range(1, 9) if not plan(MeasureRequest([run.path], share=(one := Share(k, 8)))).jobs)
    said = f"Nothing to measure: no checkpoint is in share {share.number}/8."
    assert report(plan(MeasureRequest([run.path], share=share)), []) == said
    shutil.rmtree(run.path / "steps")
    assert report(plan(MeasureRequest([run.path])), []) == "Nothing to measure in 1 run: no checkpoint is saved yet."


def test_a_table_that_came_without_shards_stays_the_file_that_it_is(run) -> None:
    def asked() -> Plan:
        return plan(MeasureRequest([run.path], only=["bound"], steps="last", executor="serial"))

    assert execute(asked()) == []
    shutil.rmtree(run.path / "measurements")
    table = run.path / "table.parquet"
    held, changed = table.read_bytes(), table.stat().st_mtime_ns
    again = asked()
    assert (again.jobs, again.present) == ([], 1)
    assert execute(again) == []
    assert (table.read_bytes(), table.stat().st_mtime_ns) == (held, changed)
    table.write_bytes(held[:-9])
    assert any("table.parquet" in problem for problem in execute(Plan(again.request, runs=again.runs)))


def test_a_setting_of_a_measurement_that_is_not_asked_for_is_refused(run) -> None:
    with pytest.raises(MeasurementError, match="--only"):
        plan(MeasureRequest([run.path], only=["behaviour"], settings={"circuits.hardmax": {"window": 8}}))
    assert plan(MeasureRequest([run.path], only=["circuits."], settings={"circuits.hardmax": {"window": 8}})).jobs
    with pytest.raises(MeasurementError, match=r"'probes\.'.*probes"):
        plan(MeasureRequest([run.path], settings={"probes.": {"layers": [0]}}))
    with pytest.raises(MeasurementError, match=r"'zzz'.*behaviour\.in_context"):
        plan(MeasureRequest([run.path], only=["zzz"]))


@pytest.mark.parametrize("layer", [99, 2, -2])
def test_a_layer_that_a_model_lacks_is_refused_before_work(run, layer: int) -> None:
    with pytest.raises(MeasurementError, match=rf"probes\.summary\.layers.*{layer}"):
        plan(MeasureRequest([run.path], only=["probes.summary"], settings={"probes.summary": {"layers": [0, layer]}}))


def test_the_layers_that_a_model_has_are_taken(run) -> None:
    found = plan(MeasureRequest([run.path], only=["probes.summary"], settings={"probes.summary": {"layers": [-1, 0]}}))
    assert dict(found.jobs[0].measurements[0].settings)["layers"] == [-1, 0]


def test_a_length_at_which_no_string_is_drawn_is_refused(run) -> None:
    with pytest.raises(TaskError, match="beyond 1,000,000"):
        plan(MeasureRequest([run.path], only=["behaviour"], lengths=[2**63 + 1]))


@pytest.mark.parametrize(("layers", "allowed"), [([-1], True), ([1], True), ([2], False), ([-2], False), (None, True)])
def test_layers_that_a_model_has(layers: list[int] | None, allowed: bool) -> None:
    spec = Spec("probes.x", 1, "X", {"layers": layers}, ())
    if allowed:
        refuse_layers(spec, "run", 2)
        return
    with pytest.raises(MeasurementError, match=f"{layers and layers[0]}"):
        refuse_layers(spec, "run", 2)
