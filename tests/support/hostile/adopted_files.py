"""Checkpoints as nobody should hand them over to ``lengthlens adopt``: tensors of other kinds, configs, and files."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tests.support.hostile.opened_folders import Harm
from tests.support.runs.adopt import CONFIG, foreign, own

FILE = "model_1.pt"
NAMES = (
    "embed.W_E", "pos_embed.W_pos", "blocks.0.attn.W_Q", "blocks.1.attn.b_O", "blocks.0.mlp.W_in", "blocks.1.ln1.w",
    "ln_final.b", "unembed.W_U", "unembed.b_U", "blocks.0.attn.mask",
)  # fmt: skip
KINDS: dict[str, Callable[[torch.Tensor], Any]] = {
    "a scalar": lambda x: torch.zeros(()), "empty": lambda x: torch.zeros(0), "of rank 1": lambda x: x.flatten(),
    "of one more axis": lambda x: x[None], "of six axes": lambda x: x[None, None, None],
    "meta": lambda x: x.to("meta"), "sparse": lambda x: x.to_sparse(), "complex": lambda x: x.to(torch.complex64),
    "quantized": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8), "int8": lambda x: x.to(torch.int8),
    "bool": lambda x: x.bool(), "float8": lambda x: x.to(torch.float8_e4m3fn), "float64": lambda x: x.double(),
    "repeated": lambda x: torch.zeros(1).expand(10**9, 10**6), "not finite": lambda x: x * float("nan"),
    "None": lambda x: None, "a list": lambda x: x.tolist(), "a storage": lambda x: x.untyped_storage(),
}  # fmt: skip
MORE_NAMES: tuple[Any, ...] = (
    "blocks.1000000.attn.W_Q", "blocks.999999999999.attn.W_Q", "blocks.-1.attn.W_Q", "blocks.x.attn.W_Q", "blocks.", "",
    "x" * 100_000, "blocks.0.attn.W_K_", 7, None, ("a",), "\0", "blocks.3.mlp.W_in",
)  # fmt: skip
CONFIG_VALUES: tuple[Any, ...] = (None, 0, -1, 10**9, 10**400, "8", [8], {}, 2.5, True)
CONFIG_NAMES = (
    "n_layers", "d_model", "n_ctx", "d_head", "n_heads", "d_mlp", "d_vocab", "act_fn", "positional_embedding_type",
    "attn_only", "attn_scale", "normalization_type", "eps", "d_vocab_out",
)  # fmt: skip


def make_sound_checkpoints(folder: Path) -> None:
    foreign(folder, {FILE: own()})


def change_state(folder: Path, change: Callable[[dict[Any, Any]], Any]) -> None:
    weights = torch.load(folder / FILE, weights_only=True)
    change(weights)
    torch.save(weights, folder / FILE)


def change_config(folder: Path, **changes: Any) -> None:
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))


def set_kind(name: str, kind: str, weights: dict[Any, Any]) -> None:
    weights[name] = KINDS[kind](weights[name])


def write(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)


def save(folder: Path, content: Any) -> None:
    torch.save(content, folder / FILE)


def rename(folder: Path, name: str) -> None:
    (folder / FILE).rename(folder / name)


def mutated(folder: Path, seed: int) -> None:
    dice, data = random.Random(seed), bytearray((folder / FILE).read_bytes())
    for _ in range(dice.randrange(1, 20)):
        data[dice.randrange(len(data))] = dice.randrange(256)
    (folder / FILE).write_bytes(bytes(data))


def harmful(folder: Path) -> None:
    torch.save({"embed.W_E": torch.zeros(1), "x": Harm(folder.parent / "code-was-executed")}, folder / FILE)


def compressed(folder: Path) -> None:
    """An archive of a few hundred kilobytes that unpacks to some hundred megabytes."""
    with zipfile.ZipFile(folder / FILE) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(folder / FILE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.writestr("archive/data/999", bytes(200 << 20))


def adopted_cases() -> Iterator[tuple[str, Callable[[Path], None], bool | None]]:
    """Labels, what is done to a sound folder of one checkpoint, and whether it is taken in; None = either."""
    yield "sound", lambda folder: None, True
    for name in NAMES:
        for kind in KINDS:
            yield f"{name} {kind}", partial(change_state, change=partial(set_kind, name, kind)), None
        yield f"without {name}", partial(change_state, change=lambda weights, name=name: weights.pop(name)), None
    for name in MORE_NAMES:
        added = partial(change_state, change=lambda weights, name=name: weights.update({name: torch.zeros(1)}))
        yield f"with {name!r:.40}", added, False
    for name in CONFIG_NAMES:
        for value in CONFIG_VALUES:
            yield f"config {name} = {value!r:.20}", partial(change_config, **{name: value}), None
    for label, content in {
        "a list": [1, 2], "a tensor": torch.zeros(3), "nothing": {}, "None": None, "a number": 3, "deep": {"model": {"model": {}}},
        "a set": {1, 2}, "nested": {"state_dict": [torch.zeros(1)]},
    }.items():  # fmt: skip
        yield f"file of {label}", partial(save, content=content), False
    for label, data in {
        "empty": b"", "text": b"hello", "a pickle": b"\x80\x04N.", "a cut archive": b"PK\x03\x04" + b"\0" * 40,
        "zeros": bytes(1000), "long": bytes(1 << 20), "numbers": b"\x80\x02" + b"I1\n" * 10_000 + b".",
    }.items():  # fmt: skip
        yield f"bytes: {label}", partial(write, name=FILE, data=data), False
        yield f"config bytes: {label}", partial(write, name="config.json", data=data), False
    yield "config deep", partial(write, name="config.json", data=b"[" * 100_000), False
    for name in (
        "model.pt",
        "model_" + "9" * 200 + ".pt",
        "model_99999999999999999999.pt",
        "model_-1.pt",
        "model_1.bin",
    ):
        yield f"named {name:.40}", partial(rename, name=name), None
    yield "harmful pickle", harmful, False
    yield "compressed archive", compressed, False
    for seed in range(60):
        yield f"bytes changed, {seed}", partial(mutated, seed=seed), None
