"""The training log: checkpoints' parts and the live tail make one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.table.making import CONFIG
from workbench.core.html_card import ends_of
from workbench.runs.log import COLUMNS, log_state, read_log
from workbench.runs.run import sha256_of
from workbench.storage.seal import sealed_json


def line(step: int, loss: float = 0.5) -> dict[str, object]:
    return {"step": step, "loss": loss, "lr": 1e-3, "accuracy_in": None, "accuracy_out": 0.5}


def checkpoint(run: Path, step: int, *lines: dict[str, object]) -> None:
    folder = run / "steps" / f"{step:08d}"
    folder.mkdir(parents=True)
    schema = pa.schema([("step", pa.int64()), *((name, pa.float64()) for name in COLUMNS[1:])])
    pq.write_table(pa.Table.from_pylist(list(lines), schema=schema), folder / "log.parquet")
    meta = {"run": "r", "step": step, "sha256": "", "log_sha256": sha256_of(folder / "log.parquet")}
    (folder / "meta.json").write_bytes(sealed_json(meta))


@pytest.fixture(autouse=True)
def run_json(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(sealed_json({**CONFIG, "id": "r"}))


def test_checkpoints_and_tail_make_one_log_in_order(tmp_path: Path) -> None:
    checkpoint(tmp_path, 0, line(0, 2.0))
    checkpoint(tmp_path, 10, line(4), line(10))
    (tmp_path / "live.jsonl").write_bytes(sealed_json(line(10, 0.25)) + sealed_json(line(14)))
    log = read_log(tmp_path)
    assert list(log.columns) == list(COLUMNS)
    assert log["step"].tolist() == [0, 4, 10, 14]
    assert log["loss"].tolist() == [2.0, 0.5, 0.25, 0.5], "of two lines of a step the later one counts"
    assert log["accuracy_in"].isna().all()


def test_a_line_that_is_being_written_and_a_damaged_part_are_left_out(tmp_path: Path) -> None:
    checkpoint(tmp_path, 0, line(0))
    checkpoint(tmp_path, 10, line(10))
    (tmp_path / "steps" / "00000010" / "log.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "live.jsonl").write_bytes(sealed_json(line(12)) + sealed_json(line(13))[:-9])
    assert read_log(tmp_path)["step"].tolist() == [0, 12]


def test_a_log_whose_bytes_changed_or_of_another_run_is_left_out(tmp_path: Path) -> None:
    """A flipped bit of a loss still reads as a loss."""
    checkpoint(tmp_path, 0, line(0))
    checkpoint(tmp_path, 10, line(10))
    file = tmp_path / "steps" / "00000010" / "log.parquet"
    pq.write_table(pq.read_table(file).set_column(1, "loss", pa.array([0.25])), file)
    assert read_log(tmp_path)["step"].tolist() == [0]
    (tmp_path / "run.json").write_bytes(sealed_json({**CONFIG, "id": "another"}))
    assert read_log(tmp_path).empty


def test_a_run_without_a_log_has_an_empty_one(tmp_path: Path) -> None:
    assert read_log(tmp_path).empty
    assert log_state(tmp_path) == ""


def test_the_state_changes_as_the_tail_grows(tmp_path: Path) -> None:
    (tmp_path / "live.jsonl").write_bytes(sealed_json(line(1)))
    before = log_state(tmp_path)
    with open(tmp_path / "live.jsonl", "ab") as file:
        file.write(sealed_json(line(2)))
    assert log_state(tmp_path) != before


@pytest.mark.parametrize(
    ("steps", "text"),
    [([1], "1"), (range(8), "0, 1, 2, 3, 4, 5, 6, 7"), (range(9), "0, 1, 2, 3, ..., 6, 7, 8"), ([], "")],
)
def test_few_of_many_steps(steps: Any, text: str) -> None:
    assert ends_of(list(steps)) == text
