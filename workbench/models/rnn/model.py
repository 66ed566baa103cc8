"""The recurrent network: Elman cells or GRUs, computed by torch's own kernels, with a hook on every state."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workbench.models.base.lens_parts import HookPoint
from workbench.models.base.mixer_stack import MixerBlock, MixerStack, Residual, State, StateMixer
from workbench.models.rnn.config import RNNConfig

States = Float[Tensor, "batch pos d_hidden"]


class Recurrence(StateMixer):
    """One recurrent layer. It reads x and the state before it, and its states h follow one after the other.

    - ``elman``: h_t = f(x_t W_in + b_in + h_(t-1) W_rec) with f tanh or relu.
    - ``gru``: the columns of ``W_in`` and ``W_rec`` are those of the reset gate r, the update gate z and the candidate
      n, in this order. Let i = x_t W_in + b_in be the parts of the input, and s = h_(t-1) W_rec + b_rec those of the
      state. Then r = sigmoid(i_r + s_r) and z = sigmoid(i_z + s_z). The candidate is n = tanh(i_n + r s_n), and
      h_t = (1 - z) n + z h_(t-1).

    The output is h ``W_out``, or h itself in a model without a residual stream. The states are those of
    ``torch.nn.RNN`` and ``torch.nn.GRU``, from the same kernels. These kernels return every state, so that hooks need
    no other computation.

    Hooks: ``hook_rnn_input`` x ``[batch, pos, d_model]`` and ``hook_rnn_state`` h ``[batch, pos, d_hidden]``. An edit
    of x changes all later states. An edit of a state changes only the output at its own position.
    """

    def __init__(self, cfg: RNNConfig) -> None:
        super().__init__()
        self.cfg = cfg
        width = cfg.gates * cfg.d_hidden
        self.W_in = nn.Parameter(torch.empty(cfg.d_model, width))
        self.W_rec = nn.Parameter(torch.empty(cfg.d_hidden, width))
        self.b_in = nn.Parameter(torch.zeros(width))
        if cfg.cell == "gru":
            self.b_rec = nn.Parameter(torch.zeros(width))
        if cfg.initial_state == "trained":
            self.h_start = nn.Parameter(torch.zeros(cfg.d_hidden))
        if cfg.residual:
            self.W_out = nn.Parameter(torch.empty(cfg.d_hidden, cfg.d_model))
        self.hook_rnn_input, self.hook_rnn_state = HookPoint(), HookPoint()

    def initialize(self, generator: torch.Generator) -> None:
        """Draw all matrices as :class:`RNNConfig` states; each gate of a GRU is a matrix of its own."""
        cfg = self.cfg
        for name, weight in self.named_parameters():
            if name.startswith("W_"):
                outputs = cfg.d_model if name == "W_out" else cfg.d_hidden
                spread = cfg.initial_gain * math.sqrt(2 / (weight.shape[0] + outputs))
                weight.normal_(0.0, spread, generator=generator)

    def mix(self, residual: Residual, state: State) -> tuple[Residual, State]:
        states = self.states(self.hook_rnn_input(residual), state[0])
        last = states[:, -1]
        states = self.hook_rnn_state(states)
        return states @ self.W_out if self.cfg.residual else states, (last,)

    def states(self, x: Residual, start: Float[Tensor, "batch d_hidden"] | None = None) -> States:
        """The state after each token; ``start`` is the state before the first one (None: as the config states it)."""
        start = self.initial_state(len(x))[0] if start is None else start
        biases = (self.b_in, self.b_rec if self.cfg.cell == "gru" else torch.zeros_like(self.b_in))
        weights = [self.W_in.mT.contiguous(), self.W_rec.mT.contiguous(), *biases]
        if self.cfg.cell == "gru":
            kernel = torch.gru
        else:
            kernel = torch.rnn_relu if self.cfg.nonlinearity == "relu" else torch.rnn_tanh
        # The last arguments: biases, one layer, no dropout, training (gradients on cuda need it), one direction, batch
        # first. Rounding errors of states add up over time, so they are computed in the weights' dtype under autocast.
        with torch.autocast(x.device.type, enabled=False):
            states, _ = kernel(x.to(self.W_in.dtype), start[None], weights, True, 1, 0.0, True, False, True)
        return states

    def initial_state(self, batch: int) -> State:
        """The state before the first token, as the config states it."""
        shape = (batch, self.cfg.d_hidden)
        if self.cfg.initial_state == "trained":
            return (self.h_start.expand(shape).contiguous(),)
        return (self.W_in.new_full(shape, float(self.cfg.initial_state == "ones")),)


class HookedRNN(MixerStack):
    """A stack of recurrent layers (:class:`Recurrence`); see also :class:`MixerStack`."""

    cfg: RNNConfig

    @staticmethod
    def block(cfg: RNNConfig) -> MixerBlock:
        return MixerBlock(cfg, Recurrence(cfg), cfg.residual)
