"""Random tokens of a task's alphabet: the distribution of a token, and sequences with a repeated part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import AfterValidator, Field
from torch import Tensor

from workbench.tasks.base import Task, TaskError

__all__ = ["LAG", "TokenLaw", "TokenLaws", "passages", "repeat_twice", "repeats", "token_weights"]

TokenLaw = Literal["uniform", "observed", "unigram", "passages"]
"""How to draw one token.

- ``uniform``: all tokens are equally likely;
- ``observed``: all tokens that occur in training text are equally likely;
- ``unigram``: each token has its frequency in training text;
- ``passages``: tokens are not random, but passages of held-out text.
"""
TokenLaws = Annotated[Sequence[TokenLaw], Field(min_length=1), AfterValidator(tuple)]
LAG = 39
"""Largest gap between two occurrences of a block in :func:`repeats`."""


def token_weights(task: Task, law: TokenLaw) -> Float[Tensor, " token"] | None:
    """Return weights of one random token over all ids; None if all ids except BOS are equally likely, or for passages.

    Raises:
        TaskError: for a distribution of training text, if the task has no text whose tokens could be counted.
    """
    if law == "uniform":
        return None
    counts = task.token_counts
    if counts is None:
        raise TaskError(f"{task.name} has no text whose tokens could be counted; draw random tokens by law uniform")
    if law == "passages":
        return None
    weights = counts.double()
    return (weights > 0).double() if law == "observed" else weights


def passages(
    task: Task, law: TokenLaw, batch: int, positions: int, generator: torch.Generator
) -> Int[Tensor, "batch pos"] | None:
    """Return held-out passages of a task's text, BOS first, for ``passages``; None for other token distributions."""
    if law != "passages":
        return None
    return task.sample(batch, positions - task.bos, generator, "matched").tokens


def independent_tokens(
    shape: tuple[int, int],
    first: int,
    d_vocab: int,
    weights: Float[Tensor, " token"] | None,
    generator: torch.Generator,
) -> Int[Tensor, "batch pos"]:
    """Return independent random tokens with ids from ``first`` on."""
    if weights is None:
        return torch.randint(first, d_vocab, shape, generator=generator)
    return torch.multinomial(weights.expand(shape[0], -1), shape[1], replacement=True, generator=generator)


def repeat_twice(
    batch: int,
    positions: int,
    d_vocab: int,
    generator: torch.Generator,
    bos: bool = True,
    weights: Float[Tensor, " token"] | None = None,
    strings: Int[Tensor, "batch pos"] | None = None,
) -> Int[Tensor, "batch pos"]:
    """Return random tokens followed by the same tokens; for an odd number the second copy lacks the last token.

    Args:
        batch, positions: shape; BOS counts.
        d_vocab: number of ids.
        generator: the only source of randomness.
        bos: whether token 0 comes first.
        weights: the distribution of a token (:func:`token_weights`).
        strings: sequences whose tokens to use in place of random ones (:func:`passages`).
    """
    first = int(bos)
    length = positions - first
    half = (length + 1) // 2
    if strings is None:
        once = independent_tokens((batch, half), first, d_vocab, weights, generator)
    else:
        once = strings[:, first : first + half]
    whole = torch.cat([once, once], 1)[:, :length]
    return torch.cat([torch.zeros(batch, first, dtype=whole.dtype), whole], 1)


def repeats(
    batch: int,
    positions: int,
    d_vocab: int,
    generator: torch.Generator,
    bos: bool = True,
    block: int = 8,
    lag: int = LAG,
    weights: Float[Tensor, " token"] | None = None,
    strings: Int[Tensor, "batch pos"] | None = None,
) -> Int[Tensor, "batch pos"]:
    """Return random tokens in which one block recurs again and again, after gaps of 0..``lag`` fresh random tokens.

    Args:
        batch, positions: shape; BOS counts.
        d_vocab: number of ids.
        generator: the only source of randomness.
        bos: whether token 0 comes first.
        block: tokens of the block; at most a quarter of the sequence.
        lag: largest gap.
        weights: the distribution of a token (:func:`token_weights`).
        strings: sequences whose tokens to use in place of random ones (:func:`passages`). They are not modified.
    """
    first = int(bos)
    length = positions - first
    size = max(1, min(block, length // 4))
    shape = (batch, positions)
    tokens = independent_tokens(shape, first, d_vocab, weights, generator) if strings is None else strings.clone()
    if bos:
        tokens[:, 0] = 0
    for string in tokens:
        # Backwards from the end, so that the last queries are inside an occurrence.
        pattern, end = string[positions - size :].clone(), positions - size
        while True:
            end -= int(torch.randint(0, min(lag, length // 2) + 1, (1,), generator=generator))
            if end - size < first:
                break
            string[end - size : end] = pattern
            end -= size
    return tokens
