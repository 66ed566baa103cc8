"""Measuring: what a measurement is, and any of them on a model in memory. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.measure.measurement import Measurement, Quantity
    from workbench.measure.model_study import run
    from workbench.measure.registry import make_measurement, measurements
    from workbench.measure.result import Result

__all__ = ["Measurement", "Quantity", "Result", "make_measurement", "measurements", "run"]

_HOME = {
    "Measurement": "workbench.measure.measurement",
    "Quantity": "workbench.measure.measurement",
    "Result": "workbench.measure.result",
    "make_measurement": "workbench.measure.registry",
    "measurements": "workbench.measure.registry",
    "run": "workbench.measure.model_study",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
