"""``lengthlens info``: the verdict with its reason, when it began, where skill is lost, and near ties."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from workbench.cli.commands.info import info
from workbench.cli.show_run import when_decided
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
    info(run.path, step)
    return " ".join(capsys.readouterr().out.split())


def failing(law: str, **fields: Any) -> dict[str, Any]:
    return {"quantity": "failure_length", "law": law, "mode": "teacher_forced", **fields}


def test_the_verdict_says_since_when_it_holds(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    few = ("undecided", "too few strings")
    measured(run, {0: ("not fitted", ""), 100: few, 200: ("scale-robust", ""), 300: ("scale-robust", "")})
    text = shown(run, capsys)
    assert "Scale-robust at step 300. Accuracy is 1.00 [0.99, 1.00] at every tested length from 9" in text
    assert "tested up to length 73, at least 512 sequences per length" in text
    assert "reach: no value, because length 14 (1.5 N) was not measured" in text
    assert "--only behaviour measures it if the model can read that length" in text
    assert "since step 200 (last different verdict: step 0)" in text
    assert "undecided, too few strings" in text, "in the table over training"
    early = shown(run, capsys, 100)
    assert "Undecided at step 100." in early
    assert "; reason: too few strings" in early
    assert "since step" not in early
    assert "since step" not in shown(run, capsys, 0), "of what is not fitted nothing began"


def test_failure_lengths_say_what_they_cover(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    second = "confirmed by a second batch"
    measured(
        run,
        {300: ("length-coupled", "")},
        failing("matched", value=73.0, low=19.0, high=73.0, length=73, note=second),
        failing("challenge", low=37.0, length=73, status="censored", note="no failure up to this length"),
    )
    text = shown(run, capsys)
    assert "first failing length, matched test set: 20 to 73 (confirmed by a second batch)" in text
    assert "first failing length, challenge test set: none up to 73; every tested length up to 37 passes" in text


@pytest.mark.parametrize(
    ("matched", "challenge", "cell"),
    [
        (None, 37.0, "300 length-coupled, challenge test set 1.00"),
        (73.0, 37.0, "300 length-coupled, challenge test set 1.00"),
        (37.0, 37.0, "300 length-coupled 1.00"),
        (37.0, None, "300 length-coupled 1.00"),
    ],
)
def test_the_table_over_training_names_its_test_set_and_that_of_a_verdict_from_the_other(
    run: Any, capsys: pytest.CaptureFixture[str], matched: float | None, challenge: float | None, cell: str
) -> None:
    """Accuracies on the matched test set may stay at 1.00 beside a verdict that the challenge test set decides."""
    ends = {"matched": matched, "challenge": challenge}
    rows = [failing(law, low=9.0, length=73, **({"value": at, "high": at} if at else {"status": "censored"}))
            for law, at in ends.items()]  # fmt: skip
    measured(run, {0: ("not fitted", ""), 300: ("length-coupled", "")}, *rows)
    table = shown(run, capsys).partition("Over training, accuracies on the matched test set")[2]
    assert cell in table
    assert "0 not fitted 1.00" in table


def test_each_test_set_stands_next_to_its_baseline(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """N is 9, so the challenge test set is judged from 24 on: 19 stands in parentheses, 37 does not."""
    rows = []
    for n, value, shortcut in ((19, 0.67, 0.84), (37, 0.73, 0.52)):
        at = {"length": n, "mode": "teacher_forced"}
        for law, right in (("matched", 0.8), ("challenge", value)):
            ends = {"value": right, "low": right - 0.04, "high": right + 0.04, "n": 512}
            rows.append({"quantity": "accuracy", "law": law, **ends, **at})
            rows.append({"quantity": "chance", "law": law, "value": 0.5, **at})
        rows.append({"quantity": "shortcut", "law": "challenge", "target": "last_window", "value": shortcut, **at})
        outside = {"target": "counts", "value": 0.99, "note": "outside the baseline"}
        rows.append({"quantity": "shortcut", "law": "challenge", **outside, **at})
        rows.append({"quantity": "shortcut", "law": "matched", "target": "last_window", "value": 0.97, **at})
    measured(run, {300: ("length-coupled", "")}, failing("challenge", value=37.0, low=9.0, high=37.0), *rows)
    text = shown(run, capsys)
    assert "19 2.1 × N 0.800 [0.76, 0.84] 0.50 (0.670 [0.63, 0.71]) 0.84" in text
    assert "37 4.1 × N 0.800 [0.76, 0.84] 0.50 0.730 [0.69, 0.77] 0.52" in text
    assert "values in parentheses do not count for the verdict" in text
    assert "first failing length, challenge test set: 10 to 37; tested from length 37" in text


def test_without_lengths_that_are_not_judged_no_mark_is_explained(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    measured(run, {300: ("scale-robust", "")})
    assert "parentheses" not in shown(run, capsys)


def test_near_ties_stand_beside_the_verdict(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    note = "lead 1: 0.50 [0.41, 0.59] at 73 (matched law), 1.00 [0.97, 1.00] at 9; worst of 10 cells"
    ties = {"quantity": "near_ties", "label": "fail", "note": note}
    measured(run, {300: ("scale-robust", "")}, ties | {"target": "small margins"})
    assert f"Small margins fail, {note}." in shown(run, capsys)
    where = {"law": "matched", "mode": "teacher_forced", "length": 73, "n": 128, "distinct": 4}
    cell = {"quantity": "stratum_verdict", "target": "lead 1", "label": "fail", **where}
    limits = {"value": 0.5, "low": 0.41, "high": 0.59, "note": "1.00 [0.97, 1.00] at 9; worst of 5 cells"}
    measured(run, {300: ("scale-robust", "")}, ties | {"target": "small margins"}, cell | limits)
    few = "Small margins fail: lead 1 has 0.50 [0.41, 0.59] over 4 distinct sequences at length 73, worst of 10 cells (kind, length and test set)."
    assert few in shown(run, capsys)


def test_hard_inputs_without_a_name_are_called_so(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    measured(run, {300: ("scale-robust", "")}, {"quantity": "near_ties", "label": "open", "note": ""})
    assert "Hard inputs are inconclusive" in shown(run, capsys)


def test_of_a_folder_of_runs_their_verdicts_are_shown(
    make_run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_run(majority(), make_task("majority"), trained=9, steps=STEPS, name="a/first")
    make_run(majority(), make_task("majority"), trained=7, steps=(0,), name="second")
    measured(first, {0: ("undecided", ""), 200: ("scale-robust", "")})
    root = Path(first.path).parents[1]
    info(root)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert ["a/first", "majority", "9", "300", "scale-robust", "200", "73"] in lines
    assert ["second", "majority", "7", "0", "not", "measured", "–", "–"] in lines
    assert lines[-1][-1] == str(root / "a" / "first")
    monkeypatch.setenv("COLUMNS", "30")
    info(root)
    assert capsys.readouterr().out.splitlines()[-1] == f"Details of one run: lengthlens info {root / 'a' / 'first'}"
    with pytest.raises(RunError, match="--step"):
        info(root, 200)


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
    info(root)
    said = capsys.readouterr().out
    assert "odd/run.json is damaged" in said
    assert ["whole", "majority", "9", "300", "length-coupled", "300", "–"] in [
        line.split() for line in said.splitlines()
    ]


def test_the_number_of_sequences_is_that_of_drawn_ones_or_all_there_are(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A length with few sequences is evaluated on all of them, so that "at least 512" does not hold there."""
    few = {"quantity": "accuracy", "law": "matched", "mode": "teacher_forced", "length": 4, "value": 1.0, "n": 16}
    measured(run, {300: ("scale-robust", "")}, few | {"note": "all 16 sequences"})
    assert "tested up to length 73, at least 512 sequences per length, or all where there are few" in shown(run, capsys)


