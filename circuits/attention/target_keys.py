"""Compute, from the tokens of a batch, the keys to which an ideal head of a given kind attends.

Indices are those of the position axis. A target set contains visible keys only, and never the query itself, except in
:func:`counted_keys`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

if TYPE_CHECKING:
    from workbench.tasks.base import Batch

Targets = Bool[Tensor, "batch query key"]
Definition = Literal["same", "before"]

#: Entries of a task's meta: the position of the answer's key, and of the key that matches the query.
ANSWER_META = ("answer_position",)
KEY_META = ("key_position",)
#: Entry of a task's meta: the positions that the answer averages.
COUNTED_META = "counted"


def previous_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], offset: int = 1) -> Targets:
    """Return the key ``offset`` positions before the query."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    return (keys == queries[:, None] - offset).expand(len(tokens), -1, -1)


def duplicate_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> Targets:
    """Return earlier keys with the query's token."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    same = tokens[:, queries, None] == tokens[:, None, :]
    return same & (keys < queries[:, None])


def induction(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], offset: int = 1) -> Targets:
    """Return keys ``offset`` positions after earlier occurrences of the query's token.

    By default this is the next position: {s + 1 : s < t, x_s = x_t, s + 1 <= t - 1}. Source: Olsson et al. 2022,
    "In-context Learning and Induction Heads" (2209.11895).
    """
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    behind = torch.roll(duplicate_token(tokens, queries), offset, 2)
    behind[:, :, :offset] = False
    return behind & (keys < queries[:, None])


def anti_induction(
    tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], definition: Definition = "same"
) -> Targets:
    """Return keys at (``same``) or directly before (``before``) earlier occurrences of the query's token.

    Jobanputra et al. 2025 (2505.21785) call a head anti-induction if it attends from a token to its earlier occurrence,
    because it retrieves the token before that. Their code, and other papers, mean the key before the earlier
    occurrence.
    """
    twins = duplicate_token(tokens, queries)
    if definition == "same":
        return twins
    before = torch.roll(twins, -1, 2)
    before[:, :, -1] = False
    return before


def first_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> Targets:
    """Return the first key: BOS where the task has one."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    return ((keys == 0) & (keys < queries[:, None])).expand(len(tokens), -1, -1)


def named_positions(batch: Batch, queries: Int[Tensor, " query"], names: tuple[str, ...]) -> Targets | None:
    """Return keys that the task names in ``meta``, for supervised queries; None where it names none.

    Entries of meta are task positions counted from 1 (see :class:`workbench.tasks.batch.Batch`), 0 = none.
    """
    meta_positions = next((batch.meta[name] for name in names if name in batch.meta), None)
    if meta_positions is None:
        return None
    places = meta_positions.reshape(len(batch), -1) - (0 if batch.bos else 1)
    keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
    real = meta_positions.reshape(len(batch), -1) > 0
    hit = ((keys == places[:, :, None]) & real[:, :, None]).any(1)
    asked = batch.mask[:, queries]
    return hit[:, None] & asked[:, :, None] & (keys < queries[:, None])


def counted_keys(batch: Batch, queries: Int[Tensor, " query"]) -> Targets | None:
    """Return the keys that the answer at each supervised query averages; None if the task names none.

    The query itself may be one of these keys.
    """
    found = batch.meta.get(COUNTED_META)
    if found is None:
        return None
    counted = torch.zeros_like(batch.tokens, dtype=torch.bool).scatter_(1, found - (0 if batch.bos else 1), True)
    keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
    return counted[:, None] & batch.mask[:, queries, None] & (keys <= queries[:, None])


#: Target sets that follow from the tokens only.
KINDS: Mapping[str, Callable[[Tensor, Tensor], Targets]] = {
    "previous_token": previous_token,
    "induction": induction,
    "first_token": first_token,
    "duplicate_token": duplicate_token,
}
