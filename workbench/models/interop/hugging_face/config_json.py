"""The config of a pretrained model, read as data and compared with the headers of its weights before the model is
built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import ValidationError
from safetensors import safe_open

from workbench.core.errors import LensError, quoted_value
from workbench.core.failures import log_failure
from workbench.core.suggest import nearest
from workbench.models.interop.hugging_face.adapter import ATTENTION, register
from workbench.models.interop.hugging_face.families import Family, PretrainedError, family_of
from workbench.models.interop.hugging_face.folder_files import (
    ADAPTER,
    CONFIG,
    INDEX,
    read_json,
    require_model_folder,
    weight_files,
)

SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size", "max_position_embeddings")
"""Sizes that every config states, by transformers' common names."""
OPTIONAL_SIZES = ("num_key_value_heads", "head_dim", "intermediate_size", "n_inner")
LARGEST_SIZE = 2**31 - 1
MOST_LAYERS = 512
FLOATS = {"F64", "F32", "F16", "BF16"}
"""Types of weights that are read, in safetensors' spelling."""
WHOLE = {"I64", "I32", "I16", "I8", "U8", "BOOL"}
"""Types of other tensors that older folders contain next to the weights, e.g. masks."""
DTYPES = ("float64", "float32", "float16", "bfloat16")
QUANTIZED = ("quantization_config", "compression_config")
ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function")
LEFT_OUT = (
    "num_labels", "id2label", "label2id", "auto_map", "_attn_implementation", "attn_implementation",
    "_experts_implementation", "experts_implementation", "fusion_config", "distributed_config", "configuration_files",
    "pruned_heads", "output_attentions", "output_hidden_states", "return_dict", "chunk_size_feed_forward",
)  # fmt: skip
"""Entries about classifiers, code, kernels or ways to call a model, which do not change what it computes."""


class Header(NamedTuple):
    """The entry for one tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]


@contextmanager
def one_sentence(what: str) -> Iterator[None]:
    """Turn any error of a library inside the ``with`` block into one sentence that begins with ``what``."""
    try:
        yield
    except LensError:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        raise PretrainedError(f"{what}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except BaseException as error:
        # A panic of the Rust code of tokenizers or safetensors is no Exception.
        if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
            raise
        log_failure(error, what, foreign=True)
        raise PretrainedError(f"{what}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first informative line of an error message, cut to 200 characters; with the error's class if it is short."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # transformers names the field in the first line, and in the second what is wrong with it.
    message = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    if isinstance(error, KeyError) and " " in (text := str(error.args[0])):  # a sentence, not a key
        message = text
    elif isinstance(error, KeyError | AttributeError | ZeroDivisionError):
        message = f"{type(error).__name__} {message}"
    return message if len(message) <= 200 else f"{message[:197]}..."


def read_pretrained_config(path: str | Path) -> Any:
    """Return the config in a folder as transformers reads it, after checking that the weights have the shapes that it
    states.

    No weights are read, and the model is built only on the meta device, which stores no numbers.

    Raises:
        PretrainedError: for a missing folder, config or weights; a family that is not supported; quantized weights; or
            a config that contradicts itself or the headers of the weights.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    register()
    folder = Path(path)
    require_model_folder(folder)
    content = read_json(folder, CONFIG)
    weight_files(folder)
    if "model_type" not in content:
        raise PretrainedError(f"{folder / CONFIG} names no model_type, so it is not a config of a transformers model")
    family = family_of(content["model_type"])
    _refuse_entries(folder, content)
    headers = read_headers(folder)
    config_class = CONFIG_MAPPING[content["model_type"]]
    _refuse_sizes(folder, content, config_class.attribute_map, family, headers)
    kept = {name: value for name, value in content.items() if name not in LEFT_OUT}
    with one_sentence(f"{folder / CONFIG} is no config of the type {content['model_type']}"):
        config = config_class.from_dict(kept)
    _refuse_sizes(folder, {name: getattr(config, name, None) for name in SIZES}, {}, family, headers)
    _refuse_rope(folder, config)
    _refuse_shapes(folder, config, headers)
    return config


