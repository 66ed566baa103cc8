"""Files that cannot be read to their end, told in a clause and not waited for."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest

from workbench.storage import bounded
from workbench.storage.bounded import UnreadableError, pieces, read_bytes, sha256_of_file


class Waiting(io.RawIOBase):
    """A file that is open without waiting, and has nothing to be read yet; as some of the system's logs are."""

    name = 7

    def readable(self) -> bool:
        return True

    def readinto(self, _: Any) -> None:
        return None


def test_what_would_be_waited_for_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_text("{}")
    monkeypatch.setattr(bounded, "open", lambda *_: Waiting(), raising=False)
    for read in (lambda: read_bytes(path, 100), lambda: sha256_of_file(path)):
        with pytest.raises(UnreadableError, match="no data to read"):
            read()


def test_a_file_that_grows_past_its_limit_is_refused_where_only_its_descriptor_is_known(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"x" * 100)
    with open(os.open(path, os.O_RDONLY), "rb") as file, pytest.raises(UnreadableError, match="100 bytes"):
        list(pieces(file, 99))
