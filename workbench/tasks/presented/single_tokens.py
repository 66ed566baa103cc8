"""The words of a tokenizer that are one token each, and a presentation in its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from workbench.tasks.batch import TaskError
from workbench.tasks.presented.presentation import Presentation

LETTERS = re.compile("[a-z]{3,}")
SPACES = ("\u0120", "\u2581")
"""Characters for a leading space in the vocabularies of byte-level and of SentencePiece tokenizers."""
RULE = "tokens that are a space and three or more letters from a to z, no special ones, and are encoded as themselves"
"""The rule for tokens that items are drawn from, as sentences state it."""


@runtime_checkable
class Vocabulary(Protocol):
    """The part of a tokenizer's interface that is needed here; tokenizers of transformers have it."""

    @property
    def all_special_ids(self) -> list[int]: ...

    @property
    def bos_token_id(self) -> int | None: ...

    @property
    def eos_token_id(self) -> int | None: ...

    def get_vocab(self) -> dict[str, int]: ...

    def encode(self, text: str, **options: Any) -> list[int]: ...


class Wording(BaseModel):
    """The words of a prompt as tokens of one model. They are part of a run's identity.

    Attributes:
        prefix: the token before everything, see :class:`Presentation`.
        before, between, mark, ask, answer, after: the presentation's texts, each encoded by itself.
        symbols: token ids of the symbols, in the order of the task's alphabet.
        names: the texts of the symbols.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    mark: tuple[int, ...] = ()
    ask: tuple[int, ...] = ()
    answer: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    symbols: tuple[int, ...]
    names: tuple[str, ...]

    def part(self, name: str) -> tuple[int, ...]:
        """Return the tokens of one of the texts."""
        tokens: tuple[int, ...] = getattr(self, "answer" if name == "answer mark" else name)
        return tokens


def single_tokens(tokenizer: Vocabulary) -> list[tuple[int, str]]:
    """Return the ids and words of all tokens that items may be (:data:`RULE`), by id."""
    special = {*tokenizer.all_special_ids}
    words = []
    for raw, token in tokenizer.get_vocab().items():
        if raw[:1] in SPACES and token not in special and LETTERS.fullmatch(word := raw[1:]):
            words.append((token, word))
    return sorted(words)


def wording(told: Presentation, tokenizer: Vocabulary, symbols: int) -> Wording:
    """Return a presentation in the tokens of a model.

    Args:
        told: the presentation.
        tokenizer: the model's tokenizer.
        symbols: how many symbols the task has. They are spread evenly, by token id, over the single-token words that
            the presentation admits.

    Raises:
        TaskError: if there are fewer single-token words than the task needs, or no such prefix token.
    """
    every = single_tokens(tokenizer)
    every = every[: told.words or len(every)]
    stretches = [every[len(every) * i // symbols : len(every) * (i + 1) // symbols] for i in range(symbols)]
    chosen = [found for stretch in stretches if (found := _first_alone(tokenizer, stretch)) is not None]
    if len(chosen) < symbols:
        raise TaskError(
            f"the task needs {symbols:,} different symbols, and the tokenizer has {min(len(every), len(chosen)):,} "
            f"({RULE}); give the task fewer symbols"
        )
    texts = {name: _alone(tokenizer, text, "") for name, text in _texts(told).items()}
    return Wording(
        prefix=_prefix(told, tokenizer),
        **{name: tuple(ids) for name, ids in texts.items()},
        symbols=tuple(token for token, _ in chosen),
        names=tuple(word for _, word in chosen),
    )


def _prefix(told: Presentation, tokenizer: Vocabulary) -> tuple[int, ...]:
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if told.prefix:
        first = tokenizer.get_vocab().get(told.prefix)
        if first is None:
            raise TaskError(
                f"the tokenizer has no token {told.prefix!r} to put before the prompt; choose another --prefix"
            )
    return () if first is None or told.prefix == "" else (first,)


def _texts(told: Presentation) -> dict[str, str]:
    return {"answer" if part == "answer mark" else part: text for part, text in told.texts.items()}


def _first_alone(tokenizer: Vocabulary, words: Sequence[tuple[int, str]]) -> tuple[int, str] | None:
    """Return the first of some words that is encoded as itself."""
    return next(((token, word) for token, word in words if list(_alone(tokenizer, word)) == [token]), None)


def _alone(tokenizer: Vocabulary, text: str, space: str = " ") -> Sequence[int]:
    """Encode a text by itself, without special tokens."""
    return tokenizer.encode(space + text, add_special_tokens=False) if text else []
