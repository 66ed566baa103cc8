"""Opens the local folder of a pretrained model, without a network and without running its code."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch

from workbench.models.base.other_device import compute_elsewhere
from workbench.models.compute_device import current_device
from workbench.models.interop.hugging_face.adapter import ATTENTION, PretrainedConfig, PretrainedModel, register
from workbench.models.interop.hugging_face.config_json import (
    empty_model,
    one_sentence,
    read_folder_weights,
    read_pretrained_config,
)
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.models.interop.hugging_face.folder_files import (
    CONFIG,
    TOKENIZER_BYTES,
    VOCABULARIES,
    plain_file,
    read_json,
    tokenizer_files,
)
from workbench.models.interop.hugging_face.large_blocks import return_large_blocks
from workbench.models.interop.hugging_face.self_test import refuse, self_test


def refuse_new(cfg: PretrainedConfig, seed: int = 0) -> PretrainedModel:
    """Raise an error: such a model must be opened with its weights.

    Raises:
        PretrainedError: always.
    """
    raise PretrainedError("a pretrained model cannot be trained here; run lengthlens open DIR to evaluate one")


def open_tokenizer(path: str | Path) -> Any:
    """Load the tokenizer in a folder offline, without running its code, and only from :data:`TOKENIZER_FILES`.

    Its files may name other files. So they are copied to a folder of their own and read there.

    Raises:
        PretrainedError: if there is no tokenizer, or it cannot be read.
    """
    from transformers import AutoTokenizer

    register()
    folder = Path(path)
    names = tokenizer_files(folder)
    if not {*names} & {*VOCABULARIES}:
        raise PretrainedError(f"{folder} contains no tokenizer ({', '.join(VOCABULARIES)}); add it")
    loading: Any = AutoTokenizer
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            shutil.copyfile(plain_file(folder, name, TOKENIZER_BYTES), Path(place) / name)
        for name in {*names} & {*OBJECTS}:
            read_json(folder, name)
        stated = read_json(folder, CONFIG)
        kept = {name: stated[name] for name in CONFIG_OF_TOKENIZER if isinstance(stated.get(name), str)}
        (Path(place) / CONFIG).write_text(json.dumps(kept), encoding="utf-8")
        try:
            with one_sentence(f"the tokenizer of {folder} cannot be read"):
                return loading.from_pretrained(place, local_files_only=True, trust_remote_code=False)
        except PretrainedError as error:
            raise PretrainedError(str(error).replace(place, str(folder))) from None


OBJECTS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
"""Small files of a tokenizer that contain a JSON object each."""
CONFIG_OF_TOKENIZER = ("model_type", "tokenizer_class", "_name_or_path", "transformers_version")
"""Entries of ``config.json`` that determine how a tokenizer is read."""


def open_where_chosen(path: str | Path) -> PretrainedModel:
    """Open a folder on this process's device and in its dtype; raises the errors of :func:`open_folder`."""
    chosen = current_device()
    return open_folder(path, getattr(torch, chosen.dtype) if chosen.dtype else None, chosen.device)


def open_folder(path: str | Path, dtype: torch.dtype | None = None, device: str = "cpu") -> PretrainedModel:
    """Open a folder of a pretrained model, offline, and test that its hooks read what it computes.

    Args:
        path: the folder: ``config.json`` and weights as safetensors, and its tokenizer if it has one.
        dtype: the dtype of the weights; None = their stored dtype.
        device: the device that computes.

    Raises:
        PretrainedError: for a path that is not a folder, or a folder without config or without safetensors weights.
            Also for a family that is not supported, for weights that are damaged or incomplete, or for a model that our
            attention does not reproduce.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    folder, config = Path(path), read_pretrained_config(path)
    register()
    return_large_blocks()
    loading: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    with one_sentence(f"the weights of {folder} cannot be read"):
        # Given the tensors and no path, transformers reads no file.
        module, loaded = loading.from_pretrained(
            None, config=config, state_dict=read_folder_weights(folder), attn_implementation=ATTENTION,
            dtype=dtype or "auto", output_loading_info=True,
        )  # fmt: skip
    # What is missing would be drawn at random, with a warning alone.
    if missing := sorted(loaded["missing_keys"]):
        raise PretrainedError(
            f"the weights of {folder} lack {len(missing)} tensors that its config needs, e.g. {missing[0]}; add the "
            "missing file, or correct the config"
        )
    with one_sentence(f"the model of {folder} cannot be computed"):
        model = PretrainedModel(module.to(device))
        self_test(model)
    if device == "cpu":
        return model
    twin = PretrainedModel(empty_model(config))
    for name, why in model.refused.items():
        refuse(twin, name, why)
    placed: PretrainedModel = compute_elsewhere(twin, model, device, copied=False)
    return placed
