"""The loop of stacked training, in memory and without run folders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workbench.models.architectures import make_model
from workbench.models.stacked_forward import computed_together, stacked_forward
from workbench.training.config import RunConfig
from workbench.training.errors import TrainingError
from workbench.training.optimizer import SGD, AdamW, learning_rate
from workbench.training.stacked.batches import (
    Drawn,
    PaddedBatches,
    acts_by_position,
    drawn_batches,
    groups_of_similar_length,
)
from workbench.training.stacked.refusal import why_not_stacked
from workbench.training.stacked.rows import RowLayout, Rows
from workbench.training.stacked.run_state import MOMENTS, RunState

OPTIMIZATION = ("steps", "learning_rate", "rate_law", "warmup", "weight_decay", "betas", "momentum")
"""Settings of an optimizer and of its learning rates."""


@dataclass(frozen=True)
class StackedResult:
    """The result of stacked training.

    Attributes:
        states: for each run, its states by step: the steps in ``keep`` and the last step.
        losses: the task's loss at each update from ``from_step`` on.
        not_finite: the first step whose loss or weights were not finite, by number of the run. It has no later states.
    """

    states: list[dict[int, RunState]]
    losses: Float[Tensor, "update run"]
    not_finite: dict[int, int]

    def last(self, run: int) -> RunState:
        """The latest state of a run."""
        return self.states[run][max(self.states[run])]


def train_stacked(
    configs: Sequence[RunConfig],
    *,
    start_states: Sequence[RunState] | None = None,
    from_step: int = 0,
    to_step: int | None = None,
    keep: Sequence[int] = (),
    dtype: torch.dtype = torch.float32,
) -> StackedResult:
    """Train several runs as one batch of parameters. Each run equals its single training except for rounding.

    Runs may differ in their seeds, the scale of their initial weights, and all settings of training that
    :data:`workbench.training.stacked.refusal.SAME` does not name.

    Args:
        configs: the runs.
        start_states: weights and moments of each run at ``from_step``; None = new weights, from each run's seed.
        from_step: the first update.
        to_step: the step to stop at; None = the last step of training.
        keep: steps whose states the result contains, from ``from_step`` on. The last step is always kept.
        dtype: that of weights and moments.

    Raises:
        TrainingError: if the runs cannot be stacked, or a start state is missing or is of another step.
    """
    if (reason := why_not_stacked(configs)) is not None:
        raise TrainingError(f"these runs cannot be trained as a stack: {reason}; train them one at a time")
    last = configs[0].training.steps if to_step is None else to_step
    if not 0 <= from_step <= last <= configs[0].training.steps:
        raise TrainingError(
            f"cannot train from step {from_step} to step {last}: this training has {configs[0].training.steps} steps"
        )
    if start_states is None and from_step:
        raise TrainingError(f"training from step {from_step} needs start_states: the weights and moments at that step")
    states = [_new_state(config) for config in configs] if start_states is None else list(start_states)
    if [state.step for state in states] != [from_step] * len(configs):
        raise TrainingError(
            f"{len(configs)} runs from step {from_step} need a start state of that step each, not states of steps "
            f"{', '.join(str(state.step) for state in states)}"
        )
    with _threads(configs[0].training.threads):
        return _Stack(configs, states, dtype).train(from_step, last, {*keep, last})


def _new_state(config: RunConfig) -> RunState:
    """The state of a run before its first update."""
    model = make_model(config.model, seed=config.seeds.init)
    return RunState(0, {name: p.detach() for name, p in model.named_parameters()})


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set the number of torch's threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Stack:
    """The weights of all runs with their optimizer.

    Args:
        configs: the runs.
        states: their weights and moments.
        dtype: that of weights and moments.
    """

    def __init__(self, configs: Sequence[RunConfig], states: Sequence[RunState], dtype: torch.dtype) -> None:
        self.configs, self.dtype = configs, dtype
        self.model, self.task = configs[0].model, configs[0].task
        self.layout = RowLayout(states[0].weights)
        self.rows = [tuple(map(nn.Parameter, self.layout.rows(state.weights, dtype))) for state in states]
        self.clips = torch.tensor([config.training.clip or float("inf") for config in configs], dtype=dtype)
        self.slots = MOMENTS[configs[0].training.optimizer]
        self.optimizer = self._optimizer()
        for rows, state in zip(self.rows, states, strict=True):
            self._set_moments(rows, state)

    def _optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of single training. Runs with the same settings share its groups of parameters."""
        members: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for run, config in enumerate(self.configs):
            members[tuple(getattr(config.training, name) for name in OPTIMIZATION)].append(run)
        groups = []
        for runs in members.values():
            law = self.configs[runs[0]].training
            own = {"momentum": law.momentum} if law.optimizer == "sgd" else {"betas": law.betas}
            for kind, decay in enumerate((law.weight_decay, 0.0)):
                rows = [self.rows[run][kind] for run in runs]
                groups.append({"params": rows, "weight_decay": decay, "law": law, "lr": law.learning_rate, **own})
        if self.configs[0].training.optimizer == "sgd":
            return SGD(groups)
        return AdamW(groups, fused=True)

    def _set_moments(self, rows: Sequence[nn.Parameter], state: RunState) -> None:
        """Fill the optimizer's tensors of one run."""
        if not state.moments:
            if state.step and self.slots == MOMENTS["adamw"]:
                raise TrainingError(f"a start state of step {state.step} lacks the moments of AdamW: {self.slots}")
            return
        for slot in self.slots:
            for row, values in zip(rows, self.layout.rows(state.moments[slot], self.dtype), strict=True):
                self.optimizer.state[row][slot] = values
        if self.slots == MOMENTS["adamw"]:
            for row in rows:
                self.optimizer.state[row]["step"] = torch.tensor(float(state.step))

    def train(self, first: int, last: int, keep: set[int]) -> StackedResult:
        """Train from step ``first`` to ``last``, and return the states of the steps in ``keep``."""
        all_losses = torch.zeros(last - first, len(self.configs), dtype=self.dtype)
        result = StackedResult([{} for _ in self.configs], all_losses, {})
        for step, drawn in enumerate(drawn_batches(self.configs, first, last), first):
            if step in keep:
                self._keep(result, step)
            losses = self._update(step, drawn)
            all_losses[step - first] = losses
            for run in (~losses.isfinite()).nonzero()[:, 0].tolist():
                result.not_finite.setdefault(run, step)
        self._keep(result, last)
        return result

    def _update(self, step: int, drawn: Sequence[Drawn]) -> Float[Tensor, " run"]:
        """Do one update of all runs, and return their losses."""
        losses = torch.zeros(len(drawn), dtype=self.dtype)
        together = computed_together(self.model)
        for runs in groups_of_similar_length(drawn) if together else [[run] for run in range(len(drawn))]:
            losses[runs] = self._gradients(runs, [drawn[run] for run in runs])
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(group["law"], step)
        self.optimizer.step()
        return losses

    def _gradients(self, runs: Sequence[int], drawn: Sequence[Drawn]) -> Float[Tensor, " run"]:
        """Leave the clipped gradients of some runs at their rows, and return their losses."""
        stacked = [torch.stack([self.rows[run][kind].detach() for run in runs]).requires_grad_() for kind in range(2)]
        padded = PaddedBatches.of(drawn, self.dtype, everywhere=not acts_by_position(self.task))
        outputs = stacked_forward(self.model, self.layout.stacked_views(stacked), padded.inputs)
        losses = padded.losses(self.task, outputs)
        gradients = torch.autograd.grad(losses.sum(), stacked)
        factors = clip_factors(gradients, self.clips[list(runs)])
        for kind, gradient in enumerate(gradients):
            for run, row in zip(runs, gradient.mul_(factors[:, None]), strict=True):
                self.rows[run][kind].grad = row
        return losses.detach()

    def _keep(self, result: StackedResult, step: int) -> None:
        """Add the states at ``step`` of all runs whose losses have been finite."""
        for run, rows in enumerate(self.rows):
            if not all(bool(row.isfinite().all()) for row in rows):
                result.not_finite.setdefault(run, step)
            if run not in result.not_finite:
                result.states[run][step] = RunState(
                    step, self.layout.weights_by_name(_values(rows)), self._moments(rows)
                )

    def _moments(self, rows: Sequence[nn.Parameter]) -> dict[str, dict[str, Tensor]]:
        """The optimizer's tensors of one run by slot and name of the weight; none before its first update."""
        states = [self.optimizer.state.get(row, {}) for row in rows]
        kept = [slot for slot in self.slots if all(state.get(slot) is not None for state in states)]
        return {slot: self.layout.weights_by_name([state[slot] for state in states]) for slot in kept}


def _values(rows: Sequence[nn.Parameter]) -> Rows:
    matrices, others = (row.detach() for row in rows)
    return matrices, others


def clip_factors(gradients: Sequence[Tensor], clips: Float[Tensor, " run"]) -> Float[Tensor, " run"]:
    """Return the factors by which ``torch.nn.utils.clip_grad_norm_`` would multiply the gradients of each run.

    Args:
        gradients: all gradients of each run, in any number of parts ``[run, numbers]``.
        clips: the largest norm of each run; infinity = no clipping.
    """
    norms = torch.stack([gradient.norm(dim=1) for gradient in gradients]).norm(dim=0)
    factors: Tensor = (clips / (norms + 1e-6)).clamp(max=1.0)
    return factors
