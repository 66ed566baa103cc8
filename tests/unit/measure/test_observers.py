"""An observer is shown the activations of its whole batch, group by group, and once more where it asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.measure.measurement import Observer, show
from workbench.tasks import make_task
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator


class Recording(Observer):
    """Writes down what it is shown, and asks to see it again so many times."""

    def __init__(self, batch: Batch, again: int = 0) -> None:
        self.batch, self.groups, self.again = batch, {0: ["first"], 3: ["second", "logits"]}, again
        self.shown: list[tuple[int, slice, Batch, dict[str, Any]]] = []

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self.shown.append((key, rows, part, dict(seen)))

    def close(self) -> Observer | None:
        if not self.again:
            return None
        self.again -= 1
        return self


@pytest.fixture
def batch() -> Batch:
    return make_task("majority").sample(5, 7, generator("test"), "matched")


CACHE = {name: torch.tensor([float(number)]) for number, name in enumerate(("first", "second", "logits", "unasked"))}


@pytest.mark.parametrize("again", [0, 2])
def test_an_observer_sees_each_group_of_all_sequences(batch: Batch, again: int) -> None:
    observer = Recording(batch, again)
    show(observer, CACHE)
    assert [key for key, *_ in observer.shown] == [0, 3] * (again + 1)
    for key, rows, part, seen in observer.shown:
        assert (rows, part) == (slice(0, 5), batch)
        assert seen == {name: CACHE[name] for name in observer.groups[key]}


def test_an_activation_that_is_not_there_is_named_before_anything_is_shown(batch: Batch) -> None:
    observer = Recording(batch)
    with pytest.raises(KeyError, match="logits"):
        show(observer, {name: CACHE[name] for name in ("first", "second")})
    assert observer.shown == []
