"""Which keys a head of a given kind would attend to, from the tokens of any batch.

Indices are those of the position axis. A target set holds visible keys only, and never the query itself, but for
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

#: Where a task's meta says which key holds the answer, and which one matches the query.
ANSWER_META = ("answer_position",)
KEY_META = ("key_position",)
#: Where it says which positions its answer averages.
COUNTED_META = "counted"


def previous_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], offset: int = 1) -> Targets:
    """The key ``offset`` places before the query."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    return (keys == queries[:, None] - offset).expand(len(tokens), -1, -1)


def duplicate_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> Targets:
    """Earlier keys with the query's token."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    same = tokens[:, queries, None] == tokens[:, None, :]
    return same & (keys < queries[:, None])


def induction(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], offset: int = 1) -> Targets:
    """Keys ``offset`` places behind earlier occurrences of the query's token.

    By default directly behind, {s + 1 : s < t, x_s = x_t, s + 1 <= t - 1}: Olsson et al. 2022, "In-context Learning
    and Induction Heads" (2209.11895).
    """
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    behind = torch.roll(duplicate_token(tokens, queries), offset, 2)
    behind[:, :, :offset] = False
    return behind & (keys < queries[:, None])


def anti_induction(
    tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"], definition: Definition = "same"
) -> Targets:
    """Keys at (``same``) or directly before (``before``) earlier occurrences of the query's token.

    Jobanputra et al. 2025 (2505.21785) call a head that goes from a token to its twin anti-induction, for it
    retrieves what stands before; their code, and others, mean the key before the twin.
    """
    twins = duplicate_token(tokens, queries)
    if definition == "same":
        return twins
    before = torch.roll(twins, -1, 2)
    before[:, :, -1] = False
    return before


def first_token(tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> Targets:
    """The first key: BOS where the task has one."""
    keys = torch.arange(tokens.shape[1], device=tokens.device)
    return ((keys == 0) & (keys < queries[:, None])).expand(len(tokens), -1, -1)


def named_positions(batch: Batch, queries: Int[Tensor, " query"], names: tuple[str, ...]) -> Targets | None:
    """Keys that the task itself names in ``meta``, for supervised queries; None where it names none.

    Entries of meta are task positions counted from 1 (see :class:`workbench.tasks.batch.Batch`), 0 = none.
    """
    found = next((batch.meta[name] for name in names if name in batch.meta), None)
    if found is None:
        return None
    places = found.reshape(len(batch), -1) - (0 if batch.bos else 1)
    keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
    real = found.reshape(len(batch), -1) > 0
    hit = ((keys == places[:, :, None]) & real[:, :, None]).any(1)
    asked = batch.mask[:, queries]
    return hit[:, None] & asked[:, :, None] & (keys < queries[:, None])


def counted_keys(batch: Batch, queries: Int[Tensor, " query"]) -> Targets | None:
    """The keys that the answer at each supervised query averages, itself among them; None where a task names none."""
    found = batch.meta.get(COUNTED_META)
    if found is None:
        return None
    counted = torch.zeros_like(batch.tokens, dtype=torch.bool).scatter_(1, found - (0 if batch.bos else 1), True)
    keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
    return counted[:, None] & batch.mask[:, queries, None] & (keys <= queries[:, None])


#: Target sets that the tokens alone give.
KINDS: Mapping[str, Callable[[Tensor, Tensor], Targets]] = {
    "previous_token": previous_token,
    "induction": induction,
    "first_token": first_token,
    "duplicate_token": duplicate_token,
}
