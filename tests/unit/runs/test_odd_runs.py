"""Branches of runs that few folders walk: what names no folder, who holds a lock, times that cannot be, notes that say nothing."""

from __future__ import annotations

import fcntl
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save, save_file

from tests.support.table.making import CONFIG
from workbench.models import ModelConfig
from workbench.models.architectures import make_model
from workbench.runs import Run, RunError, lock, shipped_gallery
from workbench.runs.adoption.being_written import being_written
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.integrity import run_problems
from workbench.runs.lock import writer_lock
from workbench.runs.run import run_id
from workbench.runs.run_notes import NOTE, TAGS, read_notes, write_notes
from workbench.runs.saved_views import read_views, save_view
from workbench.runs.timing import Stopwatch, Timing, read_timing
from workbench.runs.weights import load_model, model_config
from workbench.storage import locks
from workbench.storage.errors import StorageError
from workbench.storage.seal import SealError, sealed_json

SIZES: dict[str, Any] = {"d_vocab": 3, "n_layers": 1, "d_model": 4, "n_heads": 1, "n_ctx": 5}


def of(path: Path, **parts: Any) -> Run:
    """A run that states these parts."""
    return Run(path, "r", {**CONFIG, "id": "r", **parts})


# ---- what a run's folder says ----------------------------------------------------------------------------------------
def test_a_run_json_is_written_a_setting_a_line(tmp_path: Path) -> None:
    write_config(tmp_path, CONFIG)
    lines = (tmp_path / "run.json").read_text().splitlines()
    assert (lines[0], lines[1]) == ("{", ' "format": 1,')
    assert '  "parameters": {' in lines


@pytest.mark.parametrize(("folders", "found"), [
    ({"7": "/a/b"}, "/a/b"), ({"8": "/a/b"}, None), ({"7": 3}, None), ({"7": None}, None), (None, None), (["/a/b"], None), ({7: "/a/b"}, None),
])  # fmt: skip
def test_the_folder_of_others_of_a_step(folders: Any, found: str | None, tmp_path: Path) -> None:
    run = of(tmp_path, folders=folders)
    if found is not None:
        assert run.folder(7) == Path(found)
        return
    with pytest.raises(RunError, match="step 7"):
        run.folder(7)


@pytest.mark.parametrize(("meta", "says"), [
    ({}, None), ({"step": 8}, "its meta.json is of step 8"), ({"run": "other"}, "of another run .id other, here r"), ({"run": None}, "of another run|damaged"),
])  # fmt: skip
def test_a_checkpoint_is_of_its_step_and_run(meta: dict[str, Any], says: str | None, tmp_path: Path) -> None:
    run = of(tmp_path)
    write_checkpoint(run, 7, None, None, sha256="ab")
    own = run.meta(7)
    content = {name: value for name, value in own.items() if name != "seal"}
    (run.step_path(7) / "meta.json").write_bytes(sealed_json({**content, **meta}))
    if says is None:
        assert run.meta(7)["step"] == 7
        del content["run"]
        (run.step_path(7) / "meta.json").write_bytes(sealed_json(content))
        assert run.meta(7)["sha256"] == "ab"
        return
    with pytest.raises(RunError, match=says):
        run.meta(7)


def test_weights_that_are_not_here_are_not_looked_for(tmp_path: Path) -> None:
    answered = of(tmp_path, training={"answers": {}, "pretrained": {}})
    rows = of(tmp_path, rows_only="M")
    write_checkpoint(rows, 7, None, None, sha256="ab")
    assert answered.verify(7) == rows.verify(7) == "ab"
    with pytest.raises(RunError, match=r"model\.safetensors"):
        of(tmp_path).verify(7)
    for run, says in (
        (answered, "it contains answers of a model behind an API"),
        (rows, "the weights of M are not stored here$"),
    ):
        with pytest.raises(RunError, match=says):
            run.load(7)
    both = of(tmp_path, rows_only="M", training={"pretrained": {}})
    with pytest.raises(RunError, match="files"):
        both.verify(7)


@pytest.mark.parametrize(("model", "name"), [
    ({"positions": "rotary"}, "transformer, positions rotary"), ({"positions": {"name": "limit", "period": 2}}, "transformer, positions limit"),
    ({"architecture": "ssm", "gates": "signed", "positions": "none"}, "ssm, signed gates"), ({"architecture": "pretrained", "positions": "x"}, "pretrained, positions x"), ({}, "transformer, positions None"), ({"architecture": "ssm"}, "ssm, None gates"),
])  # fmt: skip
def test_what_models_are_called(model: dict[str, Any], name: str, tmp_path: Path) -> None:
    assert repr(of(tmp_path, model=model)) == f"Run('r', {CONFIG['task']['name']}, {name})"


