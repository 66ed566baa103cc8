"""The text of a folder, read once and within bounds, with what the laws of text need of it."""

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
"""Stands for the folder of Python's own library, of which the modules at the top level are read."""
GENERATED = "generated"
"""Stands for text that is generated, the same on every machine; a folder of that name is ``./generated``."""
TRAINING_CAP = 8 << 20
HELD_OUT_CAP = 2 << 20
"""Bytes that are read at most; the held-out ones are sorted, which takes some forty times their size."""
ENTRIES = 1_000_000
"""Files and folders that are looked at at most: a run may name any folder, the whole disk too."""
CONTEXT_BYTES = 8
"""Context that a far repeat shares with its copy: eight bytes or four tokens, which are one int64."""
ENOUGH = 256
"""Places that a challenge law needs, so that a batch is not the same few windows over and over."""


class Corpus:
    """Training and held-out symbols, each a circle.

    Args:
        training, held_out: the symbols, as uint8 or int16.
        symbols: how many there are.
        otherwise: what is guessed after two symbols that never occur.

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
        """The most frequent symbol after each two in the training text; :attr:`otherwise` where they never occur."""
        data = self.training.numpy().astype(np.int64)
        triples = (data * self.symbols + np.roll(data, -1)) * self.symbols + np.roll(data, -2)
        kinds, counts = np.unique(triples, return_counts=True)
        kinds = kinds[np.argsort(counts, kind="stable")]
        table = np.full(self.symbols**2, self._otherwise, dtype=self.training.numpy().dtype)
        table[kinds // self.symbols] = kinds % self.symbols  # of equal places the last one counts: the most frequent
        return torch.from_numpy(table).view(self.symbols, self.symbols)

    @cached_property
    def counts(self) -> Int[Tensor, " symbols"]:
        """How often each symbol occurs in the training text."""
        return self.training.long().bincount(minlength=self.symbols)

    @property
    def context(self) -> int:
        """Symbols of context that a far repeat shares with its copy."""
        return CONTEXT_BYTES // self.held_out.element_size()

    @cached_property
    def _repeats(self) -> tuple[np.ndarray, np.ndarray]:
        """Held-out places whose symbol a repeat gives and the two before do not, and how far back its copy is."""
        data = self.held_out.numpy()
        circle = np.concatenate([np.resize(data[::-1], self.context)[::-1], data])
        before = np.lib.stride_tricks.sliding_window_view(circle, self.context)[: len(data)]
        code = np.ascontiguousarray(before).view(np.int64)[:, 0]
        order = np.argsort(code, kind="stable")
        again = code[order[1:]] == code[order[:-1]]
        position, copy = order[1:][again], order[:-1][again]
        table = self.likeliest_after.numpy()
        told = data[position] == data[copy]
        near = table[data[position - 2], data[position - 1]] == data[position]
        kept = told & ~near
        return position[kept], (position - copy)[kept]

    def far_repeats(self, length: int) -> Int[Tensor, " places"]:
        """Held-out places whose symbol a copy gives that windows of ``length`` before them show well inside.

        The latest earlier occurrence of the :attr:`context` before, and the symbol behind it, lie outside the
        first and the last eighth of the window. All places, where fewer than 256 are like that.
        """
        if length not in self._far:
            position, back = self._repeats
            margin = length // 8
            found = np.sort(position[(back > margin) & (back + self.context <= length - margin)])
            every = np.arange(len(self.held_out))
            self._far[length] = torch.from_numpy(found if len(found) >= ENOUGH else every)
        return self._far[length]


@lru_cache(maxsize=8)
def split_files(folder: str, share: float) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The training and the held-out files of a folder, in the order of a fixed hash of their names.

    Only regular files count; a pipe or a device is passed over.

    Raises:
        TaskError: if the folder cannot be read or holds more than :data:`ENTRIES`, or one side has no text.
    """
    root = Path(sysconfig.get_path("stdlib") if folder == STANDARD_LIBRARY else folder)
    try:
        next(root.iterdir(), None)
    except OSError as error:
        raise TaskError(f"folder {root} cannot be read: {error.strerror}; give a folder of text files") from error
    found = list(islice(root.glob("*.py") if folder == STANDARD_LIBRARY else root.rglob("*"), ENTRIES + 1))
    if len(found) > ENTRIES:
        raise TaskError(
            f"folder {root} contains more than {ENTRIES:,} files and folders; give a smaller folder of text"
        )
    drawn = sorted((_fraction(path.relative_to(root).as_posix()), path) for path in found if _has_text(path))
    training = tuple(path for position, path in drawn if position < share)
    held_out = tuple(path for position, path in drawn if position >= share)
    for files, side in ((training, "training"), (held_out, "held-out")):
        if not files:
            raise TaskError(
                f"folder {root} has {len(drawn)} files with text, but no {side} file at share = {share:g}; "
                "give a folder with more files, or another share"
            )
    return training, held_out


@lru_cache(maxsize=2)
def corpus(folder: str, share: float) -> Corpus:
    """The bytes of a folder, read once per process.

    Raises:
        TaskError: as :func:`split_texts`.
    """
    training, held_out = split_texts(folder, share, TRAINING_CAP, HELD_OUT_CAP)
    return Corpus(_bytes(training), _bytes(held_out))


def split_texts(folder: str, share: float, most: int, held_out: int) -> tuple[list[bytes], list[bytes]]:
    """The training and the held-out texts: the content of files, or passages that are generated.

    Args:
        folder: as :func:`split_files` takes it, or :data:`GENERATED`.
        share: of the texts that train.
        most: bytes of training text at most.
        held_out: bytes of held-out text at most.

    Raises:
        TaskError: as :func:`check_texts`, or for a file that cannot be read.
    """
    if folder == GENERATED:
        training, other = _split_passages(share)
        return _cut(training, most), _cut(other, held_out)
    files, others = split_files(folder, share)
    return read_files(files, most), read_files(others, held_out)


def check_texts(folder: str, share: float) -> None:
    """Refuse a folder or a share that leaves one side without text; files are looked at, and not read.

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
    """The first ``cap`` bytes of some texts."""
    kept: list[bytes] = []
    left = cap
    for part in parts:
        if left <= 0:
            break
        kept.append(part[:left])
        left -= len(kept[-1])
    return kept


def _bytes(parts: Iterable[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray(b"".join(parts)), dtype=np.uint8)


def read_files(files: Iterable[Path], cap: int) -> list[bytes]:
    """The content of each file, up to ``cap`` bytes together; the last one may be cut.

    Raises:
        TaskError: for a file that cannot be read.
    """
    parts: list[bytes] = []
    left = cap
    for path in files:
        if left <= 0:
            break
        try:
            with path.open("rb") as file:
                parts.append(file.read(left))
        except OSError as error:
            raise TaskError(f"text: {path} cannot be read: {error.strerror}") from error
        left -= len(parts[-1])
    return parts


def _has_text(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _fraction(name: str) -> float:
    """A number in [0, 1) that is a fixed function of a file's name."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:8], "big") / 2**64
