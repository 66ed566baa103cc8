"""What continuation needs, in one file: weights, optimizer, step, seen ids and the log's tail."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from workbench.runs.folder import RunError, write_atomic
from workbench.runs.load import fill

NAME = "resume.safetensors"


@dataclass
class State:
    """Progress of a training run beside its tensors.

    Attributes:
        step: updates done.
        seen: position ids used in training, as sorted disjoint intervals [first, last].
        log: log lines since the last checkpoint.
    """

    step: int = 0
    seen: list[list[int]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def see(self, ids: torch.Tensor) -> None:
        """Record consecutive ids of one batch (each row a run of consecutive ids)."""
        starts = ids[:, 0].unique().tolist()
        width = ids.shape[1]
        intervals = sorted([*self.seen, *([s, s + width - 1] for s in starts)])
        merged: list[list[int]] = []
        for first, last in intervals:
            if merged and first <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], last)
            else:
                merged.append([first, last])
        self.seen = merged


def save_state(folder: Path, run: str, model: nn.Module, optimizer: torch.optim.Optimizer, state: State) -> None:
    """Write the one resume file, atomically."""
    names = {id(p): name for name, p in model.named_parameters()}
    tensors = {f"model.{k}": v.detach().contiguous() for k, v in model.state_dict().items()}
    for parameter, slots in optimizer.state.items():
        for slot, value in slots.items():
            tensors[f"optimizer.{slot}.{names[id(parameter)]}"] = value.contiguous()
    metadata = {"run": run, "step": str(state.step), "seen": json.dumps(state.seen), "log": json.dumps(state.log)}
    write_atomic(folder / NAME, save(tensors, metadata=metadata))


def load_state(folder: Path, run: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> State | None:
    """Restore model and optimizer in place; None where there is nothing to resume from.

    Raises:
        RunError: if the file is damaged or belongs to another run.
    """
    file = folder / NAME
    if not file.is_file():
        return None
    try:
        with safe_open(str(file), "pt") as opened:
            metadata = opened.metadata()
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        state = State(int(metadata["step"]), json.loads(metadata["seen"]), json.loads(metadata["log"]))
        owner = metadata["run"]
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise RunError(f"{file} is damaged ({error}); delete it to train again from step 0") from None
    if owner != run:
        raise RunError(f"{file} belongs to another run; delete it to train again from step 0")
    weights = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
    fill(model, weights, str(file))
    for name, parameter in model.named_parameters():
        slots = ("step", "exp_avg", "exp_avg_sq")
        found = {s: tensors[f"optimizer.{s}.{name}"] for s in slots if f"optimizer.{s}.{name}" in tensors}
        if found:
            optimizer.state[parameter] = found
    return state
