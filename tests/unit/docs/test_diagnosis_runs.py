"""The tables of docs/diagnosis.md say what the rows say; its sweep is what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import check_cells
from workbench.cli.sweeping.sweep_file import read_sweep

DOCS = ROOT / "docs"
APPENDIX = "diagnosis_tables.md"


def copied(folder: Path) -> Path:
    """The page of diagnoses in a folder, beside its appendix."""
    for name in ("diagnosis.md", APPENDIX):
        (folder / name).write_text((DOCS / name).read_text())
    return folder / "diagnosis.md"


@pytest.fixture(scope="module")
def runs() -> ModuleType:
    return [script(name) for name in ("other_machines_table", "diagnosis_runs")][-1]


def line(
    run: str, entry: str, trial: str = "first", length: int = 64, site: str = "selection", **fields: Any
) -> dict[str, Any]:
    facts = {"run": run, "task": run.split("-")[0], "positions": "rotary", "grade": "strong", "by": "P.int", "note": ""}
    return {
        **facts, "trial": trial, "length": length, "entry": entry, "site": site, "sentence": f"{entry} at {length}.",
        "layer": 0, "head": 1, "measured_loss": 0.3, "share": 0.9, "low": 0.8, "high": 1.0, "seconds": 1.0, **fields,
    }  # fmt: skip


IDS = re.compile(r" (Ids|Lags) .* recover ")
LINES = [
    line("a-0", "", length=64),
    line("a-0", "position", length=128),
    line("a-0", "position", "fresh strings", 128, "dispersion"),
    line("a-0", "keys", "second law", 128),
    line("b-0", "not explained"),
    line("b-1", "keys or content", positions="none"),
    line("b-1", "", "fresh strings", positions="none"),
    line("c-0", ""),
    line("d-0", "position or content"),
    line("e-0", "position or keys"),
    line("flip_flop_rotary_s0", "position"),
]


def test_runs_are_counted_at_the_first_length_that_names_something(runs: ModuleType) -> None:
    table = runs.counts(LINES).splitlines()
    assert table[2] == "| none | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |"
    assert table[3] == "| rotary | 5 | 4 | 4 | 1 | 0 | 0 | 1 | 1 | 0 | 0 | 1 |"
    assert table[4] == "| all | 6 | 5 | 4 | 1 | 0 | 0 | 1 | 1 | 1 | 0 | 1 |"
    assert "- position, selection: 1" in table
    assert "- position or content, selection: 1" not in table, "it is no named cause"
    assert "- position or keys, selection: 1" not in table, "nor is this"
    several = (
        "of the runs with a named cause, an intervention against another cause recovers half of the accuracy drop, too."
    )
    assert f"In 0 {several}" in table
    both = [line("a-0", "position", note="also restored by D.gap, C.pool0"), line("a-1", "keys", by="D.gap")]
    assert f"In 1 {several}" in runs.counts(both).splitlines()
    assert "6 of 216 runs so far: `make diagnosis-runs` goes on." in table


def test_what_is_asked_again_is_counted_where_enough_is_lost_there(runs: ModuleType) -> None:
    table = runs.again(LINES).splitlines()
    assert table[2] == "| fresh sequences | 2 | 1 | 1 of 1 | 0 of 1 |"
    assert table[3] == "| the challenge test set | 1 | 0 | 0 of 1 | 1 of 1 |"


def test_the_story_is_that_of_the_gallery_and_every_run_has_its_sentence(runs: ModuleType) -> None:
    assert "| flip_flop_rotary_s0 | 64 | position at 64. |" in runs.story(LINES)
    table = runs.every_run(LINES)
    assert "| a-0 | position at 128. |" in table
    assert "| c-0 |  at 64. |" in table
    assert "flip_flop" not in table


def test_stored_sentences_are_told_in_the_words_of_the_page(runs: ModuleType) -> None:
    small = "Accuracy drops by {} at {}, less than 0.2: no cause is named."
    told = runs.on_page(small.format(0.14, 64), small.format(0.15, 128))
    needs = "The diagnosis names a cause only if the drop is at least 0.2."
    assert told == f"Accuracy drops by 0.14 at length 64. Accuracy drops by 0.15 at length 128. {needs}"
    wrong = "Ids recover 1.00 [0.95, 1.05] of the accuracy drop, but with a wrong constant −0.20 [−0.30, 0.10]. No."
    assert runs.on_page(wrong) == (
        "Ids recover 1.00 [0.95, 1.05] of the accuracy drop. With a wrong constant, the same edit recovers −0.20 "
        "[−0.30, 0.10]. No."
    )
    assert runs.on_page("Same.", "Same.") == "Same."


def test_rows_are_given_back_and_the_pages_have_a_place_for_every_table(runs: ModuleType, tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    runs.write(rows, [*LINES[1:], {**LINES[0], "rows": "[]"}])
    assert len(runs.read(rows)) == len(LINES)
    assert runs.read(rows)[0]["sentence"] == " at 64."
    assert [line["rows"] for line in runs.read(rows)[:2]] == ["[]", None], "older diagnoses were stored without rows"
    page = copied(tmp_path)
    runs.write_tables(page, {name: table(LINES) for name, table in runs.TABLES.items()})
    assert "position at 128." in (tmp_path / APPENDIX).read_text()
    assert "| flip_flop_rotary_s0 | 64 | position at 64. |" in page.read_text()
    with pytest.raises(SystemExit, match="no place for the table another"):
        runs.write_tables(page, {"another": ""})


def test_the_pages_say_what_the_rows_beside_them_say(runs: ModuleType, tmp_path: Path) -> None:
    lines, page = runs.read(runs.ROWS), copied(tmp_path)
    assert {line["run"] for line in lines} >= {*runs.STORY}
    for name, table in runs.TABLES.items():
        runs.write_tables(page, {name: table(lines)})
        for file in tmp_path.iterdir():
            assert file.read_text() == (DOCS / file.name).read_text(), name


def test_content_is_stored_only_where_a_position_intervention_was_applicable_and_failed(runs: ModuleType) -> None:
    """Of these diagnoses the rows are kept, so that the rule can be read off them."""
    lines = [line for line in runs.read(runs.ROWS) if line["entry"] in ("content", "position or content")]
    assert lines
    for line in lines:
        tested = shares_of_ids(line)
        assert (line["entry"] == "content") == (bool(tested) and max(tested) < 0.5), line["run"]
        assert line["grade"] == "none" or line["entry"] == "content"


def shares_of_ids(line: dict[str, Any]) -> list[float]:
    """What each applicable position intervention recovers, by the stored rows of a diagnosis."""
    return [
        row["value"] for row in json.loads(line["rows"])
        if row["quantity"] == "restored_share" and row.get("target", "").startswith("P.") and not row.get("control")
        and row["mode"] == "alone" and row.get("value") is not None
    ]  # fmt: skip


def test_keys_is_stored_only_where_a_position_intervention_was_applicable_or_no_ids_are_read(runs: ModuleType) -> None:
    """Of older diagnoses the rows are not kept; their sentences state what a position intervention recovers."""
    lines = [line for line in runs.read(runs.ROWS) if line["entry"] in ("keys", "position or keys")]
    assert {line["entry"] for line in lines} == {"keys", "position or keys"}
    for line in lines:
        if line["entry"] == "position or keys":
            assert (line["grade"], shares_of_ids(line)) == ("none", []), line["run"]
            assert "Whether positions are the cause could not be tested" in line["sentence"]
        elif line["positions"] != "none":
            assert shares_of_ids(line) if line["rows"] else IDS.search(line["sentence"]), line["run"]


def test_no_stored_sentence_calls_a_drop_of_accuracy_a_loss_or_names_a_family_for_an_intervention(
    runs: ModuleType,
) -> None:
    for line in runs.read(runs.ROWS):
        assert not re.search(r"\b([Ll]oss|restores?|repair)\b", line["sentence"]), line["sentence"]


def test_the_sweep_is_twelve_tasks_three_schemes_and_six_seeds(tmp_path: Path) -> None:
    file = find_sweep(Path("diagnosis"))
    sweep = read_sweep(file)
    configs = check_cells(file, sweep, tmp_path)
    assert len(configs) == 216
    assert len({c.task.name for c in configs.values()}) == 12
    assert {(c.model.positions.name, c.model.ids.name) for c in configs.values()} == {
        ("none", "arange"), ("rotary", "arange"), ("learned", "random_offset"),
    }  # fmt: skip
    assert {c.training.trained_length for c in configs.values()} <= {31, 32}
