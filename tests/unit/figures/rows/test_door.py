"""Rows of any kind are turned into frames at the door, one by one, wherever they stand among the arguments."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from workbench.figures.rows.door import door
from workbench.figures.rows.frame import Frame

ROWS = pd.DataFrame({"value": [1.0, 2.0]})


def behind(frame_a: Frame, frame_b: Frame, name: str = "none", *, also: int = 0) -> Any:
    """What arrived."""
    assert isinstance(frame_a, Frame)
    assert isinstance(frame_b, Frame)
    return frame_a if name == "rows" else (len(frame_a), len(frame_b), name, also)


@pytest.mark.parametrize("first", [Frame.of, pd.DataFrame.copy])
@pytest.mark.parametrize("second", [Frame.of, pd.DataFrame.copy])
def test_each_of_two_may_be_of_another_kind(first: Any, second: Any) -> None:
    opened = door(behind)
    a, b = first(ROWS), second(ROWS[:1])
    assert opened(a, b, "x", also=3) == (2, 1, "x", 3)
    assert opened(a, frame_b=b, name="y") == (2, 1, "y", 0)
    assert opened(frame_b=b, frame_a=a) == (2, 1, "none", 0)


@pytest.mark.parametrize(
    ("first", "second", "back", "kind"),
    [
        (Frame.of, Frame.of, True, Frame),
        (Frame.of, pd.DataFrame.copy, True, pd.DataFrame),
        (pd.DataFrame.copy, Frame.of, True, pd.DataFrame),
        (pd.DataFrame.copy, pd.DataFrame.copy, False, Frame),
    ],
)
def test_rows_leave_as_frames_only_where_all_came_as_frames(first: Any, second: Any, back: bool, kind: type) -> None:
    assert type(door(behind, back)(first(ROWS), second(ROWS), "rows")) is kind
    assert door(behind, back)(first(ROWS), second(ROWS)) == (2, 2, "none", 0)


def test_a_function_that_takes_no_rows_stays_itself() -> None:
    def other(length: int) -> int:
        return length

    assert door(other) is other
