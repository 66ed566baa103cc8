"""Tasks whose code is a file: what a run holds of it, and which files' code may be run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.tasks import TaskError
from workbench.tasks.source_code import LONGEST, LONGEST_PATH, code_of, read_code


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except TaskError:
        return True
    return False


def test_a_file_of_a_task_has_a_longest_size(tmp_path: Path) -> None:
    file = tmp_path / "task.py"
    file.write_bytes(b"#" * LONGEST)
    assert len(read_code(file)) == LONGEST
    file.write_bytes(b"#" * (LONGEST + 1))
    with pytest.raises(TaskError, match="1,048,576 bytes"):
        read_code(file)


@pytest.mark.parametrize(
    ("file", "taken"), [("", False), ("f", True), ("f" * LONGEST_PATH, True), ("f" * (LONGEST_PATH + 1), False)]
)
def test_a_path_of_a_task_has_a_longest_one(file: str, taken: bool) -> None:
    spec = {"name": "x", "source": {"file": file, "class": "X", "sha256": "0" * 64}}
    assert refused(lambda: code_of(spec)) != taken
