"""``sweep --plan``: what is left of a sweep, from times written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.cli.commands.sweep import renaming, sweep
from workbench.cli.sweeping.sweep_cells import config_of, former_names, states_of
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.sweeping.sweep_plan import bytes_below, checkpoints_of, nearest_known, plan_lines, plan_sweep, span
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.run import Run
from workbench.runs.timing import NAME
from workbench.storage.seal import sealed_json
from workbench.table.schema import row
from workbench.table.shards import compact, seconds_of, shard_path, write_shard

SWEEP = """
out: {out}
base: {{task: majority, lengths: 1-9, layers: 1, d_model: 8, heads: 2, batch_size: 8, steps: 100,
       training.checkpoints.log: 1, training.checkpoints.linear: 2}}
grid:
  positions: [none, learned]
  seed: [0, 1]
measure: {{only: [behaviour], steps: last}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "study.yaml"
    file.write_text(SWEEP.format(out=tmp_path / "runs"))
    return file


def done(file: Path, name: str, seconds: float, measuring: tuple[float, ...] = ()) -> Run:
    """A cell that is there, with times of its own."""
    cell = next(cell for cell in read_sweep(file).cells if cell.name == name)
    folder, config = file.parent / "runs" / name, config_of(cell)
    write_config(folder, config.as_json())
    run = Run.open(folder)
    for step in checkpoints_of(config):
        write_checkpoint(run, step, f"{name} {step}".encode(), None)
    timing = {"updates": config.training.steps, "seconds": seconds, "peak_bytes": 400_000_000}
    (folder / NAME).write_bytes(sealed_json(timing))
    sha256 = run.meta(100)["sha256"]
    for number, told_seconds in enumerate(measuring):
        facts = {"run": name, "step": 100, "measurement": f"made.up{number}"}
        metadata = {"spec": "{}", "key": "k", "sha256": sha256, "run": run.id, "seconds": f"{told_seconds:.3f}"}
        write_shard(shard_path(folder, f"made.up{number}", 100, "k"), [row(quantity="q", value=1.0) | facts], metadata)
    if measuring:
        assert compact(folder) == []
    return run


def plan(file: Path):
    described = read_sweep(file)
    configs = {cell.name: config_of(cell) for cell in described.cells}
    states, _ = states_of(described.cells, file.parent / "runs")
    return plan_sweep(described.cells, configs, states, file.parent / "runs", described.measure)


def test_without_times_only_the_counts_are_told(file: Path) -> None:
    found = plan(file)
    assert (found.runs, found.checkpoints, found.training, found.measuring) == (4, 4, [], [])
    text = "\n".join(plan_lines(found, 8))
    assert "4 runs" in text
    assert "unknown" in text
    assert "at least" in text
    assert "No run of this sweep is trained yet" in text


def test_a_missing_run_takes_what_its_nearest_ones_took(file: Path) -> None:
    """Of each encoding one seed is there: 36 and 72 s; measured in 6 s, of which the last shard tells."""
    first = done(file, "none-seed0", 36.0, measuring=(2.0, 6.0))
    done(file, "learned-seed0", 72.0)
    found = plan(file)
    assert found.runs == 2
    assert sorted(found.training) == [(36.0, 36.0, 36.0), (72.0, 72.0, 72.0)]
    assert found.hours(found.training)[1] == pytest.approx(108 / 3600)
    assert seconds_of(first.path) == {100: 6.0}
    assert found.checkpoints == 3
    assert found.measuring == [(6.0, 6.0, 6.0)] * 3
    assert found.seconds_on(2) == 72 + 12
    assert found.seconds_on(1) == 108 + 18
    assert found.peak_bytes == 400_000_000
    each = bytes_below(file.parent / "runs" / "learned-seed0") / 3
    assert found.new_bytes == pytest.approx(3 * each + bytes_below(first.path))
    text = "\n".join(plan_lines(found, 2))
    assert "72.0 seconds" in text
    assert "0.40 GB of memory a training process" in text
    assert "from 2 timed runs of this sweep (1 of them measured" in text


def test_a_run_that_is_begun_takes_the_rest(file: Path) -> None:
    done(file, "none-seed0", 40.0)
    begun = done(file, "none-seed1", 10.0)
    for name in ("meta.json", "model.safetensors"):
        (begun.step_path(100) / name).unlink()
    begun.step_path(100).rmdir()
    timing = json.loads((begun.path / NAME).read_bytes())
    (begun.path / NAME).write_bytes(sealed_json({**{k: timing[k] for k in ("seconds", "peak_bytes")}, "updates": 50}))
    low, middle, high = min(plan(file).training)
    assert (low, middle, high) == (10.0, 15.0, 20.0)  # half a run, at the rates of both


def test_the_nearest_share_the_most_settings_but_not_the_seed(file: Path) -> None:
    done(file, "none-seed0", 36.0)
    done(file, "learned-seed1", 72.0)
    cells = {cell.name: cell for cell in read_sweep(file).cells}
    found = plan(file)
    assert found.known == 2
    assert sorted(one[1] for one in found.training) == [36.0, 72.0]
    assert nearest_known(cells["none-seed1"], []) == []


def test_the_longest_go_first() -> None:
    assert span([1.0, 1.0, 1.0, 3.0], 2) == 3.0
    assert span([], 4) == 0.0
    assert span([2.0, 2.0, 2.0], 1) == 6.0


def test_the_command_plans_and_does_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep(file, workers=4, plan=True)
    said = capsys.readouterr().out
    assert "4 cells" in said
    assert "on 4 workers" in said
    assert not (file.parent / "runs").exists()


def test_the_plan_counts_what_is_trained_from_any_working_directory(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(SWEEP.format(out="runs"))
    done(file, "none-seed0", 36.0)
    for folder in (file.parent, Path("/")):
        monkeypatch.chdir(folder)
        sweep(file, plan=True, workers=2)
        assert "4 cells" in (said := capsys.readouterr().out)
        assert "1 trained, 3 not trained" in said


def test_runs_of_a_cell_that_a_new_axis_value_renamed_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one position encoding the cells are seed0 and seed1; a second encoding calls them none-seed0 and none-seed1."""
    whole = file.read_text()
    file.write_text(whole.replace("[none, learned]", "[none]"))
    done(file, "seed0", 1.0)
    file.write_text(whole)
    described, root = read_sweep(file), file.parent / "runs"
    configs = {cell.name: config_of(cell) for cell in described.cells}
    states, _ = states_of(described.cells, root)
    assert former_names(configs, states, root) == [("seed0", "none-seed0")]
    assert former_names(configs, {**states, "none-seed0": "done"}, root) == []
    (sentence,) = renaming([("seed0", "none-seed0")], root)
    assert sentence.startswith("1 run has the settings of missing cells")
    assert sentence.endswith(f"mv {root / 'seed0'} {root / 'none-seed0'}")
    assert renaming([], root) == []
    sweep(file, plan=True)
    told_now = capsys.readouterr()
    assert "4 cells" in told_now.out
    assert f"note: {sentence}" in told_now.err
