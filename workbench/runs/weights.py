"""Weights, read and written as safetensors and checked when they are read. No pickle is ever loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from workbench.models.architectures import make_config, make_model
from workbench.models.base.other_device import compute_elsewhere
from workbench.models.compute_device import current_device
from workbench.models.errors import PositionError
from workbench.runs.errors import RunError
from workbench.runs.tensors import read_header
from workbench.storage.bounded import WEIGHTS, open_regular

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.hooked import Hooked


def load_model(file: Path, cfg: Architecture, described: Path) -> Hooked:
    """The model of a config with the weights of a file. The caller has verified the file.

    Args:
        file: the weights, safetensors.
        cfg: the model's config.
        described: the file that contains the config, for error messages.

    Raises:
        RunError: if the file is damaged, or belongs to another model.
    """
    try:
        with open_regular(file, WEIGHTS) as stream:
            stored_numbers = sum(tensor.numbers for tensor in read_header(stream)[0].values())
        weights = load_file(file)
    except (SafetensorError, OSError, ValueError) as error:
        raise RunError(f"checkpoint {file} is damaged: {error}") from None
    least = cfg.least_numbers
    if least > stored_numbers:  # said before a model is made, for which there may not be memory enough
        raise RunError(
            f"checkpoint {file} contains {stored_numbers:,} numbers, but the model that {described} describes has "
            f"{least:,} or more: one of the two files is of another run"
        )
    model = make_model(cfg)
    fill(model, weights, str(file))
    model.eval()
    chosen = current_device()
    # Ours are stored in float32, so that to ask for that is nothing else.
    if chosen.kind == "cpu" and chosen.dtype != "bfloat16":
        return model
    twin = make_model(cfg)
    twin.load_state_dict(weights)
    placed: Hooked = compute_elsewhere(model, twin.eval(), chosen.device, autocast=chosen.dtype == "bfloat16")
    return placed


def load_referenced(folder: Path, described: Path) -> Hooked:
    """The model in a folder outside the run, on this process's device. The caller has verified the folder.

    Raises:
        RunError: if it cannot be opened, or contradicts its config.
    """
    from workbench.models.interop.hugging_face.families import PretrainedError
    from workbench.models.interop.hugging_face.opening import open_where_chosen

    try:
        return cast("Hooked", open_where_chosen(folder))  # with the same protocol, and hooks of the same names
    except PretrainedError as error:
        raise RunError(f"{described}: {error}") from None


def model_config(model: dict[str, Any], described: Path) -> Architecture:
    """Return the config of a model from the settings of its run.

    Args:
        model: the part ``model`` of a run's config.
        described: the file that it comes from, for error messages.

    Raises:
        RunError: if it does not describe a model that this version knows.
    """
    try:
        return make_config(model)
    except (ValueError, PositionError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise RunError(f"{described} does not describe a model: {said}") from None


def fill(model: torch.nn.Module, weights: dict[str, torch.Tensor], source: str) -> None:
    """Copy weights into a model; missing, unknown, misshapen and non-finite tensors are refused.

    Raises:
        RunError: naming ``source`` and the first such tensor.
    """
    targets = model.state_dict()
    for name in targets.keys() ^ weights.keys():
        where = "is missing" if name in targets else "is not part of this model"
        raise RunError(f"checkpoint {source} is damaged or of another run: tensor {name:.100} {where}")
    for name, tensor in weights.items():
        if tensor.shape != targets[name].shape:
            raise RunError(
                f"checkpoint {source} is damaged or of another run: tensor {name:.100} has shape "
                f"{tuple(tensor.shape)}, but the model has {tuple(targets[name].shape)}"
            )
        if not bool(tensor.isfinite().all()):
            raise RunError(f"checkpoint {source} contains values that are not finite in tensor {name:.100}")
    model.load_state_dict(weights)


def weights_bytes(model: torch.nn.Module) -> bytes:
    """The model's weights as the bytes of a safetensors file."""
    data: bytes = save({name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()})
    return data
