"""What is given where something else is meant: values of every wrong type, and of the right type out of all bounds."""

from __future__ import annotations

import datetime
import math
from typing import Any


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


JSON: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 0.5, -0.5, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf,
    2**31, 2**63, 10**20, -(10**20), 10**400, "", " ", "x", "0", "1", "-1", "1e5", "nan", "true", "none", "rotary",
    "\u00fcn\u00efcode \u2713", "\x00", "../..", "/etc/passwd", "a" * 5000, [], [0], [1, 2], [-1], ["x"], [None], [[]],
    [1.5, "x", None], [[1, 2], [3]], [{}], {}, {"name": "x"}, {"name": ["rotary"]}, {"name": None}, {"law": []},
    {"name": {"name": "none"}}, {"0": 1}, {"": ""}, {"law": "mixture", "components": 3}, {"name": "limit", "period": []},
    nested(60), nested(900),
)  # fmt: skip
"""What JSON, or Python's reading of it, can hold."""

PYTHON: tuple[Any, ...] = (
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12), b"bytes", {1, 2}, {1: 2}, {None: 1}, (1, 2), "\ud800",
    {"name": datetime.date(2020, 1, 1)}, [datetime.date(2020, 1, 1)], object,
)  # fmt: skip
"""What only YAML's tags, or a caller in Python, can hold."""
