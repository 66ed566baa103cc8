"""States that training sequences begin with: those after sequences of the batch before, or random ones of their size.

A recurrent model that always begins with one state can fail at lengths beyond training, because it never visited the
states that occur there (Buitrago Ruiz, Gu 2025, 2507.02782). Training on carried states makes it visit more states.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from workbench.models.base.architecture import Architecture
from workbench.models.base.mixer_stack import State
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator
from workbench.training.errors import TrainingError

CarriedStates = Literal["none", "passed", "random"]


def check_carried(carried: CarriedStates, model: Architecture) -> None:
    """Refuse carried states for models that keep no state.

    Raises:
        TrainingError: naming the architecture.
    """
    if carried != "none" and not model.state_hooks():
        raise TrainingError(
            f"training.carried_states={carried} needs a model with a state, and a {model.title} keeps none; leave it "
            "out, or choose architecture ssm or rnn"
        )


def in_words(carried: CarriedStates) -> str:
    """Return a clause on the states that sequences begin with, to append to a curriculum in words; "" for none."""
    return {
        "none": "",
        "passed": "; sequences begin with the states after those of the batch before",
        "random": "; sequences begin with random states",
    }[carried]


@torch.no_grad()
def carried_states(model: Any, before: Batch, carried: CarriedStates, seed: int, step: int, group: int) -> list[State]:
    """Return the state of each layer with which the sequences of an update begin, without gradients.

    They depend only on the weights and on the sequences before, so that training resumes bit-identically.

    Args:
        model: a model with states, with its present weights.
        before: the sequences of the update before.
        carried: ``passed`` = the states after these sequences. ``random`` = independent normal numbers with the mean
            and the standard deviation that each number of these states has over the sequences.
        seed: of the data, for random states.
        step, group: the update, and the group of its batch.
    """
    _, states = model(before.tokens, return_type=None, return_states=True)
    if carried == "passed":
        return list(states)
    g = generator("carried states", seed, step, group)
    return [tuple(_random(part, g) for part in state) for state in states]


def _random(part: Tensor, g: torch.Generator) -> Tensor:
    noise = torch.randn(part.shape, generator=g).to(part.device, part.dtype)
    return part.mean(0) + part.std(0, correction=0) * noise
