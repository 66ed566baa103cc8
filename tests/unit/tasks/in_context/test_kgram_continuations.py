"""In-context k-grams: what followed the last k tokens, how often."""

from __future__ import annotations

import pytest

from workbench.tasks import TaskError, make_task
from workbench.tasks.in_context import kgram_continuations


def test_the_most_of_a_refused_context_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kgram_continuations, "MOST_TRANSITIONS", 27)
    with pytest.raises(TaskError, match="integer"):
        make_task("in_context_kgram", k=4, symbols=3)
