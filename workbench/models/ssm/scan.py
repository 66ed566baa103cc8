"""The recurrence h_t = a_t h_(t-1) + w_t, elementwise: by itself, and fused with the computation of a and w.

Time is split into blocks that fit the cache, so that only one block needs memory besides inputs and outputs. Within a
block the recurrence runs step by step over all sequences, channels and states at once. If these are few, a step takes
less time than its function call. Then the block is split into pieces that run in parallel and are joined afterwards
(the two-level form of the parallel prefix sum, Blelloch 1990). Gradients are the same recurrence backwards. States are
recomputed from the first state of each block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from workbench.core.names import Gates

States = Float[Tensor, "batch pos d_inner d_state"]
State = Float[Tensor, "batch d_inner d_state"]
Channels = Float[Tensor, "batch pos d_inner"]
Reads = Float[Tensor, "batch pos d_state"]

BLOCK_ELEMENTS = 1 << 17
"""Numbers per block and tensor: half a MiB, so that several tensors stay in a core's cache."""
STEP_ELEMENTS = 1 << 13
"""If a step has fewer numbers, a block is split into pieces that run in parallel."""
SHORTEST_PIECE = 8


class GateMap(NamedTuple):
    """A gate as a function of E = exp(-dt A) in [0, 1]: ``scale`` E + ``shift``."""

    scale: int
    shift: int


GATE_MAPS: dict[Gates, GateMap] = {"nonnegative": GateMap(1, 0), "signed": GateMap(2, -1)}
"""Name of a kind of gates -> its function. The names are also in :mod:`workbench.core.names`."""


def scan(gates: States, writes: States, initial_state: State | None = None) -> States:
    """All states of h_t = a_t h_(t-1) + w_t, in time and memory linear in length; differentiable.

    Args:
        gates: a_t, any real numbers.
        writes: w_t.
        initial_state: h_(-1); None = 0.
    """
    start = torch.zeros_like(writes[:, 0]) if initial_state is None else initial_state
    states: Tensor = _Scan.apply(gates, writes, start)
    return states


def recurrence(gates: States, writes: States, initial_state: State | None = None) -> States:
    """Compute the states step by step with autograd's own gradient. Tests compare the fast scan with this
    definition.
    """
    state, states = torch.zeros_like(writes[:, 0]) if initial_state is None else initial_state, []
    for t in range(writes.shape[1]):
        state = gates[:, t] * state + writes[:, t]
        states.append(state)
    return torch.stack(states, 1)


def selective_scan(
    x: Channels, dt: Channels, decay: Float[Tensor, "d_inner d_state"], b: Reads, c: Reads, gates: Gates
) -> Channels:
    """The output of a selective state-space layer, computed without storing all states at once.

    Per channel and state, the gates a follow from E = exp(-dt decay) by :data:`GATE_MAPS`, and the writes are w = dt x
    b. The states are h_t = a_t h_(t-1) + w_t with h_(-1) = 0, and the result is y_t = sum over states of c_t h_t.

    Args:
        x: inputs.
        dt: step sizes, at least 0.
        decay: rates A, at least 0.
        b, c: input and output vectors of the states, shared by all channels.
        gates: their kind.
    """
    return selective_scan_from(x.new_zeros(len(x), *decay.shape), x, dt, decay, b, c, gates)[0]


def selective_scan_from(
    initial_state: State,
    x: Channels,
    dt: Channels,
    decay: Float[Tensor, "d_inner d_state"],
    b: Reads,
    c: Reads,
    gates: Gates,
) -> tuple[Channels, State]:
    """The output of :func:`selective_scan` with h_(-1) = ``initial_state``, and the last state; both differentiable."""
    if x.dtype == torch.bfloat16:  # autocast: states add up over time, so they are computed in float32
        with torch.autocast(x.device.type, enabled=False):
            inputs = (x.float(), dt.float(), decay.float(), b.float(), c.float())
            return selective_scan_from(initial_state.float(), *inputs, gates)
    y, last = _SelectiveScan.apply(x, dt, decay, b, c, gates, initial_state)
    return y, last


def gates_of(dt: Channels, decay: Float[Tensor, "d_inner d_state"], gates: Gates) -> States:
    """Gates of a kind, from step sizes and rates A."""
    return _mapped(torch.exp(-dt[..., None] * decay), gates)


def _mapped(shrink: Tensor, gates: Gates) -> Tensor:
    """Gates of a kind, from E."""
    scale, shift = GATE_MAPS[gates]
    return shrink if (scale, shift) == (1, 0) else scale * shrink + shift


def writes_of(x: Channels, dt: Channels, b: Reads) -> States:
    """dt x b: the inputs of the states."""
    return (dt * x)[..., None] * b[:, :, None, :]


