"""Measuring a run in this process, and a measurement that only remembers what it was shown."""

from __future__ import annotations

from workbench.measure.batch import execute, plan
from workbench.measure.measurement import Quantity, Spec
from workbench.table import Table


def measured(run, **options) -> tuple[Table, list[str]]:
    """The run's table after measuring its behaviour, and what went wrong."""
    problems = execute(plan([run.path], **{"only": ["behaviour"], "sequences": 256, **options}), "serial")
    return Table.load(run.path), problems


class Counting:
    """Sees what the engine shows."""

    def __init__(self, laws, sequences=8) -> None:
        self.spec = Spec("counting", 1, "", {}, (Quantity("x", "", ""),), laws, sequences)
        self.shown: list = []

    def hooks(self, cfg) -> list[str]:
        return ["blocks.0.attn.hook_q", "blocks.1.hook_resid_post"]

    def observe(self, law, length, batch, cache) -> None:
        self.shown.append((law, length, batch, {k: v.shape for k, v in cache.items()}, cache["logits"].clone()))

    def finish(self, study):
        return []
