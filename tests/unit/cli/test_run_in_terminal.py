"""Lines about runs in a terminal: verdicts, and the reason of each length-coupled run, from its diagnosis at that step."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from tests.support.places import GALLERY
from workbench.cli.listed_runs import listed_runs
from workbench.cli.run_list import print_run_list, run_list
from workbench.cli.show_run import behaviour, verdict, verdict_lines, why_lines
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.runs import Run
from workbench.table import Table


def test_only_length_coupled_runs_are_told_why(tmp_path: Path) -> None:
    for name in ("flip_flop_rotary_s0", "majority_nope_s0", "parity_nope"):
        (tmp_path / name).symlink_to(GALLERY / name)
    coupled = {line.partition(":")[0] for line in verdict_lines(tmp_path) if ": Length-coupled at step" in line}
    why = why_lines(tmp_path)
    assert {line.removeprefix("Why ").partition(":")[0] for line in why} == coupled == {"flip_flop_rotary_s0"}
    run = Run.open(GALLERY / "flip_flop_rotary_s0")
    rows = Table.load(run.path).frame(measurement="diagnosis", step=run.steps[-1])
    longest = run.trained_length
    assert why == [f"Why {run.name}: {plain_text(diagnosis_sentence(rows, step=run.steps[-1], longest=longest))}"]
    assert f"positions beyond {longest}" in why[0]


def test_a_verdict_without_its_diagnosis_is_told_without_a_reason(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(GALLERY / "compiled" / "majority_first_32")
    lines = verdict_lines(tmp_path)
    assert len(lines) == 1
    assert len(why_lines(tmp_path)) == (": Length-coupled at step" in lines[0])


def test_names_of_runs_stand_whole_in_a_narrow_terminal() -> None:
    """Other columns give way."""
    runs = listed_runs(GALLERY, [])
    for width in (72, 80, 200):
        console = Console(width=width, file=io.StringIO())
        print_run_list(console, run_list(GALLERY, runs, width))
        said = console.file.getvalue()  # type: ignore[attr-defined]
        assert all(any(line.startswith(f"{run['run']} ") for line in said.splitlines()) for run in runs), width
        assert len(said.splitlines()) == 2 + len(runs)
        assert ("at step" in said) == (width > 72)
        assert ("steps" in said) == (width == 200)


def test_accuracies_over_prefix_length_are_whole_in_80_columns() -> None:
    """Where a test set is evaluated as a whole, the cell says of how many sequences, and the caption what that means."""
    run = Run.open(GALLERY / "majority_learned")
    rows = Table.load(run.path).frame(measurement="behaviour", step=run.steps[-1])
    for width in (72, 80):
        console = Console(width=width, file=io.StringIO())
        console.print(behaviour(rows, run.trained_length))
        said = console.file.getvalue()  # type: ignore[attr-defined]
        assert "…" not in said
        assert " 1.5 × N " in said
        assert " all 512 " in said
        assert "sequences, and each was evaluated" in said.replace("\n", " ")


def test_a_language_model_stands_next_to_the_table_of_its_text() -> None:
    """Before: next to the best constant answer, 0.03."""
    run = Run.open(GALLERY / "small_model")
    rows = Table.load(run.path).frame(measurement="behaviour", step=run.steps[-1])
    console = Console(width=100, file=io.StringIO())
    console.print(behaviour(rows, run.trained_length))
    verdict(console, rows, run.steps[-1], run.trained_length)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert next(line for line in lines if line.startswith("length")).split() == [
        "length", "matched", "bigram", "challenge", "shortcut"
    ]  # fmt: skip
    assert next(line for line in lines if " 256 " in line).split()[5] == "0.33"
    said = " ".join(" ".join(lines).split())
    table = "a table of the training text (the likeliest symbol after the last two) scores 0.328"
    assert f"{table}, inside the interval of the accuracy: 0.36 [0.25, 0.48] (n = 64)." in said
