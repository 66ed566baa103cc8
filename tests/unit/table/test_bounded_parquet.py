"""One reader: regular files only, never more than a limit; what is packed is unpacked no further."""

from __future__ import annotations

import io
import os
import random
import socket
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workbench.storage import bounded
from workbench.storage.bounded import UnreadableError, open_regular, read_bytes, sha256_of_file, unzip
from workbench.storage.seal import BLANK, SealError, check_file_seal, check_seal, json_object, seal
from workbench.table.assembly import pack, unpack
from workbench.table.errors import TableError
from workbench.table.parquet import ENCODED, MOST_ROWS, read_columns, read_file
from workbench.table.schema import SCHEMA, SCHEMA_VERSION


def test_a_regular_file_is_read_whole_and_through_a_link(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", 5) == b"12345"
    with pytest.raises(UnreadableError, match="5 bytes"):
        read_bytes(tmp_path / "file", 4)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path) -> None:
    """Opening the pipe would wait for a writer, reading the device would not end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    for name, kind in (("pipe", "a named pipe"), ("zero", "a device"), ("folder", "a folder"), ("socket", "a socket")):
        with pytest.raises(UnreadableError, match=f"{kind}"):
            read_bytes(tmp_path / name, 100)
        with pytest.raises(UnreadableError), open_regular(tmp_path / name, 100):
            pass
    listening.close()


def test_links_into_nothing_and_in_circles_are_errors_of_the_system(tmp_path) -> None:
    (tmp_path / "nothing").symlink_to("none")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "nothing", 1)
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(tmp_path / "circle", 1)


def test_a_file_of_the_system_that_says_it_is_empty_is_bounded_too() -> None:
    assert os.stat("/proc/self/maps").st_size == 0
    with pytest.raises(UnreadableError, match=r"\b64\b"):
        read_bytes("/proc/self/maps", 64)


def test_a_sparse_file_is_refused_by_its_size(tmp_path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    for read in (lambda: read_bytes(tmp_path / "sparse", bounded.TABLE), lambda: sha256_of_file(tmp_path / "sparse")):
        with pytest.raises(UnreadableError, match="1,099,511,627,776 bytes"):
            read()


def test_packed_text_is_unpacked_up_to_the_limit_and_no_further() -> None:
    assert unpack(pack("žluť" * 1000)) == "žluť" * 1000
    packed = zlib.compress(b"0" * 1000)
    assert unzip(packed, 1000) == b"0" * 1000
    with pytest.raises(ValueError, match="999 bytes"):
        unzip(packed, 999)
    with pytest.raises(ValueError, match="cut off"):
        unzip(packed[:-1], 1000)
    with pytest.raises(ValueError, match="incorrect header"):
        unzip(b"not packed", 1000)


def parquet(rows: int, groups: int = 1) -> bytes:
    data = io.BytesIO()
    table = pa.table({"step": pa.array([7] * rows, pa.int64())})
    pq.write_table(table, data, row_group_size=max(1, rows // groups), compression="zstd")
    return data.getvalue()


def test_a_parquet_bomb_is_refused_before_a_row_is_decoded() -> None:
    """A column of one value packs to nearly nothing, whatever its length."""
    bomb = parquet(MOST_ROWS + 1)
    assert len(bomb) < 200_000
    with pytest.raises(ValueError, match="5,000,001 rows"):
        read_columns(bomb, ["step"])
    assert read_columns(parquet(1000), ["step"], most_rows=1000).num_rows == 1000
    with pytest.raises(ValueError, match="1,000 rows"):
        read_columns(parquet(1000), ["step"], most_rows=999)


def test_once_a_file_is_read_nobody_holds_its_bytes() -> None:
    """Arrow's threads would for a while, and one that lets go while the interpreter ends takes the process with it."""
    data = io.BytesIO()
    pq.write_table(pa.table({f"column {k}": range(5000) for k in range(20)}), data)
    held = data.getvalue()
    before = sys.getrefcount(held)
    for _ in range(50):
        read_columns(held, [f"column {k}" for k in range(20)])
        assert sys.getrefcount(held) == before


def test_bytes_and_row_groups_are_bounded_too(monkeypatch) -> None:
    data = io.BytesIO()
    pq.write_table(pa.table({"text": ["x" * 100_000]}), data, compression="zstd", use_dictionary=False)
    assert len(data.getvalue()) < 10_000
    monkeypatch.setattr("workbench.table.parquet.MOST_UNPACKED", 50_000)
    with pytest.raises(ValueError, match="unpacks"):
        read_columns(data.getvalue(), ["text"])
    monkeypatch.setattr("workbench.table.parquet.MOST_GROUPS", 9)
    with pytest.raises(ValueError, match="10 row"):
        read_columns(parquet(10, groups=10), ["step"])


def test_a_sealed_bomb_of_the_right_columns_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("workbench.table.parquet.MOST_ROWS", 99)
    monkeypatch.setattr("workbench.table.parquet._open.__defaults__", (99,))
    metadata = {"schema_version": str(SCHEMA_VERSION), "rows": "100", "seal": BLANK}
    rows = pa.Table.from_pylist([{"step": 1}] * 100, SCHEMA).replace_schema_metadata(metadata)
    data = io.BytesIO()
    pq.write_table(rows, data)
    (tmp_path / "bomb.parquet").write_bytes(seal(data.getvalue()))
    with pytest.raises(TableError, match=r"bomb\.parquet"):
        read_file(tmp_path / "bomb.parquet")
    assert ENCODED.names == SCHEMA.names


def test_nested_json_is_refused_and_not_an_error_of_ours() -> None:
    with pytest.raises(SealError, match="nested"):
        json_object(b'{"a":' + b"[" * 1_000_000)


def test_a_seal_is_checked_in_pieces_as_it_is_at_once(tmp_path, monkeypatch) -> None:
    """Wherever the seal lies, across pieces too, and whatever byte is changed."""
    monkeypatch.setattr(bounded, "PIECE", 64)
    dice = random.Random(0)
    for front in (0, 1, 50, 63, 64, 65, 127, 128, 300):
        whole = seal(bytes(dice.randrange(97, 123) for _ in range(front)) + BLANK.encode() + b"the end" * 9)
        for place in (None, 0, front, front + 20, len(whole) - 1):
            data = bytearray(whole)
            if place is not None:
                data[place] ^= 1
            check_seal(whole)
            with open(tmp_path / "file", "wb") as file:
                file.write(data)
            with open(tmp_path / "file", "rb") as file:
                if place is None:
                    check_file_seal(file, 10_000)
                else:
                    with pytest.raises(SealError):
                        check_file_seal(file, 10_000)
