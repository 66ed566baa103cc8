"""The extreme gates of a state-space model on one token, in the channel that carries the answer.

A gate depends on all tokens that the short convolution before it reads. A mean over all positions of a token is
therefore misleading: a channel that flips its state at every second 1 has gates of -1 there and of 1 at the others.
Positions are pooled only if all of these tokens, a *window*, are the same. Most channels of a trained model carry
nothing: those that start with the smallest step sizes keep gates close to 1, whatever is learnt.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.measure.study import forward
from workbench.tasks.base import Batch

STRINGS = 64
PLACES = 8
"""The smallest number of positions that a window's mean needs."""


@statistic("gates", version=2)
def gate_rows(run: TrainedRun, token: str) -> StatisticRows:
    """Return two gates of the channel that carries the answer: the lowest one on a token, and the one that keeps the
    token longest.

    ``least gate on``: the least window mean, over states and over windows that end with the token. ``steady gate on``:
    the greatest mean, over states, of windows that contain only the token. The label names the channel.

    Args:
        run: a run of a state-space model.
        token: its name in the task's vocabulary, or several with blanks between, which count as one.
    """
    n = run.task.next_length(run.longest)
    batch = run.strings(STRINGS, n, "matched", "gates")
    ids = torch.tensor([run.task.tokens_names.index(name) for name in token.split()])
    layer, channel = carrying_channel(run, batch)
    name = _hook(layer, "gates")
    gates = forward(run.model, batch, [name])[name][:, :, channel].double()
    windows = windows_of(batch.tokens, run.model.cfg.d_conv)
    shared: dict[str, Any] = {"length": n, "n": STRINGS, "label": f"L{layer} channel {channel}"}
    ending = torch.isin(batch.tokens, ids)
    yield {"quantity": f"least gate on {token}", "value": float(window_means(gates, windows, ending).min()), **shared}
    whole = torch.isin(windows, ids).all(-1)
    yield {"quantity": f"steady gate on {token}", "value": float(gates[whole].mean(0).max()), **shared}


def carrying_channel(run: TrainedRun, batch: Batch) -> tuple[int, int]:
    """Return the layer and channel whose writes to the state raise the loss most when they are removed."""
    cfg = run.model.cfg

    def loss_without(layer: int, channel: int) -> float:
        def cut(write: Tensor, hook: Any) -> Tensor:
            kept: Tensor = write.clone()
            kept[:, :, channel] = 0
            return kept

        outputs = forward(run.model, batch, [], [(_hook(layer, "write"), cut)])["logits"]
        return float(run.task.loss(outputs, batch))

    places = [(layer, channel) for layer in range(cfg.n_layers) for channel in range(cfg.d_inner)]
    return max(places, key=lambda place: loss_without(*place))


def _hook(layer: int, part: str) -> str:
    return f"blocks.{layer}.mixer.hook_ssm_{part}"


def windows_of(tokens: Int[Tensor, "batch pos"], width: int) -> Int[Tensor, "batch pos width"]:
    """Return the last tokens at each position, the newest first; -1 before the start."""
    return torch.stack([F.pad(tokens, (back, 0), value=-1)[:, : tokens.shape[1]] for back in range(width)], -1)


def window_means(
    gates: Float[Tensor, "batch pos state"], windows: Int[Tensor, "batch pos width"], here: Tensor
) -> Float[Tensor, "window state"]:
    """Return the mean gates of the windows at some positions, for windows that occur often enough.

    Args:
        gates: the gates of one channel.
        windows: see :func:`windows_of`.
        here: ``[batch, pos]`` which positions count.
    """
    _, which, counts = windows[here].unique(dim=0, return_inverse=True, return_counts=True)
    sums = gates.new_zeros(len(counts), gates.shape[-1]).index_add_(0, which, gates[here])
    means: Tensor = (sums / counts[:, None])[counts >= min(PLACES, int(counts.max()))]
    return means
