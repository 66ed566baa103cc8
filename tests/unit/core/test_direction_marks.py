"""Characters that turn the direction of text are taken out, and nothing else is."""

from __future__ import annotations

import unicodedata

from workbench.core.direction_marks import without_direction_marks, without_direction_marks_utf8
from workbench.core.html_card import card

TURNING = [chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in
           ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")]  # fmt: skip
MARKS = ["\u061c", "\u200e", "\u200f"]


def test_every_character_that_turns_text_is_taken_out() -> None:
    assert len(TURNING) == 9
    text = "abc" + "".join(TURNING + MARKS) + "def"
    assert without_direction_marks(text) == "abcdef"
    assert without_direction_marks_utf8(text.encode()) == b"abcdef"


def test_all_other_characters_stay() -> None:
    others = "".join(chr(code) for code in range(0x3000) if chr(code) not in TURNING + MARKS)
    assert without_direction_marks(others) == others
    assert without_direction_marks_utf8(others.encode()) == others.encode()


def test_a_card_reads_as_it_is_written() -> None:
    assert "\u202e" not in card("run\u202e", [("name\u2066", "value\u200f")], "text\u202a")
