"""Weights in folders of others, which a run names and never copies: which files count, and whether they changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from workbench.core.canonical import canonical
from workbench.runs import RunError
from workbench.runs.referenced import hashed_files, sha256_of_files, verify_folder, verify_names


def test_files_of_others_that_count(tmp_path: Path) -> None:
    for name in ("model.safetensors", "config.json", "c.model", "d.txt", "e.bin", "f.py"):
        (tmp_path / name).write_bytes(name.encode())
    files = hashed_files(tmp_path)
    assert files == {
        name: hashlib.sha256(name.encode()).hexdigest()
        for name in ("model.safetensors", "config.json", "c.model", "d.txt")
    }
    whole = hashlib.sha256(canonical(files).encode()).hexdigest()
    assert sha256_of_files(files) == whole
    meta = {"step": 1, "sha256": whole, "files": files}
    assert verify_names(meta, "r") == verify_folder(tmp_path, meta, "r") == whole
    for wrong in ({**meta, "sha256": "0"}, {**meta, "files": {}}, {**meta, "files": None}):
        with pytest.raises(RunError, match="files"):
            verify_names(wrong, "r")
    (tmp_path / "d.txt").write_bytes(b"new")
    with pytest.raises(RunError, match=r"d\.txt"):
        verify_folder(tmp_path, meta, "r")
    (tmp_path / "d.txt").unlink()
    for folder, says in (
        (tmp_path, "a file of run r, cannot be read"),
        (tmp_path / "none", "does not exist any more"),
    ):
        with pytest.raises(RunError, match=says):
            verify_folder(folder, meta, "r")
