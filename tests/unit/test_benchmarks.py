"""Benchmarks measure what is there, and compare like with like."""

from __future__ import annotations

import json

import pytest

from benchmarks.compare import figures, markdown
from benchmarks.measurements.observing import SETUP


def test_a_checkpoint_is_observed_with_all_measurements() -> None:
    """The last line of it observes a small model, and no measurement fails."""
    found: dict[str, object] = {}
    exec(SETUP, found)
    assert found["task"].name == "majority"


def entry(commit: str, *shown: tuple[str, str, float]) -> str:
    return json.dumps(
        {"commit": commit, "figures": [dict(zip(("what", "against", "value"), x, strict=True)) for x in shown]}
    )


HISTORY = "\n".join(
    [
        entry("a1", ("page, 200 runs, 2.6 million rows", "s", 9.0), ("gone", "s", 1.0)),
        entry("a1", ("page, 200 runs, 2.6 million rows", "s", 2.0)),
        entry("b2", ("page, 200 runs, 2.8 million rows", "s", 1.0), ("new", "s", 1.0)),
    ]
)


def test_the_latest_figures_of_two_commits_stand_beside_each_other() -> None:
    table = markdown(figures("a1", HISTORY), figures("b2", HISTORY))
    assert table.splitlines()[2:] == ["| page, 200 runs | s | 2 | 1 | 0.50 |"]


def test_a_commit_without_figures_is_named_with_those_that_have_some() -> None:
    with pytest.raises(SystemExit, match="figures"):
        figures("c3", HISTORY)
