"""Parquet files of rows: sealed, written atomically, and read only if intact."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.storage import bounded
from workbench.storage.atomic import write_atomic
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import BLANK, KEY, check_seal, seal
from workbench.table.errors import TableError
from workbench.table.layout import TABLE_NAME, run_of
from workbench.table.schema import COLUMNS, FIELDS, SCHEMA, SCHEMA_VERSION, TEXTS

#: SCHEMA as it is held in memory: the text columns repeat few values, and are kept as dictionaries
ENCODED = pa.schema([(f.name, pa.dictionary(pa.int32(), f.type) if f.name in TEXTS else f.type) for f in SCHEMA])

#: row format -> the columns of its files
_FORMATS = {
    str(version): pa.schema([ENCODED.field(column.name) for column in COLUMNS if column.since <= version])
    for version in range(1, SCHEMA_VERSION + 1)
}


MOST_ROWS = 5_000_000
"""The most rows of one file: some hundred times as many as the largest run has."""
MOST_GROUPS = 10_000
MOST_UNPACKED = 1 << 29
"""The most bytes of one file, after unpacking."""
NUMBERS = [field.name for field in SCHEMA if pa.types.is_floating(field.type)]
PACKED: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 9,
    # The bytes of doubles apart by their place: signs and exponents shrink, and reading costs the same.
    "column_encoding": dict.fromkeys(NUMBERS, "BYTE_STREAM_SPLIT"),
    "use_dictionary": [name for name in SCHEMA.names if name not in NUMBERS],
}
"""Compression of tables: an eighth smaller than LZ4 with dictionaries, and equally fast to open."""


def write_file(path: Path, rows: pa.Table, metadata: Mapping[str, str]) -> None:
    """Write rows of :data:`~workbench.table.schema.SCHEMA` with text metadata, sealed and atomically.

    The rows may be of :data:`ENCODED` too. Adds ``schema_version`` and ``rows`` to the metadata.

    Raises:
        StorageError: if a part of the path below the run folder is a link, or the file cannot be written.
    """
    whole = {**metadata, "schema_version": str(SCHEMA_VERSION), "rows": str(rows.num_rows), KEY: BLANK}
    data = io.BytesIO()
    # Arrow would keep all metadata a second time, in base64: Parquet's own types say all that SCHEMA does.
    with pq.ParquetWriter(data, SCHEMA, store_schema=False, **PACKED) as file:
        file.write_table(rows.cast(SCHEMA).replace_schema_metadata(None))
        file.add_key_value_metadata(whole)
    sealed = seal(data.getvalue())
    write_atomic(*run_of(Path(path)), sealed)


def read_file(path: Path, columns: Sequence[str] | None = None) -> tuple[pa.Table, dict[str, str]]:
    """Return the rows of one file as :data:`ENCODED`, and the file's metadata. Columns that are newer than the file get
    their defaults.

    Args:
        path: the file.
        columns: the required columns; None = all.

    Raises:
        TableError: if the file is missing, damaged in any byte, or of another row format.
    """
    file = StoredRows(path)
    return file.rows(columns), file.metadata


class StoredRows:
    """A file of rows in memory, whose rows are decoded when :meth:`rows` is called.

    Attributes:
        metadata: the metadata of the file.

    Raises:
        TableError: as :func:`read_file`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _blamed(path):
            data = read_bytes(path, bounded.TABLE if Path(path).name == TABLE_NAME else bounded.SHARD)
            check_seal(data)
            self._file = _parquet(data)
            self.metadata = _checked(path, self._file)

    def rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Decode the rows, as :data:`ENCODED`; None = all columns. Raises the errors of :func:`read_file`."""
        wanted = [name for name in ENCODED.names if columns is None or name in columns]
        there = set(self._file.schema_arrow.names)
        held = [name for name in wanted if name in there]
        with _blamed(self._path):
            table = _read(self._file, held)
        table = table if held == wanted else _completed(table, self._file.metadata.num_rows, wanted)
        return table.replace_schema_metadata(None)


def _completed(table: pa.Table, rows: int, wanted: Sequence[str]) -> pa.Table:
    """A table of an older format, with its missing columns added."""
    lacking = {name: _defaults(name, rows) for name in wanted if name not in table.column_names}
    columns = [lacking[name] if name in lacking else table[name] for name in wanted]
    return pa.table(columns, schema=pa.schema([ENCODED.field(name) for name in wanted]))


def _defaults(name: str, rows: int) -> pa.Array:
    """The default of a column, repeated for each row."""
    kind, default = FIELDS[name].type, FIELDS[name].default
    if name in TEXTS:
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([default], kind))
    return pa.repeat(pa.scalar(default, kind), rows)


def read_file_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of one file, without decoding its rows. Raises the errors of :func:`read_file`."""
    return StoredRows(path).metadata


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Raise a TableError that names the file for every way in which it can be damaged."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"there is no file {path}") from None
    except TableError:
        raise
    except (ValueError, pa.ArrowException, OSError) as error:  # a broken seal among them, and text that is no UTF-8
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{path} is damaged ({reason}): measure again") from error
    except KeyError as error:  # a text column that is not there
        raise _foreign(path) from error


