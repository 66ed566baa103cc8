"""The text of a folder, read once and within bounds, and the tables that text tasks compute from it."""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, Integer
from numpy.typing import NDArray
from torch import Tensor

from workbench.tasks.base import TaskError
from workbench.tasks.text.generated_passages import passages

__all__ = [
    "GENERATED",
    "HELD_OUT_CAP",
    "STANDARD_LIBRARY",
    "TRAINING_CAP",
    "Corpus",
    "check_texts",
    "corpus",
    "read_files",
    "split_files",
    "split_texts",
]

STANDARD_LIBRARY = "stdlib"
"""Stands for the folder of Python's own library; only the modules at its top level are read."""
GENERATED = "generated"
"""Stands for generated text, the same on every machine; a folder of that name is ``./generated``."""
TRAINING_CAP = 8 << 20
HELD_OUT_CAP = 2 << 20
"""Largest number of held-out bytes to read. They are sorted, which takes some forty times their size."""
ENTRIES = 1_000_000
"""Largest number of files and folders to look at, because a run may name any folder, even a whole disk."""
CONTEXT_BYTES = 8
"""Context that a far repeat shares with its copy: eight bytes or four tokens, which are one int64."""
ENOUGH = 256
"""Positions that a challenge distribution needs, so that a batch does not repeat the same few windows."""


