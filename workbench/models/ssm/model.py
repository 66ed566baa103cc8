"""The state-space model: diagonal selective layers with short convolution and gating, every activation hooked."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.models.base.layers import has_hooks
from workbench.models.base.lens_parts import HookPoint
from workbench.models.base.mixer_stack import MixerBlock, MixerStack, Residual, State, StateMixer
from workbench.models.ssm.config import SSMConfig
from workbench.models.ssm.scan import gates_of, scan, selective_scan_from, writes_of

Channels = Float[Tensor, "batch pos d_inner"]
Reads = Float[Tensor, "batch pos d_state"]


class Mixer(StateMixer):
    """One layer of a state-space model (as in Mamba; Gu and Dao 2023, 2312.00752, section 3.4).

    ``W_in`` gives channels and their output gate. The channels pass a causal convolution of ``d_conv`` tokens and silu,
    which gives x. Then h_t = a_t h_(t-1) + dt_t x_t B_t per channel and state. The gates a follow from the step size dt
    and the rate A = exp(A_log) (see :func:`workbench.models.ssm.scan.selective_scan`). The result is y_t = C_t . h_t +
    D x_t, and ``W_out`` reads y times silu of the output gate. dt, B and C are linear in x, dt after softplus, unless
    the layer is time-invariant.

    Hooks:

    - ``[batch, pos, d_inner]``: ``hook_x``, ``hook_ssm_dt``, ``hook_y``, ``hook_gate`` (the output gate before silu);
    - ``[batch, pos, d_state]``: ``hook_ssm_B``, ``hook_ssm_C``;
    - ``[batch, pos, d_inner, d_state]``: ``hook_ssm_gates`` a, ``hook_ssm_write`` and ``hook_ssm_state`` h. These
      tensors exist only while a function is attached to one of them.

    An edit of gates or writes changes all later states. An edit of a state changes only the output at its own position.
    """

    def __init__(self, cfg: SSMConfig) -> None:
        super().__init__()
        self.cfg = cfg
        inner, states = cfg.d_inner, cfg.d_state
        self.W_in = nn.Parameter(torch.empty(cfg.d_model, 2 * inner))
        self.W_conv = nn.Parameter(torch.empty(inner, cfg.d_conv))
        self.b_conv = nn.Parameter(torch.zeros(inner))
        if not cfg.time_invariant:
            self.W_B = nn.Parameter(torch.empty(inner, states))
            self.W_C = nn.Parameter(torch.empty(inner, states))
            self.W_dt_in = nn.Parameter(torch.empty(inner, cfg.dt_rank))
            self.W_dt = nn.Parameter(torch.empty(cfg.dt_rank, inner))
        self.b_B = nn.Parameter(torch.zeros(states))
        self.b_C = nn.Parameter(torch.zeros(states))
        self.b_dt = nn.Parameter(torch.zeros(inner))
        self.A_log = nn.Parameter(torch.zeros(inner, states))
        self.D = nn.Parameter(torch.ones(inner))
        self.W_out = nn.Parameter(torch.empty(inner, cfg.d_model))
        self.hook_x, self.hook_gate, self.hook_y = HookPoint(), HookPoint(), HookPoint()
        self.hook_ssm_dt, self.hook_ssm_B, self.hook_ssm_C = HookPoint(), HookPoint(), HookPoint()
        self.hook_ssm_gates, self.hook_ssm_write, self.hook_ssm_state = HookPoint(), HookPoint(), HookPoint()

    def initialize(self, generator: torch.Generator) -> None:
        """Rates 1, 2, ..., d_state in every channel; step sizes spread log-uniformly; the rest small and random."""
        cfg = self.cfg
        for name, weight in self.named_parameters():
            if name.startswith("W_"):
                spread = 1 / math.sqrt(cfg.d_conv) if name == "W_conv" else 1 / math.sqrt(weight.shape[0])
                weight.uniform_(-spread, spread, generator=generator)
        self.A_log.copy_(torch.arange(1, cfg.d_state + 1).log().expand_as(self.A_log))
        low, high = math.log(cfg.dt_min), math.log(cfg.dt_max)
        steps = torch.exp(low + (high - low) * torch.rand(cfg.d_inner, generator=generator))
        self.b_dt.copy_(steps + torch.log(-torch.expm1(-steps)))  # softplus gives the step size back
        if cfg.time_invariant:
            for bias in (self.b_B, self.b_C):
                bias.normal_(0.0, 1.0, generator=generator)

    def initial_state(self, batch: int) -> State:
        """Zeros: h ``[batch, d_inner, d_state]``, and the last d_conv - 1 inputs of the convolution."""
        cfg, zeros = self.cfg, self.W_in.new_zeros
        return zeros(batch, cfg.d_inner, cfg.d_state), zeros(batch, cfg.d_inner, cfg.d_conv - 1)

    def mix(self, residual: Residual, state: State) -> tuple[Residual, State]:
        pos = residual.shape[1]
        before, inputs = state
        channels, gate = (residual @ self.W_in).chunk(2, -1)
        gate = self.hook_gate(gate)
        channels = torch.cat([inputs.to(channels.dtype), channels.mT], -1)
        inputs = channels[..., pos:]
        channels = F.conv1d(channels, self.W_conv[:, None], self.b_conv, groups=self.cfg.d_inner)[..., :pos]
        x = self.hook_x(F.silu(channels).mT.contiguous())
        dt, b, c = self.selection(x)
        read, last = self.read(x, dt, b, c, before)
        y = self.hook_y(read + self.D * x)
        out: Tensor = (y * F.silu(gate)) @ self.W_out
        return out, (last, inputs)

    def selection(self, x: Channels) -> tuple[Channels, Reads, Reads]:
        """Step sizes dt, and B and C, which depend on the token or are fixed."""
        step, b, c = self.b_dt.expand_as(x), self.b_B.expand(*x.shape[:2], -1), self.b_C.expand(*x.shape[:2], -1)
        if not self.cfg.time_invariant:
            step, b, c = step + (x @ self.W_dt_in) @ self.W_dt, b + x @ self.W_B, c + x @ self.W_C
        return self.hook_ssm_dt(F.softplus(step)), self.hook_ssm_B(b.contiguous()), self.hook_ssm_C(c.contiguous())

    def read(self, x: Channels, dt: Channels, b: Reads, c: Reads, before: Tensor) -> tuple[Channels, Tensor]:
        """C . h at every position, and the last h; fused unless a hook on gates, writes or states is in use."""
        kind, decay = self.cfg.gates, self.A_log.exp()
        if not has_hooks(self.hook_ssm_gates, self.hook_ssm_write, self.hook_ssm_state):
            return selective_scan_from(before, x, dt, decay, b, c, kind)
        gates = self.hook_ssm_gates(gates_of(dt, decay, kind))
        states = scan(gates, self.hook_ssm_write(writes_of(x, dt, b)), before)
        last = states[:, -1]
        return torch.matmul(self.hook_ssm_state(states), c[..., None])[..., 0], last


class HookedSSM(MixerStack):
    """A stack of selective state-space layers (:class:`Mixer`); see also :class:`MixerStack`."""

    cfg: SSMConfig

    @staticmethod
    def block(cfg: SSMConfig) -> MixerBlock:
        return MixerBlock(cfg, Mixer(cfg))
