"""Sequences as people type them: text to token ids and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tasks.base import Task
from workbench.tasks.batch import TaskError

_SHOWN = 24
"""Token names listed in a message."""


@dataclass(frozen=True)
class TaskTokenizer:
    """A task's tokens as a model's tokenizer (:class:`workbench.models.base.lens_interface.Tokenizer`).

    Attributes:
        names: every token's text, in the order of their ids.
        bos: whether the first of them is BOS.
    """

    names: tuple[str, ...]
    bos: bool

    @classmethod
    def of(cls, task: Task) -> TaskTokenizer:
        """The tokenizer of a task."""
        return cls(tuple(task.tokens_names), bool(task.bos))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, BOS excluded; see :func:`parse_tokens`."""
        return parse_tokens(text, self.names, self.bos)


def parse_tokens(text: str, names: Sequence[str], bos: bool) -> list[int]:
    """Token ids of typed text, BOS excluded.

    Tokens are separated by spaces or commas, by spaces alone where a comma is part of names; where the text has
    neither, the longest names that fit are taken one after the other, so that ``0110`` needs no spaces.

    Args:
        text: what was typed.
        names: token names in the order of their ids.
        bos: whether the first of them is BOS, which is put in front by the task and never typed.

    Raises:
        TaskError: for no token, or for one that the task does not have; says which, where, and what there is.
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
    """Token ids as text that :func:`parse_tokens` reads back; without spaces where every name is one character."""
    between = "" if all(len(name) == 1 or name.startswith("<") for name in names) else " "
    return between.join(names[i] for i in ids)


def _run_together(text: str, known: dict[str, int]) -> list[int]:
    by_length = sorted(known, key=len, reverse=True)
    found: list[int] = []
    position = 0
    while position < len(text):
        name = next((name for name in by_length if text.startswith(name, position)), None)
        if name is None:
            raise _unknown(text[position], f"character {position + 1:,}", known)
        found.append(known[name])
        position += len(name)
    return found


def _unknown(token: str, where: str, known: dict[str, int]) -> TaskError:
    return TaskError(f"unknown token \u201c{token[:20]}\u201d ({where}); the tokens are {_listed(known)}")


def _listed(known: dict[str, int]) -> str:
    names = list(known)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
