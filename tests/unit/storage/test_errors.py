"""What the system says when a file cannot be written, and the way out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from workbench.storage.errors import StorageError, storing


@pytest.mark.parametrize(("number", "way"), [
    (errno.ENOSPC, "make room there"), (errno.EDQUOT, "make room there"), (errno.EFBIG, "make room there"), (errno.EROFS, "ask for the right"), (errno.EACCES, "ask for the right"), (errno.EPERM, "ask for the right"), (errno.EIO, ""),
])  # fmt: skip
def test_what_the_system_says_and_the_way_out(number: int, way: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError) as said, storing(tmp_path):
        raise OSError(number, os.strerror(number))
    start = f"{tmp_path} cannot be written ({os.strerror(number)})"
    assert str(said.value).startswith(start)
    assert (way in str(said.value)) if way else str(said.value) == start
