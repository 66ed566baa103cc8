"""The distinct pairs of token and position id of a batch: all that a model sees before attention."""

from __future__ import annotations

import pytest
import torch

from workbench.models import ModelConfig
from workbench.models.transformer import distinct_inputs


@pytest.mark.parametrize(("positions", "d_vocab", "shape", "shared", "taken"), [
    ("none", 5, (64, 16), True, True), ("none", 5, (33, 31), True, False), ("none", 513, (64, 16), True, False), ("none", 512, (64, 16), True, True),
    ("learned", 32, (64, 16), True, True), ("learned", 33, (64, 16), True, False), ("learned", 21, (64, 16), False, True),
    ("learned", 22, (64, 16), False, False), ("limit", 3, (16, 64), True, True), ("sinusoidal", 5, (64, 16), False, False),
    ("sinusoidal", 32, (64, 16), True, True), ("rotary", 5, (64, 16), False, True),
])  # fmt: skip
def test_pairs_of_token_and_id_are_worth_while_from_twice_as_many_places_on(
    positions: str, d_vocab: int, shape: tuple[int, int], shared: bool, taken: bool
) -> None:
    cfg = ModelConfig(d_vocab=d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=24, positions=positions)
    ids = torch.arange(shape[1])[None].expand(1 if shared else shape[0], -1)
    x = torch.randint(0, d_vocab, shape, generator=torch.Generator().manual_seed(0))
    found = distinct_inputs.pairs(cfg, x, ids)
    assert (found is not None) == taken
    if found is not None:
        every = found.tokens * 1000 + found.ids
        rows = cfg.positions.rows(24)
        read = ids % rows if rows and cfg.positions.name == "limit" else ids if cfg.positions.added else ids * 0
        assert torch.equal(found.spread(every[..., None].double())[..., 0], (x * 1000 + read).double())
    hard = ModelConfig(
        d_vocab=d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=24, positions=positions, attention="hardmax"
    )
    assert distinct_inputs.pairs(hard, x, ids) is None