def _parquet(data: bytes) -> pq.ParquetFile:
    """The file, with text columns as dictionaries. Raises KeyError if it lacks columns of every row format."""
    for schema in reversed(_FORMATS.values()):
        texts = [name for name in schema.names if name in TEXTS]
        with suppress(KeyError):
            return _open(data, read_dictionary=texts)
    raise KeyError(texts[0])


def read_columns(data: bytes, columns: Sequence[str], most_rows: int = MOST_ROWS) -> pa.Table:
    """Columns of a Parquet file in memory.

    Raises:
        ValueError: if it declares more rows, or more bytes after unpacking, than the limits allow. pa.ArrowException:
            if it is not a Parquet file.
    """
    with _open(data, most_rows) as file:
        return _read(file, columns)


def _read(file: pq.ParquetFile, columns: Sequence[str]) -> pa.Table:
    """Columns of a file, read only in this thread.

    Arrow's own threads release Python's bytes some time after the call. If a thread releases them while the interpreter
    ends, the process ends with SIGABRT. Besides, many files are read at once, with one thread for each.
    """
    return file.read(list(columns), use_threads=False)


def _open(data: bytes, most_rows: int = MOST_ROWS, **options: Any) -> pq.ParquetFile:
    """A file that declares that it can be decoded: its number of rows and its unpacked bytes are within the limits."""
    file = pq.ParquetFile(pa.BufferReader(data), **options)
    metadata = file.metadata
    if metadata.num_row_groups > MOST_GROUPS:
        raise ValueError(f"it has {metadata.num_row_groups:,} row groups, at most {MOST_GROUPS:,} are read")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if rows > most_rows or any(group.num_rows < 0 for group in groups):
        raise ValueError(f"it declares {rows:,} rows, at most {most_rows:,} are read from such a file")
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    size = sum(max(0, column.total_uncompressed_size) for column in columns)
    if size > MOST_UNPACKED:
        raise ValueError(f"it unpacks to {size:,} bytes, at most {MOST_UNPACKED:,} are read from such a file")
    return file


def _foreign(path: Path) -> TableError:
    return TableError(f"{path} does not have the columns of its row format: measure again")


def _checked(path: Path, file: pq.ParquetFile) -> dict[str, str]:
    schema = file.schema_arrow
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    version = metadata.get("schema_version")
    if version not in _FORMATS:
        held = f"row format {version}" if version else "no row format"
        raise TableError(f"{path} has {held}, but this version reads {', '.join(_FORMATS)}: measure again")
    if not schema.remove_metadata().equals(_FORMATS[version]):
        raise _foreign(path)
    return {name: text for name, text in metadata.items() if name != KEY}
