"""Every family of pretrained models, as a tiny folder made here, against plain eager transformers in float64."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from tests.support.models.pretrained_folders import CONFIGS, HEADS, LAYERS, VARIANTS, VOCABULARY, WIDTH, save_folder
from workbench.models.base.lens_parts import HookPoint
from workbench.models.base.protocol import HookedModel
from workbench.models.interop.hugging_face import adapter
from workbench.models.interop.hugging_face import self_test as conformance_self_test
from workbench.models.interop.hugging_face.adapter import PretrainedConfig, PretrainedModel
from workbench.models.interop.hugging_face.families import FAMILIES, PretrainedError
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.interop.hugging_face.self_test import self_test, uneven_ids

TOKENS = torch.randint(0, VOCABULARY, (3, 12), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("pretrained")

    return cache(lambda name: save_folder(name, root / name))


@pytest.fixture(scope="module")
def opened(folders):
    @cache
    def make(name: str) -> PretrainedModel:
        return open_folder(folders(name), dtype=torch.float64)

    return make


def eager(folder: Path):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float64, local_files_only=True
    ).eval()


def eager_logits(model, **options) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=TOKENS, use_cache=False, **options).logits


def edited(model: PretrainedModel, name: str, edit) -> torch.Tensor:
    with torch.no_grad():
        return model.run_with_hooks(TOKENS, fwd_hooks=[(name, lambda value, hook: edit(value))])


def test_every_listed_type_is_tried() -> None:
    assert {name.split()[0] for name in CONFIGS} == {*FAMILIES}


@pytest.mark.parametrize("name", CONFIGS)
def test_logits_scores_and_pattern_are_those_of_plain_attention(folders, opened, name) -> None:
    model = opened(name)
    assert isinstance(model, HookedModel)
    assert model.refused == {}
    assert model.cfg.n_layers == LAYERS
    with torch.no_grad():
        out = eager(folders(name))(input_ids=TOKENS, use_cache=False, output_attentions=True)
        fused = model(TOKENS)
    logits, seen = model.run_with_cache(TOKENS)
    # Plain attention takes its softmax in float32, whatever the model's type.
    assert torch.allclose(fused, out.logits, atol=1e-5)
    assert torch.allclose(logits, out.logits, atol=1e-5)
    for layer, pattern in enumerate(out.attentions):
        own = seen[f"blocks.{layer}.attn.hook_pattern"]
        assert torch.allclose(own, pattern, atol=1e-6)
        assert torch.allclose(own.sum(-1), torch.ones(()).double())
        scores = seen[f"blocks.{layer}.attn.hook_attn_scores"]
        visible = pattern > 0
        assert torch.equal(scores.isfinite(), visible)
        own_key = pattern.diagonal(dim1=-2, dim2=-1)[..., None]
        gaps = scores - scores.diagonal(dim1=-2, dim2=-1)[..., None]
        assert torch.allclose(gaps[visible], (pattern / own_key).log()[visible], atol=1e-4)
        again = model.cfg.score_inputs(layer, seen).scores([3, 11])
        assert torch.allclose(again, scores[:, :, [3, 11]], atol=1e-12)
        window = model.cfg.windows[layer]
        assert int(visible[0, 0, -1].sum()) == (12 if window is None else window)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_stream_adds_up_and_ends_in_the_read_out(opened, name) -> None:
    model = opened(name)
    logits, seen = model.run_with_cache(TOKENS)
    for layer in range(LAYERS):
        pre, attn, mlp, post = (
            seen[f"blocks.{layer}.hook_{part}"] for part in ("resid_pre", "attn_out", "mlp_out", "resid_post")
        )
        assert torch.allclose(pre + attn + mlp, post)
        if not model.cfg.parallel:
            assert torch.allclose(seen[f"blocks.{layer}.hook_resid_mid"], pre + attn)
    assert ("blocks.0.hook_resid_mid" in model.hook_dict) == (name != "gpt_neox")
    assert torch.allclose(model.read_out(seen["ln_final.hook_normalized"]), logits)
    asked = torch.tensor([2, 7])
    with torch.no_grad():
        assert torch.allclose(model(TOKENS, positions=asked), logits[:, asked])
        assert model(TOKENS, return_type=None) is None


@pytest.mark.parametrize("name", CONFIGS)
def test_edits_do_what_they_do_in_plain_attention(folders, opened, name) -> None:
    model, peer = opened(name), eager(folders(name))
    blocks = peer.get_submodule(model.family.base).get_submodule(model.family.blocks)
    attention = blocks[1].get_submodule(model.family.attention)
    width = model.cfg.d_head

    def without_head(module, args):
        z = args[0].clone()
        z[..., 2 * width : 3 * width] = 0
        return (z,)

    out = next(getattr(attention, n) for n in ("o_proj", "dense", "c_proj") if hasattr(attention, n))
    handle = out.register_forward_pre_hook(without_head)
    head = torch.arange(HEADS) == 2
    found = edited(model, "blocks.1.attn.hook_z", lambda z: z.masked_fill(head[:, None], 0.0))
    assert torch.allclose(found, eager_logits(peer), atol=1e-5)
    handle.remove()
    assert not torch.allclose(found, eager_logits(peer), atol=1e-3), "the head matters"

    # Without queries, all scores are 0.
    flat = edited(model, "blocks.1.attn.hook_attn_scores", lambda s: torch.zeros_like(s).where(s.isfinite(), s))
    uniform = edited(model, "blocks.1.attn.hook_pattern", lambda p: (p > 0).double() / (p > 0).sum(-1, keepdim=True))
    assert torch.allclose(flat, uniform)
    no_queries(attention, name)
    assert torch.allclose(flat, eager_logits(peer), atol=1e-5)

    halved = edited(model, "blocks.0.hook_resid_post", lambda x: x * 0.5)
    peer = eager(folders(name))
    peer.get_submodule(model.family.base).get_submodule(model.family.blocks)[0].register_forward_hook(
        lambda m, args, out: out * 0.5
    )
    assert torch.allclose(halved, eager_logits(peer), atol=1e-5)
    if not model.cfg.parallel:
        ramp = torch.linspace(-1, 1, WIDTH)
        added = [edited(model, f"blocks.0.hook_{part}", lambda x: x + ramp) for part in ("resid_mid", "attn_out")]
        assert torch.allclose(*added)
        assert not torch.allclose(added[0], eager_logits(eager(folders(name))), atol=1e-3)


def no_queries(attention, name: str) -> None:
    """Let a plain layer's queries all be 0."""
    with torch.no_grad():
        if name == "gpt2":
            attention.c_attn.weight[:, :WIDTH] = 0
            attention.c_attn.bias[:WIDTH] = 0
        elif name == "phi3":
            attention.qkv_proj.weight[:WIDTH] = 0
        elif name.startswith("gpt_neox"):
            for part in (attention.query_key_value.weight, attention.query_key_value.bias):
                part.view(HEADS, 3, WIDTH // HEADS, -1)[:, 0] = 0
        else:
            for parameter in attention.q_proj.parameters():
                parameter.zero_()


@pytest.mark.parametrize("name", [*CONFIGS, *VARIANTS])
def test_uneven_position_ids_give_the_logits_of_plain_attention(folders, opened, name) -> None:
    """On ids with a gap, a repeat and fractions: fused, observed, and by transformers' eager attention."""
    model = opened(name)
    peer = eager(folders(name))
    every_id = uneven_ids(12, model.cfg.positions.between)
    assert {*every_id} == {"a gap", "a repeat"} | ({"fractions"} if model.family.turned else set())
    for kind, row in every_id.items():
        ids = row.expand_as(TOKENS)
        plain = eager_logits(peer, position_ids=ids, attention_mask=torch.ones_like(TOKENS))
        with torch.no_grad():
            fused = model(TOKENS, row[None])
            observed, _ = model.run_with_cache(TOKENS, row[None])
            replaced = TOKENS.clone()
            replaced[:, :6] = (TOKENS[:, :6] + 1) % VOCABULARY
            early_tokens = float((model(replaced, row[None])[:, 6:] - fused[:, 6:]).abs().max())
        assert torch.allclose(fused, plain, atol=1e-5), kind
        assert torch.allclose(observed, plain, atol=1e-5), kind
        assert early_tokens > 0.01, f"{kind}: tokens before the gap do not matter"


def test_the_self_test_refuses_a_model_that_splits_a_sequence_at_a_gap(folders, monkeypatch) -> None:
    """transformers does so wherever it is given ids and no mask."""
    model = open_folder(folders("llama"))
    stack = model.module.get_submodule(model.family.base)
    real = stack.forward

    def without_mask(attention_mask, **options):
        ours = stack.config._attn_implementation == adapter.ATTENTION
        return real(attention_mask=None if ours else attention_mask, **options)

    monkeypatch.setattr(stack, "forward", without_mask)
    with pytest.raises(PretrainedError, match="ids"):
        self_test(model)


def test_a_hook_that_does_nothing_is_refused_by_its_name(folders, monkeypatch) -> None:
    def deaf(self, query, key, value, mask, scale, soft_cap, window):
        z = real(self, query, key, value, mask, scale, soft_cap, window)
        self.hook_pattern(torch.zeros(z.shape[0], HEADS, z.shape[1], z.shape[1]))
        return z

    real = adapter.AttentionPoints.forward
    model = open_folder(folders("llama"))
    assert model.refused == {}
    monkeypatch.setattr(adapter.AttentionPoints, "forward", deaf)
    model = open_folder(folders("llama"))
    assert model.refused["blocks.0.attn.hook_pattern"] == "it does not hold the weights that transformers gives"
    assert "blocks.0.attn.hook_pattern" not in model.hook_dict


class DeadHook(HookPoint):
    """Shows its value to hooks, and goes on with one that differs by rounding alone, whatever they return."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        super().__call__(x)
        return x * (1 + torch.finfo(x.dtype).eps) if self.fwd_hooks else x


@pytest.mark.parametrize("name", CONFIGS)
def test_dead_hooks_are_refused_by_name_and_no_others(folders, name) -> None:
    model = open_folder(folders(name), dtype=torch.float32)
    dead = {hook for hook in model.hook_dict if hook.startswith("blocks.1.")}
    kinds = ("rot_q", "rot_k") if model.family.turned else ("q", "k")
    assert {f"blocks.1.attn.hook_{part}" for part in (*kinds, "v", "z", "attn_scores", "pattern")} <= dead
    assert {f"blocks.1.hook_{part}" for part in ("resid_pre", "attn_out", "mlp_out", "resid_post")} <= dead
    for hook in dead:
        model.hook_dict[hook].__class__ = DeadHook
    self_test(model)
    assert model.refused == dict.fromkeys(dead, "an edit of it moves no logit")
    assert not dead & {*model.hook_dict}


@pytest.mark.parametrize("part", ["hook_rot_q", "hook_rot_k", "hook_v"])
def test_a_hook_that_is_dead_only_while_attention_is_fused_is_refused(folders, part) -> None:
    """Watching scores makes attention explicit, where the hook works: the edit is tried without."""

    class DeadWhileFused(HookPoint):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = super().__call__(x)
            return out if model.blocks[0].attn.hook_attn_scores.fwd_hooks else x

    model = open_folder(folders("llama"), dtype=torch.float32)
    getattr(model.blocks[0].attn, part).__class__ = DeadWhileFused
    self_test(model)
    assert model.refused == {f"blocks.0.attn.{part}": "an edit of it moves no logit"}


def test_a_model_that_is_read_wrongly_is_refused(folders, monkeypatch) -> None:
    monkeypatch.setattr(adapter, "_form", lambda attention: adapter.ScoreForm(attention.scaling, None, 3))
    with pytest.raises(PretrainedError, match="module"):
        open_folder(folders("llama"))
    monkeypatch.undo()
    model = open_folder(folders("llama"))
    with torch.no_grad():
        real = model.read_out
        monkeypatch.setattr(model, "read_out", lambda hidden: real(hidden) * 1.01)
        with pytest.raises(PretrainedError, match="attention"):
            self_test(model)


@pytest.mark.parametrize(("model_type", "why"), [
    ("bloom", "code"),
    ("mamba", "gates"),
    ("lama", "transformers.*llama"),
    ("opt", "gpt_neox"),
    ("gemma", "transformers"),
    ("gemma3", "transformers"),
    ("qwen2_moe", "transformers"),
])  # fmt: skip
def test_other_families_are_refused_in_words(tmp_path, model_type, why) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(PretrainedError, match=why) as refused:
        open_folder(tmp_path)
    assert ("did you mean" in str(refused.value)) == (model_type == "lama"), "a type that exists is no misspelling"


def test_a_folder_that_is_none_or_lacks_something_gets_one_sentence(tmp_path) -> None:
    with pytest.raises(PretrainedError, match="folder"):
        open_folder(tmp_path / "nowhere")
    with pytest.raises(PretrainedError, match=r"config\.json"):
        open_folder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(PretrainedError, match="weights"):
        open_folder(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(PretrainedError, match="pickles"):
        open_folder(tmp_path)


def test_weights_that_are_damaged_or_incomplete_are_refused(folders, tmp_path) -> None:
    from safetensors.torch import load_file, save_file

    whole = folders("llama")
    weights = load_file(whole / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    (tmp_path / "config.json").write_bytes((whole / "config.json").read_bytes())
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(PretrainedError, match=r"model\.layers\.1\.mlp\.up_proj\.weight"):
        open_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((whole / "model.safetensors").read_bytes()[:500])
    with pytest.raises(PretrainedError, match="cannot be read"):
        open_folder(tmp_path)


@pytest.mark.parametrize(("name", "changes", "why"), [
    ("llama", {"num_hidden_layers": 10**6}, "num_hidden_layers"),
    ("gpt2", {"n_layer": 3}, "n_layer"),
    ("llama", {"num_hidden_layers": 1}, "num_hidden_layers"),
    ("llama", {"vocab_size": 41}, "vocab_size"),
    ("llama", {"hidden_size": 64}, "hidden_size"),
    ("llama", {"intermediate_size": 10**6}, r"gate_proj\.weight"),
    ("llama", {"num_key_value_heads": 4}, r"k_proj\.weight"),
    ("llama", {"num_attention_heads": 0}, "num_attention_heads"),
    ("llama", {"hidden_size": "32"}, "'32'"),
    ("llama", {"hidden_act": "no_such"}, "hidden_act = 'no_such', which is not an activation of transformers"),
    ("llama", {"hidden_act": 5}, "hidden_act = 5, which is not an activation of transformers"),
    ("llama", {"rope_parameters": {"rope_type": "lineal"}}, "'lineal'.*linear"),
    ("llama", {"dtype": "float8_e4m3fn"}, "'float8_e4m3fn'"),
    ("llama", {"quantization_config": {"quant_method": "gptq"}}, "'gptq'"),
    ("llama", {"transformers_weights": "../b.safetensors"}, "transformers_weights"),
])  # fmt: skip
def test_a_config_is_compared_with_the_headers_before_a_model_is_built(
    folders, tmp_path, monkeypatch, name, changes, why
) -> None:
    monkeypatch.setattr("workbench.models.interop.hugging_face.opening.read_folder_weights", None)
    folder = shutil.copytree(folders(name), tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(PretrainedError, match=why) as refused:
        open_folder(folder)
    assert "\n" not in str(refused.value)


def test_a_whole_number_in_place_of_a_float_is_read_or_refused_by_its_name(folders, tmp_path) -> None:
    """transformers refuses it, unless another library has relaxed its checks."""
    folder = shutil.copytree(folders("gpt2"), tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "layer_norm_epsilon": 1}))
    refusal = ""
    try:
        eps = open_folder(folder).cfg.eps
    except PretrainedError as error:
        refusal = str(error)
    assert "'layer_norm_epsilon'" in refusal or (not refusal and eps == 1.0)


def test_labels_of_a_classifier_are_not_read(folders, tmp_path) -> None:
    folder = shutil.copytree(folders("llama"), tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_labels": 10**12}))
    assert open_folder(folder).refused == {}


def test_weights_of_fewer_than_16_bits_are_refused(folders, tmp_path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(folders("llama"), tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    first = "model.layers.0.mlp.up_proj.weight"
    for dtype, stored in ((torch.float8_e4m3fn, "F8_E4M3"), (torch.int8, "I8")):
        save_file({**weights, first: weights[first].to(dtype)}, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(PretrainedError, match=rf"{first}.*{stored}"):
            open_folder(folder)


def test_scores_without_the_extras_are_as_before() -> None:
    from workbench.models.transformer.scores import ScoreInputs

    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, 6, 4, 8, generator=generator) for _ in range(2))
    inputs = ScoreInputs(q, k)
    assert inputs.plain
    scores = inputs.scores(range(6))
    assert torch.equal(scores, replace(inputs, window=6).scores(range(6)))
    assert torch.allclose(scores, replace(inputs, scale=1 / math.sqrt(8)).scores(range(6)))
    grouped = replace(inputs, k=k[:, :, :2])
    assert not grouped.plain
    whole = replace(inputs, k=k[:, :, [0, 0, 1, 1]]).scores([5])
    assert torch.equal(grouped.scores([5]), whole)
    assert torch.equal(grouped.select(slice(0, 1), slice(2, 3)).scores([5]), whole[:1, 2:3])
    capped = replace(inputs, soft_cap=0.5).scores([5])[..., :6]
    assert torch.allclose(capped, 0.5 * (scores[:, :, 5:] / 0.5).tanh())


def test_what_a_config_states_is_what_is_written_down(tmp_path: Path) -> None:
    linear = {"rope_type": "linear", "rope_theta": 5e5, "factor": 4.0}
    llama = open_folder(save_folder("llama", tmp_path / "a", rope_parameters=linear, rms_norm_eps=1e-6)).cfg
    assert (llama.positions.base, llama.positions.scaling, llama.positions.factor) == (5e5, "linear", 4.0)
    assert (llama.normalization_type, llama.eps, llama.initializer_range) == ("RMS", 1e-6, 0.3)
    assert llama.rope_parameters == linear
    written = llama.model_dump(mode="json")
    assert PretrainedConfig(**json.loads(json.dumps(written))) == llama
    windowed = {"rope_type": "default", "rope_theta": 10_000.0}
    whole = {"rope_type": "default", "rope_theta": 1e6}
    both = {"sliding_attention": windowed, "full_attention": whole}
    gemma = open_folder(save_folder("gemma3_text", tmp_path / "b", rope_parameters=both)).cfg
    assert (gemma.positions.base, gemma.positions.scaling) == (1e6, "none")
    neox = open_folder(save_folder("gpt_neox", tmp_path / "c", layer_norm_eps=1e-4)).cfg
    assert (neox.normalization_type, neox.eps) == ("LN", 1e-4)
    gpt2 = open_folder(save_folder("gpt2", tmp_path / "d")).cfg
    assert (gpt2.positions.name, gpt2.rope_parameters) == ("learned", None)


def test_configs_written_before_open_as_they_were(opened) -> None:
    stored = opened("llama").cfg.model_dump(mode="json")
    former = {name: value for name, value in stored.items() if name not in ("rope_parameters",)}
    assert PretrainedConfig(**former).rope_parameters is None


@pytest.mark.parametrize(("found", "wanted", "tolerance", "near"), [
    ([1.0, 2.5], [1.0, 2.0], 0.25, True), ([1.0, 2.51], [1.0, 2.0], 0.25, False), ([0.25], [0.0], 0.25, True), ([0.26], [0.0], 0.25, False), ([math.nan], [0.0], 9.0, False),
])  # fmt: skip
def test_numbers_are_close_by_a_share_of_the_largest(
    found: list[float], wanted: list[float], tolerance: float, near: bool
) -> None:
    assert conformance_self_test.close(torch.tensor(found), torch.tensor(wanted), tolerance) == near
