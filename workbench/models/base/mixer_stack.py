"""A stack of layers without attention: embedding, blocks with one mixer each, read-out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from workbench.models.base.hooked import Hooked, ReturnType
from workbench.models.base.layers import Embed, LayerNorm, Unembed
from workbench.models.base.lens_interface import LensUseError
from workbench.models.base.lens_parts import HookPoint
from workbench.models.base.without_attention import WithoutAttention

Residual = Float[Tensor, "batch pos d_model"]
State = tuple[Tensor, ...]
"""All that a layer carries from token to token; the first axis of each tensor is the batch."""


class StateMixer(nn.Module):
    """A layer that carries a state from token to token; it reads and writes vectors of the residual stream's width."""

    @abstractmethod
    def initial_state(self, batch: int) -> State:
        """The state before the first token, for every sequence."""

    @abstractmethod
    def mix(self, residual: Residual, state: State) -> tuple[Residual, State]:
        """The output at every token after a state, and the state after the last token."""

    def forward(self, residual: Residual) -> Residual:
        """The output at every token after the initial state."""
        return self.mix(residual, self.initial_state(len(residual)))[0]

    @abstractmethod
    def initialize(self, generator: torch.Generator) -> None:
        """Draw the initial weights."""


class MixerBlock(nn.Module):
    """A mixer after a LayerNorm. Its output is added to the residual stream.

    Args:
        cfg: the architecture.
        mixer: the layer.
        residual: whether the output is added. Otherwise it replaces the stream.
    """

    def __init__(self, cfg: WithoutAttention, mixer: StateMixer, residual: bool = True) -> None:
        super().__init__()
        self.residual = residual
        self.ln1 = LayerNorm(cfg) if cfg.normalization_type == "LN" else nn.Identity()
        self.mixer = mixer
        self.hook_resid_pre, self.hook_mixer_out, self.hook_resid_post = (HookPoint() for _ in range(3))

    def forward(self, x: Residual, state: State) -> tuple[Residual, State]:
        x = self.hook_resid_pre(x)
        out, state = self.mixer.mix(self.ln1(x), state)
        out = self.hook_mixer_out(out)
        x = self.hook_resid_post(x + out if self.residual else out)
        return x, state


class MixerStack(Hooked):
    """A stack of mixers with the interface :class:`workbench.models.base.protocol.HookedModel`.

    A subclass states :meth:`block`.

    Args:
        cfg: the architecture.
        seed: seed of the initial weights, which are drawn without changing any global random state.
    """

    def __init__(self, cfg: WithoutAttention, seed: int = 0) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed = Embed(cfg)
        self.hook_embed = HookPoint()
        self.blocks = nn.ModuleList(self.block(cfg) for _ in range(cfg.n_layers))
        self.ln_final = LayerNorm(cfg) if cfg.normalization_type == "LN" else nn.Identity()
        self.unembed = Unembed(cfg)
        self.setup()
        self.initialize(seed)

    @staticmethod
    @abstractmethod
    def block(cfg: Any) -> MixerBlock:
        """A new block of a model of this config."""

    def initialize(self, seed: int) -> None:
        """Draw embedding and read-out from N(0, initializer_range^2), and layers by :meth:`StateMixer.initialize`."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in (self.embed.W_E, self.unembed.W_U):
                weight.normal_(0.0, self.cfg.initializer_range, generator=generator)
            for mixer in self.modules():
                if isinstance(mixer, StateMixer):
                    mixer.initialize(generator)

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        position_ids: Int[Tensor, "rows ids"] | None = None,
        *,
        return_type: ReturnType = "logits",
        stop_at_layer: int | None = None,
        initial_states: Sequence[State] | None = None,
        return_states: bool = False,
    ) -> Any:
        """Logits (or real outputs) ``[batch, pos, out]`` at every position.

        Args:
            tokens: token ids, BOS included if the task has one.
            position_ids: not read; only their shape is checked.
            return_type, stop_at_layer: as those of
                :meth:`workbench.models.transformer.model.HookedTransformer.forward`.
            initial_states: the state of each layer before the first token, as ``return_states`` returns them; None =
                those of an empty sequence.
            return_states: whether to return a pair: the outputs, and the state of each computed layer after the last
                token. A second part of a sequence that begins with these states gives the outputs of the whole.

        Raises:
            PositionError: for ids that do not fit the tokens.
            LensUseError: for states that are not those of this model and batch.
        """
        self.checked_ids(tokens, position_ids)
        starts = self._checked_states(initial_states, len(tokens))
        x = self.hook_embed(self.embed(tokens))
        states = []
        for block, start in zip(self.blocks[:stop_at_layer], starts, strict=False):
            x, state = block(x, start)
            states.append(state)
        if stop_at_layer is None:
            x = self.ln_final(x)
            x = None if return_type is None else self.select_output(self.unembed(x), tokens, return_type)
        return (x, states) if return_states else x

    def initial_states(self, batch: int) -> list[State]:
        """The state of each layer before the first token."""
        return [block.mixer.initial_state(batch) for block in self.blocks]  # type: ignore[union-attr,operator]

    def _checked_states(self, states: Sequence[State] | None, batch: int) -> Sequence[State]:
        """Return the states of all layers, or those of an empty sequence; refuse states of other shapes."""
        usual = self.initial_states(batch)
        if states is None:
            return usual
        sizes = [[tuple(part.shape) for part in state] for state in states]
        needed = [[tuple(part.shape) for part in state] for state in usual]
        if sizes != needed:
            raise LensUseError(
                f"initial_states must be one state for each of {len(needed)} layers with shapes {needed[0]}, for a "
                f"batch of {batch}; take them from model(tokens, return_states=True)"
            )
        return states
