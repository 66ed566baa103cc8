"""What is to be trained: one object from the command line, a sweep or a notebook to the run's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.training.starting_weights import StartingWeights


@dataclass(frozen=True)
class TrainRequest:
    """The settings of one run to train, as `lengthlens train` receives them.

    Attributes:
        task: name of a task, or ``file.py:Class``.
        options: the named options of the command. One that is None or missing is taken from what the task suggests,
            else from the general defaults.
        settings: (path, value) pairs of ``--set``, which win over the options.
        start: weights to begin from; the model is then theirs.
    """

    task: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Sequence[tuple[Sequence[str], Any]] = ()
    start: StartingWeights | None = None
