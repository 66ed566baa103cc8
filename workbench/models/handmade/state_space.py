"""State-space models built by hand that compute a state exactly, at any length.

Their gates are exactly 0, 1 or -1 in float32. If the step size dt is 0, the gate exp(-dt A) is exactly 1; the softplus
of -200 gives this step size in float32. If the step size is :data:`STEP`, the gate is exactly 0.
"""

from __future__ import annotations

import torch
from torch import nn

from workbench.models.handmade.blank import without_weights
from workbench.models.ssm.config import SSMConfig
from workbench.models.ssm.model import HookedSSM

STEP = 200.0
"""A step size after which exp(-dt) is 0 in float32, and softplus of its negative is 0."""
LOUD = 32.0
"""The value of a channel that is on: silu does not change it, because the sigmoid of 32 is 1 in float32."""


def flip_flop() -> HookedSSM:
    """The task flip_flop: at a write the gate is 0 and the state becomes the written bit. All other tokens have gate 1.

    Two channels, on at ``w0`` and at ``w1``. The first writes a negative number and the second a positive one, and each
    is cleared by the other's write. Their sum has the sign of the bit last written.
    """
    channels = {1: 0, 2: 1}  # the tokens w0 and w1
    return _one_layer(6, channels, steps=(1, 2), writes={0: -1.0, 1: 1.0}, sums={0: 1.0, 1: 1.0}, gates="nonnegative")


def parity() -> HookedSSM:
    """The task parity with signed gates: h = (1 - 2 x) h, started with 1 at BOS.

    One channel is on at BOS, where it writes. Another is on at ``1``, where it only sets the gate of all channels to
    -1.
    """
    return _one_layer(3, {0: 0, 2: 1}, steps=(0, 2), writes={0: 1.0, 1: 0.0}, sums={0: -1.0}, gates="signed")


def _one_layer(
    d_vocab: int,
    channels: dict[int, int],
    steps: tuple[int, ...],
    writes: dict[int, float],
    sums: dict[int, float],
    gates: str,
) -> HookedSSM:
    """One layer with one state per channel; the answer is 1 if a sum of states is positive.

    Args:
        d_vocab: tokens; the answers are 0 and 1.
        channels: the channel that each token turns on.
        steps: tokens at which the step size of all channels is STEP; it is 0 elsewhere.
        writes: sign of the value that each channel writes when it is on; 0 for nothing.
        sums: coefficients of the channels in the sum.
        gates: nonnegative or signed.
    """
    inner = len(channels)
    constant, answer = d_vocab, d_vocab + 1  # residual dimensions beside the tokens' own
    cfg = SSMConfig(
        d_vocab=d_vocab, d_vocab_out=2, n_layers=1, d_model=d_vocab + 2, d_inner=inner, d_state=1, d_conv=1,
        dt_rank=1, n_ctx=1, normalization_type=None, gates=gates,
    )  # fmt: skip
    model = without_weights(HookedSSM(cfg))
    with torch.no_grad():
        weights: dict[str, nn.Parameter] = {
            name.removeprefix("blocks.0.mixer."): p for name, p in model.named_parameters()
        }
        weights["embed.W_E"][:, :d_vocab] = torch.eye(d_vocab)
        weights["embed.W_E"][:, constant] = 1.0
        for token, channel in channels.items():
            weights["W_in"][token, channel] = LOUD
            weights["W_B"][channel, 0] = writes[channel] / LOUD
            if token in steps:
                weights["W_dt_in"][channel, 0] = 2 * STEP / LOUD
        weights["W_in"][constant, inner:] = LOUD  # the output gate of every channel is open
        weights["W_conv"][:] = 1.0
        weights["W_dt"][:] = 1.0
        weights["b_dt"][:] = -STEP
        weights["b_C"][:] = 1.0
        for channel, factor in sums.items():
            weights["W_out"][channel, answer] = factor / (STEP * LOUD * LOUD)
        weights["unembed.W_U"][answer, 1], weights["unembed.W_U"][answer, 0] = 1.0, -1.0
    model.eval()
    return model
