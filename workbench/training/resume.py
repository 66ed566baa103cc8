"""The resume file of a run: weights, their average, optimizer, step, position ids, and the end of the log."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from workbench.runs.errors import RunError
from workbench.runs.tensors import read_header
from workbench.runs.weights import fill
from workbench.storage import bounded
from workbench.storage.atomic import write_atomic
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import BLANK, KEY, check_seal, seal

NAME = "resume.safetensors"


@dataclass
class State:
    """The progress of a training run, without its tensors.

    Attributes:
        step: updates done.
        seen: position ids used in training, as sorted disjoint intervals [first, last].
        log: log lines since the last checkpoint.
        streak: steps of the consecutive passed checks of early stopping.
        scores: the latest scores, as the log stores them.
    """

    step: int = 0
    seen: list[list[int]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    streak: list[int] = field(default_factory=list)
    scores: dict[str, float | None] = field(default_factory=dict)

    def see(self, ids: torch.Tensor) -> None:
        """Record which position ids occurred in one batch."""
        low, high = (int(end) for end in ids.aminmax())
        # Soon every id has been seen, and this is all that a step costs.
        if not any(first <= low and high <= last for first, last in self.seen):
            self.seen = merge_intervals([*self.seen, *intervals(ids)])


def intervals(ids: torch.Tensor) -> list[list[int]]:
    """The ids as sorted disjoint intervals [first, last]."""
    values = ids.unique()
    breaks = (values.diff() > 1).nonzero()[:, 0]
    ends = torch.cat([breaks, torch.tensor([len(values) - 1])])
    starts = torch.cat([torch.tensor([0]), breaks + 1])
    return torch.stack([values[starts], values[ends]], 1).tolist()


def merge_intervals(parts: list[list[int]]) -> list[list[int]]:
    """Intervals of integers as sorted disjoint intervals; neighbours are joined."""
    joined: list[list[int]] = []
    for first, last in sorted(parts):
        if joined and first <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return joined


def save_state(
    folder: Path,
    run: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: State,
    average: nn.Module | None = None,
) -> None:
    """Write the file from which training can resume. A reader sees the old file or the complete new one."""
    write_atomic(folder, NAME, state_bytes(run, model, optimizer, state, average))


def state_bytes(
    run: str, model: nn.Module, optimizer: torch.optim.Optimizer, state: State, average: nn.Module | None = None
) -> bytes:
    """Return the content of the file from which training can resume.

    Args:
        run: id of the run.
        model: the trained model.
        optimizer: its optimizer.
        state: the progress of the run.
        average: the model with averaged weights, if the run has one.
    """
    names = {id(p): name for name, p in model.named_parameters()}
    tensors = {f"model.{k}": v.detach().contiguous() for k, v in model.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{k}": v.detach().contiguous() for k, v in average.state_dict().items()}
    for parameter, slots in optimizer.state.items():
        for slot, value in slots.items():
            tensors[f"optimizer.{slot}.{names[id(parameter)]}"] = value.contiguous()
    metadata = {"run": run, "state": json.dumps(vars(state)), KEY: BLANK}
    return seal(save(tensors, metadata=metadata))


def state_of_another_run(data: bytes, file: Path, owner: str, run: str) -> bytes:
    """Return the state of one run as the resume file of another run, which continues from there.

    Args:
        data: the content of the stored state.
        file: where it is stored, for error messages.
        owner: the id of the run that it must belong to.
        run: the id of the run that continues.

    Raises:
        RunError: if the state is damaged or belongs to another run.
    """
    try:
        check_seal(data)
        metadata, tensors = read_header(BytesIO(data))[1], load(data)
        stored, state = metadata["run"], metadata["state"]
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise RunError(f"{file} is damaged ({error}); delete it, and the fork repeats the steps before") from None
    if stored != owner:
        raise RunError(f"{file} belongs to another run; delete it, and the fork repeats the steps before")
    return seal(save(tensors, metadata={"run": run, "state": state, KEY: BLANK}))


def load_state(
    folder: Path, run: str, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None
) -> State | None:
    """Load the state and fill model, optimizer and averaged model in place; None if there is no resume file.

    Raises:
        RunError: if the file is damaged or belongs to another run.
    """
    file = folder / NAME
    try:
        data = read_bytes(file, bounded.WEIGHTS)
        check_seal(data)
        metadata, tensors = read_header(BytesIO(data))[1], load(data)
        state, owner = State(**json.loads(metadata["state"])), metadata["run"]
    except FileNotFoundError:
        return None
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise RunError(f"{file} is damaged ({error}); delete it to train again from step 0") from None
    if owner != run:
        raise RunError(f"{file} belongs to another run; delete it to train again from step 0")
    fill(model, _of(tensors, "model."), str(file))
    if average is not None:
        fill(average, _of(tensors, "average."), str(file))
    parameters = dict(model.named_parameters())
    for key, value in tensors.items():
        kind, _, rest = key.partition(".")
        slot, _, name = rest.partition(".")
        if kind == "optimizer":
            # The count of steps too: a fused optimizer reads it on the device of the weights.
            parameter = parameters[name]
            optimizer.state[parameter][slot] = value.to(parameter.device)
    return state


def _of(tensors: dict[str, torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """The tensors whose names begin with ``part``, without it."""
    return {name.removeprefix(part): value for name, value in tensors.items() if name.startswith(part)}
