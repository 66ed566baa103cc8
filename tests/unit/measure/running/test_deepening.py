"""Where behaviour looks again: the last checkpoint, all, or the bracket; planning again finds nothing to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tests.support.measure.measuring import measured
from workbench.cli.commands.measure import deepening
from workbench.cli.errors import UsageError
from workbench.measure.measurement import Grid
from workbench.measure.registry import make_measurement
from workbench.measure.request import MeasureRequest
from workbench.measure.running import plan as plans
from workbench.measure.running.engine import shard_key
from workbench.measure.running.plan import doubtful, execute, plan
from workbench.models.handmade.transformers import majority
from workbench.table import Table
from workbench.table.schema import row
from workbench.table.shards import shard_path, write_shard
from workbench.tasks import make_task
from workbench.tasks.known_tasks import LISTINGS

TASK = make_task("majority")
STEPS = (0, 100, 200, 300, 400)


def deep(todo) -> list[tuple[int, bool]]:
    return [(item.step, wanted.deep) for item in todo.jobs for wanted in item.measurements]


@pytest.fixture
def run(make_run):
    return make_run(majority(), TASK, trained=9, steps=STEPS, earlier=dict.fromkeys(STEPS, majority()))


def todo(run, deepen="last", **options):
    return plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, deepen=deepen, **options))


def say(run, labels: dict[int, str]) -> None:
    """Verdicts on record, as if they had been measured."""
    for step, label in labels.items():
        (path,) = run.path.glob(f"measurements/behaviour/{step:08d}-*")
        fields = {"run": run.name, "step": step, "measurement": "behaviour", "quantity": "verdict"}
        metadata = {"spec": '{"version": 6}', "key": path.stem[9:], "sha256": run.meta(step)["sha256"], "run": run.id}
        write_shard(shard_path(run.path, "behaviour", step, path.stem[9:]), [row(label=label, **fields)], metadata)


def test_the_last_checkpoint_alone_is_deep_by_default(run) -> None:
    assert deep(todo(run)) == [(0, False), (100, False), (200, False), (300, False), (400, True)]
    assert deep(todo(run, "all")) == [(step, True) for step in STEPS]
    assert deep(todo(run, steps=[100, 400])) == [(100, False), (400, True)]


def test_what_was_drawn_deeper_than_is_wanted_stays(run) -> None:
    measured(run, sequences=32, deepen="all")
    before = Table.load(run.path).frame()
    for deepen in ("last", "all", "bracket"):
        assert todo(run, deepen).jobs == []
        assert todo(run, deepen).present == len(STEPS)
    execute(todo(run, executor="serial"))
    assert Table.load(run.path).frame().equals(before)


def test_a_deeper_look_at_other_checkpoints_makes_those_alone(run) -> None:
    measured(run, sequences=32)
    assert deep(todo(run, "all")) == [(step, True) for step in STEPS[:-1]]
    measured(run, sequences=32, deepen="all", steps=[200])
    assert deep(todo(run, "all")) == [(0, True), (100, True), (300, True)]
    assert todo(run).jobs == []
    assert set(Table.load(run.path).frame(quantity="verdict")["step"]) == set(STEPS), "one of each still counts"
    assert Table.load(run.path).frame(quantity="verdict")["setting"].nunique() == 1


def test_the_bracket_is_asked_earliest_first_and_one_at_a_time(run) -> None:
    measured(run, sequences=32)
    say(run, {0: "not fitted", 100: "undecided", 200: "undecided", 300: "scale-robust", 400: "scale-robust"})
    assert doubtful(run) == [100, 200]
    assert deep(todo(run, "bracket")) == [(100, True)]
    assert deep(todo(run, "bracket", steps=[200, 300])) == [(200, True)]
    measured(run, sequences=32, steps=[100], deepen="all")
    say_deep = {0: "not fitted", 200: "undecided", 300: "scale-robust", 400: "scale-robust"}
    say(run, say_deep)
    labels = Table.load(run.path).frame(quantity="verdict").set_index("step")["label"]
    assert labels[100] == "undecided", "32 strings decide nothing, however deep"
    assert deep(todo(run, "bracket")) == [(200, True)], "what was deepened and stays undecided is not asked for ever"


def test_no_bracket_where_the_last_verdict_is_undecided_or_something_is_missing(run) -> None:
    assert deep(todo(run, "bracket")) == deep(todo(run)), "first what is missing"
    measured(run, sequences=32)
    say(run, dict.fromkeys(STEPS[:-1], "undecided"))
    assert doubtful(run) == []
    assert todo(run, "bracket").jobs == []


def test_the_key_holds_the_rule_of_how_many_strings_there_are() -> None:
    spec, grid = make_measurement("behaviour").spec, Grid(9, (9,), (9,), ())
    other = make_measurement("behaviour", {"looks": [512, 1024]}).spec
    keys = {
        shard_key(spec, grid, 512, 0, "aa"),
        shard_key(spec, grid, 512, 0, "aa", deep=True),
        shard_key(other, grid, 512, 0, "aa"),
        shard_key(spec, grid, 256, 0, "aa"),
        shard_key(spec, grid, 512, 1, "aa"),
        shard_key(spec, grid, 512, 0, "bb"),
    }
    assert len(keys) == 6


def test_a_task_that_came_to_list_its_test_sets_is_measured_again_where_they_are_evaluated(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of other tasks keep their keys, and so do measurements that list nothing."""

    def keys(name: str) -> list[str]:
        return [one.key for job in plan(MeasureRequest([run.path], only=[name])).jobs for one in job.measurements]

    before = {name: keys(name) for name in ("behaviour", "dynamics")}
    monkeypatch.setitem(LISTINGS, "parity", 1)
    assert {name: keys(name) for name in before} == before
    monkeypatch.setitem(LISTINGS, "majority", 1)
    assert not {*keys("behaviour")} & {*before["behaviour"]}
    assert keys("dynamics") == before["dynamics"]


