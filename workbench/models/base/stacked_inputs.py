"""What a stack of models of one config reads: the sequences of each model, and the weights of all models by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Int, Real
from torch import Tensor

Weights = Mapping[str, Tensor]
"""Weights by the name that one model gives them, each with a first axis *run*."""


@dataclass(frozen=True)
class StackedInputs:
    """The input of a forward pass.

    Attributes:
        tokens: token ids. Shorter sequences are padded at their end, which no earlier position can see.
        ids: position ids of every sequence, run by run; one row = the same ids for all sequences of all runs.
        query_index: the positions at which outputs are needed, counted sequence by sequence within a run; None = all.
    """

    tokens: Int[Tensor, "run batch pos"]
    ids: Real[Tensor, "#rows pos"]
    query_index: Int[Tensor, "run query"] | None = None
