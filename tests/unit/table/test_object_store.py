"""Runs in an object store: fetched as they are, once, and nothing beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.table.s3_server import PAGE, S3Server, serving
from workbench.table import Table
from workbench.table.errors import TableError
from workbench.table.object_store import CATALOGUE, fetch
from workbench.table.shards import compact


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ACCESS_KEY_ID": "some", "SECRET_ACCESS_KEY": "one", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def runs(make_run: Callable, tmp_path: Path) -> Path:
    run = make_run()
    for step in range(PAGE + 2):
        run.shard(step=step, values=[step / 64])
    compact(run.path)
    (run.path / "steps" / "00000000").mkdir(parents=True, exist_ok=True)
    (run.path / "steps" / "00000000" / "model.safetensors").write_bytes(b"weights")
    return run.path.parent


@pytest.fixture
def server(runs: Path) -> Iterator[S3Server]:
    objects = {f"study/{path.relative_to(runs)}": path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    with serving(objects) as found:
        yield found


def rows(folder: Path) -> list[str]:
    return [str(row) for row in Table.load(folder).frame().to_dict("records")]


def test_the_rows_are_those_of_the_store_and_weights_stay_there(server: S3Server, runs: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = fetch(server.url("study"), tmp_path / "here", lambda *count: seen.append(count))
    assert (done.runs, done.problems, done.kept) == (1, (), 0)
    assert seen == [(number, done.new) for number in range(1, done.new + 1)]
    assert len(rows(runs)) == PAGE + 2
    assert rows(tmp_path / "here") == rows(runs)
    fetched = {str(path.relative_to(tmp_path / "here")) for path in (tmp_path / "here").rglob("*") if path.is_file()}
    weights = {key.removeprefix("study/") for key in server.objects if key.endswith("model.safetensors")}
    assert weights
    assert fetched == {key.removeprefix("study/") for key in server.objects} - weights | {CATALOGUE}
    assert done.size == sum(len(data) for key, data in server.objects.items() if not key.endswith("model.safetensors"))


def test_given_again_it_fetches_what_has_changed_and_removes_what_is_gone(server: S3Server, tmp_path: Path) -> None:
    here = tmp_path / "here"
    first = fetch(server.url("study"), here)
    server.read.clear()
    again = fetch(server.url("study"), here)
    assert (again.new, again.kept, again.gone, server.read) == (0, first.new, 0, [])
    (gone, *_, altered) = sorted(key for key in server.objects if "/measurements/" in key)
    (here / altered.removeprefix("study/")).unlink()
    server.objects.pop(gone)
    third = fetch(server.url("study"), here)
    assert (third.new, third.gone, server.read) == (1, 1, [altered])
    assert not (here / gone.removeprefix("study/")).exists()
    server.read.clear()
    server.changed = 1  # all of them are younger now
    assert fetch(server.url("study"), here).new == len(server.read) == first.new - 1


def test_one_object_that_cannot_be_read_harms_itself_alone(server: S3Server, tmp_path: Path) -> None:
    bad = next(key for key in sorted(server.objects) if "/measurements/" in key)
    server.broken.add(bad)
    done = fetch(server.url("study"), tmp_path / "here")
    assert len(done.problems) == 1
    assert bad.removeprefix("study/") in done.problems[0]
    assert "fetch again" in done.problems[0]
    assert not (tmp_path / "here" / bad.removeprefix("study/")).exists()
    server.broken.clear()
    again = fetch(server.url("study"), tmp_path / "here")
    assert (again.new, again.problems) == (1, ())


@pytest.mark.parametrize(
    "strange", ["../outside/run.json", "a/../../run.json", "a//run.json", "notes.txt", "run.json.bak"]
)
def test_what_is_no_plain_name_of_a_run_is_left_where_it_is(server: S3Server, tmp_path: Path, strange: str) -> None:
    server.objects[f"study/{strange}"] = b"{}"
    assert fetch(server.url("study"), tmp_path / "below" / "here").runs == 1
    assert f"study/{strange}" not in server.read
    assert {path.name for path in tmp_path.iterdir()} >= {"below"}
    assert {path.name for path in (tmp_path / "below").iterdir()} == {"here"}


def test_a_catalogue_cannot_have_files_elsewhere_removed(server: S3Server, tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "run.json"
    fetch(server.url("study"), here)
    other.write_text("mine")
    catalogue = json.loads((here / CATALOGUE).read_text())
    catalogue["objects"] |= {"../run.json": [1, 1], str(other): [1, 1]}
    (here / CATALOGUE).write_text(json.dumps(catalogue))
    assert fetch(server.url("study"), here).gone == 0
    assert other.read_text() == "mine"


def test_what_cannot_be_fetched_is_said_in_a_sentence(server: S3Server, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    with pytest.raises(TableError, match="holds something that was not fetched: name a new folder with --out"):
        fetch(server.url("study"), full)
    with pytest.raises(TableError, match="holds no run: name a folder that holds run folders"):
        fetch(server.url("study/one/measurements"), tmp_path / "none")
    with pytest.raises(TableError, match="an address looks like s3://bucket/folder"):
        fetch("nowhere://bucket", tmp_path / "none")
    fetch(server.url("study"), tmp_path / "here")
    with pytest.raises(TableError, match=r"was fetched from .*: name another folder with --out"):
        fetch(server.url(""), tmp_path / "here")
    (tmp_path / "here" / CATALOGUE).write_text("[]")
    with pytest.raises(TableError, match=r"delete .* and fetch again"):
        fetch(server.url("study"), tmp_path / "here")


def test_an_address_in_place_of_a_folder_is_told_the_way() -> None:
    for given in ("s3://bucket/study", Path("s3://bucket/study")):
        with pytest.raises(TableError, match="lengthlens fetch s3://bucket/study --out DIR"):
            Table.load(given)
