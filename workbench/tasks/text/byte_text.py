"""Next-byte prediction on the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.tasks.base import BOS
from workbench.tasks.text.corpus import Corpus, corpus
from workbench.tasks.text.next_symbol import NextInText

__all__ = ["Text"]


class Text(NextInText):
    """Which byte comes next?

    Windows of bytes from the files of a folder, which are put one after another in a circle. A file is
    either for training or held out, by a fixed hash of its name: ``share`` of the files train. The folder
    is read once per process, at most 8 MiB of training files and 2 MiB of held-out ones. The default is
    the top level of the Python standard library that runs this; so its bytes depend on that version.
    ``folder=generated`` is text that the project writes itself, the same bytes on every machine.

    Laws: *training* and *matched* are windows at uniform places, of the training and of the held-out
    files. *challenge* asks at the end only, at held-out places where a copy from far back gives the byte
    and nothing nearer does: the eight bytes before it occurred earlier in the window, followed by that same
    byte, and the latest time they did lies outside the first and the last eighth of the window; and the
    likeliest byte after the last two, by the training files, is another one. Where fewer than 256 held-out
    places are like that, as in short windows, every place counts. Then nothing near betrays the byte, but
    the text as a whole may still do.

    The loss is in nats per byte. Shortcut oracles beside the usual ones: ``bigram``, that likeliest byte.
    Given strings (``label``) are not asked at the end, since the byte after it is not known; neither does
    the reference know it.

    The output summary is the byte itself: no smaller one is known. Accuracy never comes near 1.

    Example: after ``i``, ``f`` and a space come ``f``, a space, and what is not shown.

        >>> Text().reference([1 + byte for byte in b"if "])
        [102, 32, None]
    """

    name: ClassVar[str] = "text"
    question: ClassVar[str] = "Which byte comes next?"
    summary: ClassVar[str] = "the next byte"
    following: ClassVar[str] = "next_byte"
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "64", "positions": "rotary", "steps": 10_000, "d_model": 128}

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *BYTE_NAMES)

    @property
    def output_names(self) -> tuple[str, ...]:
        return BYTE_NAMES

    @property
    def corpus(self) -> Corpus:
        """The bytes, read on first use."""
        return corpus(self.folder, self.share)


def _byte_name(byte: int) -> str:
    spaces = {ord(" "): "␣", ord("\n"): "⏎", ord("\t"): "⇥"}
    return spaces.get(byte) or (chr(byte) if 33 <= byte <= 126 else f"x{byte:02x}")


BYTE_NAMES = tuple(_byte_name(byte) for byte in range(256))
