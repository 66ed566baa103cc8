"""A model that computes on another device, or in lower precision, and is read and edited as if it computed on the CPU.

Its hooks receive the activations of the device as float32 on the CPU, and send edits back. So measurements sample and
reduce on the CPU in the usual order, and need no code for devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn


def compute_elsewhere(here: Any, there: Any, device: str, autocast: bool = False, copied: bool = True) -> Any:
    """Let a model compute through an equal model on another device; returns ``here`` itself.

    Passes that keep a graph are computed in ``here``, which has the parameters of the graph.

    Args:
        here: the model that is read and edited; its weights stay on their device.
        there: an equal model, which is moved to the device.
        device: the device's name.
        autocast: whether matrix products are computed in bfloat16.
        copied: whether ``here`` has the weights too, so that changes of them are copied to ``there``.
    """
    there.to(device)
    own, known = here.forward, _versions(here)

    def forward(tokens: Tensor, *args: Any, **options: Any) -> Any:
        nonlocal known
        if copied and torch.is_grad_enabled():
            return own(tokens, *args, **options)
        if copied and (now := _versions(here)) != known:
            there.load_state_dict(here.state_dict())
            known = now
        placed, named = [_there(x, device) for x in args], {name: _there(x, device) for name, x in options.items()}
        with _bridged(here, there), _numbers(device, autocast):
            return _here(there(tokens.to(device), *placed, **named))

    here.forward = forward
    if hasattr(here, "read_out"):
        here.read_out = lambda hidden: _here(there.read_out(hidden.to(next(there.parameters()))))
    return here


def _versions(model: nn.Module) -> list[int]:
    """Counters that change whenever a weight is written to."""
    return [parameter._version for parameter in model.parameters()]


def _numbers(device: str, autocast: bool) -> AbstractContextManager[Any]:
    kind = device.partition(":")[0]
    return torch.autocast(kind, dtype=torch.bfloat16) if autocast else nullcontext()


@contextmanager
def _bridged(here: Any, there: Any) -> Iterator[None]:
    """Inside this block, activations of ``there`` pass through the hooks of ``here`` that have functions attached."""
    watched = {name: point for name, point in here.hook_dict.items() if point._forward_hooks}
    with there.hooks(fwd_hooks=[(name, partial(_through, point=point)) for name, point in watched.items()]):
        yield


def _through(value: Tensor, hook: object, point: Callable[[Tensor], Tensor]) -> Tensor | None:
    seen = _here(value)
    before = seen._version  # an edit may be written into it
    with torch.autocast("cpu", enabled=False):  # whoever watches sums as ever
        edited = point(seen)
    return None if edited is seen and seen._version == before else edited.to(value.device, value.dtype)


def _here(value: Any) -> Any:
    """A tensor on the CPU with at least 32 bits per number, or a list or tuple of them; other values are returned
    unchanged.
    """
    if type(value) in (list, tuple):
        return type(value)(map(_here, value))
    if not isinstance(value, Tensor):
        return value
    short = value.dtype in (torch.bfloat16, torch.float16)
    return value.to("cpu", torch.float32 if short else value.dtype)


def _there(value: Any, device: str) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_there(part, device) for part in value)
    return value.to(device) if isinstance(value, Tensor) else value
