"""Every call that writes or removes a file lies in ``workbench/storage``, which refuses links; or is listed here."""

from __future__ import annotations

import ast

import pytest

from tests.support.places import ROOT
from tests.support.storage_calls import all_calls, calls_below, calls_in

PRIVATE = "a folder of the system's own that nobody else fills, made and removed by Python"
STREAM = "it writes into an open stream or into memory"
EXEMPT = {
    "workbench/claims/sealed_table.py:write_sealed pyarrow.parquet.ParquetWriter": STREAM,
    "workbench/diagnosis/bench/bench_table.py:write_members pyarrow.parquet.write_table": STREAM,
    "workbench/table/parquet.py:write_file pyarrow.parquet.ParquetWriter": STREAM,
    "workbench/training/trainer.py:_log_bytes pyarrow.parquet.write_table": STREAM,
    "workbench/training/forks.py:_log_until pyarrow.parquet.write_table": STREAM,
    "workbench/claims/determinacy/stored_rows.py:write_rows pyarrow.parquet.write_table": STREAM,
    "workbench/dashboard/downloads.py:to_parquet .to_parquet": STREAM,
    "workbench/jobs/job_process.py:run_jobs_from_input os.fdopen": "the pipes of a worker process",
    "workbench/cli/error_log.py:emit os.replace": "as emit .mkdir",
    "workbench/cli/error_log.py:emit .mkdir": "the user's folder of state, which no command line names",
    "workbench/cli/errors.py:_drop_unwritable os.open": "the null device, in place of a closed terminal",
    "workbench/runs/lock.py:writer_lock os.ftruncate": "a file that open_to_lock has opened",
    "workbench/cli/commands/eval.py:rows_measured_now tempfile.TemporaryDirectory": PRIVATE,
    "workbench/claims/trained/training_runs.py:train_and_measure tempfile.TemporaryDirectory": PRIVATE,
    "workbench/claims/trained/in_text/text_losses.py:trained_otherwise tempfile.TemporaryDirectory": PRIVATE,
    "workbench/dashboard/server/chromium.py:print_pdf tempfile.TemporaryDirectory": PRIVATE,
    "workbench/models/interop/hugging_face/opening.py:open_tokenizer tempfile.TemporaryDirectory": PRIVATE,
    "workbench/models/interop/hugging_face/opening.py:open_tokenizer shutil.copyfile": PRIVATE,
    "workbench/models/interop/hugging_face/opening.py:open_tokenizer .write_text": PRIVATE,
    "workbench/cli/exporting/tensorboard_scalars.py:export_to_tensorboard torch.utils.tensorboard.SummaryWriter": (
        "a foreign writer, into a folder that replacing_folder has just made"
    ),
    "workbench/cli/exporting/wandb_offline.py:export_to_wandb wandb.init": (
        "a foreign writer, into a folder that replacing_folder has just made"
    ),
}
"""Places outside ``workbench/storage`` that may write or remove by themselves, each with the reason."""
NAMED_BY_THE_USER = {
    "workbench/cli/commands/gallery.py:copy_gallery": "--to names the folder",
    "workbench/cli/commands/rename.py:rename": "the user names both folders",
    "workbench/cli/commands/rm.py:remove_runs": "the user names the run",
    "workbench/cli/exporting/gallery_cards.py:write_gallery": "--to names the folder",
    "workbench/datasets/loading.py:write_dataset": "the user names the folder",
    "workbench/diagnosis/challenge/make_challenge.py:make_challenge": "--out names the folder",
    "workbench/cli/exporting/hub_folder.py:export_to_hub": "--to names the folder",
    "workbench/cli/exporting/wandb_offline.py:export_to_wandb": "--wandb-offline names the folder",
    "workbench/runs/adoption/rows_only.py:write_rows_only": "the caller names the folder",
    "workbench/jobs/cluster.py:_stopping": "a file of a random name in the folder of runs itself",
    "workbench/jobs/cluster.py:map": "as _stopping",
    "workbench/jobs/cluster_workers.py:marker_files": "as _stopping",
}
"""Functions that give the folder above a path as the given folder: only the last part is checked then."""
PACKAGES = ("workbench", "probes", "circuits")
STORAGE = "workbench/storage/"
CHECKED = {
    "path_below",
    "_changing",
    "replacing",
    "replacing_folder",
    "_temporary",
    "_temporary_folder",
    "_remove_leftover",
    "make_folder",
}
"""Functions of the storage package that check a path, or are given one that was checked, or made its name."""


