"""Other evaluation sequences than a run's own: of another evaluation seed, of other task parameters, or of both.

Rows measured on such sequences are stored next to the rows of the run's own sequences, and are read separately.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.canonical import canonical

__all__ = ["EVALUATION_SEED", "OWN_STRINGS", "TASK_PARAMETERS", "OtherStrings", "other_strings"]

EVALUATION_SEED, TASK_PARAMETERS = "evaluation_seed", "task_parameters"
"""Metadata of a shard, and settings of its rows: in what its sequences differ from the run's own."""


@dataclass(frozen=True)
class OtherStrings:
    """How evaluation sequences differ from the run's own: another seed or other task parameters; :data:`OWN_STRINGS` if
    they do not differ.

    Attributes:
        seed: the evaluation seed; None = the run's own.
        task: the changed parameters of the run's task, as canonical JSON; "" if none is changed.
    """

    seed: int | None = None
    task: str = ""

    def __bool__(self) -> bool:
        return self != OWN_STRINGS

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the task parameters that differ from those of the run."""
        found: dict[str, Any] = json.loads(self.task) if self.task else {}
        return found

    @property
    def setting(self) -> dict[str, Any]:
        """The settings by which these sequences differ from the usual ones, as a row of the table stores settings."""
        seed = {} if self.seed is None else {EVALUATION_SEED: self.seed}
        return {**seed, **({TASK_PARAMETERS: self.parameters} if self.task else {})}

    @property
    def text(self) -> str:
        """A text that is equal for equal differences, and "" for the run's own sequences, which sort first."""
        return canonical(self.setting) if self else ""

    @property
    def metadata(self) -> dict[str, str]:
        """The differences, in the form of a shard's metadata."""
        return {name: canonical(value) for name, value in self.setting.items()}

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> OtherStrings:
        """The differences that a shard's metadata state."""
        seed = metadata.get(EVALUATION_SEED, "")
        return cls(int(seed) if seed else None, metadata.get(TASK_PARAMETERS, ""))


OWN_STRINGS = OtherStrings()
"""The run's own evaluation seed and task."""


def other_strings(config: Mapping[str, Any], seed: int | None, parameters: Mapping[str, Any] | None) -> OtherStrings:
    """Return how a requested seed and requested task parameters differ from the run's own.

    Args:
        config: the run's config, as in its ``run.json``.
        seed: an evaluation seed; None = the run's own.
        parameters: task parameters, named as in the run's config; None = the run's own.
    """
    own = config.get("task", {}).get("parameters", {})
    changed = {
        name: value
        for name, value in (parameters or {}).items()
        if name not in own or canonical(own[name]) != canonical(value)
    }
    same = seed is None or seed == config.get("seeds", {}).get("evaluation")
    return OtherStrings(None if same else seed, canonical(changed) if changed else "")
