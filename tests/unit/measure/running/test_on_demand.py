"""What is asked of the plan where somebody asks for one run, and what is told of the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.measure.request import MeasureRequest
from workbench.measure.running import on_demand
from workbench.measure.running.engine import JobResult
from workbench.measure.running.plan import Plan, chosen_steps

REQUEST = MeasureRequest([Path("run")], executor="serial")


def of_steps(*steps: int) -> Any:
    return Plan(REQUEST, jobs=[SimpleNamespace(step=step) for step in steps], notices=["a notice"])  # type: ignore[misc]


@pytest.mark.parametrize(("only", "deepen_at", "asked"), [
    ([], None, {"only": None}), (["probes."], None, {"only": ["probes."]}), ([], 0, {"only": None, "steps": [0], "deepen": "all"}),
    (["behaviour"], 300, {"only": ["behaviour"], "steps": [300], "deepen": "all"}),
])  # fmt: skip
@pytest.mark.parametrize("problems", [[], ["it failed"]])
def test_what_is_planned_and_told(
    monkeypatch: pytest.MonkeyPatch, only: list[str], deepen_at: int | None, asked: dict[str, Any], problems: list[str]
) -> None:
    given: list[Any] = []

    def planned(request: MeasureRequest) -> Plan:
        given.append(request)
        return of_steps(0, 1200)

    def executed(todo: Plan, tick: Any) -> list[str]:
        tick(todo.jobs[0], JobResult("a", 0, rows=3, passes=1, extra_passes=0, seconds=0.1))
        tick(todo.jobs[1], None)
        return problems

    monkeypatch.setattr(on_demand, "plan", planned)
    monkeypatch.setattr(on_demand, "execute", executed)
    told: list[tuple[int, int, str]] = []
    found = on_demand.measure_run("run", only, "state", lambda *said: told.append(said), deepen_at)
    assert given == [replace(REQUEST, **asked)]
    assert told == [(0, 2, "step 0"), (1, 2, "step 0"), (2, 2, "step 1,200")]
    assert found == {"rows": 3, "problems": ["a notice", *problems], "failed": bool(problems)}


def test_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "plan", lambda request: of_steps())
    monkeypatch.setattr(on_demand, "execute", lambda *given: [])
    told: list[tuple[int, int, str]] = []
    assert on_demand.measure_run("run", [], "", lambda *said: told.append(said)) == {
        "rows": 0, "problems": ["a notice"], "failed": False,
    }  # fmt: skip
    assert told == [(0, 0, "nothing is missing")]


@pytest.mark.parametrize(("asked", "found"), [(None, [0, 3, 9]), ("last", [9]), ([3], [3]), ([], [])])
def test_the_steps_that_are_asked_for(asked: Any, found: list[int]) -> None:
    run: Any = SimpleNamespace(steps=[0, 3, 9])
    assert [*chosen_steps(run, asked)] == found
    assert [*chosen_steps(SimpleNamespace(steps=[]), "last")] == []  # type: ignore[arg-type]
