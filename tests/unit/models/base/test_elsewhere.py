"""A model that computes elsewhere: the same numbers, hooks and edits as here, and no tensor made on another device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.every_encoding import EXAMPLES, said
from tests.support.models.pretrained_folders import save_folder
from tests.support.models.same_outputs import different, same
from tests.support.models.unplaced import meta_while_computing
from workbench.models.architectures import make_config, make_model
from workbench.models.base.other_device import compute_elsewhere
from workbench.models.compute_device import ComputeDevice, computing_on, current_device
from workbench.models.errors import DeviceError
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.positions.rotary import Rotary

SIZES = {"d_vocab": 5, "d_vocab_out": 3, "d_model": 16, "n_ctx": 24, "n_layers": 2}
SSM = {**SIZES, "architecture": "ssm", "gates": "nonnegative", "d_inner": 16, "d_state": 4}
TOKENS = torch.randint(0, 5, (3, 12), generator=torch.Generator().manual_seed(0))


def model_of(positions: Any, **changed: Any) -> Any:
    fields = {**SIZES, "n_heads": 2, "d_head": 8, "d_mlp": 32, "positions": positions, **changed}
    return make_model(make_config(fields), seed=1).eval()


def twin_of(model: Any) -> Any:
    twin = make_model(model.cfg)
    twin.load_state_dict(model.state_dict())
    return twin.eval()


@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_every_encoding_computes_elsewhere_as_here(
    positions: Any, monkeypatch: pytest.MonkeyPatch, other_device: str
) -> None:
    check(model_of(positions), monkeypatch, other_device)


def test_an_unplaced_tensor_would_be_found(monkeypatch: pytest.MonkeyPatch, other_device: str) -> None:
    def unplaced(self: Any, ids: torch.Tensor, d_head: int, dtype: torch.dtype) -> Any:
        by = (ids[..., None] * torch.arange(d_head))[:, :, None]
        return by.cos().to(dtype), by.sin().to(dtype)

    monkeypatch.setattr(Rotary, "turn", unplaced)
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        check(model_of({"name": "rotary"}), monkeypatch, other_device)


# Hardmax with positions, so that no two keys tie: a device may break a tie in another way.
@pytest.mark.parametrize(
    "changed", [{"attention": "hardmax", "positions": "learned"}, {"attention": "linear"}, {"log_scaling": "all"}]
)
def test_every_kind_of_attention_does(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, other_device: str
) -> None:
    check(model_of(**{"positions": "none", **changed}), monkeypatch, other_device)


def test_a_state_space_model_does(monkeypatch: pytest.MonkeyPatch, other_device: str) -> None:
    check(make_model(make_config(SSM), seed=1).eval(), monkeypatch, other_device)


@pytest.mark.parametrize("fields", [{}, {"cell": "elman", "initial_state": "trained"}, {"initial_state": "ones"}])
def test_a_recurrent_network_does(fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch, other_device: str) -> None:
    check(make_model(make_config({**SIZES, "architecture": "rnn", **fields}), seed=1).eval(), monkeypatch, other_device)


def check(model: Any, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    plain = twin_of(model)
    with meta_while_computing(monkeypatch), torch.no_grad():
        compute_elsewhere(model, twin_of(model), device)
        wanted, expected = plain.run_with_cache(TOKENS)
        found, seen = model.run_with_cache(TOKENS)
        assert same(found, wanted, device)
        assert set(seen) == set(expected)
        assert different(seen, expected, device) == {}
        assert same(model(TOKENS), plain(TOKENS), device), "nothing watched: fused"


def test_edits_reach_the_device_whether_given_back_or_written(other_device: str) -> None:
    def given(value: torch.Tensor, hook: Any) -> torch.Tensor:
        return value * 2

    def written(value: torch.Tensor, hook: Any) -> None:
        value[:, 3] = 0.0

    plain = model_of({"name": "rotary"})
    model = compute_elsewhere(model_of({"name": "rotary"}), twin_of(plain), other_device, autocast=False)
    for edit in (given, written):
        hooks = [("blocks.0.hook_resid_post", edit)]
        with torch.no_grad():
            edited, expected = (each.run_with_hooks(TOKENS, fwd_hooks=hooks) for each in (model, plain))
            assert same(edited, expected, other_device)


def test_a_changed_weight_is_carried_over_and_a_graph_is_kept_here(other_device: str) -> None:
    plain = model_of({"name": "rotary"})
    model = compute_elsewhere(model_of({"name": "rotary"}), twin_of(plain), other_device)
    with torch.no_grad():
        for one in (model, plain):
            one.embed.W_E *= 1.5
        assert same(model(TOKENS), plain(TOKENS), other_device)
    model(TOKENS).sum().backward()
    plain(TOKENS).sum().backward()
    assert torch.equal(model.embed.W_E.grad, plain.embed.W_E.grad)


def test_bfloat16_changes_eight_bits_and_is_handed_over_in_float32(other_device: str) -> None:
    plain = model_of({"name": "rotary"})
    model = compute_elsewhere(model_of({"name": "rotary"}), twin_of(plain), other_device, autocast=True)
    with torch.no_grad():
        wanted = plain(TOKENS)
        found, seen = model.run_with_cache(TOKENS)
    assert {tensor.dtype for tensor in (found, *seen.values())} == {torch.float32}
    off = float((found - wanted).abs().max() / wanted.abs().max())
    assert 0 < off < 0.03
    rows = seen["blocks.1.attn.hook_pattern"].sum(-1)
    assert float((rows - 1).abs().max()) < 0.02


def test_a_pretrained_model_computes_elsewhere_behind_hooks_without_weights(tmp_path: Path, other_device: str) -> None:
    folder = save_folder("llama", tmp_path / "m")
    plain = open_folder(folder)
    placed = open_folder(folder, device=other_device)
    assert next(placed.parameters()).device.type == "meta"
    assert set(placed.hook_dict) == set(plain.hook_dict)
    asked = torch.tensor([3, 5])
    with torch.no_grad():
        wanted, expected = plain.run_with_cache(TOKENS)
        found, seen = placed.run_with_cache(TOKENS)
        assert same(found, wanted, other_device)
        assert different(seen, expected, other_device) == {}
        assert same(placed(TOKENS, positions=asked), plain(TOKENS, positions=asked), other_device)
        hidden = expected["ln_final.hook_normalized"]
        assert same(placed.read_out(hidden), plain.read_out(hidden), other_device)


@pytest.mark.parametrize(
    ("device", "dtype", "sentence"),
    [
        ("gpu", "", "'gpu'"),
        ("cuda:x", "", "device"),
        ("cpu", "float8", "'float8'"),
    ],
)
def test_names_are_refused_in_one_sentence(device: str, dtype: str, sentence: str) -> None:
    with pytest.raises(DeviceError, match=sentence):
        ComputeDevice(device, dtype)


def test_what_is_not_there_is_said_and_auto_takes_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"cuda": 0, "mps": 0}
    monkeypatch.setattr("workbench.models.compute_device._count", lambda torch, kind: there[kind])
    with pytest.raises(DeviceError, match="--device"):
        ComputeDevice("cuda:1").resolve()
    assert ComputeDevice("auto", "bfloat16").resolve() == ComputeDevice("cpu", "bfloat16")
    there["mps"] = 1
    assert ComputeDevice("auto").resolve().kind == "mps"
    there["cuda"] = 2
    assert ComputeDevice("auto").resolve() == ComputeDevice("cuda")
    assert ComputeDevice("cuda:1").resolve().kind == "cuda"
    with pytest.raises(DeviceError, match="torch"):
        ComputeDevice("cuda:2").resolve()


def test_only_what_is_unusual_is_a_fact() -> None:
    assert ComputeDevice().facts == {}
    assert ComputeDevice("cuda:1", "bfloat16").facts == {"device": "cuda", "dtype": "bfloat16"}
    before = current_device()
    with computing_on(ComputeDevice("cpu", "bfloat16")):
        assert current_device().dtype == "bfloat16"
    assert current_device() == before


@pytest.mark.parametrize(("device", "dtype", "fits"), [
    ("cpu", "", True), ("cuda", "bfloat16", True), ("cuda:1", "float32", True), ("cuda:999", "", True), ("cuda:1000", "", False), ("mps", "", True),
    ("auto", "", True), ("gpu", "", False), ("cpu:0", "", False), ("cpu", "float16", False), ("", "", False),
])  # fmt: skip
def test_names_of_devices_and_numbers(device: str, dtype: str, fits: bool) -> None:
    if fits:
        assert ComputeDevice(device, dtype).dtype == dtype
    else:
        with pytest.raises(DeviceError, match=r"no kind of device|compute in"):
            ComputeDevice(device, dtype)
