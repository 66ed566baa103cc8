"""Opening a local folder of a pretrained model: what it must hold, without a network and without running its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from workbench.models.interop.hugging_face.adapter import ATTENTION, PretrainedModel, register
from workbench.models.interop.hugging_face.families import PretrainedError, family_of
from workbench.models.interop.hugging_face.self_test import self_test


def open_folder(path: str | Path, dtype: torch.dtype | None = None) -> PretrainedModel:
    """Open a folder of a pretrained model, offline, and test what is seen of it.

    Args:
        path: the folder: ``config.json`` and weights as safetensors, and its tokenizer where it has one.
        dtype: of the weights; None = as they are stored.

    Raises:
        PretrainedError: for a folder that is none, lacks its config or weights, or holds them as a pickle alone; a
            family that is not opened; weights that are damaged or incomplete; or a model that our attention does not
            reproduce.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    folder = Path(path)
    if not folder.is_dir():
        raise PretrainedError(f"{folder} is no folder; give one that holds config.json and the weights of a model")
    if not (folder / "config.json").is_file():
        raise PretrainedError(f"{folder} holds no config.json, which says what its weights are")
    if not any(folder.glob("*.safetensors")):
        if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
            raise PretrainedError(
                f"{folder} holds its weights as pickles, which could run code; store them as safetensors"
            )
        raise PretrainedError(f"{folder} holds no weights (*.safetensors)")
    register()
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (ValueError, OSError, KeyError) as error:
        raise PretrainedError(f"{folder}/config.json cannot be read: {str(error).splitlines()[0]}") from None
    family_of(config.model_type)
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
    model = PretrainedModel(module)
    self_test(model)
    return model
