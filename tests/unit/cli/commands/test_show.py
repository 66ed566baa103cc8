"""``lengthlens show``: the verdict with its reason, when it began, where skill is lost, and near ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.cli.commands.show import show
from workbench.models.handmade.transformers import majority
from workbench.table.schema import row
from workbench.table.shards import shard_path, write_shard
from workbench.tasks import make_task

STEPS = (0, 100, 200, 300)


@pytest.fixture
def run(make_run: Any) -> Any:
    return make_run(majority(), make_task("majority"), trained=9, steps=STEPS)


def measured(run: Any, labels: dict[int, tuple[str, str]], *further: dict[str, Any]) -> None:
    """Verdicts (label and reason) by step, and more rows of the last one."""
    for step, (label, reason) in labels.items():
        shared = {"run": run.name, "step": step, "measurement": "behaviour"}
        law = {"law": "matched", "length": 9, "mode": "teacher_forced"}
        rows = [
            row(**shared, quantity="verdict", label=label, reason=reason, length=73, n=512, note="it is so"),
            row(**shared, **law, quantity="accuracy", value=1.0, low=0.99, high=1.0, n=512),
            row(**shared, **law, quantity="chance", value=0.5),
        ]
        rows += [row(**shared, **fields) for fields in further if step == max(labels)]
        metadata = {"spec": '{"version": 4}', "key": "k", "sha256": run.meta(step)["sha256"], "run": run.id}
        write_shard(shard_path(Path(run.path), "behaviour", step, "k"), rows, metadata)


def shown(run: Any, capsys: pytest.CaptureFixture[str], step: int | None = None) -> str:
    show(run.path, step)
    return " ".join(capsys.readouterr().out.split())


def failing(law: str, **fields: Any) -> dict[str, Any]:
    return {"quantity": "failure_length", "law": law, "mode": "teacher_forced", **fields}


def test_the_verdict_says_since_when_it_holds(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    few = ("undecided", "too few strings")
    measured(run, {0: ("not fitted", ""), 100: few, 200: ("scale-robust", ""), 300: ("scale-robust", "")})
    text = shown(run, capsys)
    assert "Scale-robust at step 300 (measured to length 73, n 512 or more): it is so." in text
    assert "since 200 (last different: 0)" in text
    assert "undecided, too few strings" in text, "in the table over training"
    early = shown(run, capsys, 100)
    assert "Undecided, too few strings, at step 100" in early
    assert "since" not in early
    assert "since" not in shown(run, capsys, 0), "of what is not fitted nothing began"


def test_failure_lengths_say_what_they_cover(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    second = "confirmed by a second batch"
    measured(
        run,
        {300: ("length-coupled", "")},
        failing("matched", value=73.0, low=19.0, high=73.0, length=73, note=second),
        failing("challenge", low=37.0, length=73, status="censored", note="no failure up to this length"),
    )
    text = shown(run, capsys)
    assert "fails at, matched law: (19, 73] (confirmed by a second batch)" in text
    assert "fails at, challenge law: > 73; shown to be kept up to 37" in text


def test_near_ties_stand_beside_the_verdict(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    note = "lead 1: 0.50 at 73, 1.00 at 9 (matched law)"
    measured(run, {300: ("scale-robust", "")}, {"quantity": "near_ties", "label": "fail", "note": note})
    assert f"near ties fail: {note}" in shown(run, capsys)
