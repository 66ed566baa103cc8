"""``lengthlens export``: what is written is read back, as a run, as a card and as scalars."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import GALLERY
from workbench.cli.commands.sharing.export import export
from workbench.cli.errors import UsageError
from workbench.cli.exporting.hub_folder import export_to_hub, model_card
from workbench.cli.exporting.tensorboard_scalars import scalars
from workbench.cli.exporting.wandb_offline import export_to_wandb
from workbench.models.handmade.transformers import majority
from workbench.runs import Run, RunError
from workbench.storage.atomic import is_temporary, temporary_name
from workbench.storage.errors import LinkError
from workbench.table import Table
from workbench.table.schema import row
from workbench.table.shards import shard_path, write_shard
from workbench.tasks import make_task

FLIP_FLOP = GALLERY / "flip_flop_rotary_s0"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hub") / "flip-flop"
    export(FLIP_FLOP, to=folder)
    return Run.open(folder)


def test_the_folder_is_the_run(exported: Run) -> None:
    source = Run.open(FLIP_FLOP)
    assert sorted(entry.name for entry in exported.path.iterdir()) == [
        "README.md",
        "run.json",
        "steps",
        "table.parquet",
    ]
    assert (exported.id, exported.steps) == (source.id, source.steps)
    for step in source.steps:
        assert exported.verify(step) == source.verify(step)
        held = {file.name: file.read_bytes() for file in source.step_path(step).iterdir()}
        assert {file.name: file.read_bytes() for file in exported.step_path(step).iterdir()} == held
    tables = [Table.load(run.path) for run in (exported, source)]
    assert [len(table) for table in tables] == [len(tables[1])] * 2
    told = [table.sql("select * exclude run from rows order by all").to_csv() for table in tables]
    assert told[0] == told[1]


def test_the_card_says_what_the_rows_say(exported: Run) -> None:
    card = (exported.path / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: lengthlens\n")
    assert "Length-coupled at step 1,200. Accuracy falls from 1.00" in card
    assert "first failing length, matched test set: 33 to 48" in card
    assert "since step 800 (last different verdict: step 70)" in card
    assert "\n\nvalues in parentheses do not count for the verdict" in card, "what a table means stands below it"
    where = {"quantity": "accuracy", "step": 1200, "length": 64, "law": "matched", "mode": "teacher_forced"}
    (found,) = Table.load(FLIP_FLOP).frame(**where).itertuples()
    line = next(line for line in card.splitlines() if line.startswith("| 64 |"))
    assert f"{found.value:.3f} \\[{found.low:.2f}, {found.high:.2f}]" in line
    for step in exported.steps:
        assert f"`{exported.meta(step)['sha256']}`" in card
    block = card.partition("```python\n")[2].partition("```")[0].replace("PATH", str(exported.path))
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec", dont_inherit=True), names)
    assert len(names["rows"]) == len(Table.load(FLIP_FLOP))


def test_new_shards_come_along_as_one_table_and_the_run_is_left_alone(make_run: Any, tmp_path: Path) -> None:
    run = make_run(majority(), make_task("majority"), trained=9, steps=(0, 100))
    shared = {"run": run.name, "step": 100, "measurement": "behaviour"}
    verdict = row(**shared, quantity="verdict", label="undecided", length=73, n=512, note="<b>|` it is so")
    metadata = {"spec": '{"version": 4}', "key": "k", "sha256": run.meta(100)["sha256"], "run": run.id}
    write_shard(shard_path(run.path, "behaviour", 100, "k"), [verdict], metadata)
    before = sorted(run.path.rglob("*"))
    export(run.path, to=tmp_path / "hub")
    assert sorted(run.path.rglob("*")) == before
    assert not (tmp_path / "hub" / "measurements").exists()
    assert Table.load(tmp_path / "hub").frame(quantity="verdict")["label"].tolist() == ["undecided"]
    card = (tmp_path / "hub" / "README.md").read_text()
    assert "Undecided at step 100" in card
    assert "&lt;b&gt;\\|\\` it is so" in card
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_run_that_is_not_measured_says_so(make_run: Any) -> None:
    assert "Its behaviour is not measured." in model_card(make_run(majority(), make_task("majority"), trained=9))


def test_what_is_refused(make_run: Any, tmp_path: Path) -> None:
    run = make_run(majority(), make_task("majority"), trained=9)
    with pytest.raises(UsageError, match="--wandb-offline"):
        export(run.path)
    with pytest.raises(UsageError, match="rows, or give --to"):
        export(run.path, tmp_path / "hub")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(UsageError, match="--to"):
        export(run.path, to=tmp_path / "full")
    with pytest.raises(UsageError, match="is inside the run"):
        export(run.path, to=run.path / "hub")
    weights = run.step_path(100) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(RunError):
        export(run.path, to=tmp_path / "damaged")
    assert not (tmp_path / "damaged").exists()
    shutil.rmtree(run.path / "steps")
    with pytest.raises(UsageError, match="checkpoint"):
        export(run.path, to=tmp_path / "empty")
    config = json.loads((GALLERY / "majority_learned" / "run.json").read_text())
    config["training"]["pretrained"] = {"family": "llama"}
    with pytest.raises(UsageError, match="export"):
        export_to_hub(Run(run.path, "opened", config), tmp_path / "opened")


def test_scalars_are_the_log_and_the_rows() -> None:
    found = {(tag, step): value for tag, step, value in scalars(Run.open(FLIP_FLOP))}
    where = {"quantity": "accuracy", "step": 1200, "length": 64, "law": "challenge", "mode": "teacher_forced"}
    (stored,) = Table.load(FLIP_FLOP).frame(**where)["value"]
    assert found["accuracy/challenge/64", 1200] == stored
    assert found["train/accuracy_out", 1200] == 0.859375
    assert found["train/lr", 1176] == pytest.approx(3.222792e-06)


def test_tensorboard_reads_them_back(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = Run.open(FLIP_FLOP)
    export(FLIP_FLOP, tensorboard=tmp_path)
    events = EventAccumulator(str(tmp_path / run.name), size_guidance={"scalars": 0}).Reload()
    read = {(tag, one.step): one.value for tag in events.Tags()["scalars"] for one in events.Scalars(tag)}
    assert read == pytest.approx({(tag, step): value for tag, step, value in scalars(run)})
    with pytest.raises(UsageError, match="is not empty"):
        export(FLIP_FLOP, tensorboard=tmp_path)


def test_without_tensorboard_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UsageError, match="tensorboard"):
        export(FLIP_FLOP, tensorboard=tmp_path)
    assert list(tmp_path.iterdir()) == []


def offline_records(held: bytes) -> Iterator[bytes]:
    """Records of a .wandb file: LevelDB's log, blocks of 32 KiB of parts (checksum, length, kind) behind 7 bytes."""
    at, whole = 7, b""
    while at + 7 <= len(held):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = int.from_bytes(held[at + 4 : at + 6], "little"), held[at + 6]
        whole += held[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield whole
            whole = b""


def test_an_offline_run_holds_the_scalars_and_nothing_of_the_machine(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    run = Run.open(FLIP_FLOP)
    count, made = export_to_wandb(run, tmp_path / "offline")
    (file,) = made.glob("*.wandb")
    found, kinds = [], set()
    for data in offline_records(file.read_bytes()):
        record = Record.FromString(data)
        kinds.add(record.WhichOneof("record_type"))
        values = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        found += [(tag, values["_step"], value) for tag, value in values.items() if not tag.startswith("_")]
    wanted = list(scalars(run))
    assert sorted(found) == sorted(wanted)
    assert count == len(wanted)
    assert "history" in kinds
    assert not list(made.glob("files/*.txt")), "no list of packages"
    with pytest.raises(UsageError, match="folder"):
        export_to_wandb(run, tmp_path / "offline")


# ---- runs that somebody else has filled, and exports that were interrupted -----------------------------------------
@pytest.fixture
def copied_run(tmp_path: Path) -> Path:
    shutil.copytree(FLIP_FLOP, tmp_path / "run")
    return tmp_path / "run"


def test_nothing_is_copied_through_a_link(copied_run: Path, tmp_path: Path) -> None:
    """A file behind a link may be anything that the user can read, and an export is handed on."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    step = Run.open(copied_run).step_path(Run.open(copied_run).steps[0])
    (step / "log.parquet").unlink()
    (step / "log.parquet").symlink_to(secret)
    with pytest.raises(LinkError, match=r"log\.parquet"):
        export_to_hub(Run.open(copied_run), tmp_path / "hub")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "secret"]


def test_a_shard_behind_a_link_is_named_and_the_rest_exported(copied_run: Path, tmp_path: Path) -> None:
    folder = copied_run / "measurements" / "behaviour"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (folder / "00000000-k.parquet").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "00000001-k.parquet")
    problems = export_to_hub(Run.open(copied_run), tmp_path / "hub")
    assert len(problems) == 2
    assert "is not copied" in problems[0]
    assert "is a link" in problems[0]
    assert "a named pipe" in problems[1]
    assert len(Table.load(tmp_path / "hub")) == len(Table.load(FLIP_FLOP))


@pytest.mark.parametrize("option", ["to", "tensorboard", "wandb_offline"])
def test_an_export_that_was_killed_is_continued_and_leaves_no_copy(tmp_path: Path, option: str) -> None:
    module = {"to": None, "tensorboard": "tensorboard", "wandb_offline": "wandb"}[option]
    if module:
        pytest.importorskip(module)
    out = tmp_path / "out"
    left = temporary_name(out / FLIP_FLOP.name if option == "tensorboard" else out)
    (left / "steps").mkdir(parents=True)
    (left / "steps" / "model.safetensors").write_bytes(b"weights")
    export(FLIP_FLOP, **{option: out})
    assert not left.exists()
    assert not any(is_temporary(path) for path in tmp_path.rglob("*"))


def test_a_link_in_place_of_the_new_folder_is_named(copied_run: Path, tmp_path: Path) -> None:
    for name in ("circle", "elsewhere"):
        (tmp_path / name).symlink_to(name if name == "circle" else "run")
    with pytest.raises(LinkError, match="link"):
        export_to_hub(Run.open(copied_run), tmp_path / "circle")
    with pytest.raises(UsageError, match="elsewhere"):
        export_to_hub(Run.open(copied_run), tmp_path / "elsewhere")
