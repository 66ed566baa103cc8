"""Anything that a figure, a sentence or a table is made of as text, and a short print of that text: equal texts, equal prints.

Numbers have six digits, so that last bits of a processor do not count; colours and sizes are part of it as all else is.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.figures.rows.claims import Claim
from workbench.figures.rows.frame import Frame
from workbench.figures.style.plain_figure import PlainFigure

NOUGHT = 1e-9
"""Sizes below this are nought: what is left of a sum that is nought by definition depends on the processor."""

PLAIN = (str, int, bool)
FIGURES = (go.Figure, PlainFigure)
MOST_ROWS = 120
"""Of longer tables so many rows are told, and how many there are."""


def told(value: Any) -> Any:
    """A value of any kind as JSON that says all of it; of figures without their template."""
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, Claim):
        return [*value, *(told(one) for one in value.cites)]
    if isinstance(value, FIGURES):
        made = value.to_plotly_json()
        return {
            "data": told(made["data"]),
            "layout": told({k: v for k, v in made["layout"].items() if k != "template"}),
        }
    if isinstance(value, Frame | pd.DataFrame):
        names = value.names if isinstance(value, Frame) else list(value.columns)
        kept = (
            np.unique(np.linspace(0, len(value) - 1, MOST_ROWS).astype(int)) if len(value) > MOST_ROWS else slice(None)
        )
        return {"rows": len(value), **{str(name): told(np.asarray(value[name])[kept]) for name in names}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: told(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return _array(value) if "bdata" in value else {str(name): told(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return told(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(told(one)) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [told(one) for one in value]
    return str(value)


def _array(value: Mapping[str, Any]) -> list[Any]:
    """Numbers as plain figures hold them."""
    flat = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    return [*told(flat), value.get("shape", "")]


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{0.0 if abs(value) < NOUGHT else value:.6g}"


def printed(value: Any) -> str:
    """Eight letters that stand for a value."""
    return f"{zlib.crc32(json.dumps(told(value)).encode()):08x}"


def outcome(made: Callable[[], Any]) -> Any:
    """What a call gives; where it refuses, the kind of refusal and its words."""
    try:
        return made()
    except (LookupError, ValueError) as refused:
        return f"{type(refused).__name__}: {refused}"