def test_the_gallery_is_where_it_is_first_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = (tmp_path / "wheel", tmp_path / "checkout")
    monkeypatch.setattr(shipped_gallery, "PLACES", places)
    assert shipped_gallery.gallery() == places[1], "none is there"
    places[1].mkdir()
    assert shipped_gallery.gallery() == places[1]
    places[0].mkdir()
    assert shipped_gallery.gallery() == places[0]


def test_a_run_of_a_task_that_was_not_hashed_then_is_the_same(tmp_path: Path) -> None:
    parts = {name: CONFIG[name] for name in ("task", "model", "training", "seeds")}
    now = {**parts, "task": {"name": "a.py:T", "parameters": {}}, "id": "x"}
    now["id"] = run_id(now)
    source = {"file": "a.py", "class": "T", "sha256": "ab" * 32}
    hashed = {**now, "task": {"name": "t", "parameters": {}, "source": source}}
    hashed["id"] = run_id(hashed)
    other = {**now, "task": {"name": "majority", "parameters": {}}}
    other["id"] = run_id(other)
    for number, (there, wanted, same) in enumerate((
        (now, now, True), (now, hashed, True), (other, now, False), ({**now, "id": "another"}, now, False),
    )):  # fmt: skip
        folder = tmp_path / str(number)
        write_config(folder, {**CONFIG, **there})
        if same:
            with being_written(folder, {**CONFIG, **wanted}) as run:
                assert run.id == there["id"]
        else:
            with pytest.raises(RunError, match="contains another run"), being_written(folder, {**CONFIG, **wanted}):
                pass


