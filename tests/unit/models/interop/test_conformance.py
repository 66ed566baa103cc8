"""Against TransformerLens's own HookedTransformer 3.9.0, in processes that have it first on their path."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.support.models.reference import build
from workbench.models import HookedTransformer, ModelConfig, to_upstream
from workbench.models.interop.conformance import (
    TOLERANCE,
    Comparison,
    comparison_lines,
    hook_kind,
    labelled_difference,
    largest_difference,
)
from workbench.models.interop.upstream_lens import (
    UpstreamError,
    fields_of_config,
    fields_of_weights,
    our_weights,
    upstream_fields,
)
from workbench.models.positions import Rotary


def test_the_table_says_what_was_compared_and_what_lies_above_the_tolerance() -> None:
    hooks = ("hook_embed", "blocks.0.attn.hook_q", "blocks.1.attn.hook_q")
    good = Comparison("none", 1e-6, 2e-6, "blocks.1.attn.hook_q", hooks, ())
    bad = Comparison("alibi", 1e-6, 2e-4, "hook_embed", hooks, ("hook_position_ids",))
    assert list(comparison_lines([good, bad])) == [
        "model  hooks  largest difference of logits, of activations (where)",
        "none       3  1.0e-06, 2.0e-06 (blocks.1.attn.hook_q)",
        "alibi      3  1.0e-06, 2.0e-04 (hook_embed)  ABOVE 1e-05",
        "hooks compared: blocks.{l}.attn.hook_q, hook_embed",
        "hooks of ours alone: hook_position_ids",
    ]


def test_without_that_class_it_is_said_what_would_do() -> None:
    with pytest.raises(UpstreamError, match=r"3\.9"):
        to_upstream(build("none"))


def test_differences_of_shape_or_of_infinities_are_infinite() -> None:
    a = torch.tensor([1.0, -torch.inf])
    assert largest_difference(a, a + 0) == 0
    assert largest_difference(a, a[:1]) == largest_difference(a, torch.zeros(2)) == float("inf")
    assert largest_difference(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 2.0])) == 0.5


# ---- what either side cannot express ----------------------------------------------------------------
@pytest.mark.parametrize(("name", "lacking"), [
    ("sinusoidal/none", "positions sinusoidal"), ("limit/all", "positions limit and no log_scaling all"),
    ("none/linear", "linear attention"), ("bare", "MLPs of different widths"),
])  # fmt: skip
def test_models_that_transformer_lens_has_not_are_refused(name: str, lacking: str) -> None:
    with pytest.raises(UpstreamError, match=f"{lacking}"):
        to_upstream(build(name))


CONFIG = {
    "d_model": 16, "d_head": 8, "n_layers": 2, "n_ctx": 24, "n_heads": 2, "d_mlp": 32, "d_vocab": 5, "d_vocab_out": 3,
    "act_fn": "relu", "normalization_type": "LN", "positional_embedding_type": "rotary", "rotary_dim": 8,
    "rotary_base": 10000, "rotary_scaling_factor": 1.0, "dtype": "torch.float32", "device": "cpu", "eps": 1e-05,
    "attn_scale": 8**0.5, "gated_mlp": False, "attn_only": False, "seed": None,
}  # fmt: skip


def test_a_config_is_read_field_by_field() -> None:
    made = ModelConfig(**fields_of_config({**CONFIG, "rotary_base": 500, "rotary_scaling_factor": 2.0}))
    assert made.positions == Rotary(base=500.0, scaling="linear", factor=2.0)
    assert (made.d_mlp, made.act_fn, made.d_vocab_out, made.n_ctx) == (32, "relu", 3, 24)
    assert upstream_fields(made) | {"rotary_base": 500} == {
        **{k: CONFIG[k] for k in CONFIG if k not in ("dtype", "device", "attn_scale", "gated_mlp", "seed")},
        "rotary_base": 500, "rotary_scaling_factor": 2.0,
    }  # fmt: skip
    assert (
        ModelConfig(**fields_of_config({**CONFIG, "positional_embedding_type": "standard"})).positions.name == "learned"
    )
    assert ModelConfig(**fields_of_config({**CONFIG, "d_vocab_out": -1})).d_vocab_out == 5


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"normalization_type": "LNPre"}, "LayerNorms"),
    ({"gated_mlp": True}, "gated_mlp"),
    ({"attention_dir": "bidirectional"}, "'bidirectional'"),
    ({"positional_embedding_type": "shortformer"}, "'shortformer'"),
    ({"rotary_dim": 4}, "dimensions"),
    ({"attn_scale": 1.0}, "attn_scale"),
    ({"new_trick": 3}, "'new_trick'"),
])  # fmt: skip
def test_configs_of_models_that_we_have_not_are_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(UpstreamError, match=sentence):
        fields_of_config({**CONFIG, **changes})


@pytest.mark.parametrize("name", ["none/none", "learned/none", "rotary/none", "bare"])
def test_shapes_tell_what_they_can(name: str) -> None:
    model = build(name, d_mlp=20)
    found = fields_of_weights(model.state_dict())
    cfg = model.cfg
    assert {k: getattr(cfg, k) for k in found} == found
    assert ("n_ctx" in found) == (cfg.positions.name == "learned")
    assert ("normalization_type" in found) == (cfg.normalization_type == "LN")


def test_buffers_are_stripped_and_checked() -> None:
    model = build("rotary/none")
    ids, half = torch.arange(24.0)[:, None], torch.arange(4.0)
    angles = (ids / 10_000 ** (half / 4)).repeat(1, 2)
    buffers = {
        f"blocks.{layer}.attn.{name}": value
        for layer in range(2)
        for name, value in {
            "rotary_cos": angles.cos(), "rotary_sin": angles.sin(), "mask": torch.ones(2, 2), "IGNORE": torch.tensor(0.0),
        }.items()
    }  # fmt: skip
    weights = {**model.state_dict(), **buffers}
    assert set(our_weights(model.cfg, weights)) == set(model.state_dict())
    assert fields_of_weights(weights)["n_ctx"] == 24
    other = model.cfg.model_copy(update={"positions": Rotary(base=500.0)})
    with pytest.raises(UpstreamError, match=r"rotary_(cos|sin) is not that of rotary positions with base 500"):
        our_weights(other, weights)
    adjacent = {**weights, "blocks.1.attn.rotary_cos": angles[:, :4].cos().repeat_interleave(2, 1)}
    with pytest.raises(UpstreamError, match=r"blocks\.1\.attn\.rotary_cos"):
        our_weights(model.cfg, adjacent)


def test_a_position_table_is_dropped_only_where_nothing_reads_it() -> None:
    table = {"pos_embed.W_pos": torch.ones(24, 16)}
    alibi, none, learned = (build(f"{name}/none") for name in ("alibi", "none", "learned"))
    assert "pos_embed.W_pos" not in our_weights(alibi.cfg, {**alibi.state_dict(), **table})
    assert "pos_embed.W_pos" in our_weights(learned.cfg, {**learned.state_dict(), **table})
    assert "pos_embed.W_pos" not in our_weights(none.cfg, {**none.state_dict(), "pos_embed.W_pos": torch.zeros(24, 16)})
    with pytest.raises(UpstreamError, match="W_pos"):
        our_weights(none.cfg, {**none.state_dict(), **table})


def test_what_is_no_state_dict_is_named() -> None:
    with pytest.raises(UpstreamError, match=r"embed\.W_E"):
        fields_of_weights({"transformer.wte.weight": torch.zeros(2, 2)})


def test_differences_and_what_conforms() -> None:
    one, other = torch.tensor([1.0, -math.inf, 3.0]), torch.tensor([1.0, -math.inf, 2.5])
    assert largest_difference(one, other) == 0.5
    assert largest_difference(one, other[:2]) == math.inf
    assert largest_difference(one, torch.tensor([1.0, 0.0, 3.0])) == math.inf
    assert labelled_difference((one[:1], ["a"]), (torch.tensor([9.0, 1.25]), ["pos_embed", "a"])) == 0.25
    assert labelled_difference((one[:1], ["a"]), (torch.tensor([9.0, 1.25]), ["b", "a"])) == math.inf
    assert hook_kind("blocks.10.attn.hook_q") == "blocks.{l}.attn.hook_q"
    for value, conforms in ((TOLERANCE, True), (TOLERANCE * 1.01, False)):
        for place in ({"logits": value}, {"activations": value}, {"utilities": {"x": value}}):
            made = Comparison(
                **{
                    "case": "c",
                    "logits": 0.0,
                    "activations": 0.0,
                    "at": "h",
                    "hooks": ("blocks.0.h",),
                    "ours": (),
                    "utilities": {"y": 0.0},
                    **place,
                }
            )  # type: ignore[arg-type]
            assert made.conforms == conforms
            lines = list(comparison_lines([made]))
            assert ("ABOVE 1e-05" in lines[1]) == (not conforms)
            assert lines[2:] == [
                "hooks compared: blocks.{l}.h",
                f"utilities compared, largest difference {max(made.utilities.values()):.1e}: {', '.join(made.utilities)}",
                "hooks of ours alone: none",
            ]


UPSTREAM = {
    "n_layers": 1,
    "d_model": 8,
    "n_heads": 2,
    "d_head": 4,
    "n_ctx": 9,
    "d_vocab": 5,
    "d_vocab_out": -1,
    "act_fn": "relu",
    "normalization_type": None,
    "d_mlp": 7,
}


@pytest.mark.parametrize(("change", "found"), [
    ({}, {"positions": {"name": "learned"}, "d_mlp": 7}), ({"attn_scale": 2.0}, {"d_head": 4}), ({"attn_scale": -1.0}, {}), ({"attn_scale": 2.00001}, "by sqrt"),
    ({"attn_scale": 2.000001}, {}), ({"d_vocab_out": 3}, {"d_vocab_out": 3}), ({"attn_only": True}, {"attn_only": True}), ({"positional_embedding_type": "rotary"}, {"positions": {"name": "rotary", "base": 10_000.0}}),
    ({"positional_embedding_type": "shortformer"}, "known here"), ({"normalization_type": "LNPre"}, "folded"), ({"gated_mlp": True}, "gated_mlp = True"), ({"unheard": 1}, "not known here"),
    ({"output_logits_soft_cap": None}, {}), ({"output_logits_soft_cap": 30.0}, "soft_cap"), ({"seed": 5}, {}),
])  # fmt: skip
def test_configs_of_transformer_lens(change: dict[str, Any], found: dict[str, Any] | str) -> None:
    if isinstance(found, str):
        with pytest.raises(UpstreamError, match=found):
            fields_of_config({**UPSTREAM, **change})
        return
    made = fields_of_config({**UPSTREAM, **change})
    assert made == made | found
    assert ("d_vocab_out" in made) == ("d_vocab_out" in change)
    assert ("d_mlp" in made) == ("act_fn" in made) == (not change.get("attn_only"))


def test_what_shapes_tell() -> None:
    model = HookedTransformer(
        ModelConfig(d_vocab=5, d_vocab_out=3, n_layers=11, d_model=8, n_heads=2, n_ctx=9, d_mlp=6, positions="learned")
    )
    weights = model.state_dict()
    told = {
        "d_vocab": 5,
        "d_model": 8,
        "n_layers": 11,
        "n_heads": 2,
        "d_head": 4,
        "d_vocab_out": 3,
        "attn_only": False,
        "d_mlp": 6,
        "normalization_type": "LN",
        "n_ctx": 9,
    }
    assert fields_of_weights(weights) == told
    bare = {
        name: value
        for name, value in weights.items()
        if ".mlp." not in name and ".ln" not in name and "pos_embed" not in name
    }
    assert fields_of_weights(bare) == {key: told[key] for key in list(told)[:6]} | {"attn_only": True}
    assert fields_of_weights({**bare, "blocks.0.attn.mask": torch.ones(12, 12)})["n_ctx"] == 12
    with pytest.raises(UpstreamError, match="unembed"):
        fields_of_weights({name: value for name, value in weights.items() if "unembed" not in name})
    assert upstream_fields(model.cfg)["d_mlp"] == 6


@pytest.mark.parametrize(("options", "lacking"), [
    ({}, ""), ({"d_mlp": (6, 6)}, ""), ({"d_mlp": (6, 7)}, "no MLPs of different widths"), ({"log_scaling": "all", "attention": "hardmax"}, "no log_scaling all and no hardmax attention"),
    ({"positions": "limit", "log_scaling": "local"}, "no positions limit and no log_scaling local"),
])  # fmt: skip
def test_what_transformer_lens_has_not(options: dict[str, Any], lacking: str) -> None:
    cfg = ModelConfig(**{"d_vocab": 5, "n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 9, **options})
    if lacking:
        with pytest.raises(UpstreamError, match=lacking):
            upstream_fields(cfg)
    else:
        assert upstream_fields(cfg)["positional_embedding_type"] == "standard"


def test_tables_of_positions_that_nothing_reads_are_dropped_and_others_refused() -> None:
    model = HookedTransformer(ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=5))
    weights = {**model.state_dict(), "blocks.0.attn.mask": torch.ones(5, 5)}
    assert set(our_weights(model.cfg, {**weights, "pos_embed.W_pos": torch.zeros(5, 4)})) == set(model.state_dict())
    with pytest.raises(UpstreamError, match="W_pos"):
        our_weights(model.cfg, {**weights, "pos_embed.W_pos": torch.ones(5, 4)})
    alibi = ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=5, positions="alibi")
    assert "pos_embed.W_pos" not in our_weights(alibi, {**weights, "pos_embed.W_pos": torch.ones(5, 4)})
