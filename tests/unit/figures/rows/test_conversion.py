"""Rows of any kind are turned into frames, one by one, wherever they stand among the arguments."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from workbench.figures.rows.conversion import accept_rows
from workbench.figures.rows.frame import Frame

ROWS = pd.DataFrame({"value": [1.0, 2.0]})


def inner(frame_a: Frame, frame_b: Frame, name: str = "none", *, also: int = 0) -> Any:
    """The arguments, or the first frame."""
    assert isinstance(frame_a, Frame)
    assert isinstance(frame_b, Frame)
    return frame_a if name == "rows" else (len(frame_a), len(frame_b), name, also)


@pytest.mark.parametrize("first", [Frame.of, pd.DataFrame.copy])
@pytest.mark.parametrize("second", [Frame.of, pd.DataFrame.copy])
def test_each_of_two_may_be_of_another_kind(first: Any, second: Any) -> None:
    outer = accept_rows(inner)
    a, b = first(ROWS), second(ROWS[:1])
    assert outer(a, b, "x", also=3) == (2, 1, "x", 3)
    assert outer(a, frame_b=b, name="y") == (2, 1, "y", 0)
    assert outer(frame_b=b, frame_a=a) == (2, 1, "none", 0)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (Frame.of, Frame.of, Frame),
        (Frame.of, pd.DataFrame.copy, pd.DataFrame),
        (pd.DataFrame.copy, Frame.of, pd.DataFrame),
        (pd.DataFrame.copy, pd.DataFrame.copy, pd.DataFrame),
    ],
)
def test_rows_leave_as_frames_only_where_all_came_as_frames(first: Any, second: Any, kind: type) -> None:
    assert type(accept_rows(inner)(first(ROWS), second(ROWS), "rows")) is kind
    assert accept_rows(inner)(first(ROWS), second(ROWS)) == (2, 2, "none", 0)
