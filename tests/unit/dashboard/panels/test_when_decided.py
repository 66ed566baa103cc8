"""The line that says when runs of a kind are decided: its sentence, its chart, and the command that forks the run."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.answers import texts
from workbench.claims.determinacy.cells import planned_cells
from workbench.claims.determinacy.of_run import decided_for_run, determinacy_of_kind, fork_steps
from workbench.core.canonical import canonical
from workbench.dashboard.panels import when_decided
from workbench.dashboard.state.run_view import RunView


def config_of_the_study() -> dict[str, Any]:
    """The config of a run of a kind that the study has: bounded Dyck without positions."""
    cell = next(cell for cell in planned_cells() if (cell.task, cell.positions) == ("bounded_dyck", "none"))
    config: dict[str, Any] = cell.config(7).as_json()
    return config


def test_the_answer_is_that_of_the_study_and_can_be_sent() -> None:
    config = config_of_the_study()
    kind, answer = determinacy_of_kind(config), decided_for_run(config, [0, 100, 200, 310, 500])
    assert kind is not None
    canonical(answer)
    assert answer["forks"] == [100, 310] == fork_steps([0, 100, 200, 310, 500])
    assert answer["kind"]["sentence"] == kind.sentence
    assert answer["kind"]["decided_from"] == kind.decided_from
    assert [row["step"] for row in answer["kind"]["by_step"]] == sorted(kind.by_step)
    for row in answer["kind"]["by_step"]:
        result = kind.by_step[row["step"]]
        assert (row["value"], row["low"], row["high"]) == (result.value, result.low, result.high)


def test_a_run_with_one_checkpoint_is_forked_there() -> None:
    assert fork_steps([400]) == [400]


def test_the_line_the_chart_and_the_command(robust: RunView) -> None:
    config = config_of_the_study()
    answer = decided_for_run(config, [0, 150, 300, 500])
    line, below = when_decided.words(robust, answer)
    assert line.startswith("In runs of this kind, reach is ")
    assert line.lower() == answer["kind"]["sentence"].lower()
    said = texts(below)
    for row in answer["kind"]["by_step"]:
        assert f"step {row['step']}: {row['label']}" in said
    assert "Determinacy by the step of the fork" in said
    assert f"lengthlens fork {robust.typed_path} --at 150,300 --children 3" in said


def test_an_unknown_kind_is_said_with_the_command(robust: RunView) -> None:
    line, below = when_decided.words(robust, {"forks": [30, 60], "of": 500, "kind": None})
    assert line == "When it is decided how far a run reaches: not known for this kind of run"
    assert f"lengthlens fork {robust.typed_path} --at 30,60 --children 3" in texts(below)


def test_it_applies_to_runs_that_can_be_forked(robust: RunView) -> None:
    assert when_decided.applies(robust)
    assert not when_decided.fold(robust).hidden
