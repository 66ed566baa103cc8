"""The seal finds whatever happens to a file's bytes, wherever it happens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.storage.seal import BLANK, SealError, check_seal, open_json, seal, sealed_json
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
    (b'{"step": 100}', "no seal"),
    (b'{"step": 100, "seal": "sealed:0000"}', "no seal"),
    (b'{"step": 100, "seal": "' + BLANK.encode() + b'"}', "differ from its seal"),
    (b"[1]", "no JSON object"),
    (b"{", "no JSON"),
    (b"\xff\xfe", "no JSON"),
])  # fmt: skip
def test_what_was_never_sealed_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(SealError, match=sentence):
        open_json(data)


def test_content_that_looks_like_a_seal_cannot_be_sealed() -> None:
    with pytest.raises(ValueError, match="hold the blank seal once"):
        seal(b"nothing")
    with pytest.raises(ValueError, match="hold the blank seal once"):
        sealed_json({"note": BLANK})