def test_every_write_and_removal_goes_through_the_storage_package() -> None:
    calls = [call for call in calls_below(ROOT, PACKAGES) if not call.file.startswith(STORAGE)]
    stray = [f"{call.file}:{call.line}: {call.call} in {call.function}" for call in calls if call.place not in EXEMPT]
    assert stray == [], "use a function of workbench/storage, which refuses links below the given folder"
    assert sorted(EXEMPT.keys() - {call.place for call in calls}) == [], "no longer there: take it off the list"


def test_every_public_writer_of_the_storage_package_checks_its_path() -> None:
    """Each public function with a call that writes or removes calls ``path_below``, itself or through another."""
    for file in ("below.py", "atomic.py"):
        tree = ast.parse((ROOT / STORAGE / file).read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        writers = {call.function for call in calls_in((ROOT / STORAGE / file).read_text())}
        assert writers, file
        for name in writers - CHECKED:
            called = {ast.unparse(node.func) for node in ast.walk(functions[name]) if isinstance(node, ast.Call)}
            assert called & CHECKED, f"{file}: {name}"
    others = [
        call
        for call in calls_below(ROOT, ("workbench/storage",))
        if call.file not in (f"{STORAGE}below.py", f"{STORAGE}atomic.py")
    ]
    assert others == []


def test_the_given_folder_is_not_merely_the_folder_above_the_file() -> None:
    """``write_atomic(path.parent, path.name, ...)`` would check no folder that lies between."""
    tree = (
        ast.parse((ROOT / STORAGE / "below.py").read_text()).body
        + ast.parse((ROOT / STORAGE / "atomic.py").read_text()).body
    )
    public = {node.name for node in tree if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert {"replacing", "write_atomic", "remove_file"} <= public
    places = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for function, call in all_calls(path.read_text()) if not file.startswith(STORAGE) else ():
            first = ast.unparse(call.args[0]) if len(call.args) > 1 else ""
            if ast.unparse(call.func) in public and first.endswith(".parent"):
                places.add(f"{file}:{function}")
    assert places == set(NAMED_BY_THE_USER)


@pytest.mark.parametrize(("source", "name"), [
    ("open(p, 'w')", "open"), ("open(p, mode='ab')", "open"), ("open(p, 'r+b')", "open"), ("open(p, how)", "open"),
    ("p.open('x')", ".open"), ("p.write_text('')", ".write_text"), ("p.write_bytes(b'')", ".write_bytes"),
    ("p.mkdir()", ".mkdir"), ("p.unlink(missing_ok=True)", ".unlink"), ("p.rename(q)", ".rename"), ("p.replace(q)", ".replace"),
    ("import os\nos.replace(p, q)", "os.replace"), ("from os import remove as r\nr(p)", "os.remove"),
    ("import shutil as s\ns.rmtree(p)", "shutil.rmtree"), ("from shutil import copyfile\ncopyfile(p, q)", "shutil.copyfile"),
    ("import tempfile\ntempfile.mkdtemp()", "tempfile.mkdtemp"), ("import os\nos.open(p, os.O_CREAT | os.O_RDWR)", "os.open"),
    ("import pyarrow.parquet as pq\npq.write_table(t, p)", "pyarrow.parquet.write_table"), ("page.screenshot(path=p)", ".screenshot"),
    ("from safetensors.torch import save_file\nsave_file(t, p)", "safetensors.torch.save_file"), ("frame.to_csv(p)", ".to_csv"),
    ("import zipfile\nzipfile.ZipFile(p, 'w')", "zipfile.ZipFile"), ("import tarfile\ntarfile.open(p, mode='w:gz')", "tarfile.open"),
    ("p.symlink_to(q)", ".symlink_to"), ("import numpy as np\nnp.savez(p, a)", "numpy.savez"), ("p.touch()", ".touch"),
])  # fmt: skip
def test_a_call_that_writes_is_recognized_by_any_name(source: str, name: str) -> None:
    assert [call.call for call in calls_in(f"def f():\n    {source}" if "\n" not in source else source)] == [name]


@pytest.mark.parametrize("source", [
    "open(p)", "open(p, 'rb')", "text.replace('a', 'b')", "frame.rename(columns=f)", "from dataclasses import replace\nreplace(run, name='x')",
    "import dataclasses\ndataclasses.replace(run)", "import os\nos.open(p, os.O_RDONLY)", "frame.to_csv(index=False)", "Run.open(path)",
    "import zipfile\nzipfile.ZipFile(p)", "import tarfile\ntarfile.open(p, 'r:gz')", "moment.replace(tzinfo=None)", "page.screenshot()", "names.remove(p)", "Table.open('some folder')",
])  # fmt: skip
def test_a_call_that_reads_or_works_on_texts_is_none(source: str) -> None:
    assert calls_in(source) == []