def _refuse_entries(folder: Path, content: Mapping[str, Any]) -> None:
    """Refuse entries that another library would have to read, and names that transformers does not know."""
    from transformers.activations import ACT2FN

    path = folder / CONFIG
    for name in QUANTIZED:
        if content.get(name) is not None:
            stated = content[name].get("quant_method") if isinstance(content[name], dict) else content[name]
            raise PretrainedError(
                f"the weights of {folder} are quantized ({name}: {quoted_value(stated)}); "
                "open the model in float32, float16 "
                "or bfloat16"
            )
    if content.get("transformers_weights") is not None:
        raise PretrainedError(
            f"{path} names its weights in transformers_weights, which is not read; name them model.safetensors"
        )
    if (folder / ADAPTER).exists():
        raise PretrainedError(
            f"{folder} holds an adapter ({ADAPTER}) next to its weights; merge it into them, or remove it"
        )
    for name in ("dtype", "torch_dtype"):
        dtype = content.get(name)
        if dtype is not None and not (isinstance(dtype, str) and dtype.removeprefix("torch.") in DTYPES):
            raise PretrainedError(f"{path} has {name} = {quoted_value(dtype)}; choose weights in {', '.join(DTYPES)}")
    for name in ACTIVATIONS:
        activation = content.get(name, "silu")
        if name == "hidden_activation" and activation is None:  # Gemma's; None = its own
            continue
        if not isinstance(activation, str) or activation not in ACT2FN:
            raise PretrainedError(
                f"{path} has {name} = {quoted_value(activation)}, which is not an activation of transformers; "
                f"{nearest(activation, ACT2FN)}"
            )


def _refuse_rope(folder: Path, config: Any) -> None:
    """Refuse kinds of rotary positions that transformers does not know."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    stated = getattr(config, "rope_parameters", None) or {}
    kinds = ("default", *ROPE_INIT_FUNCTIONS)
    for entry in (stated, *(value for value in stated.values() if isinstance(value, dict))):
        if (kind := entry.get("rope_type", "default")) not in kinds:
            raise PretrainedError(
                f"{folder / CONFIG} has rope_type = {quoted_value(kind)}, which transformers does not know; "
                f"{nearest(kind, kinds)}"
            )


def _refuse_sizes(
    folder: Path, content: Mapping[str, Any], names: Mapping[str, str], family: Family, headers: Mapping[str, Header]
) -> None:
    """Refuse sizes that are not positive integers, and those that the headers contradict.

    Args:
        folder: the folder that is opened.
        content: entries of the config.
        names: transformers' common names of sizes -> their names in this config, where these differ.
        family: the family of the model.
        headers: the headers of the weights.
    """
    for name in (*SIZES, *OPTIONAL_SIZES):
        for key in {name, names.get(name, name)} & content.keys():
            value = content[key]
            if value is None and name in OPTIONAL_SIZES:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_SIZE:
                raise PretrainedError(
                    f"{folder / CONFIG} has {key} = {quoted_value(value)}; "
                    f"it takes a whole number from 1 to {LARGEST_SIZE:,}"
                )
    layers, embedding = layers_of(family, headers), embedding_of(family, headers)
    if layers == 0 or embedding is None or len(embedding.shape) != 2:
        raise PretrainedError(
            f"the weights of {folder} are not those of a {family.title} model: they contain no blocks, or no embedding "
            f"{family.embed}.weight of two dimensions"
        )
    if layers > MOST_LAYERS:
        raise PretrainedError(
            f"the weights of {folder} contain {layers:,} blocks, but only models of up to {MOST_LAYERS} can be opened"
        )
    held = {"num_hidden_layers": layers, "vocab_size": embedding.shape[0], "hidden_size": embedding.shape[1]}
    for name, value in held.items():
        for key in {name, names.get(name, name)} & content.keys():
            if content[key] != value:
                raise PretrainedError(
                    f"{folder / CONFIG} has {key} = {content[key]:,}, but the weights have {value:,}; replace the file "
                    "that belongs to another model"
                )


def layers_of(family: Family, headers: Mapping[str, Header]) -> int:
    """The number of blocks in the weights: one more than the largest number of a block."""
    block = re.compile(rf"(?:{re.escape(family.base)}\.)?{re.escape(family.blocks)}\.([0-9]{{1,18}})\.")
    return max((int(match[1]) + 1 for name in headers if (match := block.match(name))), default=0)


def embedding_of(family: Family, headers: Mapping[str, Header]) -> Header | None:
    """The header of the token embedding."""
    name = f"{family.embed}.weight"
    return headers.get(f"{family.base}.{name}", headers.get(name))


def _refuse_shapes(folder: Path, config: Any, headers: Mapping[str, Header]) -> None:
    """Refuse weights whose shapes differ from those of the config's model, which is built without numbers."""
    family = family_of(config.model_type)
    with one_sentence(f"transformers can build no model from {folder / CONFIG}"):
        twin = empty_model(config)
    expected = dict(twin.named_parameters())
    for name, parameter in expected.items():
        header = headers.get(name) or headers.get(name.removeprefix(f"{family.base}."))
        if header is None:  # tied, or called differently in older folders: transformers says what is missing
            continue
        if header.shape != tuple(parameter.shape):
            raise PretrainedError(
                f"{folder / CONFIG} gives {name} the shape {list(parameter.shape)}, and the weights have "
                f"{list(header.shape)}; one of them is of another model"
            )
        if header.dtype not in FLOATS:
            raise PretrainedError(
                f"the weights of {folder} contain {name} with dtype {header.dtype}; only {', '.join(sorted(FLOATS))} "
                "can be read"
            )
    stated = sum(parameter.numel() for parameter in expected.values())  # one that is tied counts once
    stored_numbers = sum(_numbers(header) for header in headers.values())
    if stated > stored_numbers:  # before memory is asked for that many
        missing = [name for name in expected if not {name, name.removeprefix(f"{family.base}.")} & headers.keys()]
        raise PretrainedError(
            f"the weights of {folder} lack {len(missing):,} tensors that its config needs, e.g. {min(missing)}: they "
            f"contain {stored_numbers:,} numbers of {stated:,}; add the missing file, or correct the config"
        )


