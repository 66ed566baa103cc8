"""A recurrent network built by hand that computes parity exactly, at any length."""

from __future__ import annotations

import torch

from workbench.models.handmade.blank import without_weights
from workbench.models.rnn.config import RNNConfig
from workbench.models.rnn.model import HookedRNN

ONE = 2
"""The id of the token ``1`` in the task parity."""


def parity() -> HookedRNN:
    """The task parity, by a plain Elman network with ReLU and two numbers as its state.

    Let x be 1 at the token ``1`` and 0 elsewhere, and s the sum a + b of the step before. The state is
    a = relu(x - s) and b = relu(s - x). So a + b = abs(x - s), which is 1 after an odd number of ones and 0 otherwise.
    All numbers are 0 or 1, so that float32 rounds nothing. The logits are 1/2 - (a + b) for 0, and its negative for 1.
    """
    cfg = RNNConfig(
        d_vocab=3, d_vocab_out=2, n_layers=1, d_model=2, n_ctx=1, normalization_type=None,
        cell="elman", nonlinearity="relu", residual=False,
    )  # fmt: skip
    model = without_weights(HookedRNN(cfg))
    signs = torch.tensor([1.0, -1.0])
    with torch.no_grad():
        weights = dict(model.named_parameters())
        weights["embed.W_E"][ONE, 0] = 1.0
        weights["blocks.0.mixer.W_in"][0] = signs
        weights["blocks.0.mixer.W_rec"][:] = -signs
        weights["unembed.W_U"][:] = -signs
        weights["unembed.b_U"][:] = signs / 2
    model.eval()
    return model
