"""Runs in an object store: fetched as they are, once, and nothing beside them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.table.making import RunMaker
from tests.support.table.s3_server import PAGE, S3Server, serving
from workbench.storage.atomic import temporary_name
from workbench.storage.errors import LinkError
from workbench.table import Table, object_store
from workbench.table import object_store as store
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
    with pytest.raises(TableError, match="--out"):
        fetch(server.url("study"), full)
    with pytest.raises(TableError, match="folders"):
        fetch(server.url("study/one/measurements"), tmp_path / "none")
    with pytest.raises(TableError, match="s3://bucket/folder"):
        fetch("nowhere://bucket", tmp_path / "none")
    fetch(server.url("study"), tmp_path / "here")
    with pytest.raises(TableError, match="--out"):
        fetch(server.url(""), tmp_path / "here")
    (tmp_path / "here" / CATALOGUE).write_text("[]")
    with pytest.raises(TableError, match="fetch"):
        fetch(server.url("study"), tmp_path / "here")


def test_an_address_in_place_of_a_folder_is_told_the_way() -> None:
    for given in ("s3://bucket/study", Path("s3://bucket/study")):
        with pytest.raises(TableError, match="--out"):
            Table.load(given)


# ---- folders that somebody else has filled, and fetching that was interrupted --------------------------------------
def outside(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("where", ["study", "study/link", "one", "one/measurements", "one/run.json", CATALOGUE])
def test_nothing_is_removed_or_written_through_a_link(server: S3Server, tmp_path: Path, where: str) -> None:
    """The catalogue names files behind links that lie in the folder, and so does the store."""
    here, victim = tmp_path / "here", tmp_path / "victim"
    (victim / "run" / "measurements").mkdir(parents=True)
    (victim / "run" / "run.json").write_text("theirs")
    fetch(server.url("study"), here)
    catalogue = json.loads((here / CATALOGUE).read_text())
    names = [f"{where}/run.json", f"{where}/run/run.json"] if where.startswith("study") else []
    catalogue["objects"] |= {name: [6, 1] for name in names}
    content = json.dumps(catalogue)
    (here / CATALOGUE).write_text(content)
    server.objects |= {f"study/{name}": b"foreign" for name in names}
    link = here / where
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    if where == CATALOGUE:
        (victim / "catalogue").write_text(content)
    link.symlink_to(
        victim / "catalogue" if where == CATALOGUE else victim / "run" / "run.json" if "." in where else victim
    )
    before = outside(victim)
    for objects in (
        server.objects,
        {key: data for key, data in server.objects.items() if key.removeprefix("study/") not in names},
    ):
        server.objects = objects
        with pytest.raises(LinkError, match=f"{where.partition('.')[0]}"):
            fetch(server.url("study"), here)
        assert outside(victim) == before
    link.unlink()
    if where != CATALOGUE:
        assert fetch(server.url("study"), here).problems == ()


@pytest.mark.parametrize("name", ["x" * 240, "x" * 256, "x" * 900, "\u00fc" * 200])
def test_an_object_whose_name_is_too_long_harms_itself_alone(server: S3Server, tmp_path: Path, name: str) -> None:
    shard = next(data for key, data in server.objects.items() if "/measurements/" in key)
    server.objects[f"study/one/measurements/{name}/00000001-k.parquet"] = shard
    server.objects[f"study/one/measurements/m/00000001-{name}.parquet"] = shard
    total = len([key for key in server.objects if not key.endswith("model.safetensors")])
    done = fetch(server.url("study"), tmp_path / "here")
    assert (done.runs, done.new) == (1, total - len(done.problems))
    assert len(done.problems) == (1 if name == "x" * 240 else 2)
    assert all("cannot be stored here (File name too long): rename the object" in problem for problem in done.problems)
    assert all(len(problem) < 500 for problem in done.problems)
    assert fetch(server.url("study"), tmp_path / "here").kept == done.new
    server.objects = {key: data for key, data in server.objects.items() if name not in key}
    assert fetch(server.url("study"), tmp_path / "here").problems == ()


def test_an_object_below_another_object_harms_itself_alone(server: S3Server, tmp_path: Path) -> None:
    """A store may hold ``a`` and ``a/b``; a folder cannot."""
    server.objects["study/one/run.json/run.json"] = server.objects["study/one/run.json"]
    for number in range(20):  # objects are fetched several at once; which of the two is kept depends on no order
        done = fetch(server.url("study"), tmp_path / f"here{number}")
        assert done.problems == (
            f"one/run.json/run.json at {server.url('study')} cannot be stored here (one/run.json is a file): "
            "rename the object",
        )
        assert (tmp_path / f"here{number}" / "one/run.json").is_file()


def test_fetching_that_was_killed_is_continued_and_leaves_nothing(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    plain, written = object_store.write_atomic, []

    def killing(folder: Path, place: str, data: bytes) -> None:
        written.append(place)
        if len(written) > 4:
            raise Killed
        plain(folder, place, data)

    here = tmp_path / "here"
    monkeypatch.setattr(object_store, "write_atomic", killing)
    with pytest.raises(Killed):
        fetch(server.url("study"), here)
    monkeypatch.undo()
    for name, value in {"ACCESS_KEY_ID": "some", "SECRET_ACCESS_KEY": "one", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    left = here / written[-1]
    left.parent.mkdir(parents=True, exist_ok=True)
    temporary_name(left).write_bytes(b"half")
    gone = next(place for place in written[1:4] if "/measurements/" in place)
    server.objects.pop(f"study/{gone}")
    assert (here / gone).exists(), "it came before the kill, and is known to have come"
    done = fetch(server.url("study"), here)
    assert done.problems == ()
    assert not (here / gone).exists()
    weights = {key for key in server.objects if key.endswith("model.safetensors")}
    expected = {key.removeprefix("study/") for key in server.objects.keys() - weights} | {CATALOGUE}
    assert set(outside(here)) == expected


def test_an_object_whose_name_is_no_text_harms_itself_alone(runs: Path, tmp_path: Path) -> None:
    strange = os.path.join(os.fsencode(runs), b"\xff\xfe")
    os.mkdir(strange)
    with open(os.path.join(strange, b"run.json"), "wb") as file:
        file.write(b"{}")
    done = fetch(f"file://{runs}", tmp_path / "here")
    assert done.runs == 1
    assert len(done.problems) == 1
    assert "holds 1 objects whose names are no UTF-8, which are not fetched: rename them" in done.problems[0]


@pytest.mark.parametrize(("place", "found"), [
    ("run.json", (".", "RUN_JSON")), ("a/b/run.json", ("a/b", "RUN_JSON")), ("a/live.jsonl", ("a", "LIVE")), ("a/table.parquet", ("a", "TABLE")), ("a/steps/00000001/meta.json", ("a", "META_JSON")), ("steps/00000001/log.parquet", (".", "LOG")),
    ("a/measurements/m.x/00000001-k.parquet", ("a", "SHARD")), ("a/steps/00000001/model.safetensors", None), ("a/steps/0000001/meta.json", None), ("a/steps/00000001/x/meta.json", None), ("", None), ("/run.json", None), ("../run.json", None),
    ("a/measurements/-m/00000001-k.parquet", None), ("a/run.json.bak", None),
])  # fmt: skip
def test_what_is_fetched_of_a_run(place: str, found: tuple[str, str] | None) -> None:
    from workbench.storage import bounded

    assert store._kind(place) == (None if found is None else (found[0], getattr(bounded, found[1])))


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("bucket/a/run.json", True),
        ("/bucket/a", True),
        ("bucket//a", False),
        ("bucket/./a", False),
        ("bucket/../a", False),
        ("bucket/a\\b", False),
        ("bucket/a\0", False),
    ],
)
def test_plain_names_of_objects(path: str, plain: bool) -> None:
    assert store._is_plain(path) == plain


def test_a_folder_is_fetched_counted_and_kept_up_to_date(
    make_run: Callable[..., RunMaker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run.checkpoint(100)
    run.shard()
    (run.path / "steps" / "00000100" / "model.safetensors").write_bytes(b"weights")
    url, out, told = f"file://{run.path.parent}", tmp_path / "out", []
    first = store.fetch(url, out, lambda done, of: told.append((done, of)))
    size = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file() and path.suffix != ".safetensors")
    assert first == store.Fetched(1, 3, 0, 0, size, ())
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert store.fetch(url, out) == store.Fetched(1, 0, 3, 0, 0, ())
    next((run.path / "measurements").rglob("*.parquet")).unlink()
    (out / "one" / "run.json").unlink()
    again = store.fetch(url, out)
    assert (again.runs, again.new, again.kept, again.gone) == (1, 1, 1, 1)
    assert not list((out / "one").rglob("*.parquet"))
    with pytest.raises(TableError, match="fetched"):
        store.fetch(f"file://{run.path}", out)
    with pytest.raises(TableError, match="fetched"):
        store.fetch(url, run.path)
    listed = sum(1 for _ in run.path.parent.rglob("*"))
    monkeypatch.setattr(store, "MOST_OBJECTS", listed)
    store.fetch(url, out)
    monkeypatch.setattr(store, "MOST_OBJECTS", listed - 1)
    with pytest.raises(TableError, match=f"{listed - 1}"):
        store.fetch(url, out)
    monkeypatch.undo()
    monkeypatch.setattr(store, "KINDS", [(pattern, 10) for pattern, _ in store.KINDS])
    limited = store.fetch(url, tmp_path / "limited")
    assert (limited.new, len(limited.problems)) == (0, 2)
    assert all("has more than 10 bytes" in one for one in limited.problems)


@pytest.mark.parametrize(
    ("text", "said"), [("one.", "one"), ("one. Detail: x", "one"), ("one\ntwo", "one"), ("x" * 400, "x" * 300)]
)
def test_the_first_sentence_of_what_a_store_says(text: str, said: str) -> None:
    assert store._said(OSError(text)) == said