def test_where_an_answer_is_several_tokens_both_shares_are_shown(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    place = {"law": "matched", "length": 9, "mode": "teacher_forced"}
    measured(run, {300: ("scale-robust", "")}, {"quantity": "token_accuracy", "value": 0.76, **place})
    output = shown(run, capsys)
    assert "At length 9, 1.00 [0.99, 1.00] of whole answers and 0.76 of their tokens are correct." in output
    assert "Accuracy: whole answers right. An answer is right only if all its tokens are." in output


def test_where_an_answer_is_one_token_nothing_is_said_of_whole_answers(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(run, {300: ("scale-robust", "")})
    assert "whole answers" not in shown(run, capsys)


def decided(run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sentence: str = "") -> str:
    """What is printed of when runs of a kind are decided."""
    kind = SimpleNamespace(sentence=sentence) if sentence else None
    monkeypatch.setattr("workbench.claims.determinacy.of_run.determinacy_of_kind", lambda config: kind)
    when_decided(Console(width=200), run, Path("runs/mine"))
    return capsys.readouterr().out.strip()


def test_when_reach_is_decided_stands_with_the_command_that_forks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suggested steps are the checkpoints nearest to 0.3 and 0.6 of training."""
    run = SimpleNamespace(trained_here=True, config={"training": {}}, steps=(0, 90, 130, 200, 330, 400))
    fork = "fork it: lengthlens fork runs/mine --at 130,200 --children 3"
    assert decided(run, capsys, monkeypatch, "decided by step 150") == f"when decided: decided by step 150; {fork}"
    assert decided(run, capsys, monkeypatch) == f"when decided: not known for this kind of run; {fork}"
    run.config["training"]["fork"] = {"run": "a", "step": 3}
    assert decided(run, capsys, monkeypatch) == ""


def test_of_a_compiled_run_nothing_is_decided(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SimpleNamespace(trained_here=False, config={"training": {"compiled": "majority"}}, steps=(0, 1))
    assert decided(run, capsys, monkeypatch) == ""