class _Scan(torch.autograd.Function):
    """Gradients: let g be the gradient of the loss by h, accumulated backwards. Then dw = g and da_t = g_t h_(t-1)."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, writes: Tensor, start: Tensor) -> Tensor:
        states = torch.empty_like(writes)
        state = start
        for rows in _blocks(writes.shape):
            states[:, rows] = _run(gates[:, rows], writes[:, rows], state)
            state = states[:, rows.stop - 1]
        ctx.save_for_backward(gates, states, start)
        return states

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]  # torch ships no type for it
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates, states, start = ctx.saved_tensors
        grad_writes = torch.empty_like(states)
        carried = torch.zeros_like(states[:, 0])
        for rows in reversed(_blocks(states.shape)):
            total = _back(gates[:, rows], grad[:, rows], carried)
            grad_writes[:, rows] = total
            carried = gates[:, rows.start] * total[:, 0]
        grad_gates = torch.empty_like(gates)
        torch.mul(grad_writes[:, 0], start, out=grad_gates[:, 0])
        torch.mul(grad_writes[:, 1:], states[:, :-1], out=grad_gates[:, 1:])
        return grad_gates, grad_writes, carried


class _SelectiveScan(torch.autograd.Function):
    """:func:`selective_scan`; saves its inputs and the first state of each block for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, dt: Tensor, decay: Tensor, b: Tensor, c: Tensor, kind: Gates, start: Tensor
    ) -> tuple[Tensor, Tensor]:
        y, state = torch.empty_like(x), start
        starts = []
        for rows in _blocks((*x.shape, decay.shape[1])):
            starts.append(state)
            gates = gates_of(dt[:, rows], decay, kind)
            states = _run(gates, writes_of(x[:, rows], dt[:, rows], b[:, rows]), state)
            y[:, rows] = _read(states, c[:, rows])
            state = states[:, -1].clone()
        ctx.kind = kind
        ctx.save_for_backward(x, dt, decay, b, c, torch.stack(starts))
        return y, state

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]  # torch ships no type for it
    def backward(ctx: Any, grad: Tensor, grad_last: Tensor) -> tuple[Tensor | None, ...]:
        x, dt, decay, b, c, starts = ctx.saved_tensors
        grad_x, grad_dt, grad_b, grad_c = (torch.empty_like(t) for t in (x, dt, b, c))
        grad_decay, carried = torch.zeros_like(decay), grad_last
        blocks = _blocks((*x.shape, decay.shape[1]))
        for rows, start in zip(reversed(blocks), starts.flip(0), strict=True):
            steps, scaled = dt[:, rows], dt[:, rows] * x[:, rows]
            shrink = torch.exp(-steps[..., None] * decay)
            gates = _mapped(shrink, ctx.kind)
            states = _run(gates, scaled[..., None] * b[:, rows, None, :], start)
            grad_c[:, rows] = _over_channels(grad[:, rows], states)
            total = _back(gates, grad[:, rows, :, None] * c[:, rows, None, :], carried)
            carried = gates[:, 0] * total[:, 0]
            grad_b[:, rows] = _over_channels(scaled, total)
            grad_scaled = _read(total, b[:, rows])
            # by the exponent -dt A: total * (state before) * E * scale
            total[:, 1:] *= states[:, :-1]
            total[:, 0] *= start
            total *= shrink
            total *= -GATE_MAPS[ctx.kind].scale
            grad_dt[:, rows] = (total * decay).sum(-1) + grad_scaled * x[:, rows]
            grad_x[:, rows] = grad_scaled * steps
            grad_decay += torch.einsum("bpdn,bpd->dn", total, steps)
        return grad_x, grad_dt, grad_decay, grad_b, grad_c, None, carried


def _read(states: Tensor, weights: Tensor) -> Tensor:
    """Sum over states, per channel."""
    return torch.matmul(states, weights[..., None])[..., 0]


def _over_channels(weights: Tensor, states: Tensor) -> Tensor:
    """Sum over channels, per state."""
    return torch.matmul(weights[..., None, :], states)[..., 0, :]


def _blocks(shape: torch.Size | tuple[int, ...]) -> list[slice]:
    """Slices of time of at most ``BLOCK_ELEMENTS`` numbers each, but of at least a few steps."""
    batch, pos, channels, states = shape
    size = max(SHORTEST_PIECE, BLOCK_ELEMENTS // max(1, batch * channels * states))
    return [slice(start, min(start + size, pos)) for start in range(0, pos, size)]


def _run(gates: Tensor, writes: Tensor, start: Tensor) -> Tensor:
    """States of one block that begins after the state ``start``."""
    pieces = _pieces(writes)
    if pieces == 1:
        states, state = torch.empty_like(writes), start
        for t in range(writes.shape[1]):
            state = torch.addcmul(writes[:, t], gates[:, t], state, out=states[:, t])
        return states
    whole = writes.shape[1] // pieces * pieces
    states = torch.empty_like(writes)
    a, w, h = (t[:, :whole].unflatten(1, (pieces, -1)) for t in (gates, writes, states))
    product = torch.empty_like(w)
    product[:, :, 0], h[:, :, 0] = a[:, :, 0], w[:, :, 0]
    for t in range(1, w.shape[2]):
        torch.addcmul(w[:, :, t], a[:, :, t], h[:, :, t - 1], out=h[:, :, t])
        torch.mul(a[:, :, t], product[:, :, t - 1], out=product[:, :, t])
    state = start
    for piece in range(pieces):
        h[:, piece].addcmul_(product[:, piece], state[:, None])
        state = h[:, piece, -1]
    for t in range(whole, writes.shape[1]):
        state = torch.addcmul(writes[:, t], gates[:, t], state, out=states[:, t])
    return states


def _back(gates: Tensor, grads: Tensor, carried: Tensor) -> Tensor:
    """g_t = grads_t + a_(t+1) g_(t+1) within one block; ``carried`` is the last step's term from the next block."""
    backwards = grads.flip(1)
    backwards[:, 0] += carried
    # The gate of a step is that of the step after it in time, so the first one is never used.
    shifted = torch.cat([gates[:, :1], gates[:, 1:].flip(1)], 1)
    return _run(shifted, backwards, torch.zeros_like(carried)).flip(1)


def _pieces(writes: Tensor) -> int:
    """The number of pieces of a block that run in parallel."""
    wanted = STEP_ELEMENTS // max(1, writes[:, 0].numel())
    return max(1, min(wanted, writes.shape[1] // SHORTEST_PIECE))
