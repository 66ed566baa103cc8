"""Lines about runs in a terminal: verdicts, and the reason of each length-coupled run, from its diagnosis at that step."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from tests.support.places import GALLERY
from workbench.cli.run_in_terminal import verdict_lines, verdicts, why_lines
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, told
from workbench.runs import Run
from workbench.runs.run import find_runs
from workbench.table import Table


def test_only_length_coupled_runs_are_told_why(tmp_path: Path) -> None:
    for name in ("flip_flop_rotary_s0", "majority_nope_s0", "parity_nope"):
        (tmp_path / name).symlink_to(GALLERY / name)
    coupled = {line.partition(":")[0] for line in verdict_lines(tmp_path) if ": length-coupled at step" in line}
    why = why_lines(tmp_path)
    assert {line.removeprefix("Why ").partition(":")[0] for line in why} == coupled == {"flip_flop_rotary_s0"}
    run = Run.open(GALLERY / "flip_flop_rotary_s0")
    rows = Table.load(run.path).frame(measurement="diagnosis", step=run.steps[-1])
    longest = run.trained_length
    assert why == [f"Why {run.name}: {told(diagnosis_sentence(rows, step=run.steps[-1], longest=longest))}"]
    assert f"positions beyond {longest}" in why[0]


def test_a_verdict_without_its_diagnosis_is_told_without_a_reason(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(GALLERY / "compiled" / "majority_first_32")
    lines = verdict_lines(tmp_path)
    assert len(lines) == 1
    assert len(why_lines(tmp_path)) == (": length-coupled at step" in lines[0])


def test_names_of_runs_stand_whole_in_a_narrow_terminal() -> None:
    """Other columns give way."""
    runs = find_runs(GALLERY)
    for width in (72, 80, 200):
        console = Console(width=width, file=io.StringIO())
        console.print(verdicts(GALLERY, runs, width))
        said = console.file.getvalue()  # type: ignore[attr-defined]
        assert all(any(line.startswith(f"{run.name} ") for line in said.splitlines()) for run in runs), width
        assert len(said.splitlines()) == 2 + len(runs)
        assert ("at step" in said) == (width > 72)
        assert ("steps" in said) == (width == 200)
