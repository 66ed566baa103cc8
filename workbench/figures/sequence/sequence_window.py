"""Which part of a sequence a figure shows: a range of queries and one of keys, whole or zoomed into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.figures.labels import whole
from workbench.measure.edits.reading import SequenceReading


@dataclass(frozen=True)
class Window:
    """A rectangle of an attention pattern, on the position axis.

    Attributes:
        queries: rows of the pattern.
        keys: its columns, and the prefixes that are shown of all else.
        count: positions of the sequence.
        pool: positions per cell.
    """

    queries: range
    keys: range
    count: int
    pool: int

    @property
    def whole(self) -> bool:
        """Whether the window contains the complete sequence."""
        return len(self.queries) == len(self.keys) == self.count

    @property
    def range_text(self) -> str:
        """The ranges in words; empty for all of the sequence."""
        return "" if self.whole else f"queries {_span(self.queries)} \u00b7 keys {_span(self.keys)}"

    def edges(self, places: range) -> NDArray[np.float64]:
        """Return the edges of the heatmap cells along one side."""
        return np.append(np.arange(places.start, places.stop, self.pool), places.stop) - 0.5

    def limits(self, places: range) -> tuple[float, float]:
        """Return both ends of an axis over these positions."""
        return places.start - 0.5, places.stop - 0.5


def window_of(found: SequenceReading) -> Window:
    """The part of the pattern that :func:`circuits.one_sequence.look` was called for."""
    return Window(range(*found.queries), range(*found.keys), len(found.tokens), found.pool)


def _span(places: range) -> str:
    return f"{whole(places.start)} to {whole(places.stop - 1)}"
