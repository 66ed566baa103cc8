"""Next-byte prediction on the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.tasks.base import BOS
from workbench.tasks.text.corpus import Corpus, corpus
from workbench.tasks.text.next_symbol import NextInText

__all__ = ["Text"]


class Text(NextInText):
    """Predict the next byte of text.

    Sequences are windows of bytes from the files of a folder, which are concatenated in a circle. A file is either for
    training or held out, by a fixed hash of its name: ``share`` of the files train. The folder is read once per
    process, at most 8 MiB of training files and 2 MiB of held-out ones. The default is the top level of the Python
    standard library that runs this, so that its bytes depend on that version. ``folder=generated`` is text that the
    project writes itself, with the same bytes on every machine.

    Distributions: *training* and *matched* are windows at uniform positions, of the training and of the held-out files.
    *challenge* supervises only the end, at held-out positions where only a copy from far back determines the byte:

    - the eight bytes before it occurred earlier in the window, followed by that same byte;
    - their latest occurrence is outside the first and the last eighth of the window;
    - by the training files, the likeliest byte after the last two is another one.

    If fewer than 256 held-out positions satisfy this, as in short windows, every position counts. The nearby bytes do
    not determine the byte then, but the text as a whole still may.

    The loss is in nats per byte. Further shortcut oracle: ``bigram``, that likeliest byte. For sequences from elsewhere
    (``label``) the end is not supervised, because the next byte is unknown; the reference does not know it either.

    Task states: ``output_summary`` is the byte itself, because no smaller state is known. Accuracy never comes near 1.

    Example: after ``i``, ``f`` and a space come ``f``, a space, and an unknown byte.

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
