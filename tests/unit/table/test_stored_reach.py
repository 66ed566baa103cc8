"""Reach from stored rows: against a computation from the table, from notes, and for runs that lack rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.places import GALLERY
from workbench.core.reach import REACH_MULTIPLES
from workbench.runs.run import Run
from workbench.table import Table
from workbench.table.last_verdict import read_whole_note
from workbench.table.run_verdicts import last_results_of
from workbench.table.shards import compact
from workbench.table.stored_reach import reach_by_step

TRAINED = [name for name in sorted(path.parent.name for path in GALLERY.glob("*/run.json")) if name != "small_model"]


@pytest.mark.parametrize("name", TRAINED)
def test_reach_is_the_mean_of_stored_skill(name: str) -> None:
    run = Run.open(GALLERY / name)
    rows = Table.load(run.path).frame(
        measurement="behaviour", quantity="skill", law="matched", mode="teacher_forced", step=run.steps[-1]
    )
    skill = rows.set_index("length")["value"]
    targets = [times * run.trained_length for times in REACH_MULTIPLES]
    lengths = [min(n for n in skill.index if n >= target) for target in targets]
    expected = sum(min(1.0, max(0.0, skill[n])) for n in lengths) / 5
    _, reach = last_results_of(run.path)
    assert reach is not None
    assert reach.value == pytest.approx(expected)
    assert reach.lengths == tuple(lengths)
    assert reach.low is not None
    assert reach.high is not None
    assert reach.value is not None
    assert reach.low <= reach.value <= reach.high
    verdict = run.verdict()
    assert (verdict.reach, verdict.reach_low, verdict.reach_high) == (reach.value, reach.low, reach.high)
    frame = Table.load(run.path).reach()
    assert list(frame["step"]) == list(run.steps)
    assert frame["value"].iloc[-1] == reach.value


def test_the_note_of_compaction_contains_reach(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(GALLERY / "majority_learned", run)
    compact(run)
    note = read_whole_note(run)
    assert note is not None
    assert note.reach == (last_results_of(GALLERY / "majority_learned")[1],)
    assert Run.open(run).verdict(0).reach == Table.load(run).reach()["value"].iloc[0]


def test_runs_without_the_lengths_have_a_reason_or_nothing() -> None:
    _, reach = last_results_of(GALLERY / "small_model")
    assert reach is not None
    assert reach.reason == "length 384 (1.5 N) was not measured"
    rows = Table.load(GALLERY / "small_model").reach()
    assert set(rows["status"]) == {"undefined"}
    assert set(rows["note"]) == {reach.reason}
    assert last_results_of(GALLERY / "pretrained" / "smollm2_copy")[1] is None
    assert Table.load(GALLERY / "pretrained").reach().empty


def cells(**changes: object) -> list[dict[str, object]]:
    """Rows of five lengths with accuracy 0.75 and a baseline of 0.5; changes apply to length 96."""
    rows: list[dict[str, object]] = []
    for length in (48, 64, 96, 128, 256):
        own = {"step": 1, "length": length, "low": 0.7, "n": 512, "status": "ok"}
        values = {"accuracy": 0.75, "skill": 0.5, "chance": 0.5}
        rows += [{**own, "quantity": name, "value": value} for name, value in values.items()]
    return [row | changes if (row["length"], row["quantity"]) == (96, "skill") else row for row in rows]


def test_undefined_and_missing_rows() -> None:
    assert reach_by_step(cells(), 32)[1].value == 0.5
    undefined = reach_by_step(cells(value=None, status="undefined"), 32)[1]
    assert undefined.value is None
    assert "undefined at length 96" in undefined.reason
    without = [row for row in cells() if (row["length"], row["quantity"]) != (96, "skill")]
    assert reach_by_step(without, 32)[1].reason == "length 96 (3 N) was not measured"
    assert reach_by_step([], 32) == {}


def test_the_baseline_of_a_band_is_that_of_its_skill() -> None:
    """Skill 0.6 at accuracy 0.75 means a baseline of 0.375, although chance at the length itself is 0.5."""
    wider = reach_by_step(cells(value=0.6), 32)[1]
    assert wider.value == pytest.approx(0.52)


def test_lengths_that_were_counted_have_no_interval() -> None:
    counted = [row | {"low": None} for row in cells()]
    reach = reach_by_step(counted, 32)[1]
    assert (reach.value, reach.low, reach.n) == (0.5, None, None)
