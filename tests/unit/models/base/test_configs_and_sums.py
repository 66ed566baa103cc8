"""What configs make of sizes that are left out or are none, and sums of a model that its own weights say."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.architectures import _an_architecture
from workbench.models.base.architecture import SIZE, Architecture, unvalidated_size
from workbench.models.base.other_device import _here, _there
from workbench.models.errors import ArchitectureError
from workbench.models.positions import ENCODINGS, PositionError
from workbench.models.positions.encoding import Turn
from workbench.models.positions.named_config import object_from_name
from workbench.models.positions.rotary import Rotary
from workbench.models.ssm.config import SSMConfig
from workbench.models.transformer.scores import _at

SIZES: dict[str, Any] = {"d_vocab": 5, "n_layers": 2, "d_model": 8, "n_ctx": 9}


@pytest.mark.parametrize(("value", "size"), [
    (3, 3), (1, 1), (0, 0), (-1, 0), (SIZE, SIZE), (SIZE + 1, 0), ("3", 0), (3.0, 0), (None, 0),
])  # fmt: skip
def test_a_size_that_others_follow_from(value: object, size: int) -> None:
    assert unvalidated_size({"x": value}, "x") == size
    assert unvalidated_size({"y": value}, "x") == 0


def test_widths_that_follow_and_widths_that_are_stated() -> None:
    made = ModelConfig(**SIZES, n_heads=2)
    assert (made.d_vocab_out, made.d_head, made.d_mlp) == (5, 4, 32)
    assert made.initializer_range == pytest.approx(0.8 / 8**0.5)
    stated = ModelConfig(**SIZES, n_heads=3, d_head=5, d_mlp=(7, 6), d_vocab_out=4, initializer_range=0.25)
    assert (stated.d_vocab_out, stated.d_head, stated.d_mlp, stated.initializer_range) == (4, 5, (7, 6), 0.25)
    zeros = ModelConfig(**SIZES, n_heads=1, d_head=0, d_mlp=0, d_vocab_out=0, initializer_range=0.0)
    assert zeros == ModelConfig(**SIZES, n_heads=1)
    with pytest.raises(ValueError, match="d_model"):
        ModelConfig(**SIZES, n_heads=3)
    for wrong in ({"d_model": 0}, {"d_model": None}, {"n_heads": 0}, {"d_model": "x"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ModelConfig(**{**SIZES, "n_heads": 1, **wrong})
    for d_model, inner, rank in ((8, 16, 4), (64, 128, 4), (65, 130, 5), (80, 160, 5)):
        ssm = SSMConfig(**{**SIZES, "d_model": d_model})
        assert (ssm.d_inner, ssm.dt_rank, ssm.variant) == (inner, rank, "ssm-nonnegative")
    ssm = SSMConfig(**SIZES, d_inner=3, dt_rank=2, dt_min=0.1, dt_max=0.1)
    assert (ssm.d_inner, ssm.dt_rank) == (3, 2)
    with pytest.raises(ValueError, match="dt_min"):
        SSMConfig(**SIZES, dt_min=0.2)


@pytest.mark.parametrize(("fields", "says"), [
    ({"d_mlp": (7,)}, "d_mlp"), ({"d_mlp": (7, 7, 7)}, "d_mlp"), ({"tied": True, "d_vocab_out": 6}, "tied"),
    ({"attention": "linear", "log_scaling": "all"}, "scale"), ({"attention": "linear", "positions": "rotary"}, "rotary"),
    ({"attention": "linear", "positions": "alibi"}, "alibi"), ({"log_scaling": "local"}, "positions"),
])  # fmt: skip
def test_settings_that_do_not_go_together(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ModelConfig(**SIZES, n_heads=2, **fields)


def test_settings_that_go_together() -> None:
    for fields in (
        {"tied": True, "d_vocab_out": 5}, {"tied": True, "d_vocab_out": 4}, {"attention": "linear", "positions": "learned"},
        {"attention": "linear"}, {"log_scaling": "local", "positions": "limit"}, {"log_scaling": "all", "positions": "alibi"},
    ):  # fmt: skip
        ModelConfig(**SIZES, n_heads=2, **fields)
    rows = [ModelConfig(**SIZES, n_heads=2, d_vocab_out=out).tied_rows for out in (5, 4, 2)]
    assert rows == [slice(0, 5), slice(1, 5), slice(1, 3)]


@pytest.mark.parametrize("found", [3, "x", int, Architecture(**{**SIZES, "attention": "x"}), Rotary])
def test_what_is_no_architecture(found: object) -> None:
    with pytest.raises(ArchitectureError, match="Architecture"):
        _an_architecture("ssm", found, "a:b")
    assert _an_architecture("ssm", SSMConfig, "a:b") is SSMConfig
    with pytest.raises(ArchitectureError, match="'mine'"):
        _an_architecture("mine", SSMConfig, "a:b")


@pytest.mark.parametrize(("value", "says"), [
    (3, "parameters"), (["rotary"], "name"), ({"base": 3}, "unknown"), ({"name": "rotary", "bas": 3}, "'bas'"),
    ({"name": "none", "x": 3}, "parameter"), ({"name": "rotary", "base": "x"}, "input"),
])  # fmt: skip
def test_encodings_that_cannot_be(value: object, says: str) -> None:
    with pytest.raises(PositionError, match=says):
        object_from_name(ENCODINGS, value)


def upstream_tables(turn: Turn | None) -> list[torch.Tensor]:
    """The tables of TransformerLens for a rotation: cosines and sines of all angles, each twice."""
    assert turn is not None
    return [part[0, :, 0, part.shape[-1] // 2 :].repeat(1, 2).float() for part in turn]


def test_tables_of_another_library_must_be_its_own() -> None:
    own, ids = Rotary(base=100.0), torch.arange(6)[None]
    cos, sin = upstream_tables(own.turn(ids, 4, torch.float64))
    good = {"a.rotary_cos": cos, "a.rotary_sin": sin, "a.mask": torch.ones(2)}
    own.check_upstream_buffers(good, 4)
    for name, table in (
        ("a.rotary_cos", sin), ("a.rotary_sin", cos), ("a.rotary_sin", sin + 3e-5), ("a.rotary_cos", cos[:, :2]),
    ):  # fmt: skip
        with pytest.raises(PositionError, match=f"{name}"):
            own.check_upstream_buffers({**good, name: table}, 4)
    own.check_upstream_buffers({"a.rotary_cos": cos + 5e-6}, 4)


def test_values_here_and_there() -> None:
    for given, found in (
        (torch.float32, torch.float32), (torch.float64, torch.float64), (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32), (torch.int64, torch.int64),
    ):  # fmt: skip
        assert _here(torch.ones(2, dtype=given)).dtype == found
    assert (_here("x"), _there("x", "cpu"), _here(None)) == ("x", "x", None)
    assert _there(torch.ones(2), "meta").device.type == "meta"


@pytest.mark.parametrize(("queries", "found"), [
    (range(1, 3), [1, 2]), (range(0, 5, 2), [0, 2, 4]), (range(4), [0, 1, 2, 3]), ([3, 0, 3], [3, 0, 3]), (range(3, 0, -1), [3, 2, 1]),
])  # fmt: skip
def test_chosen_places(queries: Any, found: list[int]) -> None:
    assert _at(torch.arange(5)[None], queries)[0].tolist() == found


# ---- sums of weights ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("attn_only", [False, True])
def test_biases_before_a_layer(attn_only: bool) -> None:
    model = HookedTransformer(ModelConfig(**SIZES, n_heads=2, attn_only=attn_only))
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            block.attn.b_O.fill_(10.0 ** (2 * layer))
            if not attn_only:
                block.mlp.b_out.fill_(3 * 10.0 ** (2 * layer))
    both = [float(model.accumulated_bias(layer)[0].detach()) for layer in range(3)]
    middle = [float(model.accumulated_bias(layer, mlp_input=True)[0].detach()) for layer in range(2)]
    alone = [float(model.accumulated_bias(layer, include_mlp_biases=False)[0].detach()) for layer in range(3)]
    assert alone == [0, 1, 101]
    assert (both, middle) == (([0, 1, 101], [1, 101]) if attn_only else ([0, 4, 404], [1, 104]))
    assert model.accumulated_bias(0).shape == (8,)


def test_composition_is_that_with_later_heads_and_directions_are_columns() -> None:
    model = HookedTransformer(ModelConfig(**SIZES, n_heads=2), seed=1).double()
    assert model.all_head_labels() == ["L0H0", "L0H1", "L1H0", "L1H1"]
    ov, qk = (model.W_V @ model.W_O), (model.W_Q @ model.W_K.transpose(-1, -2))
    for mode, right in (("Q", qk), ("K", qk.transpose(-1, -2)), ("V", ov)):
        found = model.all_composition_scores(mode)
        assert found.shape == (2, 2, 2, 2)
        for layer, head, other, target in torch.cartesian_prod(*[torch.arange(2)] * 4).tolist():
            wanted = 0.0
            if layer < other:
                both = (ov[layer, head] @ right[other, target]).norm()
                wanted = float((both / ov[layer, head].norm() / right[other, target].norm()).detach())
            assert float(found[layer, head, other, target].detach()) == pytest.approx(wanted), (mode, layer, other)
    columns = model.unembed.W_U
    assert torch.equal(model.tokens_to_residual_directions(3), columns[:, 3])
    assert torch.equal(model.tokens_to_residual_directions(torch.tensor(2)), columns[:, 2])
    assert torch.equal(model.tokens_to_residual_directions(torch.tensor([2])), columns[:, 2])
    assert torch.equal(model.tokens_to_residual_directions(torch.tensor([[2, 0]])), columns.T[[2, 0]][None])
    assert torch.equal(model.b_U, model.unembed.b_U)


class Letters:
    """A tokenizer of three letters."""

    names = ("<bos>", "a", "b", "c")

    def __init__(self, bos: bool) -> None:
        self.bos = bos

    def encode(self, text: str) -> list[int]:
        return [self.names.index(letter) for letter in text]


@pytest.mark.parametrize(("bos", "prepend", "front"), [
    (True, None, [0]), (True, True, [0]), (True, False, []), (False, None, []), (False, True, []), (False, False, []),
])  # fmt: skip
def test_texts_begin_with_bos_where_the_task_has_one(bos: bool, prepend: bool | None, front: list[int]) -> None:
    model = HookedTransformer(ModelConfig(**SIZES, n_heads=2))
    model.tokenizer = Letters(bos)
    assert model.to_tokens("abc", prepend).tolist() == [[*front, 1, 2, 3]]
    assert model.to_tokens(["ab", "ca"], prepend).tolist() == [[*front, 1, 2], [*front, 3, 1]]
    assert model.to_tokens(torch.tensor([1, 2]), prepend).tolist() == [[1, 2]]
    assert model.to_tokens(torch.tensor([[1, 2], [2, 1]])).tolist() == [[1, 2], [2, 1]]
    shown = ["<bos>"] * len(front)
    assert model.to_str_tokens("ab", prepend) == [*shown, "a", "b"]
    assert model.to_str_tokens(["a", "bc"], prepend) == [[*shown, "a"], [*shown, "b", "c"]]
    assert model.to_str_tokens(torch.tensor([1, 2])) == ["a", "b"]
    assert model.to_str_tokens(torch.tensor([[1, 2], [2, 1]])) == [["a", "b"], ["b", "a"]]
    assert torch.equal(model.tokens_to_residual_directions("c"), model.unembed.W_U[:, 3])


def test_rotary_settings_of_transformer_lens() -> None:
    assert Rotary.settings_of_upstream({}) == {"name": "rotary", "base": 10_000.0}
    said = {"rotary_dim": 8, "d_head": 8, "rotary_base": 50, "rotary_scaling_factor": 4.0}
    assert Rotary.settings_of_upstream(said) == {"name": "rotary", "base": 50.0, "scaling": "linear", "factor": 4.0}
    with pytest.raises(PositionError, match="rotates"):
        Rotary.settings_of_upstream({"rotary_dim": 4, "d_head": 8})
    for encoding in Rotary.examples():
        cos, sin = upstream_tables(encoding.turn(torch.arange(30)[None], 8, torch.float64))
        tables = {"rotary_cos": cos, "rotary_sin": sin}
        encoding.check_upstream_buffers(tables, 8)
        for name in tables:
            with pytest.raises(PositionError, match=f"{name}"):
                encoding.check_upstream_buffers({name: tables[name] + 1e-4}, 8)
        with pytest.raises(PositionError, match="its table"):
            encoding.check_upstream_buffers({"blocks.0.attn.rotary_cos": tables["rotary_sin"]}, 8)
        encoding.check_upstream_buffers({"mask": tables["rotary_sin"]}, 8)
