"""Opening a local folder of a pretrained model: what it must hold, without a network and without running its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from workbench.models.base.elsewhere import compute_elsewhere
from workbench.models.compute_device import current_device
from workbench.models.interop.hugging_face.adapter import ATTENTION, PretrainedConfig, PretrainedModel, register
from workbench.models.interop.hugging_face.families import PretrainedError, family_of
from workbench.models.interop.hugging_face.large_blocks import return_large_blocks
from workbench.models.interop.hugging_face.self_test import refuse, self_test


def refuse_new(cfg: PretrainedConfig, seed: int = 0) -> PretrainedModel:
    """Refused: such a model is opened with its weights.

    Raises:
        PretrainedError: always.
    """
    raise PretrainedError(
        "a pretrained model is not made here, and not trained: lengthlens open DIR opens a folder of one"
    )


def open_tokenizer(path: str | Path) -> Any:
    """The tokenizer in a folder, offline and without running its code.

    Raises:
        PretrainedError: if there is none, or it cannot be read.
    """
    from transformers import AutoTokenizer

    folder = Path(path)
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise PretrainedError(f"{folder} holds no tokenizer ({', '.join(TOKENIZERS)}), which says what its tokens are")
    loading: Any = AutoTokenizer
    try:
        return loading.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - files of others, read by several libraries
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        raise PretrainedError(f"the tokenizer of {folder} cannot be read: {said}") from None


TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")
"""Files of which a tokenizer has one."""


def read_config(path: str | Path) -> Any:
    """What the ``config.json`` of a folder says, once it holds weights and is of a family that is opened.

    Raises:
        PretrainedError: as :func:`open_folder`, before any weights are read.
    """
    from transformers import AutoConfig

    folder = Path(path)
    if not folder.is_dir():
        raise PretrainedError(f"{folder} is no folder; give one that holds config.json and the weights of a model")
    if not (folder / "config.json").is_file():
        raise PretrainedError(
            f"{folder} holds no config.json, which says what its weights are{_revisions_below(folder)}"
        )
    if not any(folder.glob("*.safetensors")):
        if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
            raise PretrainedError(
                f"{folder} holds its weights as pickles, which could run code; store them as safetensors"
            )
        raise PretrainedError(f"{folder} holds no weights (*.safetensors)")
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (ValueError, OSError, KeyError) as error:
        raise PretrainedError(f"{folder}/config.json cannot be read: {str(error).splitlines()[0]}") from None
    family_of(config.model_type)
    return config


def _revisions_below(folder: Path) -> str:
    """The option that opens the folders below, where they hold the models that a folder lacks."""
    held = sorted(path.parent.name for path in folder.glob("*/config.json"))
    named = [re.sub(r"[0-9]+$", "*", name) for name in held]
    if not held:
        return ""
    pattern = next((name for name in named if name.endswith("*")), None)
    if pattern is None:
        return f"; {folder / held[0]} holds one: open that"
    return f"; {folder / held[named.index(pattern)]} holds one: --revisions '{pattern}' opens all like it"


def open_where_chosen(path: str | Path) -> PretrainedModel:
    """Open a folder where, and in the numbers in which, this process computes; raises as :func:`open_folder`."""
    chosen = current_device()
    return open_folder(path, getattr(torch, chosen.dtype) if chosen.dtype else None, chosen.device)


def open_folder(path: str | Path, dtype: torch.dtype | None = None, device: str = "cpu") -> PretrainedModel:
    """Open a folder of a pretrained model, offline, and test what is seen of it.

    Args:
        path: the folder: ``config.json`` and weights as safetensors, and its tokenizer where it has one.
        dtype: of the weights; None = as they are stored.
        device: where it computes.

    Raises:
        PretrainedError: for a folder that is none, lacks its config or weights, or holds them as a pickle alone; a
            family that is not opened; weights that are damaged or incomplete; or a model that our attention does not
            reproduce.
    """
    from transformers import AutoModelForCausalLM

    folder, config = Path(path), read_config(path)
    register()
    return_large_blocks()
    loading: Any = AutoModelForCausalLM
    try:
        module, loaded = loading.from_pretrained(
            folder, config=config, local_files_only=True, use_safetensors=True, trust_remote_code=False,
            attn_implementation=ATTENTION, dtype=dtype or "auto", output_loading_info=True,
        )  # fmt: skip
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise PretrainedError(f"the weights of {folder} cannot be read: {str(error).splitlines()[0]}") from None
    # What is missing would be drawn at random, with a warning alone.
    if missing := sorted(loaded["missing_keys"]):
        raise PretrainedError(f"the weights of {folder} lack {len(missing)} that its config needs, {missing[0]} first")
    model = PretrainedModel(module.to(device))
    self_test(model)
    if device == "cpu":
        return model
    with torch.device("meta"):
        twin = PretrainedModel(loading.from_config(config, attn_implementation=ATTENTION))
    for name, why in model.refused.items():
        refuse(twin, name, why)
    placed: PretrainedModel = compute_elsewhere(twin, model, device, copied=False)
    return placed
