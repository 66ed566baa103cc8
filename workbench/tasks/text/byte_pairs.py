"""Tokens of a text: a byte-level BPE that is made from its training files, and the files in its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.tasks.text.corpus import HELD_OUT_CAP, Corpus, split_texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["END", "TokenizedText", "byte_pairs"]

END = "<end>"
"""The token after each file; the last of the alphabet."""
LEARNT_FROM = 4 << 20
"""Largest number of bytes of training text from which pairs are learnt."""
PIECE = 1 << 16
"""Bytes to encode in one call, so that a file takes no more memory than its tokens."""
SIGNS = {"\u0120": "\u2423", "\u010a": "\u23ce", "\u0109": "\u21e5"}
"""Display characters for the space, line end and tab of byte-level tokens."""


class TokenizedText(NamedTuple):
    """A training text as token ids, with its tokenizer.

    Attributes:
        names: the names of the tokens, in the order of their ids; :data:`END` is the last.
        corpus: training and held-out tokens, each file followed by an end.
        tokenizer: the merges, as the JSON of ``tokenizers``.
    """

    names: tuple[str, ...]
    corpus: Corpus
    tokenizer: str


@lru_cache(maxsize=2)
def byte_pairs(folder: str, share: float, tokens: int, most: int) -> TokenizedText:
    """Return the text of a folder in tokens, made once per process; the same files give the same tokens.

    The algorithm is that of Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", on
    bytes.

    Args:
        folder: as for :func:`workbench.tasks.text.corpus.split_texts`.
        share: the share of the files that train.
        tokens: size of the alphabet, including the end.
        most: largest number of bytes of training text to read.

    Raises:
        TaskError: for a folder or a file that cannot be read.
    """
    training, held_out = split_texts(folder, share, most, min(HELD_OUT_CAP, most))
    tokenizer = _learnt(training, tokens - 1)
    vocabulary = tokenizer.get_vocab()
    names = tuple(_shown(name) for name in sorted(vocabulary, key=lambda name: vocabulary[name]))
    # A text with few pairs yields fewer tokens than requested; unused ids keep the id of the end the same.
    names += tuple(f"<unused{i}>" for i in range(len(names), tokens - 1))
    end = tokens - 1
    sides = _encoded(tokenizer, training, end), _encoded(tokenizer, held_out, end)
    return TokenizedText((*names, END), Corpus(*sides, symbols=tokens, otherwise=end), tokenizer.to_str())


def _learnt(parts: Sequence[bytes], tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)  # type: ignore[assignment]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=tokens, initial_alphabet=alphabet, show_progress=False)  # type: ignore[call-arg]
    tokenizer.train_from_iterator(_pieces(parts, LEARNT_FROM), trainer)
    return tokenizer


def _pieces(parts: Sequence[bytes], cap: int) -> Iterator[str]:
    remaining = cap
    for part in parts:
        for start in range(0, min(len(part), remaining), PIECE):
            yield part[start : min(start + PIECE, remaining)].decode("utf-8", "replace")
        remaining -= len(part)
        if remaining <= 0:
            return


def _encoded(tokenizer: Tokenizer, parts: Sequence[bytes], end: int) -> NDArray[np.int16]:
    ids = []
    for part in parts:
        for piece in _pieces([part], len(part)):
            [encoded] = tokenizer.encode_batch_fast([piece])  # without the offset of each token in the text
            ids.append(np.array(encoded.ids, dtype=np.int16))
        ids.append(np.array([end], dtype=np.int16))
    return np.concatenate(ids)


def _shown(name: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in name)
