"""``--shard`` and ``--time-limit``: what they take, what they leave, and how a command that is not finished ends."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import time_limit as limits
from workbench.cli.commands.measure import measure
from workbench.cli.commands.sweep import sweep
from workbench.cli.errors import UsageError, exit_status
from workbench.cli.options import share_of
from workbench.cli.sweeping.sweep_cells import TrainingJob, train_cell
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.time_limit import NOT_FINISHED, TimeLimit, seconds_of
from workbench.jobs.deadline import TimeIsUp, refuse_late
from workbench.jobs.share import WHOLE, Share
from workbench.measure.request import MeasureRequest
from workbench.measure.running import plan as planning
from workbench.measure.running.engine import CheckpointJob, JobResult, measure_checkpoint
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority
from workbench.training.trainer import Stopped

SWEEP = """
out: {out}
base: {{task: majority, lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: 6, training.checkpoints.log: 1}}
grid: {{seed: [0, 1, 2, 3]}}
"""
Ran = Callable[[Callable[[], Any]], tuple[object, str, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """The exit status of a command, and what it said."""

    def call(command: Callable[[], Any]) -> tuple[object, str, str]:
        status = exit_status(command)
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP.format(out=tmp_path / "runs"))
    return file


# ---- shares ------------------------------------------------------------------------------------------
def test_every_key_is_in_one_share_wherever_it_stands() -> None:
    keys = [f"run-{i}/{step}" for i in range(40) for step in (0, 100)]
    for of in (1, 2, 7, 64):
        shares = [Share(number, of) for number in range(1, of + 1)]
        assert all(sum(share.has(key) for share in shares) == 1 for key in keys)
    sizes = [sum(Share(number, 4).has(key) for key in keys) for number in range(1, 5)]
    assert min(sizes) > len(keys) / 4 / 2
    assert WHOLE.has("anything")


@pytest.mark.parametrize("text", ["0/8", "9/8", "8", "1/0", "-1/8", "1/8/2", "", "a/b", "\u0661/8", "9" * 50 + "/8"])
def test_a_share_outside_k_of_m_is_refused_before_work(text: str, file: Path, tmp_path: Path) -> None:
    for command in (lambda: share_of(text), lambda: sweep(file, shard=text), lambda: measure([tmp_path], shard=text)):
        with pytest.raises(UsageError, match="--shard"):
            command()
    assert not (tmp_path / "runs").exists()


def test_shares_of_a_sweep_are_its_cells_once(file: Path, tmp_path: Path, ran: Ran) -> None:
    listed = []
    for k in (1, 2, 3):
        status, out, _ = ran(lambda k=k: sweep(file, dry_run=True, shard=f"{k}/3"))
        assert status == 0
        assert f"of 4 cells ({k}/3) in" in out
        listed += [line.split()[0] for line in out.splitlines() if line.startswith("seed")]
    assert sorted(listed) == ["seed0", "seed1", "seed2", "seed3"]


def test_shares_of_a_plan_are_its_checkpoints_once_and_whole_runs_with_a_bracket(make_run: Callable[..., Any]) -> None:
    steps = tuple(range(0, 120, 10))
    run = make_run(majority(gain_length=400), Majority(), 9, steps=steps)

    def planned(number: int, deepen: Any) -> list[int]:
        return [
            i.step
            for i in planning.plan(
                MeasureRequest([run.path], ["behaviour"], deepen=deepen, share=Share(number, 3))
            ).jobs
        ]

    apart = [planned(number, "last") for number in (1, 2, 3)]
    assert sorted(step for one in apart for step in one) == list(steps)
    assert all(apart)
    assert sorted(len(planned(number, "bracket")) for number in (1, 2, 3)) == [0, 0, len(steps)]


# ---- the limit ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "seconds"), [("55m", 3300), ("90s", 90), ("1h30m", 5400), ("2d", 172800), (" 1h ", 3600)]
)
def test_a_limit_is_read(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0m", "55", "m", "1.5h", "-5m", "5m1h", "999999d", "x", "\u0665m"])
def test_a_limit_that_is_none_is_refused(text: str, file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--time-limit"):
        sweep(file, time_limit=text)
    assert not (tmp_path / "runs").exists()


def test_what_is_kept_for_saving() -> None:
    assert TimeLimit("55m", 3300, 100).until == 100 + 3300 - limits.RESERVE
    assert TimeLimit("100s", 100, 100).until == 190
    assert TimeLimit("1h", 3600, time.time()).up is False
    assert TimeLimit("1h", 3600, time.time() - 3600).up is True


def test_a_job_is_not_begun_once_the_time_is_up(file: Path, make_run: Callable[..., Any], tmp_path: Path) -> None:
    refuse_late(None)
    refuse_late(time.time() + 1000)
    with pytest.raises(TimeIsUp):
        refuse_late(time.time() - 1)
    run = make_run(majority(gain_length=400), Majority(), 9)
    (job,) = planning.plan(MeasureRequest([run.path], ["behaviour"], lengths=[9], sequences=16)).jobs
    with pytest.raises(TimeIsUp):
        measure_checkpoint(job, until=time.time() - 1)
    (cell, *_) = read_sweep(file).cells
    with pytest.raises(TimeIsUp):
        train_cell(TrainingJob(cell, str(tmp_path / "late")), until=time.time() - 1)
    assert not (tmp_path / "late").exists()


def test_training_stops_at_its_time_and_goes_on_to_the_same_bits(file: Path, tmp_path: Path) -> None:
    (cell, *_) = read_sweep(file).cells
    past = time.time() - 1
    for _ in range(3):  # one update each
        with pytest.raises(Stopped, match="step"):
            train_cell(TrainingJob(cell, str(tmp_path / "late"), past))
    assert (
        train_cell(TrainingJob(cell, str(tmp_path / "late")))
        == train_cell(TrainingJob(cell, str(tmp_path / "whole")))
        == 6
    )
    late, whole = (
        [json.loads(path.read_text())["sha256"] for path in sorted((tmp_path / name).glob("steps/*/meta.json"))]
        for name in ("late", "whole")
    )
    assert late == whole
    assert len(whole) > 1


def test_a_sweep_whose_time_is_up_says_what_is_left_and_to_run_it_again(
    file: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(TimeLimit, "until", property(lambda self: self.begun - 1))
        status, out, said = ran(lambda: sweep(file, executor="serial", time_limit="1h"))
    assert status == NOT_FINISHED == 75
    assert "4 cells in" in out
    assert "0 trained now, 0 existed already" in out
    assert said.endswith(
        "The time limit is up: 4 of 4 cells are left to be trained; run the same command again to finish the work\n"
    )
    status, out, said = ran(lambda: sweep(file, executor="serial", time_limit="1h"))
    assert (status, said.count("left")) == (0, 0)
    assert "4 trained now" in out
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("first", [True, False])
def test_a_checkpoint_that_takes_longer_than_the_limit_is_ended(
    first: bool, make_run: Callable[..., Any], ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not even one could be measured, running it again would never end, and the status says so."""
    run = make_run(majority(gain_length=400), Majority(), 9, steps=(0, 10, 20))

    def slow(job: CheckpointJob, until: float | None) -> JobResult:
        if job.step or first:
            signal.pause()
        return JobResult(job.run_name, job.step, 0, 0, 0, 0.0)

    monkeypatch.setattr(planning, "measure_checkpoint", slow)
    status, _, said = ran(lambda: measure([run.path], ["behaviour"], executor="serial", time_limit="1s"))
    if first:
        assert status == 2
        assert "no checkpoint could be measured within --time-limit 1s; give more time" in said
    else:
        assert status == 75
        assert "2 of 3 checkpoints are left to be measured; run the same command again to finish the work" in said


def test_what_another_process_has_measured_since_is_not_measured_again(make_run: Callable[..., Any]) -> None:
    run = make_run(majority(gain_length=400), Majority(), 9)
    todo = planning.plan(MeasureRequest([run.path], ["behaviour"], lengths=[9, 19], sequences=16, executor="serial"))
    again = planning.plan(MeasureRequest([run.path], ["behaviour"], lengths=[9, 19], sequences=16, executor="serial"))
    done: list[JobResult | None] = []
    assert planning.execute(todo, on_done=lambda item, one: done.append(one)) == []
    (shard,) = run.path.glob("measurements/behaviour/*.parquet")
    before = shard.stat().st_mtime_ns
    assert planning.execute(again, on_done=lambda item, one: done.append(one)) == []
    assert shard.stat().st_mtime_ns == before
    first, second = done
    assert first is not None
    assert second is not None
    assert (first.rows > 0, second.rows, second.passes) == (True, 0, 0)
