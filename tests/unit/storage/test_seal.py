"""The seal finds whatever happens to a file's bytes, wherever it happens."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.storage import bounded
from workbench.storage import seal as sealed
from workbench.storage.seal import (
    BLANK,
    SealError,
    check_file_seal,
    check_seal,
    json_object,
    open_json,
    seal,
    sealed_json,
)
from workbench.table.schema import row
from workbench.table.shards import shard_path, write_shard

CONTENT = {"step": 100, "trained_ids": [[0, 50]], "sha256": "ab" * 32, "note": "žluťoučký"}


def test_what_is_sealed_is_read_back_without_the_seal() -> None:
    assert open_json(sealed_json(CONTENT)) == CONTENT
    assert open_json(sealed_json(CONTENT, indent=1)) == CONTENT
    assert json.loads(sealed_json(CONTENT))["seal"].startswith("sealed:")


def test_what_was_read_can_be_sealed_again() -> None:
    assert sealed_json(json.loads(sealed_json(CONTENT))) == sealed_json(CONTENT)


def test_every_flipped_bit_is_found() -> None:
    whole = sealed_json(CONTENT)
    for place in range(len(whole)):
        for bit in range(8):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            with pytest.raises(SealError):
                check_seal(bytes(data))


def test_every_truncation_is_found() -> None:
    whole = sealed_json(CONTENT)
    for end in range(len(whole)):
        with pytest.raises(SealError):
            check_seal(whole[:end])


def test_every_flipped_byte_of_a_shard_is_found(tmp_path) -> None:
    """Also those of the footer and of padding, which no checksum of pages covers."""
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(
        path, [row(run="r", measurement="behaviour", step=7, value=0.5)], {"spec": "{}", "key": "k1", "sha256": ""}
    )
    whole = path.read_bytes()
    check_seal(whole)
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        with pytest.raises(SealError):
            check_seal(bytes(data))


@given(st.binary(min_size=1, max_size=80), st.booleans())
def test_added_bytes_are_found(more: bytes, front: bool) -> None:
    whole = sealed_json(CONTENT)
    with pytest.raises(SealError):
        check_seal(more + whole if front else whole + more)


@pytest.mark.parametrize(("data", "sentence"), [
    (b'{"step": 100}', "no checksum"),
    (b'{"step": 100, "seal": "sealed:0000"}', "no checksum"),
    (b'{"step": 100, "seal": "' + BLANK.encode() + b'"}', "checksum"),
    (b"[1]", "JSON"),
    (b"{", "not valid JSON"),
    (b"\xff\xfe", "not valid JSON"),
])  # fmt: skip
def test_what_was_never_sealed_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(SealError, match=sentence):
        open_json(data)


def test_content_that_looks_like_a_seal_cannot_be_sealed() -> None:
    with pytest.raises(ValueError, match="placeholder"):
        seal(b"nothing")
    with pytest.raises(ValueError, match="placeholder"):
        sealed_json({"note": BLANK})


@pytest.mark.parametrize("size", [1, 2, 70, 71, 72, 73, 90, 1000])
@pytest.mark.parametrize("before", [0, 1, 69, 70, 71, 140])
def test_seals_across_the_edges_of_pieces(size: int, before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "PIECE", size)
    data = sealed.seal(b"a" * before + BLANK.encode() + b"b" * 75)
    check_seal(data)

    def checked(content: bytes) -> None:
        file = io.BytesIO(content)
        file.name = "file"
        check_file_seal(file, len(content))

    checked(data)
    for place in {0, before, before + 8, before + 70, before + 71, len(data) - 1}:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(SealError):
            checked(changed)
    for content, says in (
        (data + data, "no checksum"),
        (b"x" * 200, "no checksum"),
        (b"", "no checksum"),
        (data + b"c", "differ"),
    ):
        with pytest.raises(SealError, match=says):
            checked(content)
        with pytest.raises(SealError, match=says):
            check_seal(content)


def test_json_is_an_object_and_keeps_all_but_its_seal() -> None:
    assert len(BLANK) == 71
    data = sealed_json({"a": 1, "b": [None, "ü"]})
    assert data.endswith(b"}\n")
    assert open_json(data) == {"a": 1, "b": [None, "ü"]}
    assert b'\n "a"' in sealed_json({"a": 1}, indent=1)
    for content, says in (
        (b"[1]", "not a JSON object"),
        (b"{", "it is not valid JSON: "),
        (b"", "it is not valid JSON: "),
        (b"[" * 100_000, "nested too deep"),
    ):
        with pytest.raises(SealError, match=says):
            json_object(content)
    with pytest.raises(SealError, match="no checksum"):
        open_json(b'{"a": 1}')
