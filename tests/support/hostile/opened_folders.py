"""Folders of pretrained models as nobody should hand them over: unsupported, contradictory, damaged, or made to harm.

Each case changes a sound folder of a tiny model. None can be opened, but for those that say so.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from tests.support.models.pretrained_folders import save_folder

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
FAMILIES = ("llama", "gpt2", "gemma2", "gpt_neox")
"""Families whose folders are changed."""
MARKER = "code-was-executed"
"""A file that the code of a hostile folder would make beside it."""
OUTSIDE = "outside"
"""A folder beside the hostile ones, which must stay as it is."""

SIZES: dict[str, tuple[str, ...]] = {
    "llama": ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size", "intermediate_size",
              "vocab_size", "max_position_embeddings", "head_dim"),
    "gpt2": ("n_layer", "n_head", "n_embd", "n_inner", "vocab_size", "n_positions"),
}  # fmt: skip
WRONG_SIZES: tuple[Any, ...] = (None, 0, -1, 3, 10**6, 10**12, 10**30, 2.5, "2", [2], {"a": 1}, True)
FLOATS: dict[str, tuple[str, ...]] = {
    "llama": ("rms_norm_eps", "initializer_range"),
    "gpt2": ("layer_norm_epsilon", "initializer_range"),
}
WRONG_FLOATS: tuple[Any, ...] = (None, 1, "1e-5", [1e-5], -1.0, float("nan"), float("inf"))
QUANTIZATIONS = (
    "gptq", "awq", "bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit", "torchao", "quanto", "hqq", "aqlm", "eetq",
    "fp8", "fbgemm_fp8", "compressed-tensors", "higgs", "spqr", "vptq", "auto-round", "mxfp4", "bitnet", "no-such",
)  # fmt: skip
ROPES: tuple[Any, ...] = (
    {"rope_type": "no_such", "rope_theta": 1e4}, {"rope_type": "yarn"}, {"rope_type": "linear"}, {"rope_type": 3},
    {"rope_type": "linear", "rope_theta": 1e4, "factor": 0}, {"rope_type": "linear", "rope_theta": 1e4, "factor": "4"},
    {"rope_type": "llama3", "rope_theta": 1e4, "factor": 2.0}, {"rope_type": "longrope", "rope_theta": 1e4},
    {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0], "long_factor": [1.0], "factor": 4.0},
    {"rope_type": "default", "rope_theta": 0}, {"rope_type": "default", "rope_theta": "big"}, "linear", 4, [],
)  # fmt: skip
TYPES = (
    "albert", "bamba", "bart", "bert", "bloom", "clip", "codegen", "cohere", "deepseek_v3", "distilbert", "falcon",
    "falcon_mamba", "gemma", "gemma3", "gemma3n", "glm4", "gpt_bigcode", "gpt_neo", "gpt_oss", "gptj", "granite",
    "jamba", "llama4", "llava", "mamba", "mamba2", "mixtral", "mllama", "modernbert", "mpt", "olmoe", "opt",
    "paligemma", "persimmon", "phi", "qwen2_moe", "qwen2_vl", "qwen3_moe", "rwkv", "stablelm", "starcoder2", "t5",
    "vit", "whisper", "xglm",
)  # fmt: skip
"""Types that transformers knows and that are not opened."""
NO_TYPES: tuple[Any, ...] = ("lama", "llama ", "gpt-2", "", "../llama", "x" * 5000, None, 3, ["llama"], {"a": 1}, True)
DTYPES: tuple[Any, ...] = ("float8_e4m3fn", "int8", "no_such", "complex64", 3, ["float32"], "torch.bool")
TOKENIZER_VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    3,
    "x",
    {"model": None},
    {"model": {"type": "BPE"}},
    {"version": "1.0"},
)


@dataclass(frozen=True)
class OpenedCase:
    """One folder.

    Attributes:
        label: what was done to the sound folder, with its kind in front.
        apply: does it.
        family: of the sound folder.
        opens: whether it can be opened nevertheless; None = either.
    """

    label: str
    apply: Callable[[Path], None]
    family: str = "llama"
    opens: bool | None = False


def make_templates(root: Path) -> dict[str, Path]:
    """Sound folders by family."""
    return {name: save_folder(name, root / name, tokenizer=True) for name in FAMILIES}


# ---- what is done to a folder --------------------------------------------------------------------
def in_turn(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    """Several changes, one after another."""

    def apply(folder: Path) -> None:
        for change in changes:
            change(folder)

    return apply


def without(*names: str) -> Callable[[Path], None]:
    """The removal of files."""
    return lambda folder: remove(folder, *names)


def cut(folder: Path, name: str, size: int) -> None:
    write(folder, name, (folder / name).read_bytes()[:size])


def pipe(folder: Path, name: str) -> None:
    os.mkfifo(folder / name)


def subfolder(folder: Path, name: str) -> None:
    (folder / name).mkdir()


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def without_key(folder: Path, key: str) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != key}))


def write(folder: Path, name: str, data: bytes | str) -> None:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def remove(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink()


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def shard(folder: Path, index: Any = None, rename: Callable[[str], str] = str, suffix: str = "a.safetensors") -> None:
    """Put the weights behind an index: all in one file, which the index names as ``rename`` says."""
    weights = load_file(folder / WEIGHTS)
    remove(folder, WEIGHTS)
    save_file(weights, folder / suffix, {"format": "pt"})
    names = dict.fromkeys(weights, rename(suffix))
    content = {"metadata": {"total_size": 1}, "weight_map": names} if index is None else index
    write(folder, INDEX, json.dumps(content))


class Harm:
    """Unpickling this would make the marker."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def pickled(folder: Path, name: str = "pytorch_model.bin", index: bool = False) -> None:
    """The weights as a pickle that runs code, named by an index or not."""
    weights = load_file(folder / WEIGHTS)
    torch.save({**weights, "harm": Harm(folder.parent / MARKER)}, folder / name)
    remove(folder, WEIGHTS)
    if index:
        write(folder, INDEX, json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, name)}))


