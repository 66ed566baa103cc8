"""A measurement: how sure a model is of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PrivateAttr

from workbench.measure.measurement import Measurement, Quantity, Study
from workbench.measure.rows import mean_row
from workbench.measure.settings import Count
from workbench.table.schema import Row

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch


class Confidence(Measurement):
    """How sure a model is at the last query of strings of exactly that length, whether it is right or wrong."""

    name = "example.confidence"
    title = "Confidence"
    quantities = (
        Quantity(
            "confidence",
            "mean probability of the most probable answer at exact prefix length n",
            "probability",
            formula="mean max softmax(logits)",
            where="logits: at the query of prefix length n",
        ),
    )

    laws = ("matched", "challenge")

    resamples: Count = 400

    _held: dict[tuple[str, int], np.ndarray] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        """Activations this measurement reads besides the logits, which every pass gives."""
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Reduce some strings of a law and a length to a number each."""
        asked = batch.mask[:, batch.index(length)]
        logits = cache["logits"][:, batch.index(length)][asked]
        self._held[law, length] = logits.double().softmax(-1).amax(-1).numpy(force=True)

    def finish(self, study: Study) -> list[Row]:
        """The rows."""
        rows: list[Row] = []
        for (law, n), values in sorted(self._held.items()):
            where: dict[str, Any] = {"law": law, "length": n, "quantity": "confidence"}
            rng = study.rng("confidence", law, n)
            rows.append(mean_row(values, rng, self.resamples, "nothing is asked at that length", (0, 1), **where))
        return rows
