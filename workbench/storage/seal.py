"""The seal of a file: the hash of its other bytes, stored in the file itself, so that any damage is detected.

A checksum of only the content would miss damage to names, shapes, metadata and padding. A seal covers every byte. It
works for every format that can store a text of 71 characters: JSON, and the metadata of Parquet and safetensors files.
Any other program can still read these files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from workbench.core.errors import LensError
from workbench.storage.bounded import pieces

MARK = "sealed:"
BLANK = MARK + 64 * "0"
"""Stands in a file in place of its seal while the hash is computed."""

KEY = "seal"
"""The name under which JSON and metadata store the seal."""

_SEAL = re.compile(rb"sealed:[0-9a-f]{64}")


class SealError(LensError, ValueError):
    """Raised for bytes that differ from those that were written. The message is a clause with the evidence."""


def seal(data: bytes) -> bytes:
    """Return the bytes with :data:`BLANK`, which they contain once, replaced by their own hash.

    Raises:
        ValueError: if they contain no blank, or anything else that looks like a seal.
    """
    if _SEAL.findall(data) != [BLANK.encode()]:
        raise ValueError(
            f"the data must contain the placeholder {BLANK[:12]}... of a checksum once, and no other checksum"
        )
    return data.replace(BLANK.encode(), MARK.encode() + hashlib.sha256(data).hexdigest().encode())


def check_seal(data: bytes) -> None:
    """Compare sealed bytes with their seal.

    Raises:
        SealError: if a byte was changed, added or lost, or if the bytes were never sealed.
    """
    seals = list(_SEAL.finditer(data))
    if len(seals) != 1:
        raise SealError("it contains no checksum")
    start, end = seals[0].span()
    view = memoryview(data)
    actual = hashlib.sha256(view[:start])
    actual.update(BLANK.encode())
    actual.update(view[end:])
    if seals[0][0] != (MARK + actual.hexdigest()).encode():
        raise SealError("its bytes differ from its checksum")


def check_file_seal(file: BinaryIO, limit: int) -> None:
    """Check the seal of a file that is too large for memory, as :func:`check_seal` does. The file is read twice, from
    its beginning.

    Raises:
        SealError: as :func:`check_seal`.
        UnreadableError: if the file has more than ``limit`` bytes.
    """
    offsets: list[int] = []
    stored_seal, tail, at = b"", b"", 0
    for piece in pieces(file, limit):
        data = tail + piece  # a seal may lie across two pieces
        for match in _SEAL.finditer(data):
            offsets.append(at - len(tail) + match.start())
            stored_seal = match[0]
        tail, at = data[-(len(BLANK) - 1) :], at + len(piece)
    if len(offsets) != 1:
        raise SealError("it contains no checksum")
    start, end = offsets[0], offsets[0] + len(BLANK)
    file.seek(0)
    actual, at = hashlib.sha256(), 0
    for piece in pieces(file, limit):
        # What of this piece lies before the seal, in it and behind it.
        before, behind = max(0, min(len(piece), start - at)), max(0, min(len(piece), end - at))
        actual.update(piece[:before])
        actual.update(BLANK.encode()[max(0, at - start) : max(0, at - start) + behind - before])
        actual.update(piece[behind:])
        at += len(piece)
    if stored_seal != (MARK + actual.hexdigest()).encode():
        raise SealError("its bytes differ from its checksum")


def sealed_json(content: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return a JSON object with its own hash under the key ``seal``, as UTF-8 with a line end."""
    return seal((json.dumps({**content, KEY: BLANK}, indent=indent) + "\n").encode())


def open_json(data: bytes) -> dict[str, Any]:
    """Return the object that :func:`sealed_json` wrote, without its hash.

    Raises:
        SealError: if the bytes are not a JSON object, or differ from what was written.
    """
    content = json_object(data)
    check_seal(data)
    return {key: value for key, value in content.items() if key != KEY}


def json_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in some bytes, sealed or not. Raises SealError if the bytes are not a JSON object."""
    try:
        content = json.loads(data)
    except RecursionError:
        raise SealError("it is not valid JSON: it is nested too deep") from None
    except ValueError as error:
        raise SealError(f"it is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise SealError("it is not a JSON object")
    return content
