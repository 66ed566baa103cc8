"""Foreign checkpoint files: which step each is of, and the weights in it, without running any code from them."""

from __future__ import annotations

import pickle
import re
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
"""Keys under which training scripts keep a state dict beside other things."""

WIDENED = {torch.float16, torch.bfloat16}


def checkpoint_files(source: Path, pattern: str | None = None) -> list[tuple[int, Path]]:
    """The checkpoint files at or below a folder with the steps in their names, by step.

    The step is the last number in the file's name, or, where there is none, in the nearest folder's
    (``model_500.pt``, ``checkpoint-500/model.safetensors``).

    Args:
        source: the folder.
        pattern: files to take, e.g. ``model_*.pt``, as a glob below the folder; None = all of SUFFIXES.

    Raises:
        RunError: if there is no folder or file, a name without a step, or a step twice.
    """
    if not source.is_dir():
        raise RunError(f"there is no folder {source}")
    found = sorted(p for p in source.rglob(pattern or "*") if p.is_file() and p.suffix in SUFFIXES)
    if not found:
        what = f"file that fits {pattern!r}" if pattern else "checkpoint file"
        raise RunError(f"{source} holds no {what} ({', '.join(SUFFIXES)})")
    steps: dict[int, Path] = {}
    for path in found:
        step = _step(path.relative_to(source))
        if step is None:
            raise RunError(
                f"{path}: its name holds no step; rename it, e.g. to model_1000{path.suffix}, or choose with --files"
            )
        if step in steps:
            raise RunError(f"{steps[step]} and {path} are both of step {step}; choose with --files")
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
        RunError: if the file is damaged, holds more than tensors, or weights of another precision.
    """
    try:
        if path.suffix == ".safetensors":
            held = load_file(path)
        else:
            # Unpickles tensors and plain containers only; anything else is refused before it can run.
            held = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise RunError(
            f"{path} cannot be read as tensors alone: it is damaged, or holds objects whose code is not run here; "
            "save its weights by themselves, as torch.save(model.state_dict(), file) does"
        ) from None
    except (SafetensorError, OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError) as error:
        raise RunError(f"{path} is damaged or no checkpoint: {_first_line(error)}") from None
    return {name: _float32(path, name, value) for name, value in _state_dict(path, held).items()}


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or "it is cut off"


def _state_dict(path: Path, held: Any) -> Mapping[str, Tensor]:
    for key in WRAPPERS:
        if isinstance(held, Mapping) and isinstance(held.get(key), Mapping):
            held = held[key]
            break
    if not isinstance(held, Mapping) or not held or not all(isinstance(x, Tensor) for x in held.values()):
        raise RunError(f"{path} holds no state dict, nor one under {', '.join(WRAPPERS)}")
    return held


def _float32(path: Path, name: str, value: Tensor) -> Tensor:
    if value.dtype in WIDENED:
        return value.float()
    if value.is_floating_point() and value.dtype != torch.float32:
        raise RunError(
            f"{path}: tensor {name} is {str(value.dtype).removeprefix('torch.')}; models here are float32, so "
            "round it yourself before"
        )
    return value
