"""Measuring a run in this process, and a measurement that only remembers what it was shown."""

from __future__ import annotations

from dataclasses import replace

from pydantic import PrivateAttr

from workbench.measure.measurement import Measurement, Quantity, Spec
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.table import Table


def measured(run, **options) -> tuple[Table, list[str]]:
    """The run's table after measuring its behaviour, and what went wrong."""
    problems = execute(
        plan(MeasureRequest([run.path], **{"only": ["behaviour"], "sequences": 256, **options}, executor="serial"))
    )
    return Table.load(run.path), problems


class Counting(Measurement):
    """Sees what the engine shows."""

    name = "counting"
    title = "Counting"
    quantities = (Quantity("x", "", ""),)

    asked: tuple[str, ...] = ("matched", "challenge")
    strings: int = 8

    _shown: list = PrivateAttr(default_factory=list)

    @property
    def spec(self) -> Spec:
        return replace(super().spec, laws=self.asked, sequences=self.strings)

    @property
    def shown(self) -> list:
        """Law, length, batch, shapes and logits of each pass."""
        return self._shown

    def hooks(self, cfg) -> list[str]:
        return ["blocks.0.attn.hook_q", "blocks.1.hook_resid_post"]

    def observe(self, law, length, batch, cache) -> None:
        self._shown.append((law, length, batch, {k: v.shape for k, v in cache.items()}, cache["logits"].clone()))

    def finish(self, study):
        return []
