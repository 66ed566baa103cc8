"""Strings that a run is asked beside its own: of another evaluation seed, of its task under other parameters, or both.

What is measured on them is stored beside what was measured on the run's own strings and read by them alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.canonical import canonical

__all__ = ["EVALUATION_SEED", "OWN_STRINGS", "TASK_PARAMETERS", "OtherStrings", "other_strings"]

EVALUATION_SEED, TASK_PARAMETERS = "evaluation_seed", "task_parameters"
"""Metadata of a shard, and settings of its rows: what of its strings is not the run's own."""


@dataclass(frozen=True)
class OtherStrings:
    """What about the strings is not the run's own; :data:`OWN_STRINGS` where nothing is.

    Attributes:
        seed: what they are drawn from; None = the run's own evaluation seed.
        task: the parameters of the run's task that are others, as canonical JSON; "" where none is.
    """

    seed: int | None = None
    task: str = ""

    def __bool__(self) -> bool:
        return self != OWN_STRINGS

    @property
    def parameters(self) -> dict[str, Any]:
        """The task's parameters that are others."""
        found: dict[str, Any] = json.loads(self.task) if self.task else {}
        return found

    @property
    def setting(self) -> dict[str, Any]:
        """How they stand in the setting of rows."""
        seed = {} if self.seed is None else {EVALUATION_SEED: self.seed}
        return {**seed, **({TASK_PARAMETERS: self.parameters} if self.task else {})}

    @property
    def text(self) -> str:
        """Equal for equal ones, and "" for the run's own, which sorts first."""
        return canonical(self.setting) if self else ""

    @property
    def metadata(self) -> dict[str, str]:
        """How they stand in a shard's metadata."""
        return {name: canonical(value) for name, value in self.setting.items()}

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> OtherStrings:
        """Those that a shard's metadata name."""
        seed = metadata.get(EVALUATION_SEED, "")
        return cls(int(seed) if seed else None, metadata.get(TASK_PARAMETERS, ""))


OWN_STRINGS = OtherStrings()
"""The run's own evaluation seed and task."""


def other_strings(config: Mapping[str, Any], seed: int | None, parameters: Mapping[str, Any] | None) -> OtherStrings:
    """What of a seed and parameters that are asked for is not a run's own anyway.

    Args:
        config: the run's, as its ``run.json`` has it.
        seed: an evaluation seed, None = the run's own.
        parameters: of its task, as its config names them; None = its own.
    """
    own = config.get("task", {}).get("parameters", {})
    others = {
        name: value
        for name, value in (parameters or {}).items()
        if name not in own or canonical(own[name]) != canonical(value)
    }
    same = seed is None or seed == config.get("seeds", {}).get("evaluation")
    return OtherStrings(None if same else seed, canonical(others) if others else "")
