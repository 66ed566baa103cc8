"""How many far repeats of a text are enough."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.tasks.text import corpus


def test_as_many_far_places_as_are_enough_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy 20 bytes back of which one place is told by it alone; one is enough where that is said."""
    text = np.frombuffer(
        b"abcdefghX" + bytes(range(128, 140)) + b"abcdefghX" + bytes(range(150, 190)), dtype=np.uint8
    ).copy()
    for enough, places in ((1, 1), (2, len(text))):
        monkeypatch.setattr(corpus, "ENOUGH", enough)
        made = corpus.Corpus(np.arange(256, dtype=np.uint8), text)
        assert len(made.far_repeats(40)) == places