class Corpus:
    """Training and held-out symbols, each a circle.

    Args:
        training, held_out: the symbols, as uint8 or int16.
        symbols: size of the alphabet.
        otherwise: the guess after two symbols that never occur.

    Attributes:
        training, held_out: the same as tensors.
    """

    def __init__(
        self,
        training: NDArray[np.uint8] | NDArray[np.int16],
        held_out: NDArray[np.uint8] | NDArray[np.int16],
        symbols: int = 256,
        otherwise: int = ord(" "),
    ) -> None:
        self.training, self.held_out = torch.from_numpy(training), torch.from_numpy(held_out)
        self.symbols, self._otherwise = symbols, otherwise
        self._far: dict[int, Int[Tensor, " places"]] = {}

    @cached_property
    def likeliest_after(self) -> Integer[Tensor, "symbols symbols"]:
        """The most frequent symbol after each pair in the training text; ``otherwise`` for pairs that never occur."""
        data = self.training.numpy().astype(np.int64)
        triples = (data * self.symbols + np.roll(data, -1)) * self.symbols + np.roll(data, -2)
        kinds, counts = np.unique(triples, return_counts=True)
        kinds = kinds[np.argsort(counts, kind="stable")]
        table = np.full(self.symbols**2, self._otherwise, dtype=self.training.numpy().dtype)
        table[kinds // self.symbols] = kinds % self.symbols  # of equal indices the last one counts: the most frequent
        return torch.from_numpy(table).view(self.symbols, self.symbols)

    @cached_property
    def counts(self) -> Int[Tensor, " symbols"]:
        """Counts of each symbol in the training text."""
        return self.training.long().bincount(minlength=self.symbols)

    @property
    def context(self) -> int:
        """The number of symbols before a distant repeat that are also repeated."""
        return CONTEXT_BYTES // self.held_out.element_size()

    @cached_property
    def _repeats(self) -> tuple[np.ndarray, np.ndarray]:
        """Held-out positions that a repeat predicts and the two symbols before do not, and the distance of the copy."""
        data = self.held_out.numpy()
        circle = np.concatenate([np.resize(data[::-1], self.context)[::-1], data])
        before = np.lib.stride_tricks.sliding_window_view(circle, self.context)[: len(data)]
        code = np.ascontiguousarray(before).view(np.int64)[:, 0]
        order = np.argsort(code, kind="stable")
        again = code[order[1:]] == code[order[:-1]]
        position, copy = order[1:][again], order[:-1][again]
        table = self.likeliest_after.numpy()
        predicted = data[position] == data[copy]
        near = table[data[position - 2], data[position - 1]] == data[position]
        only_repeat = predicted & ~near
        return position[only_repeat], (position - copy)[only_repeat]

    def far_repeats(self, length: int) -> Int[Tensor, " places"]:
        """Return held-out positions whose symbol a copy predicts, well inside the window of ``length`` before them.

        The latest earlier occurrence of the :attr:`context`, and the symbol after it, are outside the first and the
        last eighth of the window. If fewer than 256 positions satisfy this, all positions are returned.
        """
        if length not in self._far:
            position, back = self._repeats
            margin = length // 8
            matches = np.sort(position[(back > margin) & (back + self.context <= length - margin)])
            every = np.arange(len(self.held_out))
            self._far[length] = torch.from_numpy(matches if len(matches) >= ENOUGH else every)
        return self._far[length]


@lru_cache(maxsize=8)
def split_files(folder: str, share: float) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the training and the held-out files of a folder, in the order of a fixed hash of their names.

    Only regular files count; a pipe or a device is ignored.

    Raises:
        TaskError: if the folder cannot be read or contains more than :data:`ENTRIES`, or one side has no text.
    """
    root = Path(sysconfig.get_path("stdlib") if folder == STANDARD_LIBRARY else folder)
    try:
        next(root.iterdir(), None)
    except OSError as error:
        raise TaskError(f"folder {root} cannot be read: {error.strerror}; give a folder of text files") from error
    entries = list(islice(root.glob("*.py") if folder == STANDARD_LIBRARY else root.rglob("*"), ENTRIES + 1))
    if len(entries) > ENTRIES:
        raise TaskError(
            f"folder {root} contains more than {ENTRIES:,} files and folders; give a smaller folder of text"
        )
    hashed = sorted((_fraction(path.relative_to(root).as_posix()), path) for path in entries if _has_text(path))
    training = tuple(path for position, path in hashed if position < share)
    held_out = tuple(path for position, path in hashed if position >= share)
    for files, side in ((training, "training"), (held_out, "held-out")):
        if not files:
            raise TaskError(
                f"folder {root} has {len(hashed)} files with text, but no {side} file at share = {share:g}; "
                "give a folder with more files, or another share"
            )
    return training, held_out


@lru_cache(maxsize=2)
def corpus(folder: str, share: float) -> Corpus:
    """Return the bytes of a folder, read once per process.

    Raises:
        TaskError: as :func:`split_texts`.
    """
    training, held_out = split_texts(folder, share, TRAINING_CAP, HELD_OUT_CAP)
    return Corpus(_bytes(training), _bytes(held_out))


def split_texts(folder: str, share: float, most: int, held_out: int) -> tuple[list[bytes], list[bytes]]:
    """Return the training and the held-out texts: the content of files, or generated passages.

    Args:
        folder: as for :func:`split_files`, or :data:`GENERATED`.
        share: the share of the texts that train.
        most: largest number of bytes of training text.
        held_out: largest number of bytes of held-out text.

    Raises:
        TaskError: as :func:`check_texts`, or for a file that cannot be read.
    """
    if folder == GENERATED:
        training, other = _split_passages(share)
        return _cut(training, most), _cut(other, held_out)
    files, others = split_files(folder, share)
    return read_files(files, most), read_files(others, held_out)


def check_texts(folder: str, share: float) -> None:
    """Raise TaskError for a folder or a share that leaves one side without text; files are listed, but not read.

    Raises:
        TaskError: as :func:`split_files`, or for a share of generated text that leaves one side without passages.
    """
    _split_passages(share) if folder == GENERATED else split_files(folder, share)


def _split_passages(share: float) -> tuple[list[bytes], list[bytes]]:
    every = passages().items()
    training = [text for name, text in every if _fraction(name) < share]
    held_out = [text for name, text in every if _fraction(name) >= share]
    if not training or not held_out:
        raise TaskError(f"share = {share:g} leaves one side of the generated text without passages; give another share")
    return training, held_out


def _cut(parts: Iterable[bytes], cap: int) -> list[bytes]:
    """Return the first ``cap`` bytes of some texts."""
    cut: list[bytes] = []
    remaining = cap
    for part in parts:
        if remaining <= 0:
            break
        cut.append(part[:remaining])
        remaining -= len(cut[-1])
    return cut


def _bytes(parts: Iterable[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray(b"".join(parts)), dtype=np.uint8)


def read_files(files: Iterable[Path], cap: int) -> list[bytes]:
    """Return the content of each file, up to ``cap`` bytes together; the last one may be cut.

    Raises:
        TaskError: for a file that cannot be read.
    """
    parts: list[bytes] = []
    remaining = cap
    for path in files:
        if remaining <= 0:
            break
        try:
            with path.open("rb") as file:
                parts.append(file.read(remaining))
        except OSError as error:
            raise TaskError(f"text: {path} cannot be read: {error.strerror}") from error
        remaining -= len(parts[-1])
    return parts


def _has_text(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _fraction(name: str) -> float:
    """Return a number in [0, 1) that is a fixed function of a file's name."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:8], "big") / 2**64
