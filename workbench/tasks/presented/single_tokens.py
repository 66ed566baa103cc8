"""Words of a tokenizer that are one token each, by a stated rule, and a presentation in its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from workbench.tasks.batch import TaskError
from workbench.tasks.presented.presentation import Presentation

LETTERS = re.compile("[a-z]{3,}")
SPACES = ("\u0120", "\u2581")
"""What stands for a leading space in the vocabularies of byte-level and of SentencePiece tokenizers."""
RULE = "tokens that are a space and three or more letters from a to z, no special ones, and are encoded as themselves"
"""Which tokens items are drawn from, as sentences say it."""


@runtime_checkable
class Vocabulary(Protocol):
    """What is asked of a tokenizer; those of transformers have it."""

    @property
    def all_special_ids(self) -> list[int]: ...

    @property
    def bos_token_id(self) -> int | None: ...

    @property
    def eos_token_id(self) -> int | None: ...

    def get_vocab(self) -> dict[str, int]: ...

    def encode(self, text: str, **options: Any) -> list[int]: ...


class Wording(BaseModel):
    """A presentation in the tokens of one model; a part of a run's identity.

    Attributes:
        prefix: what stands before all, see :class:`Presentation`.
        before, between, mark, ask, answer, after: the presentation's texts, encoded each by itself.
        symbols: token ids of the symbols, in the order of the task's alphabet.
        names: their texts.
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
        """The tokens of a part of the words."""
        found: tuple[int, ...] = getattr(self, "answer" if name == "answer mark" else name)
        return found


def single_tokens(tokenizer: Vocabulary) -> list[tuple[int, str]]:
    """Ids and words of all tokens that items may be (:data:`RULE`), by id."""
    special = {*tokenizer.all_special_ids}
    found = []
    for raw, token in tokenizer.get_vocab().items():
        if raw[:1] in SPACES and token not in special and LETTERS.fullmatch(word := raw[1:]):
            found.append((token, word))
    return sorted(found)


def wording(told: Presentation, tokenizer: Vocabulary, symbols: int) -> Wording:
    """A presentation in the tokens of a model.

    Args:
        told: the presentation.
        tokenizer: of the model.
        symbols: how many symbols the task has, spread evenly over all words of one token in the order of their ids, or
            over the first of them that the presentation admits.

    Raises:
        TaskError: if there are fewer words of one token than the task needs, or no such prefix.
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
    """The first of some words that is encoded as itself."""
    return next(((token, word) for token, word in words if list(_alone(tokenizer, word)) == [token]), None)


def _alone(tokenizer: Vocabulary, text: str, space: str = " ") -> Sequence[int]:
    """A text by itself, without special tokens."""
    return tokenizer.encode(space + text, add_special_tokens=False) if text else []
