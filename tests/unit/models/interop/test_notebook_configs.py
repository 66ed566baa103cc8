"""What is taken from the config of a model in a notebook, where it states a size and where it leaves it out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.models.interop.notebook_model import _config

OWN = {"n_layers": 2, "n_heads": 4, "d_model": 64, "n_ctx": 9, "d_vocab": 5}
USUAL = {
    "d_head": 16, "d_vocab_out": 0, "n_key_heads": 4, "scales": (0.25, 0.25), "soft_caps": (None, None), "turned": False,
    "normalization_type": "LN", "n_layers": 2, "n_heads": 4,
}  # fmt: skip


@pytest.mark.parametrize(("stated", "found"), [
    ({}, {}), ({"d_head": 0, "attn_scale": None, "d_vocab_out": None, "n_key_value_heads": None}, {}), ({"d_head": 4}, {"d_head": 4, "scales": (0.5, 0.5)}),
    ({"attn_scale": -1.0}, {}), ({"attn_scale": 0.0}, {}), ({"attn_scale": 2.0}, {"scales": (0.5, 0.5)}), ({"attn_scale": 2.0, "use_attn_scale": False}, {"scales": (1.0, 1.0)}),
    ({"attn_scores_soft_cap": -1.0}, {}), ({"attn_scores_soft_cap": 0.0}, {}), ({"attn_scores_soft_cap": 0.5}, {"soft_caps": (0.5, 0.5)}),
    ({"d_vocab_out": -1}, {}), ({"d_vocab_out": 3}, {"d_vocab_out": 3}), ({"n_key_value_heads": 2}, {"n_key_heads": 2}), ({"normalization_type": None}, {"normalization_type": None}),
    ({"normalization_type": "LNPre"}, {}), ({"normalization_type": "RMSPre"}, {"normalization_type": "RMS"}), ({"normalization_type": "RMS"}, {"normalization_type": "RMS"}),
])  # fmt: skip
def test_sizes_that_are_stated_and_left_out(stated: dict[str, Any], found: dict[str, Any]) -> None:
    made = _config(SimpleNamespace(**OWN, **stated), [])
    wanted = {**USUAL, **found}
    if wanted["d_vocab_out"] == 0:
        wanted["d_vocab_out"] = 5
    assert {name: getattr(made, name) for name in wanted} == wanted


@pytest.mark.parametrize(("stated", "name"), [
    ({}, "none"), ({"positional_embedding_type": "rotary"}, "rotary"), ({"positional_embedding_type": "standard"}, "learned"), ({"positional_embedding_type": "alibi", "positions": "rotary"}, "alibi"),
    ({"positional_embedding_type": None, "positions": "alibi"}, "alibi"), ({"positions": "limit"}, "limit"), ({"positional_embedding_type": "shortformer"}, "none"),
])  # fmt: skip
def test_positions_by_either_name(stated: dict[str, Any], name: str) -> None:
    assert _config(SimpleNamespace(**OWN, **stated), []).positions.name == name


def test_queries_are_turned_where_a_hook_shows_it() -> None:
    cfg = SimpleNamespace(**OWN)
    assert _config(cfg, ["blocks.0.attn.hook_rot_q"]).turned
    assert not _config(cfg, ["blocks.1.attn.hook_rot_q", "blocks.0.attn.hook_q"]).turned
