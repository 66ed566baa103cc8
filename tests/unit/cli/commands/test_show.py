"""``lengthlens show``: the verdict with its reason, when it began, where skill is lost, and near ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.cli.commands.show import show
from workbench.models.handmade.transformers import majority
from workbench.runs.errors import RunError
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


def test_of_a_folder_of_runs_their_verdicts_are_shown(
    make_run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_run(majority(), make_task("majority"), trained=9, steps=STEPS, name="a/first")
    make_run(majority(), make_task("majority"), trained=7, steps=(0,), name="second")
    measured(first, {0: ("undecided", ""), 200: ("scale-robust", "")})
    root = Path(first.path).parents[1]
    show(root)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert ["a/first", "majority", "9", "300", "scale-robust", "200", "73"] in lines
    assert ["second", "majority", "7", "0", "not", "measured", "–", "–"] in lines
    assert lines[-1][-1] == str(root / "a" / "first")
    monkeypatch.setenv("COLUMNS", "30")
    show(root)
    assert capsys.readouterr().out.splitlines()[-1] == f"More about one: lengthlens show {root / 'a' / 'first'}"
    with pytest.raises(RunError, match=r"--step is about one run, and .* holds 2; name one of them"):
        show(root, 200)


def test_odd_runs_of_a_folder_are_named_and_the_others_shown(make_run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    whole = make_run(majority(), make_task("majority"), trained=9, steps=STEPS, name="whole")
    measured(whole, {300: ("length-coupled", "")})
    root = Path(whole.path).parent
    (root / "odd").mkdir()
    (root / "odd" / "run.json").write_text("{")
    # A verdict without the length that it was measured to.
    bare = row(run="whole", step=300, measurement="behaviour", quantity="verdict", label="length-coupled")
    metadata = {"spec": '{"version": 4}', "key": "k", "sha256": whole.meta(300)["sha256"], "run": whole.id}
    write_shard(shard_path(root / "whole", "behaviour", 300, "k"), [bare], metadata)
    show(root)
    said = capsys.readouterr().out
    assert "odd/run.json is damaged" in said
    assert ["whole", "majority", "9", "300", "length-coupled", "300", "–"] in [
        line.split() for line in said.splitlines()
    ]
