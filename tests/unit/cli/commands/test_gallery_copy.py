"""``lengthlens gallery --to``: a copy that is whole or not there, also of files that an installer has linked."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.cli.commands.gallery import copy_gallery
from workbench.cli.errors import UsageError
from workbench.storage.atomic import temporary_name


def test_the_copy_is_whole_and_what_a_killed_one_left_is_removed(tmp_path: Path) -> None:
    source, store = tmp_path / "gallery", tmp_path / "store"
    (source / "run" / "steps").mkdir(parents=True)
    store.write_bytes(b"weights")
    (source / "run" / "steps" / "model.safetensors").symlink_to(store)
    (source / "run" / "run.json").write_bytes(b"{}")
    left = temporary_name(tmp_path / "to" / "copy")
    (left / "run").mkdir(parents=True)
    copy_gallery(source, tmp_path / "to" / "copy")
    files = {path: path.read_bytes() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    copy = tmp_path / "to" / "copy" / "run"
    assert files == {copy / "run.json": b"{}", copy / "steps" / "model.safetensors": b"weights"}
    assert not (copy / "steps" / "model.safetensors").is_symlink()
    assert not left.exists()
    for place in ("copy", "link"):
        (tmp_path / "to" / "link").unlink(missing_ok=True)
        (tmp_path / "to" / "link").symlink_to("nowhere")
        with pytest.raises(UsageError, match="--to"):
            copy_gallery(source, tmp_path / "to" / place)
