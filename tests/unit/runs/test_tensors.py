"""What a safetensors file says about itself, read without torch and without its tensors."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest

from workbench.runs import tensors


def header(content: dict[str, Any], room: int, size: int | None = None) -> io.BytesIO:
    text = json.dumps(content).encode()
    return io.BytesIO((len(text) if size is None else size).to_bytes(8, "little") + text + bytes(room))


@pytest.mark.parametrize(("shape", "offsets", "room", "says"), [
    ([2, 3], [0, 24], 24, ""), ([], [0, 4], 4, ""), ([0], [4, 4], 4, ""), ([2], [0, 8], 7, "is outside"), ([2], [5, 4], 8, "is outside"), ([2], [-1, 4], 8, "is outside"), ([-1], [0, 4], 8, "is outside"), ([2], [0], 8, "data_offsets"), ([1] * 16, [0, 4], 4, ""),
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
    with pytest.raises(ValueError, match="safetensors"):
        tensors.read_header(header({}, 0))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="JSON"):
        tensors.read_header(header({"__metadata__": [1]}, 0))
