"""Presented tasks without a tokenizer, and models by hand whose answers to them are known."""

from __future__ import annotations

from typing import Any

import torch

from workbench.models.base.lens_parts import HookedRootModule, HookPoint
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation
from workbench.tasks.presented.presented_task import Presented
from workbench.tasks.presented.single_tokens import Wording
from workbench.tasks.registry import present

FIRST = 100
"""Token of the first symbol; 0 is the prefix, and those from 1 on are words of the presentation."""


def words(symbols: int, **parts: tuple[int, ...]) -> Wording:
    """Symbols from :data:`FIRST` on."""
    names = tuple(f"word{i}" for i in range(symbols))
    return Wording(prefix=(0,), symbols=tuple(range(FIRST, FIRST + symbols)), names=names, **parts)


def put(name: str, how: str, symbols: int, lengths: tuple[int, ...], window: int = 1000, **parts: Any) -> Presented:
    """A task as it is presented; ``parts`` are its words in tokens, and options of the presentation."""
    options = {key: parts.pop(key) for key in ("template", "shots", "shot_items") if key in parts}
    found = present(make_task(name, symbols=symbols), {
        "presentation": presentation(how, **options), "wording": words(symbols, **parts),
        "vocabulary_size": FIRST + symbols, "window": window, "asked_lengths": lengths,
    })  # fmt: skip
    assert isinstance(found, Presented)
    return found


class Copier(HookedRootModule):
    """Gives what followed the last occurrence of a token, as far as ``reach`` tokens back; else the prefix.

    The token it gives has the logit 4, and beyond its reach that which it should have given 2; all others 0.
    """

    def __init__(self, cfg: Any, reach: int) -> None:
        super().__init__()
        self.cfg, self.reach, self.hook_embed = cfg, reach, HookPoint()
        self.setup()

    def forward(self, tokens: torch.Tensor, position_ids: Any = None, *, return_type: Any = "logits") -> Any:
        same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
        place = torch.arange(tokens.shape[1])
        twin = torch.where(same, place, -1).amax(2)
        following = tokens.gather(1, (twin + 1).clamp(max=tokens.shape[1] - 1))
        far = place - twin > self.reach
        logits = torch.zeros(*tokens.shape, self.cfg.d_vocab)
        logits.scatter_(2, following[..., None], torch.where(far, 2.0, 4.0)[..., None])
        logits[..., 0] = torch.where(far, 4.0, 0.0)
        return logits
