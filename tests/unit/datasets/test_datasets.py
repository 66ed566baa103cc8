"""Published datasets: each card agrees with its table, and the loader gives the rows of the file."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lengthlens.datasets import dataset_card, dataset_names, load_dataset, write_dataset
from tests.support.places import ROOT
from workbench.claims import claims_table
from workbench.claims.claim import Row
from workbench.claims.determinacy import feature_table, settings_study, study, switches
from workbench.claims.trained import run_rows
from workbench.cli.main import app
from workbench.datasets.cards import card_of
from workbench.datasets.dataset import Dataset, DatasetError
from workbench.datasets.known_datasets import DATASETS, find_dataset
from workbench.datasets.loading import dataset_bytes, table_of
from workbench.diagnosis.bench import bench_table
from workbench.runs import Run

SCHEMAS = {
    "claims": claims_table.SCHEMA,
    "claim-runs": run_rows.SCHEMA,
    "diagnosis-bench": bench_table.SCHEMA,
    "determinacy-families": study.SCHEMA,
    "determinacy-features": feature_table.SCHEMA,
    "determinacy-settings": settings_study.SCHEMA,
    "determinacy-two-settings": settings_study.SCHEMA,
    "determinacy-switches": switches.SCHEMA,
}
STORED = [name for name in DATASETS if DATASETS[name].path().is_file()]


def type_of(type_: Any) -> str:
    """The type of a card for a type of Parquet."""
    if pa.types.is_list(type_):
        return "rows" if pa.types.is_struct(type_.value_type) else "numbers"
    if pa.types.is_boolean(type_):
        return "yes/no"
    if pa.types.is_string(type_):
        return "text"
    return "whole" if pa.types.is_integer(type_) else "number"


@pytest.mark.parametrize("name", DATASETS)
def test_a_card_lists_the_columns_that_the_program_writes(name: str) -> None:
    columns = [(column.name, column.type) for column in DATASETS[name].columns]
    assert columns == [(field.name, type_of(field.type)) for field in SCHEMAS[name]]


@pytest.mark.parametrize("name", STORED)
def test_a_card_lists_the_columns_of_its_table(name: str) -> None:
    schema = pq.read_schema(DATASETS[name].path())
    columns = [(column.name, column.type) for column in DATASETS[name].columns]
    assert columns == [(field.name, type_of(field.type)) for field in schema]


def test_the_fields_of_records_are_those_of_a_row_of_a_claim() -> None:
    assert [field.name for field in DATASETS["claims"].fields] == [field.name for field in dataclasses.fields(Row)]
    (reduced,) = (field.type.value_type for field in claims_table.SCHEMA if field.name == "reduced")
    assert [field.type for field in DATASETS["claims"].fields] == [type_of(field.type) for field in reduced]


@pytest.mark.parametrize("name", DATASETS)
def test_every_column_has_a_unit_or_is_text_and_every_command_and_page_exists(name: str) -> None:
    dataset = DATASETS[name]
    for column in (*dataset.columns, *dataset.fields):
        assert (column.unit == "") is (column.type in ("text", "yes/no", "rows")), column.name
        assert column.about
    assert (ROOT / "docs" / dataset.page).is_file()
    assert f"| `{name}` |" in (ROOT / "docs" / "datasets.md").read_text()


def test_all_tables_of_the_tree_are_datasets() -> None:
    published = [*(ROOT / "docs" / "claims").glob("*.parquet"), *(ROOT / "docs" / "diagnosis_bench").glob("*.parquet")]
    published += (ROOT / "workbench" / "claims" / "determinacy").glob("*.parquet")
    assert {path.resolve() for path in published} == {DATASETS[name].path().resolve() for name in STORED}
    assert dataset_names() == STORED


@pytest.mark.parametrize("name", STORED)
def test_a_folder_has_the_file_and_its_card(tmp_path: Path, name: str) -> None:
    folder = write_dataset(name, tmp_path / "data")
    data = (folder / f"{name}.parquet").read_bytes()
    assert data == DATASETS[name].path().read_bytes()
    card = (folder / "README.md").read_text()
    assert card == dataset_card(name)
    table = pq.read_table(folder / f"{name}.parquet")
    assert f"{table.num_rows:,} rows" in card
    assert hashlib.sha256(data).hexdigest() in card
    for column in DATASETS[name].columns:
        (line,) = (
            line for line in card.splitlines() if line.startswith(f"| `{column.name}` |") and line.count("|") == 6
        )
        assert line.endswith(f"| {table[column.name].null_count:,} |")
    frame = load_dataset(name)
    assert (len(frame), list(frame.columns)) == (table.num_rows, table.column_names)
    with pytest.raises(DatasetError, match="already exists"):
        write_dataset(name, folder)


def copied(dataset: Dataset, path: Path) -> Dataset:
    return dataclasses.replace(dataset, path=lambda: path)


def test_a_damaged_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DATASETS["claims"].path().read_bytes()
    path = tmp_path / "claims.parquet"
    changed = copied(DATASETS["claims"], path)
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with pytest.raises(DatasetError, match=r"its bytes differ from its checksum.*restore the file"):
        dataset_bytes(changed)
    bench = copied(DATASETS["diagnosis-bench"], path)
    path.write_bytes(b"no table")
    with pytest.raises(DatasetError, match="is not a Parquet file"):
        table_of(bench, dataset_bytes(bench))
    table = pq.read_table(DATASETS["diagnosis-bench"].path())
    for other, message in (
        (table.append_column("more", table["kind"]), "has the column 'more', which the card does not list"),
        (table.drop_columns(["kind"]), "has other columns than the card lists"),
    ):
        pq.write_table(other, path)
        with pytest.raises(DatasetError, match=message):
            table_of(bench, dataset_bytes(bench))
    path.unlink()
    with pytest.raises(DatasetError, match="cannot be read as the dataset"):
        dataset_bytes(bench)
    monkeypatch.setattr("workbench.datasets.known_datasets.DATASETS", {**DATASETS, "diagnosis-bench": bench})
    with pytest.raises(DatasetError, match="is not published here"):
        find_dataset("diagnosis-bench")


def test_missing_values_of_a_card_by_hand() -> None:
    dataset = DATASETS["determinacy-features"]
    rows = [("a", "s", 1, 2, "f", 1.0), ("a", "s", 1, 2, "g", None)]
    table = pa.Table.from_pylist([dict(zip(feature_table.SCHEMA.names, row, strict=True)) for row in rows])
    card = card_of(dataset, table, b"bytes")
    assert "The table has 2 rows and 6 columns." in card
    assert "| `value` | number | unit of the feature | value of the feature | 1 |" in card
    assert hashlib.sha256(b"bytes").hexdigest() in card


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(DatasetError, match="did you mean claims"):
        load_dataset("clams")
    for words, message in (
        (["clams"], "did you mean claims"),
        (["claims"], "add --to claims"),
        (["--to", "x"], "needs the name of a dataset"),
        (["claims", "--json"], "leave the name out"),
    ):
        assert message in str(CliRunner().invoke(app, ["data", *words]).exception)


def test_the_gallery_is_written_with_a_model_card_for_each_run(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["data", "gallery", "--to", str(tmp_path / "gallery")])
    assert done.exit_code == 0, done.output
    card = (tmp_path / "gallery" / "README.md").read_text()
    folders = [path.parent for path in (tmp_path / "gallery").rglob("run.json")]
    assert len(folders) == card.count("/README.md)")
    assert f"{len(folders)} runs" in done.output
    for folder in folders:
        name = folder.relative_to(tmp_path / "gallery").as_posix()
        assert f"[{name}]({name}/README.md)" in card
        assert "## Verdict" in (folder / "README.md").read_text()
    assert Run.open(folders[0]).steps
    assert "already" in str(CliRunner().invoke(app, ["data", "gallery", "--to", str(tmp_path / "gallery")]).exception)
