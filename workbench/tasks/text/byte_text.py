"""Next-byte prediction on the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, Task
from workbench.tasks.sampling import integers, positions
from workbench.tasks.text.corpus import STANDARD_LIBRARY, Corpus, corpus, split_files

__all__ = ["Text"]

CONTEXTS = (3, 2, 1)
"""Lengths of context by which a window oracle looks for what followed before, in the order it tries them."""


class Text(Task):
    """Which byte comes next?

    Windows of bytes from the files of a folder, which are put one after another in a circle. A file is
    either for training or held out, by a fixed hash of its name: ``share`` of the files train. The folder
    is read once per process, at most 8 MiB of training files and 2 MiB of held-out ones. The default is
    the top level of the Python standard library that runs this; so its bytes depend on that version.

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
    family: ClassVar[str] = "text"
    question: ClassVar[str] = "Which byte comes next?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the next byte"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "64", "positions": "rotary", "steps": 10_000, "d_model": 128}

    folder: str = STANDARD_LIBRARY
    """A folder of text files, read with its subfolders; ``stdlib`` is the top level of Python's own library."""
    share: float = Field(0.9, gt=0, lt=1)
    """Share of the files that train."""

    @model_validator(mode="after")
    def _has_text(self) -> Text:
        split_files(self.folder, self.share)
        return self

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

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        data = self.corpus.training if law == "training" else self.corpus.held_out
        meta: dict[str, Tensor] = {}
        if law == "challenge":
            ends = self.corpus.far_repeats(length)
            chosen = ends[integers(len(ends), (batch,), generator).cpu()]
            meta["first_query"] = torch.full_like(chosen, length).to(generator.device)
        else:
            chosen = integers(len(data), (batch,), generator).cpu() + length
        position = chosen[:, None] + torch.arange(-length, 1)
        window_and_next = data[position % len(data)].long().to(generator.device)
        return 1 + window_and_next[:, :-1], {**meta, "next_byte": window_and_next[:, -1]}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        known = "next_byte" in meta
        last = meta["next_byte"] if known else torch.zeros_like(strings[:, 0])
        following = torch.cat([strings[:, 1:] - 1, last[:, None]], 1)
        mask = torch.ones_like(strings, dtype=torch.bool)
        mask[:, -1] = known
        if "first_query" in meta:
            mask &= positions(strings) >= meta["first_query"][:, None]
        return following, mask, following, None

    def chance(self, law: Law, length: int) -> float:
        """Share of the most frequent byte among those that the law asks for."""
        data = self.corpus.training if law == "training" else self.corpus.held_out
        asked = data[self.corpus.far_repeats(length)] if law == "challenge" else data
        return int(asked.long().bincount().max()) / len(asked)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """How often each byte followed the last three visible ones before; else the last two, the last one.

        Where even the last byte is new, how often each byte is visible.
        """
        weights = torch.zeros(len(tokens), len(BYTE_NAMES), dtype=torch.float64, device=tokens.device)
        for context in (*CONTEXTS, 0):
            places = tokens.shape[1] - context
            if places < 1:
                continue
            same = torch.ones_like(tokens[:, context:], dtype=torch.bool)
            for back in range(1, context + 1):
                same &= tokens[:, context - back : tokens.shape[1] - back] == tokens[:, -back, None]
            votes = torch.zeros_like(weights).scatter_add_(1, tokens[:, context:] - 1, same.double())
            weights = torch.where(weights.sum(1, keepdim=True) > 0, weights, votes)
        return weights

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        found = super().shortcuts(batch, window)
        if batch.length >= 2:
            last = batch.tokens[:, -2:].cpu() - 1
            guess = self.corpus.likeliest_after[last[:, 0], last[:, 1]].long().to(batch.tokens.device)
            found["bigram"] = (guess == batch.targets[:, -1]).double()
        return found

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        return [token - 1 for token in tokens[1:]] + [None]


def _byte_name(byte: int) -> str:
    spaces = {ord(" "): "␣", ord("\n"): "⏎", ord("\t"): "⇥"}
    return spaces.get(byte) or (chr(byte) if 33 <= byte <= 126 else f"x{byte:02x}")


BYTE_NAMES = tuple(_byte_name(byte) for byte in range(256))
