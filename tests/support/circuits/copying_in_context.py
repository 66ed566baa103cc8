"""A model by hand that copies what its prompt shows, up to a known length, and the task it is put."""

from __future__ import annotations

import math
from typing import Any

import torch

from workbench.models import HookedTransformer
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.blank import blank
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation
from workbench.tasks.presented.single_tokens import Wording
from workbench.tasks.registry import present

SYMBOLS, REACH = 40, 40.0
"""Symbols, and e^s: the query with this index is the first whose answer is wrong."""
LENGTHS = (16, 32)


def model_by_hand() -> HookedTransformer:
    """Attention on the answer is e^s / (e^s + t) at the query with index t, with e^s :data:`REACH`.

    A further output has the logit 1/2 whatever is read, so that an answer is right just where t < e^s. The heads that
    matter are the second of each layer; the first ones attend evenly and write nothing.
    """
    small = induction_model(SYMBOLS, math.log(REACH))
    cfg = small.cfg.model_copy(update={"n_heads": 2, "d_vocab_out": SYMBOLS + 1})
    model = blank(cfg)
    with torch.no_grad():
        model.embed.W_E.copy_(small.embed.W_E)
        model.unembed.W_U[:, 1:] = small.unembed.W_U
        model.unembed.b_U[0] = 0.5
        for mine, its in zip(model.blocks, small.blocks, strict=True):
            for name in ("W_Q", "W_K", "W_V", "W_O", "phi"):
                getattr(mine.attn, name)[1] = getattr(its.attn, name)[0]
    return model


def copying() -> Any:
    names = tuple(f"word{i}" for i in range(SYMBOLS))
    return present(make_task("uf", symbols=SYMBOLS), {
        "presentation": presentation("bare"),
        "wording": Wording(prefix=(0,), symbols=tuple(range(1, SYMBOLS + 1)), names=names),
        "vocabulary_size": SYMBOLS + 1, "window": 1000, "asked_lengths": LENGTHS,
    })  # fmt: skip
