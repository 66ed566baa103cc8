"""Foreign checkpoint files: their steps and weights, read without running any code from them."""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from workbench.runs.errors import RunError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin")
WRAPPERS = ("state_dict", "model_state_dict", "model", "model_state")
"""Keys under which training scripts store a state dict next to other data."""

WIDENED = {torch.float16, torch.bfloat16}


def checkpoint_files(source: Path, pattern: str | None = None) -> list[tuple[int, Path]]:
    """The checkpoint files at or below a folder with the steps in their names, sorted by step.

    The step is the last number in the file's name. If the name has no number, it is the last number in the nearest
    folder's name (``model_500.pt``, ``checkpoint-500/model.safetensors``).

    Args:
        source: the folder.
        pattern: files to take, e.g. ``model_*.pt``, as a glob below the folder; None = all of SUFFIXES.

    Raises:
        RunError: if there is no folder or file, a name without a step, or a step twice.
    """
    if not source.is_dir():
        raise RunError(f"there is no folder {source}")
    paths = sorted(p for p in source.rglob(pattern or "*") if p.is_file() and p.suffix in SUFFIXES)
    if not paths:
        what = f"file that fits {pattern!r}" if pattern else "checkpoint file"
        raise RunError(f"{source} contains no {what} ({', '.join(SUFFIXES)})")
    steps: dict[int, Path] = {}
    for path in paths:
        step = _step(path.relative_to(source))
        if step is None:
            raise RunError(
                f"{path}: its name contains no step; rename it, e.g. to model_1000{path.suffix}, or choose with --files"
            )
        if step in steps:
            raise RunError(f"{steps[step]} and {path} are both of step {step}; choose one with --files")
        steps[step] = path
    return sorted(steps.items())


def _step(path: Path) -> int | None:
    for name in (path.name.removesuffix(path.suffix), *reversed(path.parts[:-1])):
        numbers = re.findall(r"\d+", name)
        if numbers:
            return int(numbers[-1])
    return None


def read_weights(path: Path) -> dict[str, Tensor]:
    """The state dict in a file, in float32, buffers included.

    Raises:
        RunError: if the file is damaged, contains anything besides tensors, or has weights of another precision.
    """
    try:
        if path.suffix == ".safetensors":
            content = load_file(path)
        else:
            _refuse_compressed(path)
            # Unpickles tensors and plain containers only; anything else is refused before it can run.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about formats that are refused below
                content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise RunError(
            f"{path} is damaged, or contains objects other than tensors, whose code is not run here; "
            "save only its weights, with torch.save(model.state_dict(), file)"
        ) from None
    except (SafetensorError, OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError) as error:
        raise RunError(f"{path} is damaged or not a checkpoint: {_first_line(error)}") from None
    return {name: _float32(path, name, value) for name, value in _state_dict(path, content).items()}


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or "it is cut off"


def _state_dict(path: Path, content: Any) -> Mapping[str, Tensor]:
    for key in WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
            break
    if (
        not isinstance(content, Mapping)
        or not content
        or not all(isinstance(name, str) and isinstance(value, Tensor) for name, value in content.items())
    ):
        raise RunError(f"{path} contains no state dict, also not under {', '.join(WRAPPERS)}")
    return content


def _refuse_compressed(path: Path) -> None:
    """Refuse an archive that is larger after unpacking; torch stores tensors without compression.

    Raises:
        RunError: naming the part of the archive.
    """
    if not zipfile.is_zipfile(path):
        return  # the format before version 1.6 of torch
    try:
        with zipfile.ZipFile(path) as archive:
            packed = next(
                (part.filename for part in archive.infolist() if part.compress_type != zipfile.ZIP_STORED), ""
            )
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise RunError(f"{path} is damaged or not a checkpoint: {_first_line(error)}") from None
    if packed:
        raise RunError(f"{path} is a compressed archive ({packed:.80}); save it uncompressed with torch.save")


def _refuse_odd(path: Path, name: str, value: Tensor) -> None:
    """Refuse anything except an ordinary tensor of real numbers that are stored in the file.

    Raises:
        RunError: naming the tensor and its type.
    """
    kind = ""
    if value.is_quantized or value.dtype.itemsize < 1:
        kind = "quantized"
    elif value.layout is not torch.strided:
        kind = f"stored as {str(value.layout).removeprefix('torch.')}"
    elif value.device.type != "cpu":
        kind = f"on the device {value.device.type}, without its numbers"
    elif value.is_complex():
        kind = "complex"
    elif value.untyped_storage().nbytes() < value.numel() * value.element_size():
        kind = "a view that repeats few numbers"
    if kind:
        raise RunError(
            f"{path}: tensor {name:.100} is {kind}; models here are dense float32; convert it and save it again"
        )


def _float32(path: Path, name: str, value: Tensor) -> Tensor:
    _refuse_odd(path, name, value)
    if value.dtype in WIDENED:
        return value.float()
    if value.is_floating_point() and value.dtype != torch.float32:
        raise RunError(
            f"{path}: tensor {name} is {str(value.dtype).removeprefix('torch.')}; models here are float32; "
            "convert it and save it again"
        )
    return value
