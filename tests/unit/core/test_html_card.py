"""What notebooks show of runs, tasks, programs and verdicts; and the runs that a mistyped name may have meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import LensError
from workbench.core.html_card import card
from workbench.dashboard.report.report_page import runs_below
from workbench.measure.behaviour.verdict import FailureLength, Verdict
from workbench.models.handmade.transformers import majority
from workbench.runs import Run, RunError, find_runs
from workbench.table import Table
from workbench.tasks import make_task
from workbench.theory.crasp.zoo import ZOO


def test_what_stands_in_it_is_text() -> None:
    shown = card("<b>", [("a", "<script>"), ("left out", ""), ("none", None), ("zero", 0)], "x < y")
    assert shown.count("<tr>") == 2
    assert "&lt;script&gt;" in shown
    assert "<pre>x &lt; y</pre>" in shown
    assert "<script>" not in shown


def test_tasks_programs_and_verdicts_say_what_they_are() -> None:
    task = make_task("mod_p_mean", p=5, k=2)._repr_html_()
    assert "Task mod_p_mean" in task
    assert "p 5, k 2" in task
    assert "accept := count(Q(0)) + 1 &lt;= count(Q(1))" in ZOO["majority"].program._repr_html_()
    verdict = Verdict("length-coupled", 72, {"matched": FailureLength(32, 16, 72)}, "loses skill")._repr_html_()
    assert "Verdict: length-coupled" in verdict
    assert "at 32, not yet at 16" in verdict


def test_a_run_says_what_it_is_and_which_one_was_meant(make_run: Any) -> None:
    run = make_run(majority(), make_task("majority"), trained=7, steps=(0,))
    opened = Run.open(run.path)
    assert repr(opened) == f"Run({opened.name!r}, majority, transformer, positions none)"
    shown = opened._repr_html_()
    assert "not measured yet" in shown
    assert "<td" in shown
    begun = Path(run.path).parent / Path(run.path).name[:2]
    with pytest.raises(RunError, match=f"{begun}"):
        Run.open(begun)
    for mistyped in (begun, Path(run.path).parent / f"{Path(run.path).name}_"):
        said = rf"there is no folder {mistyped}; did you mean {run.path}\?$"
        for read in (Table.load, find_runs):  # behind measure, check and show
            with pytest.raises(LensError, match=said):
                read(mistyped)
        with pytest.raises(LensError, match=said):
            runs_below([mistyped], [])
    with pytest.raises(RunError, match=f"{run.path}"):
        Run.open(Path(run.path).parent)
