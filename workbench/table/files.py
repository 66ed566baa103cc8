"""One Parquet file of rows: written whole or not at all, and read back only if it is sound."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.table.errors import TableError
from workbench.table.schema import SCHEMA, SCHEMA_VERSION

_TEXTS = [field.name for field in SCHEMA if field.type == pa.string()]

#: SCHEMA as it is held in memory: the text columns repeat few values, and are kept as dictionaries
ENCODED = pa.schema([(f.name, pa.dictionary(pa.int32(), f.type) if f.name in _TEXTS else f.type) for f in SCHEMA])


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends well.

    The bytes go to a hidden temporary file in the same folder, are synced, and are renamed over
    ``path``; a reader sees the old file or the new one, never a part. If the block raises, the old
    file stays and the temporary one is removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        # Not tempfile: its files are private to the user, and a run folder is often shared.
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut; only POSIX lets a folder be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_file(path: Path, rows: pa.Table, metadata: Mapping[str, str]) -> None:
    """Write rows of :data:`~workbench.table.schema.SCHEMA` with string metadata, atomically.

    The rows may be of :data:`ENCODED` too. Adds ``schema_version`` and ``rows`` to the metadata.
    Pages carry checksums, so that a flipped bit is found when the file is read.
    """
    whole = {**metadata, "schema_version": str(SCHEMA_VERSION), "rows": str(rows.num_rows)}
    table = rows.cast(SCHEMA).replace_schema_metadata(whole)
    with replacing(path) as stream:
        pq.write_table(table, stream, compression="zstd", write_page_checksum=True)


def read_file(path: Path) -> tuple[pa.Table, dict[str, str]]:
    """The rows, as :data:`ENCODED`, and the metadata of one file.

    Both come through one handle, so that they belong together even while the file is being replaced.

    Raises:
        TableError: if the file is missing, damaged, or of another row format.
    """
    with _opened(path) as file:
        metadata = _checked(path, file)
        table: pa.Table = file.read()
    return table.replace_schema_metadata(None), metadata


def read_header(path: Path) -> dict[str, str]:
    """The metadata of one file, without reading its rows. Raises as :func:`read_file`."""
    with _opened(path) as file:
        return _checked(path, file)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path, read_dictionary=_TEXTS, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise TableError(f"there is no file {path}") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{path} is damaged ({reason}): delete it and measure again") from error
    except KeyError as error:  # a text column that is not there
        raise _foreign(path) from error


def _foreign(path: Path) -> TableError:
    return TableError(f"{path} does not have the columns of row format {SCHEMA_VERSION}: measure again")


def _checked(path: Path, file: pq.ParquetFile) -> dict[str, str]:
    schema = file.schema_arrow
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    version = metadata.get("schema_version")
    if version != str(SCHEMA_VERSION):
        held = f"row format {version}" if version else "no row format"
        raise TableError(f"{path} has {held}, this version reads {SCHEMA_VERSION}: measure again")
    if not schema.remove_metadata().equals(ENCODED):
        raise _foreign(path)
    if metadata.get("rows") != str(file.metadata.num_rows):
        raise TableError(f"{path} is damaged (its row count is wrong): delete it and measure again")
    return metadata
