"""Axis and colour range of a quantity: linear, or in powers of two for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from workbench.figures.labels import magnitude, whole


@dataclass(frozen=True)
class Scale:
    """The fixed axis and colour range of a quantity.

    Attributes:
        low: lower end, in axis units.
        high: upper end, in axis units.
        log: whether axis units are log2 of the value.
    """

    low: float
    high: float
    log: bool = False

    @classmethod
    def of_counts(cls, values: NDArray[Any]) -> Scale:
        """Whole powers of two around all positive values."""
        positive = values[values > 0]
        low, high = (math.log2(positive.min()), math.log2(positive.max())) if len(positive) else (0.0, 1.0)
        return cls(math.floor(low), max(math.ceil(high), math.floor(low) + 1), log=True)

    @classmethod
    def spanning(cls, low: float, high: float) -> Scale:
        """Return the scale from ``low`` to ``high``; if they are equal, to one above."""
        return cls(float(low), float(high) if high > low else float(low) + 1.0)

    def place(self, value: float) -> float:
        """Value to axis units; NaN if the axis cannot show it (infinite, or not positive on a log axis)."""
        if not math.isfinite(value) or (self.log and value <= 0):
            return math.nan
        return math.log2(value) if self.log else value

    def share(self, value: float) -> float:
        """Value as a share of the range, clipped to 0..1; infinity is 1."""
        if value == math.inf:
            return 1.0
        return min(1.0, max(0.0, (self.place(value) - self.low) / (self.high - self.low)))

    def axis(self) -> dict[str, Any]:
        """Return the settings of a plotly axis."""
        pad = 0.05 * (self.high - self.low)
        if self.log:
            octaves = range(math.ceil(self.low), math.floor(self.high) + 1)
            every = max(1, -(-len(octaves) // 4))
            ticks = [float(k) for k in octaves if k % every == 0]
            texts = [whole(2.0**k) for k in ticks]
        else:
            ticks = [self.low, (self.low + self.high) / 2, self.high]
            texts = [f"{v:.1f}" if (self.low, self.high) == (0.0, 1.0) else magnitude(v) for v in ticks]
        return {"range": [self.low - pad, self.high + pad], "tickvals": ticks, "ticktext": texts}