def test_measurements_that_do_not_deepen_have_one_key(run) -> None:
    shallow, deeper = (plan(MeasureRequest([run.path], only=["dynamics"], deepen=d)) for d in ("last", "all"))
    assert [w.key for i in shallow.jobs for w in i.measurements] == [w.key for i in deeper.jobs for w in i.measurements]
    assert not any(d for _, d in deep(deeper))


def test_anything_else_is_refused() -> None:
    assert deepening("bracket", "--deepen") == "bracket"
    with pytest.raises(UsageError, match="'al'"):
        deepening("al", "--deepen")


@pytest.mark.parametrize(("labels", "found"), [
    ({}, []), ({0: "undecided"}, []), ({0: "a"}, []), ({0: "undecided", 5: "a"}, [0]), ({0: "undecided", 1: "undecided", 5: "a", 6: "undecided", 7: "a"}, [0, 1]),
    ({0: "a", 5: "a"}, []), ({0: "b", 5: "a"}, []), ({0: "b", 3: "undecided", 5: "a"}, [3]), ({0: "undecided", 3: "b", 5: "a"}, []),
    ({0: "b", 3: "undecided", 4: "b", 5: "undecided", 6: "undecided", 7: "a"}, [5, 6]), ({0: "b", 3: "undecided"}, []),
])  # fmt: skip
def test_undecided_checkpoints_among_which_the_last_verdict_began(
    monkeypatch: pytest.MonkeyPatch, labels: dict[int, str], found: list[int]
) -> None:
    rows = [
        {"measurement": measurement, "quantity": quantity, "step": step, "label": label if quantity == "verdict" else "undecided"}
        for step, label in reversed(labels.items())
        for measurement, quantity in (("behaviour", "verdict"), ("behaviour", "near_ties"), ("other", "near_ties"))
    ]  # fmt: skip
    names = ("measurement", "quantity", "step", "label")
    table = pa.table(
        {name: pa.array([r[name] for r in rows], pa.int64() if name == "step" else pa.string()) for name in names}
    )
    monkeypatch.setattr(plans, "read_run", lambda *given: SimpleNamespace(rows=table))
    run: Any = SimpleNamespace(path=Path("run"))
    assert doubtful(run) == found
