"""Typed sequences: converts text to token ids and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tasks.base import Task
from workbench.tasks.batch import TaskError

_SHOWN = 24
"""Number of token names that a message lists."""


@dataclass(frozen=True)
class TaskTokenizer:
    """Encodes text into a task's tokens, like a model's tokenizer.

    The interface is :class:`workbench.models.base.lens_interface.Tokenizer`.

    Attributes:
        names: every token's text, in the order of their ids.
        bos: whether the first of them is BOS.
    """

    names: tuple[str, ...]
    bos: bool

    @classmethod
    def of(cls, task: Task) -> TaskTokenizer:
        """Return the tokenizer of a task."""
        return cls(tuple(task.tokens_names), bool(task.bos))

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, BOS excluded; see :func:`parse_tokens`."""
        return parse_tokens(text, self.names, self.bos)


def parse_tokens(text: str, names: Sequence[str], bos: bool) -> list[int]:
    """Return the token ids of typed text, BOS excluded.

    Spaces or commas separate tokens; if names contain commas, only spaces do. In a text without separators, the longest
    matching name is taken repeatedly, so that ``0110`` needs no spaces.

    Args:
        text: the typed text.
        names: token names in the order of their ids.
        bos: whether the first of them is BOS, which the task adds and nobody types.

    Raises:
        TaskError: for an empty text or an unknown token. The message gives the token, its position, and the known
            tokens.
    """
    known = {name: i for i, name in enumerate(names) if not (bos and i == 0)}
    stripped = text.strip()
    spaced = stripped.split()
    parted = spaced if all(part in known for part in spaced) else [p for p in re.split(r"[\s,]+", stripped) if p]
    if not parted:
        raise TaskError(f"type at least one token; the tokens are {_listed(known)}")
    if all(part in known for part in parted):
        return [known[part] for part in parted]
    if len(parted) == 1:
        return _run_together(stripped, known)
    position = next(i for i, part in enumerate(parted) if part not in known)
    raise _unknown(parted[position], f"token {position + 1:,}", known)


def write_tokens(ids: Sequence[int], names: Sequence[str]) -> str:
    """Write token ids as text that :func:`parse_tokens` reads back; without spaces if every name is one character."""
    between = "" if all(len(name) == 1 or name.startswith("<") for name in names) else " "
    return between.join(names[i] for i in ids)


def _run_together(text: str, known: dict[str, int]) -> list[int]:
    by_length = sorted(known, key=len, reverse=True)
    ids: list[int] = []
    position = 0
    while position < len(text):
        name = next((name for name in by_length if text.startswith(name, position)), None)
        if name is None:
            raise _unknown(text[position], f"character {position + 1:,}", known)
        ids.append(known[name])
        position += len(name)
    return ids


def _unknown(token: str, where: str, known: dict[str, int]) -> TaskError:
    return TaskError(f"unknown token \u201c{token[:20]}\u201d ({where}); the tokens are {_listed(known)}")


def _listed(known: dict[str, int]) -> str:
    names = list(known)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