def empty_model(config: Any) -> Any:
    """The model of a config from :func:`read_pretrained_config`, on the meta device: modules and shapes, no numbers."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    model_class: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    with torch.device("meta"):
        return model_class._from_config(deepcopy(config), attn_implementation=ATTENTION)


def _numbers(header: Header) -> int:
    count = 1
    for size in header.shape:
        count *= size
    return count


def read_headers(folder: Path) -> dict[str, Header]:
    """Types and shapes of the tensors of a folder's weights, by name; no tensor is read.

    Raises:
        PretrainedError: for a damaged file, a tensor in two files, or a type that is not read.
    """
    headers: dict[str, Header] = {}
    for name in weight_files(folder):
        if name == INDEX:
            continue
        path = folder / name
        with one_sentence(f"the weights {path} cannot be read"), safe_open(path, framework="pt") as file:
            for tensor in file.keys():  # noqa: SIM118 - a file, not a mapping
                part = file.get_slice(tensor)
                header = Header(str(part.get_dtype()), tuple(part.get_shape()))
                if tensor in headers:
                    raise PretrainedError(f"{path} holds {quoted_value(tensor)}, and so does another file of {folder}")
                if header.dtype not in FLOATS | WHOLE:
                    raise PretrainedError(
                        f"the weights {path} contain {quoted_value(tensor)} as {header.dtype}; convert it to one of "
                        f"{', '.join(sorted(FLOATS))}"
                    )
                headers[tensor] = header
    return headers


def read_folder_weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of a folder's weights, by name, mapped from the files.

    Raises:
        PretrainedError: as :func:`read_headers`.
    """
    weights: dict[str, torch.Tensor] = {}
    for name in weight_files(folder):
        if name != INDEX:
            with one_sentence(f"the weights {folder / name} cannot be read"), safe_open(folder / name, "pt") as file:
                weights |= {tensor: file.get_tensor(tensor) for tensor in file.keys()}  # noqa: SIM118
    return weights
