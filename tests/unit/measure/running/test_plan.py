"""What is asked for is checked before any work: runs named twice, settings without their measurement, layers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.cli.measure_plan import report
from workbench.jobs.share import Share
from workbench.measure.running.engine import Done
from workbench.measure.running.plan import Plan, execute, plan
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task
from workbench.tasks.base import TaskError


@pytest.fixture
def run(make_run):
    return make_run(majority(), make_task("majority"), 9, name="runs/a", steps=(0, 3))


def test_a_run_that_is_named_twice_is_measured_once(run, tmp_path: Path) -> None:
    once = plan([run.path], only=["behaviour"])
    (tmp_path / "linked").symlink_to(run.path)
    for roots in ([run.path, run.path], [run.path.parent, run.path], [run.path, tmp_path / "linked"]):
        found = plan(roots, only=["behaviour"])
        assert [r.path.resolve() for r in found.runs] == [run.path.resolve()]
        assert [item.step for item in found.items] == [item.step for item in once.items] == [0, 3]


def test_the_report_says_whether_nothing_is_left_or_nothing_was_there(run) -> None:
    asked = plan([run.path], only=["behaviour"])
    done = Done("a", 0, rows=1, passes=2, extra_passes=0, seconds=0.1)
    there = "0 measurements were already there."
    said = f"1 of 2 checkpoints measured in 1 run: 1 row, 2 forward passes and 0 further; {there}"
    assert report(asked, [done]) == said
    left = "Nothing left to measure in 1 run: 1 measurement was already there."
    assert report(Plan(runs=asked.runs, present=1), []) == left
    share = next(one for k in range(1, 9) if not plan([run.path], share=(one := Share(k, 8))).items)
    said = f"Nothing to measure: no checkpoint falls to share {share.number}/8."
    assert report(plan([run.path], share=share), []) == said
    shutil.rmtree(run.path / "steps")
    assert report(plan([run.path]), []) == "Nothing to measure in 1 run: no checkpoint is saved yet."


def test_a_table_that_came_without_shards_stays_the_file_that_it_is(run) -> None:
    def asked() -> Plan:
        return plan([run.path], only=["bound"], steps="last")

    assert execute(asked(), "serial") == []
    shutil.rmtree(run.path / "measurements")
    table = run.path / "table.parquet"
    held, changed = table.read_bytes(), table.stat().st_mtime_ns
    again = asked()
    assert (again.items, again.present) == ([], 1)
    assert execute(again, "serial") == []
    assert (table.read_bytes(), table.stat().st_mtime_ns) == (held, changed)
    table.write_bytes(held[:-9])
    assert any("table.parquet" in problem for problem in execute(Plan(runs=again.runs), "serial"))


def test_a_setting_of_a_measurement_that_is_not_asked_for_is_refused(run) -> None:
    with pytest.raises(MeasurementError, match=r"circuits\.hardmax has a setting and is not asked for; add --only"):
        plan([run.path], only=["behaviour"], settings={"circuits.hardmax": {"window": 8}})
    assert plan([run.path], only=["circuits."], settings={"circuits.hardmax": {"window": 8}}).items
    with pytest.raises(MeasurementError, match=r"unknown measurement 'probes\.'; did you mean probes\."):
        plan([run.path], settings={"probes.": {"layers": [0]}})
    few = "there are behaviour, behaviour.in_context, behaviour.asymmetry, bound and [0-9]+ more$"
    with pytest.raises(MeasurementError, match=f"^unknown measurement 'zzz'; {few}"):
        plan([run.path], only=["zzz"])


@pytest.mark.parametrize("layer", [99, 2, -2])
def test_a_layer_that_a_model_lacks_is_refused_before_work(run, layer: int) -> None:
    with pytest.raises(MeasurementError, match=rf"probes\.summary\.layers names layer {layer}, which a lacks: .* to 1"):
        plan([run.path], only=["probes.summary"], settings={"probes.summary": {"layers": [0, layer]}})


def test_the_layers_that_a_model_has_are_taken(run) -> None:
    found = plan([run.path], only=["probes.summary"], settings={"probes.summary": {"layers": [-1, 0]}})
    assert dict(found.items[0].wanted[0].settings)["layers"] == [-1, 0]


def test_a_length_at_which_no_string_is_drawn_is_refused(run) -> None:
    with pytest.raises(TaskError, match="beyond 1,000,000"):
        plan([run.path], only=["behaviour"], lengths=[2**63 + 1])
