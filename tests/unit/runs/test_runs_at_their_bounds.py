"""Runs function by function: logs, paces, times, tensors, notes, views, checkpoints and what was adopted, each once just so and once just not."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save

from tests.support.held import Held, digest
from tests.support.runs.adopt import TASK, foreign, own, take
from tests.support.table.making import CONFIG
from workbench.core.canonical import canonical
from workbench.models.handmade.transformers import majority
from workbench.models.interop.upstream_lens import UpstreamError, our_weights
from workbench.models.positions import PositionError
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.runs import Run, RunError, log, run_notes, saved_views, tensors, timing
from workbench.runs import run as run_module
from workbench.runs.adoption.adopt import _trained_ids
from workbench.runs.adoption.checkpoint_files import _step, read_weights
from workbench.runs.adoption.open_pretrained import ONLY_STEP, revisions
from workbench.runs.adoption.store_foreign import config_of
from workbench.runs.checkpoints import remove_unfinished, write_checkpoint, write_config
from workbench.runs.evaluation_ids import check_training_ids, evaluation_ids
from workbench.runs.integrity import run_problems
from workbench.runs.live_log import Live
from workbench.runs.lock import writer_lock
from workbench.runs.log import COLUMNS, Pace, log_state, pace, read_log
from workbench.runs.referenced import hashed_files, sha256_of_files, verify_folder, verify_names
from workbench.runs.run import find_runs, run_id
from workbench.runs.run_notes import LONGEST_TAG, MOST, MOST_TAGS, NotesError, read_notes, write_notes
from workbench.runs.saved_views import ViewError, delete_view, read_views, save_view
from workbench.runs.timing import Stopwatch, Timing, read_timing
from workbench.runs.weights import fill, weights_bytes
from workbench.storage.seal import SealError, open_json, sealed_json
from workbench.tasks import make_task


@pytest.fixture
def bare(tmp_path: Path) -> Run:
    """A run of a configuration alone."""
    (tmp_path / "run").mkdir()
    write_config(tmp_path / "run", {**CONFIG, "id": "r"})
    return Run.open(tmp_path / "run")


def lines(*steps: tuple[int, float | None]) -> bytes:
    return b"".join(
        sealed_json({"step": step, "loss": 0.5, **({} if time is None else {"time": time})}) for step, time in steps
    )


# ---- logs and pace ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("tail", "found"), [
    ([], Pace(0, None)), ([(5, 10.0)], Pace(5, None)), ([(5, 10.0), (9, 12.0)], Pace(9, 0.5)), ([(9, 12.0), (5, 10.0), (7, 99.0)], Pace(9, 0.5)), ([(5, 10.0), (5, 12.0)], Pace(5, None)), ([(5, 10.0), (9, 10.0)], Pace(9, None)),
    ([(5, 12.0), (9, 10.0)], Pace(9, None)), ([(5, None), (9, 12.0)], Pace(9, None)), ([(5, 10.0), (9, math.nan)], Pace(5, None)),
])  # fmt: skip
def test_the_pace_of_training_by_its_live_tail(tail: list[tuple[int, float | None]], found: Pace, bare: Run) -> None:
    (bare.path / "live.jsonl").write_bytes(lines(*tail))
    assert pace(bare) == found


def test_the_pace_of_training_by_its_last_checkpoints(bare: Run) -> None:
    for step, time in ((0, 50.0), (10, 100.0), (30, 140.0)):
        write_checkpoint(bare, step, b"", None)
        os.utime(bare.step_path(step) / "meta.json", (time, time))
    assert pace(bare) == Pace(30, 2.0)
    (bare.path / "live.jsonl").write_bytes(lines((35, 155.0)))
    assert pace(bare) == Pace(35, (155 - 100) / 25)
    (bare.path / "live.jsonl").write_bytes(lines((35, 155.0), (37, 156.0)))
    assert pace(bare) == Pace(37, 0.5)


def test_a_log_of_odd_lines(bare: Run) -> None:
    schema = pa.schema([("step", pa.int64()), *((name, pa.float32()) for name in COLUMNS[1:])])
    data = io.BytesIO()
    pq.write_table(
        pa.Table.from_pylist(
            [{"step": 4, "loss": 1.0}, {"step": None, "loss": 2.0}, {"step": 2, "lr": 0.25}], schema=schema
        ),
        data,
    )
    write_checkpoint(bare, 4, b"", None, data.getvalue())
    write_checkpoint(bare, 6, b"", None)
    odd = [{"step": 5, "loss": "much"}, {"step": 10**30}, {"step": 6, "accuracy_in": 1, "more": 3}, {"loss": 1.0}]
    odd += [{"loss": 1.0, "step": step} for step in (None, 1.5, "7")]
    (bare.path / "live.jsonl").write_bytes(b"".join(map(sealed_json, odd)) + b"no line\n\n")
    found = read_log(bare.path)
    assert found["step"].tolist() == [2, 4, 6]
    assert found["loss"].isna().tolist() == [True, False, True]
    assert found["accuracy_in"].tolist()[2] == 1.0
    assert [str(kind) for kind in found.dtypes] == ["int64"] + ["float64"] * 4
    assert (
        log_state(bare.path)
        == f"{(bare.path / 'live.jsonl').stat().st_size} {(bare.path / 'live.jsonl').stat().st_mtime_ns}"
    )
    assert log_state(bare.path / "none") == ""
    assert log.MOST_LINES == 1_000_000


def test_a_live_tail_is_begun_added_to_and_removed(bare: Run) -> None:
    live = Live(bare.path)
    live.restart([{"step": 1}])
    live.add({"step": 2})
    told = [open_json(line + b"\n") for line in live.path.read_bytes().splitlines()]
    assert [line["step"] for line in told] == [1, 2]
    assert all(line["time"] > 1.7e9 for line in told)
    live.restart()
    assert live.path.read_bytes() == b""
    live.remove()
    live.remove()
    assert not live.path.exists()


# ---- times ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("said", "found"), [
    ({"updates": 0, "seconds": 0, "peak_bytes": 0}, Timing()), ({"updates": 3, "seconds": 1.5, "peak_bytes": 9}, Timing(3, 1.5, 9)), ({"updates": -1, "seconds": 1.0, "peak_bytes": 0}, "no time can be"), ({"updates": 1, "seconds": -0.1, "peak_bytes": 0}, "no time can be"),
    ({"updates": 1, "seconds": 1.0, "peak_bytes": -1}, "no time can be"), ({"updates": 1, "seconds": math.inf, "peak_bytes": 0}, "no time can be"), ({"updates": 1.0, "seconds": 1.0, "peak_bytes": 0}, "does not tell a time"), ({"updates": 1, "seconds": 1.0}, "does not tell a time"),
    ({"updates": 1, "seconds": "1", "peak_bytes": 0}, "does not tell a time"),
])  # fmt: skip
def test_times_that_can_be(said: dict[str, Any], found: Timing | str, tmp_path: Path) -> None:
    (tmp_path / "timing.json").write_bytes(sealed_json(said))
    if isinstance(found, str):
        with pytest.raises(SealError, match=found):
            read_timing(tmp_path)
    else:
        assert read_timing(tmp_path) == found


def test_time_and_updates_add_up_and_memory_is_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, peak = [100.0], [50]
    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(timing, "peak_bytes", lambda: peak[0])
    assert read_timing(tmp_path) is None
    watch = Stopwatch(tmp_path, 10)
    watch.note(10)
    assert read_timing(tmp_path) is None, "nothing was done"
    now[0] = 104.0
    watch.note(13)
    assert read_timing(tmp_path) == Timing(3, 4.0, 50)
    now[0], peak[0] = 110.0, 30
    again = Stopwatch(tmp_path, 12)
    now[0] = 111.5
    again.note(14)
    assert read_timing(tmp_path) == Timing(5, 5.5, 50)


@pytest.mark.parametrize(("platform", "factor"), [("darwin", 1), ("linux", 1024)])
def test_memory_by_the_units_of_the_system(platform: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing.sys, "platform", platform)
    monkeypatch.setattr(timing.resource, "getrusage", lambda who: type("Usage", (), {"ru_maxrss": 7})())
    assert timing.peak_bytes() == 7 * factor


# ---- tensors and weights ----------------------------------------------------------------------------------------------------
def header(content: dict[str, Any], room: int, size: int | None = None) -> io.BytesIO:
    text = json.dumps(content).encode()
    return io.BytesIO((len(text) if size is None else size).to_bytes(8, "little") + text + bytes(room))


@pytest.mark.parametrize(("shape", "offsets", "room", "says"), [
    ([2, 3], [0, 24], 24, ""), ([], [0, 4], 4, ""), ([0], [4, 4], 4, ""), ([2], [0, 8], 7, "lies outside"), ([2], [5, 4], 8, "lies outside"), ([2], [-1, 4], 8, "lies outside"), ([-1], [0, 4], 8, "lies outside"), ([2], [0], 8, "data_offsets"), ([1] * 16, [0, 4], 4, ""),
    ([1] * 17, [0, 4], 4, "shape"), ([2.5], [0, 4], 4, "shape"),
])  # fmt: skip
def test_tensors_that_lie_in_their_file(shape: list[Any], offsets: list[int], room: int, says: str) -> None:
    content = {"t": {"dtype": "F32", "shape": shape, "data_offsets": offsets}, "__metadata__": {"a": "b"}}
    if says:
        with pytest.raises(ValueError, match=says):
            tensors.read_header(header(content, room))
        return
    found, metadata, start = tensors.read_header(header(content, room))
    assert (found["t"].numbers, metadata, start) == (math.prod(shape), {"a": "b"}, 8 + len(json.dumps(content)))


def test_headers_of_exactly_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(json.dumps({}))
    monkeypatch.setattr(tensors, "LONGEST", size)
    assert tensors.read_header(header({}, 0)) == ({}, {}, 8 + size)
    monkeypatch.setattr(tensors, "LONGEST", size - 1)
    with pytest.raises(ValueError, match="does not begin like a safetensors file"):
        tensors.read_header(header({}, 0))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="its metadata are no JSON object"):
        tensors.read_header(header({"__metadata__": [1]}, 0))


def test_weights_are_filled_in_whole_or_not_at_all() -> None:
    model, other = own(0), own(1)
    fill(model, {name: value.clone() for name, value in other.state_dict().items()}, "file")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert weights_bytes(model) == save(dict(other.state_dict()))
    weights = dict(other.state_dict())
    for change, says in (
        ({"embed.W_E": torch.zeros(4, 16)}, r"shape \(4, 16\), the model wants \(3, 16\)"), ({"more": torch.zeros(1)}, "tensor more is not part of this model"), ({"embed.W_E": torch.full((3, 16), math.inf)}, "not finite in tensor embed"),
    ):  # fmt: skip
        with pytest.raises(RunError, match=says):
            fill(model, {**weights, **change}, "file")
    del weights["embed.W_E"]
    with pytest.raises(RunError, match=r"tensor embed\.W_E is missing"):
        fill(model, weights, "file")


# ---- notes and views -----------------------------------------------------------------------------------------------------------
def test_notes_and_tags_of_exactly_the_most(bare: Run) -> None:
    folder = bare.path
    state = read_notes(folder).state
    tags = [f"{k:0{LONGEST_TAG}d}" for k in range(MOST_TAGS)]
    kept = write_notes(folder, "x" * (MOST - 1), [*tags, tags[0], " ", "  "], state)
    assert (len(kept.text), list(kept.tags), kept.problems) == (MOST, tags, ())
    for text, given, says in (
        ("x" * MOST, tags, "more than 65,536 bytes"),
        ("\u00fc" * (MOST // 2), tags, "bytes"),
        ("", [*tags, "another"], "33 tags, and 32"),
        ("", ["y" * (LONGEST_TAG + 1)], "longer than 40 characters"),
    ):
        with pytest.raises(NotesError, match=says):
            write_notes(folder, text, given, kept.state)
    with pytest.raises(NotesError, match="changed meanwhile"):
        write_notes(folder, "", [], state)
    last = write_notes(folder, " \r\n# A  title\r\nmore \n", ["b", "a", "b"], kept.state)
    assert (last.text, last.tags, last.first_line) == ("# A  title\nmore\n", ("b", "a"), "A  title")
    (folder / run_notes.TAGS).write_text("\n".join(f"t{k}" for k in range(MOST_TAGS + 5)))
    assert len(read_notes(folder).tags) == MOST_TAGS
    assert run_notes.RunNotes("\n ## \n\n x\n").first_line == "x"
    assert run_notes.RunNotes().first_line == ""
    (folder / run_notes.NOTE).write_bytes(b"a\0b")
    assert read_notes(folder).problems == (f"{folder / 'notes.md'} is no text file (it holds control characters)",)
    (folder / run_notes.NOTE).write_bytes(b"tab\tand\r\nline")
    assert read_notes(folder).problems == ()


def test_the_state_of_notes_is_of_both_files(bare: Run) -> None:
    assert run_notes.files_state(bare.path) == "- -"
    (bare.path / "tags.txt").write_text("abc")
    first, second = run_notes.files_state(bare.path).split(" ", 1)
    assert (first, second.split()[0]) == ("-", "3")


@pytest.mark.parametrize(("name", "link", "fits"), [
    ("x" * 60, "/", True), ("x" * 61, "/", False), ("", "/", False), ("  ", "/", False), ("a\tb", "/runs", True), ("a", "/runs?x=1", True), ("a", "/" + "?" + "x" * 16_382, True), ("a", "/" + "?" + "x" * 16_383, False), ("a", "runs", False), ("a", "//x", False), ("a", "/Runs", False), ("a", "/runs?a b", False),
    ("a\x07", "/", False), ("a", "/runs/x", False), ("a", "/?\u00fc", False),
])  # fmt: skip
def test_names_and_links_of_views(name: str, link: str, fits: bool, tmp_path: Path) -> None:
    if not fits:
        with pytest.raises(ViewError):
            save_view(tmp_path, name, link)
        return
    made = save_view(tmp_path, name, link)
    assert (made.name, made.link) == (" ".join(name.split()), link)
    assert read_views(tmp_path) == ([made], [])
    with pytest.raises(ViewError, match="already"):
        save_view(tmp_path, name, link)


def test_files_of_views_have_names_of_their_own_and_are_so_many_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [save_view(tmp_path, name, "/") for name in ("My  View!", "my view", "MY-VIEW", "\u00fc", "?")]
    assert [view.file for view in made] == ["my-view", "my-view-2", "my-view-3", "view", "view-2"]
    assert [view.name for view in read_views(tmp_path)[0]] == ["?", "my view", "My View!", "MY-VIEW", "\u00fc"]
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 6)
    save_view(tmp_path, "sixth", "/")
    with pytest.raises(ViewError, match="holds 6 files, and 6 are the most"):
        save_view(tmp_path, "seventh", "/")
    assert read_views(tmp_path)[1] == []
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 5)
    views, problems = read_views(tmp_path)
    assert (len(views), len(problems)) == (5, 1)
    monkeypatch.undo()
    assert delete_view(tmp_path, "view").name == "\u00fc"
    with pytest.raises(ViewError, match="no such view any more"):
        delete_view(tmp_path, "view")
    for name, content, says in (
        ("Big", b"{}", "small letters"),
        ("one", b'{"name": "a"}', "a name and a link"),
        ("two", b'{"name": "a", "link": 3}', "both text"),
        ("three", b'{"name": "a", "link": "x"}', "no page"),
        ("four", b"{" + b" " * (64 << 10) + b"}", "the most that is read"),
    ):
        (tmp_path / "views" / f"{name}.json").write_bytes(content)
        assert says in read_views(tmp_path)[1][0]
        (tmp_path / "views" / f"{name}.json").unlink()


# ---- a run's folder ----------------------------------------------------------------------------------------------------------------
def test_a_checkpoint_as_it_is_written(bare: Run, held: Held) -> None:
    write_checkpoint(bare, 7, b"weights", [[0, 9]], b"a log", more=[1, 2])
    write_checkpoint(bare, 100_000_000, None, None, sha256="ab")
    assert bare.steps == [7, 100_000_000]
    assert sorted(path.name for path in bare.step_path(7).iterdir()) == [
        "log.parquet",
        "meta.json",
        "model.safetensors",
    ]
    assert [path.name for path in bare.step_path(100_000_000).iterdir()] == ["meta.json"]
    assert bare.meta(7)["sha256"] == hashlib.sha256(b"weights").hexdigest() == bare.verify(7)
    assert bare.meta(7)["log_sha256"] == hashlib.sha256(b"a log").hexdigest()
    held([bare.meta(7), bare.meta(100_000_000)])
    (bare.path / "steps" / ".00000009.0123456789ab.tmp").mkdir()
    (bare.path / ".run.json.0123456789ab.tmp").touch()
    (bare.path / "steps" / ".other").mkdir()
    remove_unfinished(bare.path)
    assert sorted(path.name for path in (bare.path / "steps").iterdir()) == [".other", "00000007", "100000000"]
    assert not (bare.path / ".run.json.0123456789ab.tmp").exists()


def test_ends_of_a_run_and_what_it_says_of_itself(bare: Run) -> None:
    assert (bare.ended, bare.finished, bare.steps) == ("", False, [])
    write_checkpoint(bare, 2999, b"a", None)
    assert not bare.finished
    write_checkpoint(bare, 3000, b"b", None)
    assert bare.finished
    assert bare.trained_length == 50
    assert (bare.referenced, bare.answered, bare.rows_only, bare.weightless) == (False, False, "", "")
    assert repr(bare) == "Run('run', majority, transformer, positions rotary)"
    early = Run(bare.path, "early", {**bare.config, "training": {**bare.config["training"], "steps": 9000}})
    assert not early.finished
    write_checkpoint(early, 3001, b"c", None, ended="it was right")
    assert (early.ended, early.finished) == ("it was right", True)
    assert bare.equal_steps() == []
    write_checkpoint(bare, 3002, b"b", None)
    write_checkpoint(bare, 3003, b"b", None)
    assert bare.equal_steps() == [(3000, 3002), (3000, 3003)]
    for step, says in ((5, "has no checkpoint at step 5; it has 5: 2999, 3000, 3001, 3002, 3003"),):
        with pytest.raises(RunError, match=says):
            bare.meta(step)
    ssm = Run(
        bare.path,
        "s",
        {
            **bare.config,
            "model": {"architecture": "ssm", "gates": "signed"},
            "rows_only": "M",
            "training": {"answers": {}, "pretrained": {}},
        },
    )
    assert repr(ssm) == "Run('s', majority, ssm, signed gates)"
    assert (ssm.referenced, ssm.answered, ssm.rows_only) == (True, True, "M")
    assert ssm.weightless.startswith("it holds answers of a model behind an API")
    assert Run(bare.path, "s", {**bare.config, "rows_only": "M"}).weightless == "rows only: its weights are M, not here"


@pytest.mark.parametrize(
    ("steps", "text"),
    [([1], "1"), (range(8), "0, 1, 2, 3, 4, 5, 6, 7"), (range(9), "0, 1, 2, 3, ..., 6, 7, 8"), ([], "")],
)
def test_few_of_many_steps(steps: Any, text: str) -> None:
    assert run_module._few(list(steps)) == text


def test_runs_below_a_folder_are_named_up_to_twelve(tmp_path: Path) -> None:
    def make(count: int) -> str:
        for k in range(count):
            (tmp_path / f"r{k:02d}").mkdir(exist_ok=True)
            write_config(tmp_path / f"r{k:02d}", {**CONFIG, "id": f"r{k}"})
        with pytest.raises(RunError) as said:
            Run.open(tmp_path)
        return str(said.value)

    assert make(12).endswith("r11")
    assert make(14).endswith(f"r11 and 2 more (lengthlens show {tmp_path})")
    assert [run.name for run in find_runs(tmp_path)] == [f"r{k:02d}" for k in range(14)]
    (tmp_path / "r03" / "run.json").write_bytes(b"{}")
    problems: list[str] = []
    assert len(find_runs(tmp_path, problems)) == 13
    assert len(problems) == 1
    with pytest.warns(UserWarning, match="run format None"):
        find_runs(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(RunError, match=r"is not a run: it has no run\.json"):
        Run.open(tmp_path / "none")


def test_the_id_of_a_run_is_of_four_parts(held: Held) -> None:
    config = {name: CONFIG[name] for name in ("task", "model", "training", "seeds")}
    assert run_id({**config, "facts": {"x": 1}}) == run_id(config)
    assert len({run_id({**config, name: {**config[name], "new": 1}}) for name in config}) == 4
    held([run_id(config), run_id({**config, "seeds": {}})])


def test_a_second_writer_is_told_of_the_first(bare: Run) -> None:
    with writer_lock(bare.path):
        assert (bare.path / "lock").read_text().startswith(f"process {os.getpid()} on ")
        with pytest.raises(RunError, match=f"is being written by process {os.getpid()} on "), writer_lock(bare.path):
            pass
    assert not (bare.path / "lock").exists()


def test_weights_that_are_not_finite_or_of_another_size_are_named(make_run: Callable[..., Run]) -> None:
    run = make_run(majority(), make_task("majority"), trained=9, steps=(0, 10))
    assert run_problems(run) == []
    (run.path / "live.jsonl").write_bytes(lines((1, 1.0), (2, 2.0)) + b"x\n")
    (run.path / "timing.json").write_bytes(b"x")
    found = run_problems(run)
    assert len(found) == 2
    assert "live.jsonl is damaged at line 3" in found[0]
    assert "timing.json is damaged" in found[1]
    folder = run.step_path(10)
    weights = {name: value.half() for name, value in run.load(10).state_dict().items()}
    weights["embed.W_E"][0, 0] = math.nan
    data = save(weights)
    (folder / "model.safetensors").write_bytes(data)
    (folder / "meta.json").write_bytes(sealed_json({**run.meta(10), "sha256": hashlib.sha256(data).hexdigest()}))
    assert any("not finite in tensor embed.W_E" in one for one in run_problems(run))


# ---- folders of others ---------------------------------------------------------------------------------------------------------------------
def test_files_of_others_that_count(tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.json", "c.model", "d.txt", "e.bin", "f.py"):
        (tmp_path / name).write_bytes(name.encode())
    files = hashed_files(tmp_path)
    assert files == {
        name: hashlib.sha256(name.encode()).hexdigest() for name in ("a.safetensors", "b.json", "c.model", "d.txt")
    }
    whole = hashlib.sha256(canonical(files).encode()).hexdigest()
    assert sha256_of_files(files) == whole
    meta = {"step": 1, "sha256": whole, "files": files}
    assert verify_names(meta, "r") == verify_folder(tmp_path, meta, "r") == whole
    for wrong in ({**meta, "sha256": "0"}, {**meta, "files": {}}, {**meta, "files": None}):
        with pytest.raises(RunError, match="does not say which files it has"):
            verify_names(wrong, "r")
    (tmp_path / "d.txt").write_bytes(b"new")
    with pytest.raises(RunError, match=r"d\.txt has changed since run r"):
        verify_folder(tmp_path, meta, "r")
    (tmp_path / "d.txt").unlink()
    for folder, says in (
        (tmp_path, "of which run r is made, cannot be read"),
        (tmp_path / "none", "there is no such folder"),
    ):
        with pytest.raises(RunError, match=says):
            verify_folder(folder, meta, "r")


@pytest.mark.parametrize(("name", "step"), [
    ("model_500.pt", 500), ("checkpoint-12/model.safetensors", 12), ("run-3/step7/model.pt", 7), ("v2_step0010.pt", 10), ("a/b/model.pt", None), ("9/model_1.0.pt", 0), ("5/x/model.pt", 5),
])  # fmt: skip
def test_steps_in_names_of_files(name: str, step: int | None) -> None:
    assert _step(Path(name)) == step


def test_revisions_by_the_last_number_of_their_names(tmp_path: Path) -> None:
    for name in ("step1000", "step20", "v2-step7", "other", "late"):
        (tmp_path / name).mkdir()
    (tmp_path / "step3").touch()
    assert revisions(tmp_path, None) == {ONLY_STEP: tmp_path}
    assert ONLY_STEP == 1
    assert revisions(tmp_path, "*step*") == {
        7: tmp_path / "v2-step7",
        20: tmp_path / "step20",
        1000: tmp_path / "step1000",
    }
    assert list(revisions(tmp_path, "*step*")) == [7, 20, 1000]
    for pattern, says in (
        ("o*", "holds no step"),
        ("zzz*", "holds no folder that fits 'zzz"),
    ):
        with pytest.raises(RunError, match=says):
            revisions(tmp_path, pattern)
    (tmp_path / "again20").mkdir()
    with pytest.raises(RunError, match="are both of step 20"):
        revisions(tmp_path, "*20")
    with pytest.raises(RunError, match="is no folder"):
        revisions(tmp_path / "step3", None)


@pytest.mark.parametrize(("content", "found"), [
    ({"a": torch.zeros(2)}, {"a": torch.float32}), ({"state_dict": {"a": torch.zeros(2).half()}, "epoch": 3}, {"a": torch.float32}), ({"model": {"a": torch.zeros(2).bfloat16(), "b": torch.zeros(2, dtype=torch.long)}}, {"a": torch.float32, "b": torch.int64}),
    ({"model": torch.zeros(1)}, {"model": torch.float32}), ({"a": torch.zeros(2).double()}, "tensor a is float64"), ({}, "holds no state dict"), ({"a": 3}, "holds no state dict"), ([torch.zeros(1)], "holds no state dict"), ({"model_state": {}}, "holds no state dict"),
])  # fmt: skip
def test_state_dicts_as_training_scripts_leave_them(
    content: Any, found: dict[str, torch.dtype] | str, tmp_path: Path
) -> None:
    torch.save(content, tmp_path / "model_1.pt")
    if isinstance(found, str):
        with pytest.raises(RunError, match=found):
            read_weights(tmp_path / "model_1.pt")
    else:
        assert {name: value.dtype for name, value in read_weights(tmp_path / "model_1.pt").items()} == found


def test_what_an_adopted_run_says(tmp_path: Path, held: Held) -> None:
    run = take(foreign(tmp_path / "theirs", {"model_0.pt": own(0), "model_200.safetensors": own(1)}), tmp_path / "run")
    config = {name: run.config[name] for name in ("task", "model", "training", "seeds", "facts", "format")}
    config["training"] = {**config["training"], "adopted": sorted(config["training"]["adopted"])}
    metas = [
        {name: value for name, value in run.meta(step).items() if "sha256" not in name and name != "run"}
        for step in run.steps
    ]
    held([config, metas, digest(torch.cat([value.flatten() for value in run.load(200).state_dict().values()]))])
    shifted = ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=30, ids="random_offset")
    assert _trained_ids(run.load(0).cfg, 10) == [[0, 9]]
    assert _trained_ids(shifted, 10) == [[0, 29]]
    stated = config_of(make_task("dyck_1"), shifted, (3, 9), {"steps": 5, "compiled": {}}, "as stated")
    assert (stated["training"]["trained_length"], stated["training"]["curriculum"]) == (8, {"low": 3, "high": 9})
    assert stated["facts"]["lengths"] == "lengths from 3 to 9, as stated"
    assert stated["seeds"] == {"evaluation": 0, "probe": 0}


def test_tables_of_positions_that_nothing_reads_are_dropped_and_others_refused() -> None:
    model = HookedTransformer(ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=5))
    weights = {**model.state_dict(), "blocks.0.attn.mask": torch.ones(5, 5)}
    assert set(our_weights(model.cfg, {**weights, "pos_embed.W_pos": torch.zeros(5, 4)})) == set(model.state_dict())
    with pytest.raises(UpstreamError, match="W_pos that is not 0"):
        our_weights(model.cfg, {**weights, "pos_embed.W_pos": torch.ones(5, 4)})
    alibi = ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=5, positions="alibi")
    assert "pos_embed.W_pos" not in our_weights(alibi, {**weights, "pos_embed.W_pos": torch.ones(5, 4)})


# ---- ids of evaluation ------------------------------------------------------------------------------------------------------------------------
def test_ids_that_a_task_and_a_model_give_together() -> None:
    def cfg(n_ctx: int, **options: Any) -> ModelConfig:
        return ModelConfig(d_vocab=TASK.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=n_ctx, **options)

    assert evaluation_ids(TASK, cfg(9), 4).tolist() == [list(range(TASK.positions(4)))]
    last = TASK.positions(8)
    assert evaluation_ids(TASK, cfg(last, positions="learned"), 8).shape == (1, last)
    check_training_ids(TASK, cfg(last, positions="learned"), 8)
    for ask in (evaluation_ids, check_training_ids):
        with pytest.raises(PositionError, match=f"n_ctx of at least {last}"):
            ask(TASK, cfg(last - 1, positions="learned"), 8)
    check_training_ids(TASK, cfg(last, ids="random_offset"), 8)
    with pytest.raises(PositionError, match="random_offset needs n_ctx"):
        check_training_ids(TASK, cfg(last - 1, ids="random_offset"), 8)
    for ids, what in (("coupled", "read"), ("predicted", "predict")):
        with pytest.raises(
            PositionError,
            match=f"so ids {ids} has nothing to {what}; choose arange, random_offset, pose, random_subset",
        ):
            evaluation_ids(TASK, cfg(9, ids=ids), 5)
    coupling = make_task("addition")
    found = evaluation_ids(
        coupling, ModelConfig(d_vocab=coupling.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=99, ids="coupled"), 9
    )
    assert found.shape == (1, coupling.positions(9))
    assert len(np.unique(found.numpy())) < found.shape[1], "some are shared"
