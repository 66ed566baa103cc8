"""``probes.position``: does the residual stream contain the position of the query?

At one exact prefix length position is constant, so it is decoded in the band (n/2, n]. The targets are the logarithm of
the position (relative) and the position itself. A high score means *information present*. It is not evidence that
anything depends on length. Uniform attention of an untrained model writes 1/i, and a count that is not normalised grows
with i. A position-only control would be perfect, so there is none.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from probes.decodability_rows import QuantityNames
from probes.fitting import controls
from probes.fitting.probe_rows import RowPlaces
from probes.probe_measurement import ProbeMeasurement
from probes.residual_stream import Queries
from workbench.core.names import LOG_POSITION
from workbench.measure.measurement import Quantity
from workbench.measure.settings import Count, Seed
from workbench.tasks.base import Batch


class Position(ProbeMeasurement):
    """Fit position probes at every layer, R^2 in the band (n/2, n]; rows are (sequence, position).

    Args:
        law: name of the test set.
        resamples: bootstrap resamples of test sequences for every interval.
        positions: positions per sequence and band, drawn at random without replacement.
        seed: seed of that draw, which otherwise depends on the length only.
        queries: ``supervised`` positions only, or ``all``.
    """

    name = "probes.position"
    version = 4
    about = ("position",)
    title = "Position probes"
    names = QuantityNames("position_decodability")
    label_controls = (controls.SHUFFLED,)
    token_controls = (controls.TOKEN, controls.TOKENS)
    quantities = (
        Quantity(
            "position_decodability",
            "Held-out R² of a linear probe for the position i of a query, or for log i. Queries are in (n/2, n]. A "
            "high value shows that the information is present, but not that the model uses it.",
            "R^2",
            high=1.0,
            about="position",
            formula="1 − Σ (i − î)^{2} / Σ (i − ī)^{2}, n/2 < i ≤ n",
            where="i, î: position, true and read; or their logarithms",
            controls=(controls.SHUFFLED, controls.UNTRAINED, controls.TOKEN, controls.TOKENS),
        ),
    )

    positions: Count = 8
    seed: Seed = 0
    queries: Queries = "supervised"

    def places(self, batch: Batch, length: int) -> RowPlaces:
        """Return some positions of the band (length/2, length] of every sequence."""
        at = self._draw(batch, length)
        place = (at[:, 1] + (0 if batch.bos else 1)).double()
        return RowPlaces.of(batch, at, {LOG_POSITION: place.log(), "i": place})

    def _draw(self, batch: Batch, length: int) -> Int[Tensor, "row 2"]:
        """Return (sequence, index) of the drawn positions, without those that are not supervised."""
        first, last = batch.index(length // 2 + 1), batch.index(length)
        order = np.random.default_rng([self.seed, length]).random((len(batch), last - first + 1))
        if self.queries == "supervised":
            order[~batch.mask[:, first : last + 1].cpu().numpy()] = np.inf
        chosen = order.argsort(1)[:, : self.positions]
        kept = np.isfinite(np.take_along_axis(order, chosen, 1))
        sequence, slot = kept.nonzero()
        return torch.from_numpy(np.stack([sequence, first + chosen[sequence, slot]], 1))
