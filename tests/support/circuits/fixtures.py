"""Batches for models built by hand: strings of one length in which every query is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from workbench.models.handmade.transformers import key_tokens
from workbench.tasks.base import Batch


@pytest.fixture
def asked() -> Callable[..., Batch]:
    """``asked(tokens, bos=True, mask=None)``: given tokens, supervised everywhere but at BOS."""

    def make(tokens: Tensor, bos: bool = True, mask: Tensor | None = None) -> Batch:
        if mask is None:
            mask = torch.ones_like(tokens, dtype=torch.bool)
            mask[:, : int(bos)] = False
        zeros = torch.zeros_like(tokens)
        return Batch(tokens, zeros, mask, zeros, None, tokens.shape[1] - int(bos), bos, "matched")

    return make


@pytest.fixture
def keyed(asked: Callable[..., Batch]) -> Callable[..., Batch]:
    """``keyed(length, keys, sequences=40)``: strings for ``key_head`` with that many key tokens."""

    def make(length: int, keys: int, sequences: int = 40) -> Batch:
        return asked(key_tokens(sequences, length, keys, torch.Generator().manual_seed(length)))

    return make
