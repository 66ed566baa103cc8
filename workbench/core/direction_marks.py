"""Removes the characters that change the direction of text, before a page or card shows it.

With these characters the name of a run or a note can look different from its content ("Trojan Source", Boucher and
Anderson, arXiv 2111.00169).
"""

from __future__ import annotations

import re

_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TEXT = re.compile(f"[{_MARKS}]")
_UTF8 = re.compile(rb"\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]")


def without_direction_marks(text: str) -> str:
    """The text without direction marks."""
    return _TEXT.sub("", text)


def without_direction_marks_utf8(data: bytes) -> bytes:
    """UTF-8 bytes without direction marks. No other character contains their bytes, so all other characters stay as
    they are.
    """
    return _UTF8.sub(b"", data)