# ---- locks and times ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "holder"), [(b"", "another process"), (b" \n", "another process"), (b"process 7 on x\n", "process 7 on x")]
)
def test_who_holds_a_lock(text: bytes, holder: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(text)
    with open(path, "rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RunError, match=f"{holder}"), writer_lock(tmp_path):
            pass
    assert path.exists(), "it is another's"


@pytest.mark.parametrize("another", [False, True])
def test_a_lock_is_that_of_the_file_that_is_there(
    another: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file is removed, or replaced, by the time that it is held; the lock is then taken on the next one."""
    path, taken = tmp_path / "lock", []

    def hold(descriptor: int) -> bool:
        taken.append(descriptor)
        if len(taken) == 1:
            path.unlink()
            if another:
                path.touch()
        return locks.hold(descriptor)

    monkeypatch.setattr(lock, "hold", hold)
    with writer_lock(tmp_path):
        assert path.read_text().startswith(f"process {os.getpid()} on ")
    assert len(taken) == 2


@pytest.mark.parametrize(("said", "found"), [
    ({"updates": 0, "seconds": 0, "peak_bytes": 0}, Timing(0, 0.0, 0)), ({"updates": 3, "seconds": 2.5, "peak_bytes": 9}, Timing(3, 2.5, 9)),
    ({"updates": -1, "seconds": 0, "peak_bytes": 0}, "a time that is not possible"), ({"updates": 0, "seconds": -0.5, "peak_bytes": 0}, "a time that is not possible"),
    ({"updates": 0, "seconds": 0, "peak_bytes": -1}, "a time that is not possible"), ({"updates": 0.5, "seconds": 0, "peak_bytes": 0}, "contains no time"),
    ({"updates": 0, "seconds": "1", "peak_bytes": 0}, "contains no time"), ({"updates": 0, "seconds": 0, "peak_bytes": None}, "contains no time"), ({"seconds": 0, "peak_bytes": 0}, "contains no time"),
])  # fmt: skip
def test_times_that_a_run_tells(said: dict[str, Any], found: Timing | str, tmp_path: Path) -> None:
    assert read_timing(tmp_path) is None
    (tmp_path / "timing.json").write_bytes(sealed_json(said))
    if isinstance(found, Timing):
        assert read_timing(tmp_path) == found
        return
    with pytest.raises(SealError, match=found):
        read_timing(tmp_path)


def test_a_stopwatch_goes_on_from_what_was_told(tmp_path: Path) -> None:
    (tmp_path / "timing.json").write_bytes(sealed_json({"updates": 5, "seconds": 100.0, "peak_bytes": 1 << 60}))
    watch = Stopwatch(tmp_path, 5)
    before = (tmp_path / "timing.json").read_bytes()
    watch.note(5)
    assert (tmp_path / "timing.json").read_bytes() == before, "nothing was done"
    watch.note(8)
    told = read_timing(tmp_path)
    assert told is not None
    assert (told.updates, told.peak_bytes) == (8, 1 << 60)
    assert told.seconds >= 100
    (tmp_path / "timing.json").write_bytes(b"x")
    Stopwatch(tmp_path, 2).note(3)
    told = read_timing(tmp_path)
    assert told is not None
    assert told.updates == 1
    assert told.peak_bytes > 1 << 20


# ---- weights ----------------------------------------------------------------------------------------------------------------
def test_a_file_of_too_few_numbers_is_refused_before_a_model_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = ModelConfig(**SIZES)
    weights = make_model(cfg, seed=1).state_dict()
    file = tmp_path / "model.safetensors"
    save_file({name: value.contiguous() for name, value in weights.items()}, file)
    held = sum(value.numel() for value in weights.values())
    monkeypatch.setattr(ModelConfig, "least_numbers", property(lambda self: held))
    found = load_model(file, cfg, tmp_path / "run.json").state_dict()
    assert all(torch.equal(found[name], value) for name, value in weights.items())
    monkeypatch.setattr(ModelConfig, "least_numbers", property(lambda self: held + 1))
    with pytest.raises(RunError, match=f"contains {held:,} numbers, but the model .* describes has {held + 1:,}"):
        load_model(file, cfg, tmp_path / "run.json")


@pytest.mark.parametrize(("model", "says"), [
    ({**SIZES, "n_layers": 0}, "describe"), ({**SIZES, "positions": "rotery"}, "rotary"),
    ({**SIZES, "n_heads": 3}, "d_model"),
])  # fmt: skip
def test_models_that_no_version_knows(model: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=says):
        model_config(model, tmp_path / "run.json")


@pytest.mark.parametrize(("value", "dtype", "finite"), [
    (1.0, torch.float32, True), (math.inf, torch.float32, False), (math.nan, torch.float16, False), (-math.inf, torch.float64, False), (1.0, torch.float16, True), (3, torch.int64, True),
])  # fmt: skip
def test_tensors_that_are_finite(value: float, dtype: torch.dtype, finite: bool, tmp_path: Path) -> None:
    run = Run(tmp_path, "r", CONFIG)
    write_checkpoint(run, 7, save({"a": torch.zeros(2), "b": torch.tensor([0, value], dtype=dtype)}), None)
    wrong = "is damaged: it contains values that are not finite in tensor b"
    assert [problem.endswith(wrong) for problem in run_problems(run) if "model.safetensors" in problem] == [True] * (
        not finite
    )


# ---- notes and views ----------------------------------------------------------------------------------------------------------
def test_notes_that_say_nothing_have_no_file_of_their_own(tmp_path: Path) -> None:
    def written(text: str, *tags: str) -> list[bytes | None]:
        write_notes(tmp_path, text, tags, read_notes(tmp_path).state)
        return [(tmp_path / name).read_bytes() if (tmp_path / name).exists() else None for name in (NOTE, TAGS)]

    assert written("", " , ") == [None, None]
    assert written("a") == [b"a\n", None]
    assert written("", "x,y", "x y") == [b"", b"x y\n"]
    assert written("b") == [b"b\n", b""]
    (tmp_path / TAGS).write_text("\n a \n\n,\na\nb,c\n")
    assert read_notes(tmp_path).tags == ("a", "b c")


def test_views_are_the_files_of_json_alone(tmp_path: Path) -> None:
    save_view(tmp_path, "one", "/")
    (tmp_path / "views" / "notes.txt").write_text("x")
    (tmp_path / "views" / "two.json").mkdir()
    views, problems = read_views(tmp_path)
    assert [view.name for view in views] == ["one"]
    assert len(problems) == 1
    assert "two.json is no saved view (" in problems[0]
    assert json.loads((tmp_path / "views" / "one.json").read_text()) == {"name": "one", "link": "/"}
    assert (tmp_path / "views" / "one.json").read_text().startswith('{\n "name"')
    assert read_views(tmp_path / "none") == ([], [])


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), writer_lock(tmp_path / "file" / "run"):
        pass