def header(folder: Path, content: Any, tail: bytes = b"", size: int | None = None) -> None:
    """A safetensors file with this header."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    write(folder, WEIGHTS, (len(text) if size is None else size).to_bytes(8, "little") + text + tail)


def linked(folder: Path, name: str, target: str) -> None:
    """A file that is a link to another place."""
    path = folder / name
    if path.exists():
        path.rename(folder.parent / OUTSIDE / f"linked-{name}")
    path.symlink_to(target)


def code_beside(folder: Path) -> None:
    """A configuration and a tokenizer that name code of the folder."""
    marker = folder.parent / MARKER
    write(folder, "code.py", f"import os\nos.mkdir({str(marker)!r})\nclass C: pass\n")
    change_config(folder, auto_map={"AutoConfig": "code.C", "AutoModelForCausalLM": "code.C"})
    write(folder, "tokenizer_config.json", json.dumps({"auto_map": {"AutoTokenizer": ["code.C", "code.C"]}}))


def deep(count: int = 100_000) -> str:
    return '{"model_type": "llama", "a": ' + "[" * count + "]" * count + "}"


def many_layers(folder: Path, count: int) -> None:
    """Weights and config that agree on very many tiny layers."""
    weights = load_file(folder / WEIGHTS)
    first = {name: value for name, value in weights.items() if ".layers.0." in name}
    entries = {name: value for name, value in weights.items() if ".layers." not in name}
    for layer in range(count):
        entries |= {name.replace(".layers.0.", f".layers.{layer}."): value.clone() for name, value in first.items()}
    save_file(entries, folder / WEIGHTS, {"format": "pt"})
    change_config(folder, num_hidden_layers=count)


def mutated_text(folder: Path, name: str, seed: int) -> None:
    """A few bytes of a file changed, removed or doubled."""
    dice, data = random.Random(f"{seed} {name}"), bytearray((folder / name).read_bytes())
    for _ in range(dice.randrange(1, 5)):
        at, kind = dice.randrange(len(data)), dice.randrange(3)
        if kind == 0:
            data[at] = dice.randrange(256)
        elif kind == 1:
            del data[at : at + dice.randrange(1, 40)]
        else:
            data[at:at] = data[at : at + dice.randrange(1, 40)]
    write(folder, name, bytes(data))


# ---- all cases -----------------------------------------------------------------------------------
def opened_cases() -> list[OpenedCase]:
    """All folders, each with a label of its own."""
    every = [case for kind in (sizes, floats, config_values, types, quantized, weights, behind_an_index, links, tokenizers,
                               texts, harmful, sound) for case in kind()]  # fmt: skip
    assert len({case.label for case in every}) == len(every)
    return every


def sizes() -> Iterator[OpenedCase]:
    for family, names in SIZES.items():
        for name in names:
            for value in WRONG_SIZES:
                # Some are what the folder says anyway, or what an option that may be left out may be.
                opens = None if value is None or (name, value) in (("max_position_embeddings", 3),) else False
                opens = None if name == "max_position_embeddings" and value in (10**6,) else opens
                yield OpenedCase(
                    f"size: {family} {name} = {value!r:.20}", partial(change_config, **{name: value}), family, opens
                )
            yield OpenedCase(f"size: {family} without {name}", partial(without_key, key=name), family, None)
    for count in (10**6, 10**8, 10**12):
        yield OpenedCase(f"size: {count} labels", partial(change_config, num_labels=count), opens=None)
        yield OpenedCase(f"size: {count} layers", partial(change_config, num_hidden_layers=count))
        yield OpenedCase(f"size: gpt2 {count} layers", partial(change_config, num_hidden_layers=count), "gpt2")
    yield OpenedCase("size: 3,000 tiny layers", partial(many_layers, count=3000))


def floats() -> Iterator[OpenedCase]:
    for family, names in FLOATS.items():
        for name in names:
            for value in WRONG_FLOATS:
                yield OpenedCase(
                    f"float: {family} {name} = {value!r}", partial(change_config, **{name: value}), family, None
                )


def config_values() -> Iterator[OpenedCase]:
    for rope in ROPES:
        yield OpenedCase(f"rope: {rope!r:.60}", partial(change_config, rope_parameters=rope), opens=None)
        yield OpenedCase(f"rope scaling: {rope!r:.60}", partial(change_config, rope_scaling=rope), opens=None)
    for family, name in (("llama", "hidden_act"), ("gpt2", "activation_function"), ("gpt_neox", "hidden_act")):
        for value in ("no_such", "", None, 3, ["silu"], "os.system"):
            yield OpenedCase(f"activation: {family} {value!r}", partial(change_config, **{name: value}), family)
    for value in DTYPES:
        yield OpenedCase(f"dtype: {value!r}", partial(change_config, dtype=value))
    for key, value in {
        "layer_types": ["sliding_attention"], "sliding_window": -3, "attn_logit_softcapping": "x",
        "final_logit_softcapping": 0.0, "query_pre_attn_scalar": 0,
    }.items():  # fmt: skip
        yield OpenedCase(f"gemma2: {key} = {value!r}", partial(change_config, **{key: value}), "gemma2", None)
    for key, value in {
        "tie_word_embeddings": "no", "attention_bias": True, "mlp_bias": True, "pad_token_id": 10**9,
        "bos_token_id": "x", "eos_token_id": [[]], "attention_dropout": 2.0, "use_cache": [], "architectures": 3,
        "torch_dtype": "float8_e5m2", "transformers_weights": "../outside/model.safetensors",
        "_attn_implementation": "kernels-community/no-such", "attn_implementation": "flash_attention_2",
        "fusion_config": {"patch_embeddings": True}, "distributed_config": {"tp_size": 4}, "id2label": {"x": "y"},
        "output_attentions": True, "return_dict": False, "is_decoder": 3, "pruned_heads": {"0": [0]},
        "configuration_files": ["config.1.0.0.json", "../../x"], "model_name": 3, "tokenizer_class": 3,
        "pretraining_tp": 10**9, "chunk_size_feed_forward": 3, "compression_config": {"quant_method": "x"},
    }.items():  # fmt: skip
        yield OpenedCase(f"config: {key} = {value!r:.60}", partial(change_config, **{key: value}), opens=None)


def types() -> Iterator[OpenedCase]:
    for name in TYPES:
        yield OpenedCase(f"type: {name}", partial(change_config, model_type=name))
    for value in NO_TYPES:
        yield OpenedCase(f"no type: {value!r:.30}", partial(change_config, model_type=value))
    yield OpenedCase("no type: none stated", partial(without_key, key="model_type"))
    for name in ("gpt2", "gemma2", "gpt_neox", "qwen3", "olmo2", "phi3"):
        yield OpenedCase(f"another type: llama as {name}", partial(change_config, model_type=name))


def quantized() -> Iterator[OpenedCase]:
    for method in QUANTIZATIONS:
        content = {"quant_method": method, "bits": 4, "load_in_4bit": "4" in method, "modules_to_not_convert": None}
        yield OpenedCase(f"quantized: {method}", partial(change_config, quantization_config=content))
    for value in ({}, [], 3, "gptq", {"quant_method": 3}, {"bits": 4}):
        yield OpenedCase(f"quantized: {value!r}", partial(change_config, quantization_config=value), opens=None)


def weights() -> Iterator[OpenedCase]:
    first = "model.layers.0.mlp.up_proj.weight"

    def cast(dtype: torch.dtype, all_of_them: bool) -> Callable[[dict[str, torch.Tensor]], None]:
        def change(held: dict[str, torch.Tensor]) -> None:
            for name in [*held] if all_of_them else [first]:
                held[name] = held[name].to(dtype)

        return change

    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8, torch.int64, torch.bool):
        for whole in (False, True):
            label = f"weights: {'all' if whole else 'one'} {dtype}"
            yield OpenedCase(label, partial(change_weights, change=cast(dtype, whole)))
    changes: dict[str, Callable[[dict[str, torch.Tensor]], Any]] = {
        "one missing": lambda held: held.pop(first),
        "half missing": lambda held: [held.pop(name) for name in sorted(held)[::2]],
        "of another shape": lambda held: held.update({first: torch.zeros(3, 5)}),
        "of another rank": lambda held: held.update({first: torch.zeros(2, 3, 5)}),
        "a scalar": lambda held: held.update({first: torch.zeros(())}),
        "empty": lambda held: held.update({first: torch.zeros(0, 0)}),
        "not finite": lambda held: held[first].fill_(float("nan")),
        "infinite": lambda held: held[first].fill_(float("inf")),
        "huge": lambda held: [value.mul_(1e30) for value in held.values()],
        "all zero": lambda held: [value.zero_() for value in held.values()],
        "a third layer": lambda held: held.update({first.replace(".0.", ".2."): held[first].clone()}),
        "a layer of huge number": lambda held: held.update({first.replace(".0.", f".{10**15}."): torch.zeros(1)}),
        "embedding of another vocabulary": lambda held: held.update({"model.embed_tokens.weight": torch.zeros(7, 32)}),
        "quantized names": lambda held: held.update(
            {f"{first}_scale": torch.ones(1), f"{first}.qzeros": torch.ones(2)}
        ),
        "a very long name": lambda held: held.update({"x" * 100_000: torch.ones(1)}),
    }
    for name, change in changes.items():
        opens = None if name in ("all zero", "quantized names", "a very long name", "huge") else False
        yield OpenedCase(f"weights: {name}", partial(change_weights, change=change), opens=opens)
    yield OpenedCase("weights: none", without(WEIGHTS))
    for size in (0, 7, 8, 100, 500, 5000):
        yield OpenedCase(f"weights: cut at {size}", partial(cut, name=WEIGHTS, size=size))
    for label, content, tail in (
        ("no JSON", b"hello", b""), ("a list", [], b""), ("null", None, b""), ("nothing", {}, b""),
        ("offsets outside", {first: {"dtype": "F32", "shape": [4], "data_offsets": [0, 10**12]}}, b""),
        ("overlapping", {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                         "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
        ("negative shape", {first: {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"\0" * 4),
        ("huge shape", {first: {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 4]}}, b"\0" * 4),
        ("unknown type", {first: {"dtype": "Q9", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
        ("metadata of numbers", {"__metadata__": {"a": 3}}, b""), ("deep", deep().encode(), b""),
    ):  # fmt: skip
        yield OpenedCase(f"header: {label}", partial(header, content=content, tail=tail))
    for size in (2**63, 2**40, 200 << 20):
        yield OpenedCase(f"header: of {size} bytes", partial(header, content=b"{}", size=size))


def behind_an_index() -> Iterator[OpenedCase]:
    yield OpenedCase("index: in the folder", shard, opens=True)

    def moved(folder: Path, target: str) -> None:
        weights = load_file(folder / WEIGHTS)
        (folder / WEIGHTS).rename(folder.parent / OUTSIDE / "model.safetensors")
        path = target.format(outside=folder.parent / OUTSIDE)
        write(folder, INDEX, json.dumps({"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, path)}))

    for target in ("../outside/model.safetensors", "{outside}/model.safetensors", "./../outside/model.safetensors"):
        yield OpenedCase(f"index: names {target}", partial(moved, target=target))

    def below(folder: Path) -> None:
        (folder / "part").mkdir()
        weights = load_file(folder / WEIGHTS)
        (folder / WEIGHTS).rename(folder / "part" / "a.safetensors")
        write(folder, INDEX, json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, "part/a.safetensors")}))

    yield OpenedCase("index: names a folder below", below)
    yield OpenedCase("index: names a pickle", partial(pickled, index=True))
    for name in (
        "nowhere.safetensors",
        "config.json",
        "/dev/zero",
        "",
        ".",
        "..",
        "a.safetensors\0",
        "pytorch_model.bin",
    ):
        yield OpenedCase(f"index: names {name!r}", partial(shard, rename=lambda _, name=name: name))
    for content in (
        {}, [], 3, {"weight_map": {}}, {"weight_map": []}, {"weight_map": None}, {"weight_map": {"a": 3}},
        {"weight_map": {"a": None}},
    ):  # fmt: skip
        yield OpenedCase(f"index: {content!r:.60}", partial(shard, index=content))
    odd_metadata = {"metadata": 3, "weight_map": {"a": "a.safetensors"}}
    yield OpenedCase("index: odd metadata", partial(shard, index=odd_metadata), opens=None)
    yield OpenedCase("index: null", in_turn(shard, partial(write, name=INDEX, data="null")))
    yield OpenedCase("index: deep", in_turn(shard, partial(write, name=INDEX, data=deep())))


def links() -> Iterator[OpenedCase]:
    for name in ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json"):
        yield OpenedCase(f"link: {name} outside", partial(linked, name=name, target=f"../{OUTSIDE}/linked-{name}"))
        for label, target in (("nothing", "nowhere"), ("itself", name), ("/dev/zero", "/dev/zero")):
            turned = in_turn(without(name), partial(linked, name=name, target=target))
            yield OpenedCase(f"link: {name} to {label}", turned)
        yield OpenedCase(f"link: {name} is a pipe", in_turn(without(name), partial(pipe, name=name)))
        yield OpenedCase(f"link: {name} is a folder", in_turn(without(name), partial(subfolder, name=name)))
    yield OpenedCase("link: the folder itself", through_a_link, opens=True)
    yield OpenedCase("link: a shard outside", shard_link)


def through_a_link(folder: Path) -> None:
    there = folder.parent / "elsewhere"
    shutil.rmtree(there, ignore_errors=True)
    folder.rename(there)
    folder.symlink_to(there)


def shard_link(folder: Path) -> None:
    shard(folder)
    linked(folder, "a.safetensors", f"../{OUTSIDE}/linked-a.safetensors")


def tokenizers() -> Iterator[OpenedCase]:
    yield OpenedCase("tokenizer: none", without("tokenizer.json", "tokenizer_config.json"))
    for value in TOKENIZER_VALUES:
        yield OpenedCase(f"tokenizer: {value!r:.40}", partial(write, name="tokenizer.json", data=json.dumps(value)))
        yield OpenedCase(
            f"tokenizer config: {value!r:.40}",
            partial(write, name="tokenizer_config.json", data=json.dumps(value)),
            opens=None,
        )
    for name in ("LlamaTokenizer", "GPT2Tokenizer", "T5Tokenizer", "RagTokenizer", "BertJapaneseTokenizer", "CpmTokenizer",
                 "MistralCommonBackend", "EsmTokenizer", "NoSuchTokenizer", "ByT5Tokenizer", "Wav2Vec2CTCTokenizer",
                 "TapasTokenizer", "CanineTokenizer"):  # fmt: skip
        content = json.dumps({"tokenizer_class": name, "bos_token": "<s>", "eos_token": "</s>"})
        yield OpenedCase(
            f"tokenizer class: {name}", partial(write, name="tokenizer_config.json", data=content), opens=None
        )
    for key, value in {
        "bos_token": 3, "eos_token": {"content": 3}, "added_tokens_decoder": {"x": 3}, "tokenizer_class": 3,
        "extra_special_tokens": 3, "model_max_length": "x", "init_inputs": [1, 2, 3], "chat_template": 3,
        "tokenizer_file": "/etc/hostname", "vocab_file": "/dev/zero", "auto_map": {"AutoTokenizer": ["a.B", None]},
        "fast_tokenizer_files": ["../outside/tokenizer.json"], "added_tokens_file": "/dev/zero", "name_or_path": 3,
        "added_tokens_decoder ": {"1000000000": {"content": "far"}}, "special_tokens_map_file": "/dev/zero",
    }.items():  # fmt: skip
        content = json.dumps({"bos_token": "<s>", "eos_token": "</s>", key.strip(): value})
        yield OpenedCase(
            f"tokenizer config: {key} = {value!r:.40}",
            partial(write, name="tokenizer_config.json", data=content),
            opens=None,
        )
    yield OpenedCase("tokenizer: deep", partial(write, name="tokenizer.json", data=deep()))
    yield OpenedCase("tokenizer config: deep", partial(write, name="tokenizer_config.json", data=deep()), opens=None)
    yield OpenedCase(
        "tokenizer: a model that is none",
        in_turn(without("tokenizer.json"), partial(write, name="tokenizer.model", data=b"hello")),
    )
    yield OpenedCase(
        "tokenizer: a vocabulary alone",
        in_turn(without("tokenizer.json"), partial(write, name="vocab.json", data="{}")),
    )

    def more_tokens(folder: Path) -> None:
        content = json.loads((folder / "tokenizer.json").read_text())
        content["model"]["vocab"] = {word: 1000 + i for word, i in content["model"]["vocab"].items()}
        write(folder, "tokenizer.json", json.dumps(content))

    yield OpenedCase("tokenizer: ids beyond the vocabulary", more_tokens, opens=None)
    for seed in range(20):
        yield OpenedCase(
            f"tokenizer: bytes changed, {seed}", partial(mutated_text, name="tokenizer.json", seed=seed), opens=None
        )


def texts() -> Iterator[OpenedCase]:
    for label, data in {
        "empty": "", "null": "null", "a list": "[]", "a number": "3", "a string": '"llama"', "nothing": "{}", "cut": '{"model_type": "ll',
        "deep": deep(), "no UTF-8": b'{"model_type": "\xff\xfe"}', "nan": "NaN", "twice": '{"model_type": "llama", "model_type": "gpt2"}',
        "a long line": '{"model_type": "' + "x" * (8 << 20) + '"}', "a pickle": b"\x80\x04N.", "control": '{"model_type": "\\u0000\\u001b[31m"}',
        "a type alone": '{"model_type": "llama"}',
    }.items():  # fmt: skip
        yield OpenedCase(f"config text: {label}", partial(write, name="config.json", data=data))
    for seed in range(30):
        yield OpenedCase(
            f"config: bytes changed, {seed}", partial(mutated_text, name="config.json", seed=seed), opens=None
        )


def harmful() -> Iterator[OpenedCase]:
    yield OpenedCase("harm: a pickle alone", pickled)
    yield OpenedCase("harm: a pickle of another name", partial(pickled, name="model.pt"))
    yield OpenedCase("harm: code beside", code_beside, opens=None)
    yield OpenedCase(
        "harm: code beside an unknown type",
        in_turn(code_beside, partial(change_config, model_type="harm")),
    )

    def adapter(folder: Path) -> None:
        write(folder, "adapter_config.json", json.dumps({"peft_type": "LORA", "base_model_name_or_path": "../outside"}))

    yield OpenedCase("harm: an adapter of another model", adapter)
    yield OpenedCase("harm: an adapter alone", in_turn(adapter, without(WEIGHTS)))

    def pickle_beside(folder: Path) -> None:
        kept = (folder / WEIGHTS).read_bytes()
        pickled(folder)
        write(folder, WEIGHTS, kept)

    yield OpenedCase("harm: a pickle beside sound weights", pickle_beside, opens=True)


def sound() -> Iterator[OpenedCase]:
    for family in FAMILIES:
        yield OpenedCase(f"sound: {family}", in_turn(), family, opens=True)
