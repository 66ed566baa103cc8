"""Which tokens the window shortcuts of the base class see: the first ones and the last ones, and not each other's."""

from __future__ import annotations

import pytest
import torch

from workbench.tasks import make_task

WINDOW = 3


def share(name: str, tokens: list[int]) -> dict[str, float]:
    task = make_task(name)
    found = task.shortcuts(task.label(torch.tensor([tokens])), WINDOW)
    return {window: float(found[window]) for window in ("first_window", "last_window")}


@pytest.mark.parametrize(("name", "tokens", "first", "last"), [
    # w1 and five reads: the last window sees no write and guesses.
    ("flip_flop", [2, 5, 5, 5, 5, 5], 1.0, 0.5),
    ("flip_flop", [2, 5, 5, 5, 5, 1], 0.0, 1.0),
    # 1 0 0 0 0 0: its one 1 is in the first window; the last one sees an even number of them.
    ("parity", [2, 1, 1, 1, 1, 1], 1.0, 0.0),
    ("parity", [1, 1, 1, 1, 1, 2], 0.0, 1.0),
    ("parity", [1, 1, 1, 2, 1, 1, 1], 0.0, 0.0),  # between both, neither sees it
    ("majority", [2, 2, 2, 1, 1], 1.0, 0.0),
    ("even_pairs", [1, 2, 2, 2, 2], 1.0, 0.0),
])  # fmt: skip
def test_the_first_window_is_the_first_and_the_last_the_last(
    name: str, tokens: list[int], first: float, last: float
) -> None:
    assert share(name, tokens) == {"first_window": first, "last_window": last}


def test_a_window_that_sees_everything_is_no_shortcut() -> None:
    task = make_task("parity")
    assert set(task.shortcuts(task.label(torch.tensor([[2, 1, 1]])), WINDOW)) == {"position_only", "last_token"}
