"""Characters that turn the direction of text are taken out, and nothing else is."""

from __future__ import annotations

import unicodedata
from functools import cache

from workbench.core.direction_marks import without_direction_marks, without_direction_marks_utf8
from workbench.core.html_card import card

TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = ["\u061c", "\u200e", "\u200f"]


@cache
def turning() -> list[str]:
    """All characters that turn the direction of text, found when a test first needs them: the search takes a second."""
    return [character for character in map(chr, range(0x110000)) if unicodedata.bidirectional(character) in TURNS]


def test_every_character_that_turns_text_is_taken_out() -> None:
    assert len(turning()) == 9
    text = "abc" + "".join(turning() + MARKS) + "def"
    assert without_direction_marks(text) == "abcdef"
    assert without_direction_marks_utf8(text.encode()) == b"abcdef"


def test_all_other_characters_stay() -> None:
    others = "".join(chr(code) for code in range(0x3000) if chr(code) not in turning() + MARKS)
    assert without_direction_marks(others) == others
    assert without_direction_marks_utf8(others.encode()) == others.encode()


def test_a_card_reads_as_it_is_written() -> None:
    assert "\u202e" not in card("run\u202e", [("name\u2066", "value\u200f")], "text\u202a")
