"""Notes and tags beside a run: read as text or named, written whole, never over what somebody else wrote."""

from __future__ import annotations

import hashlib
import io
import math
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.held import Held
from tests.support.table.making import CONFIG
from workbench.runs import Run, RunError, log, run_notes
from workbench.runs.checkpoints import remove_unfinished, write_checkpoint, write_config
from workbench.runs.live_log import Live
from workbench.runs.lock import writer_lock
from workbench.runs.log import COLUMNS, Pace, log_state, pace, read_log
from workbench.runs.run_notes import (
    LONGEST_TAG,
    MOST,
    MOST_TAGS,
    NOTE,
    TAGS,
    NotesError,
    files_state,
    read_notes,
    write_notes,
)
from workbench.storage.seal import open_json, sealed_json


def test_what_is_written_is_read_again_and_is_plain_text(tmp_path: Path) -> None:
    before = files_state(tmp_path)
    made = write_notes(
        tmp_path, "# Odd\r\n\nIt fails at 3 N.\n", [" to  check ", "odd", "odd", ""], read_state(tmp_path)
    )
    assert made == read_notes(tmp_path)
    assert (tmp_path / NOTE).read_bytes() == b"# Odd\n\nIt fails at 3 N.\n"
    assert (tmp_path / TAGS).read_bytes() == b"to check\nodd\n"
    assert (made.first_line, made.tags) == ("Odd", ("to check", "odd"))
    assert files_state(tmp_path) != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def read_state(folder: Path) -> str:
    return read_notes(folder).state


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a\0b", b"\x1b[31m", b"x" * (1 << 20)])
def test_what_is_no_text_file_is_named_and_not_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NOTE).write_bytes(content)
    found = read_notes(tmp_path)
    assert found.text == ""
    assert f"{tmp_path / NOTE} is no text file" in found.problems[0]
    with pytest.raises(NotesError, match="move"):
        write_notes(tmp_path, "mine", [], found.state)
    assert (tmp_path / NOTE).read_bytes() == content


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / TAGS).mkdir()
    assert "tags.txt is no text file" in read_notes(tmp_path).problems[0]


def test_nothing_is_written_over_what_somebody_else_wrote_meanwhile(tmp_path: Path) -> None:
    seen = read_state(tmp_path)
    (tmp_path / NOTE).write_text("theirs\n")
    with pytest.raises(NotesError, match="meanwhile"):
        write_notes(tmp_path, "mine", [], seen)
    assert (tmp_path / NOTE).read_text() == "theirs\n"


@pytest.mark.parametrize(("text", "tags"), [("", ["x" * 41]), ("", [str(k) for k in range(33)]), ("é" * (1 << 15), [])])
def test_what_is_too_long_is_refused_before_anything_is_written(tmp_path: Path, text: str, tags: list[str]) -> None:
    with pytest.raises(NotesError):
        write_notes(tmp_path, text, tags, read_state(tmp_path))
    assert list(tmp_path.iterdir()) == []


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


def test_notes_and_tags_of_exactly_the_most(bare: Run) -> None:
    folder = bare.path
    state = read_notes(folder).state
    tags = [f"{k:0{LONGEST_TAG}d}" for k in range(MOST_TAGS)]
    kept = write_notes(folder, "x" * (MOST - 1), [*tags, tags[0], " ", "  "], state)
    assert (len(kept.text), list(kept.tags), kept.problems) == (MOST, tags, ())
    for text, given, says in (
        ("x" * MOST, tags, "more than 65,536 bytes"),
        ("\u00fc" * (MOST // 2), tags, "bytes"),
        ("", [*tags, "another"], "at most 32 tags, not 33"),
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
    assert (bare.stop_reason, bare.finished, bare.steps) == ("", False, [])
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
    assert (early.stop_reason, early.finished) == ("it was right", True)
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
    assert ssm.weightless.startswith("it contains answers of a model behind an API")
    assert (
        Run(bare.path, "s", {**bare.config, "rows_only": "M"}).weightless
        == "results only, as the weights of M are not stored here"
    )


def test_a_second_writer_is_told_of_the_first(bare: Run) -> None:
    with writer_lock(bare.path):
        assert (bare.path / "lock").read_text().startswith(f"process {os.getpid()} on ")
        with pytest.raises(RunError, match=f"{os.getpid()}"), writer_lock(bare.path):
            pass
    assert not (bare.path / "lock").exists()
